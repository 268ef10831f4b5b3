"""Durations drawn from distributions, the same on every machine.

    30s   constant(30s)   uniform(5s, 10s)   exponential(30s)   normal(30s, 5s)   lognormal(30s, 0.5)   never
    empirical(10s, 20s, 1m)

The arguments are durations, but for the last one of lognormal, the deviation of the logarithm; its first is the median.
The empirical distribution draws one of those that were seen, each as often as the others.
Mirrors: nothing; the distributions are the usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Final

from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.kernel.randomness import RandomSource

#: A duration that never ends.
NEVER_NS: Final = 2**62
_FORM: Final = re.compile(r"(?P<name>[a-z]+)\((?P<arguments>[^()]*)\)")
# Enough for nanoseconds in years; decimals give the same digits everywhere, unlike libm.
_CONTEXT: Final = Context(prec=25)
_STEPS: Final = 1 << 53


class DistributionError(ValueError):
    """A text that names no distribution."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of durations."""

    text: str
    draw_ns: Callable[[RandomSource], int]


def parse_distribution(text: str) -> Distribution:
    """Read a distribution; raises DistributionError."""
    text = text.strip()
    if text == "never":
        return Distribution(text, lambda _: NEVER_NS)
    found = _FORM.fullmatch(text)
    if found is None:
        length_ns = _duration(text, text)
        return Distribution(text, lambda _: length_ns)
    arguments = [part.strip() for part in found["arguments"].split(",")]
    kind = _KINDS.get(found["name"])
    if kind is None:
        raise DistributionError(f"{found['name']!r} is not one of {', '.join(_KINDS)}")
    count, make = kind
    if len(arguments) != count and count:
        raise DistributionError(
            f"{found['name']} takes {count} argument{'s' if count > 1 else ''}, not {len(arguments)}"
        )
    return Distribution(text, make(arguments, text))


def _duration(text: str, whole: str) -> int:
    try:
        length_ns = parse_duration(text)
    except TimeError:
        raise DistributionError(f"{text!r} is no duration like 90s or 1h30m") from None
    if length_ns < 0:
        raise DistributionError(f"{whole!r} is negative")
    return length_ns


def _uniform(random: RandomSource) -> Decimal:
    """Return a number in (0, 1]."""
    return _CONTEXT.divide(Decimal(random.below(_STEPS) + 1), Decimal(_STEPS))


def _standard_normal(random: RandomSource) -> Decimal:
    """Return a number of the standard normal distribution (Marsaglia's polar method)."""
    while True:
        first, second = (2 * _uniform(random) - 1 for _ in range(2))
        square = _CONTEXT.add(first * first, second * second)
        if 0 < square < 1:
            return _CONTEXT.multiply(first, _CONTEXT.sqrt(_CONTEXT.divide(-2 * square.ln(_CONTEXT), square)))


def _make_constant(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    length_ns = _duration(arguments[0], text)
    return lambda _: length_ns


def _make_uniform(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    low_ns, high_ns = (_duration(each, text) for each in arguments)
    if high_ns < low_ns:
        raise DistributionError(f"{text!r} ends before it begins")
    return lambda random: low_ns + random.below(high_ns - low_ns + 1)


def _make_exponential(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    mean_ns = _duration(arguments[0], text)
    return lambda random: int(-mean_ns * _uniform(random).ln(_CONTEXT))


def _make_normal(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    mean_ns, deviation_ns = (_duration(each, text) for each in arguments)
    return lambda random: max(0, int(mean_ns + deviation_ns * _standard_normal(random)))


def _make_lognormal(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    median_ns = _duration(arguments[0], text)
    try:
        deviation = Decimal(arguments[1])
    except ArithmeticError:
        raise DistributionError(f"{arguments[1]!r} is no number") from None
    if not (deviation.is_finite() and 0 <= deviation <= 10):
        raise DistributionError(f"a deviation of {arguments[1]} is not between 0 and 10")
    return lambda random: min(
        int(median_ns * _CONTEXT.exp(_CONTEXT.multiply(deviation, _standard_normal(random)))), NEVER_NS
    )


def _make_empirical(arguments: list[str], text: str) -> Callable[[RandomSource], int]:
    lengths_ns = [_duration(each, text) for each in arguments]
    return lambda random: lengths_ns[random.below(len(lengths_ns))]


#: How many arguments each takes (0: any number), and what makes it.
_KINDS: Final[Mapping[str, tuple[int, Callable[[list[str], str], Callable[[RandomSource], int]]]]] = {
    "constant": (1, _make_constant),
    "uniform": (2, _make_uniform),
    "exponential": (1, _make_exponential),
    "normal": (2, _make_normal),
    "lognormal": (2, _make_lognormal),
    "empirical": (0, _make_empirical),
}
