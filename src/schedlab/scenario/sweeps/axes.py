"""What a sweep varies: each axis has its choices, or draws numbers; a point is one choice of every axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from schedlab.kernel.randomness import RandomSource, SeededRandom
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.sweeps.model import Range
from schedlab.scenario.sweeps.varying import Document

#: So many digits of a drawn number count: more would differ between processors.
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of an axis: what it is called in results, where it stands in the file, what it does to a scenario."""

    value: Any
    place: Place
    apply: Callable[[Document], Document]


Draw: TypeAlias = Callable[[RandomSource], Choice]


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that differs from point to point. choices: all there are; of an axis that draws, the ends."""

    name: str
    choices: Sequence[Choice]
    draws: Draw | None = None

    def draw(self, random: RandomSource) -> Choice:
        """Return any choice, each as likely as the others."""
        return self.choices[random.below(len(self.choices))] if self.draws is None else self.draws(random)


#: A choice by the name of its axis.
Point: TypeAlias = Mapping[str, Choice]


def grid(axes: Sequence[Axis]) -> Iterator[Point]:
    """Yield every point; the last axis goes round first."""
    for choices in product(*(axis.choices for axis in axes)):
        yield {axis.name: choice for axis, choice in zip(axes, choices, strict=True)}


def size(axes: Sequence[Axis]) -> float:
    """Return how many points there are, infinity where an axis draws."""
    return math.prod(math.inf if axis.draws is not None else len(axis.choices) for axis in axes)


def draw_points(axes: Sequence[Axis], count: int, seed: int) -> Iterator[Point]:
    """Yield different points, of which there must be so many."""
    random = SeededRandom(seed)
    seen: set[str] = set()
    while len(seen) < count:
        point = {axis.name: axis.draw(random) for axis in axes}
        key = repr([choice.value for choice in point.values()])
        if key not in seen:
            seen.add(key)
            yield point


# --- Numbers ---------------------------------------------------------------------------------------------------------


def is_whole(given: Range) -> bool:
    """Whether all numbers of a range are whole."""
    return all(isinstance(one, int) for one in (given.from_, given.to, given.step or 1))


def step_of(given: Range) -> float | int | None:
    """Return the distance between its numbers, None when any number between the ends is one."""
    return given.step if given.step is not None else 1 if is_whole(given) and not given.log else None


def numbers(given: Range) -> list[float | int]:
    """Return all numbers of a range that has a step, its ends of another one."""
    step = step_of(given)
    if step is None:
        return [given.from_, given.to]
    count = math.floor((given.to - given.from_) / step + 1e-9) + 1
    return [_shown(given.from_ + number * step, given) for number in range(count)]


def draw_number(given: Range, random: RandomSource) -> float | int:
    """Return a number between the ends of a range without a step."""
    part = random.fraction()
    if given.log:
        return _shown(given.from_ * (given.to / given.from_) ** part, given)
    return _shown(given.from_ + part * (given.to - given.from_), given)


def _shown(number: float, given: Range) -> float | int:
    if is_whole(given):
        return round(number)
    return min(max(float(f"{number:.{_DIGITS}g}"), given.from_), given.to)
