"""Which Stage an object goes on with, and when.

Mirrors: Match, Delay and Weight of KWOK's pkg/utils/lifecycle.
Differs: a Stage whose expression fails for an object is left out and reported; KWOK then plays nothing for the object.
Numbers that a query finds are compared as texts with the values of a selector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from schedlab.apimachinery.time import TimeError, parse_duration, parse_time
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet.stages.expressions import ExpressionError, Subject, duration_ns
from schedlab.kubelet.stages.stage import From, Requirement, Stage

#: Hears of a Stage that failed for an object.
Report = Callable[[Stage, ExpressionError], None]


def match(stages: Sequence[Stage], subject: Subject, random: RandomSource, report: Report) -> Stage | None:
    """Choose one of the Stages that match, by their weights."""
    found: list[tuple[Stage, int | None]] = []
    for stage in stages:
        try:
            if matches(stage, subject):
                found.append((stage, weight_of(stage, subject)))
        except ExpressionError as error:
            report(stage, error)
    if len(found) < 2:
        return found[0][0] if found else None
    return _choose(found, random)


def _choose(found: Sequence[tuple[Stage, int | None]], random: RandomSource) -> Stage:
    total = sum(weight for _, weight in found if weight is not None and weight > 0)
    if total == 0:
        # Those that have a weight, 0, go before those whose weight is not known.
        weighed = [stage for stage, weight in found if weight is not None] or [stage for stage, _ in found]
        return weighed[random.below(len(weighed))]
    place = random.below(total)
    for stage, weight in found:
        if weight is not None and weight > 0:
            place -= weight
            if place < 0:
                return stage
    raise AssertionError("the place is below the sum of all weights")


def matches(stage: Stage, subject: Subject) -> bool:
    """Say whether a Stage is for an object as it is now; raises ExpressionError."""
    return (
        stage.selects
        and _has(subject.labels, stage.match_labels)
        and _has(subject.annotations, stage.match_annotations)
        and all(_meets(requirement, subject) for requirement in stage.requirements)
        and all(condition.holds(subject) for condition in stage.conditions)
    )


def _has(known: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(known.get(key) == value for key, value in wanted.items())


def _meets(requirement: Requirement, subject: Subject) -> bool:
    found = requirement.query.run(subject)
    if requirement.operator == "Exists":
        return bool(found)
    if requirement.operator == "DoesNotExist":
        return not found
    is_among = any(_text(value) in requirement.values for value in found)
    return is_among if requirement.operator == "In" else not is_among


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def weight_of(stage: Stage, subject: Subject) -> int | None:
    """Return the weight of a Stage for an object, None if it cannot be told; raises ExpressionError."""
    source = stage.weight
    if source.condition is not None:
        value = source.condition.value(subject)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ExpressionError(f"cel: the result is {value!r}, no number")
        return int(value)
    if source.query is not None:
        found = source.query.run(subject)
        if found and isinstance(found[0], str):
            return _integer(found[0])
        if found and isinstance(found[0], int | float) and not isinstance(found[0], bool):
            return int(found[0])
    return source.value


def _integer(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def delay_ns(stage: Stage, subject: Subject, random: RandomSource) -> int:
    """Return how long an object waits before the Stage is played; raises ExpressionError."""
    shortest, longest = delay_range_ns(stage, subject)
    if longest is None:
        return shortest
    return longest if longest <= shortest else shortest + random.below(longest - shortest)


def delay_range_ns(stage: Stage, subject: Subject) -> tuple[int, int | None]:
    """Return the shortest delay, and with jitter the longest one; raises ExpressionError."""
    duration = None if stage.delay is None else _duration_ns(stage.delay, subject)
    if duration is None:
        return 0, None
    return duration, None if stage.jitter is None else _duration_ns(stage.jitter, subject)


def _duration_ns(source: From, subject: Subject) -> int | None:
    """Return a duration; a moment is taken for the time until then."""
    if source.condition is not None:
        return duration_ns(source.condition.value(subject))
    if source.query is not None:
        found = source.query.run(subject)
        if found and isinstance(found[0], str):
            if not found[0]:
                return None
            read = _read_duration(found[0], subject.now_ns)
            if read is not None:
                return read
    return source.value


def _read_duration(text: str, now_ns: int) -> int | None:
    try:
        return parse_time(text) - now_ns
    except TimeError:
        pass
    try:
        return parse_duration(text)
    except TimeError:
        return None
