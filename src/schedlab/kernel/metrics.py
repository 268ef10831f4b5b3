"""Counters, gauges and histograms by label values, and their text form for Prometheus.

Mirrors: the types of Prometheus' client library and its text format 0.0.4
Differs: one thread, so nothing is locked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

Labels: TypeAlias = tuple[str, ...]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bucket bounds as Prometheus' ExponentialBuckets."""
    bounds, bound = [], start
    for _ in range(count):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)


class Counter:
    """Counts by label values."""

    kind = "counter"

    def __init__(self, name: str, labels: Labels = (), description: str = "") -> None:
        self.name, self.labels, self.description = name, labels, description
        self.values: dict[Labels, int] = {}

    def add(self, *values: str, amount: int = 1) -> None:
        """Count one more, or several."""
        self.values[values] = self.values.get(values, 0) + amount

    def samples(self) -> Iterator[str]:
        """Yield the lines of the text form."""
        for values, count in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, values)} {count}"


class Gauge:
    """Values that go up and down, by label values."""

    kind = "gauge"

    def __init__(self, name: str, labels: Labels = (), description: str = "") -> None:
        self.name, self.labels, self.description = name, labels, description
        self.values: dict[Labels, float] = {}

    def set(self, value: float, *values: str) -> None:
        """Set the value."""
        self.values[values] = value

    def add(self, amount: float, *values: str) -> None:
        """Change the value."""
        self.values[values] = self.values.get(values, 0) + amount

    def samples(self) -> Iterator[str]:
        """Yield the lines of the text form."""
        for values, value in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, values)} {_number(value)}"


class Histogram:
    """Observations in buckets (upper bounds, the last one is infinity), by label values: counts, sum, count."""

    kind = "histogram"

    def __init__(self, name: str, bounds: Sequence[float], labels: Labels = (), description: str = "") -> None:
        self.name, self.bounds, self.labels, self.description = name, tuple(bounds), labels, description
        self.values: dict[Labels, tuple[list[int], list[float]]] = {}

    def observe(self, value: float, *values: str, times: int = 1) -> None:
        """Count one observation, or several of the same value."""
        found = self.values.get(values)
        if found is None:
            found = self.values[values] = ([0] * (len(self.bounds) + 1), [0.0])
        buckets, total = found
        buckets[bisect_left(self.bounds, value)] += times
        total[0] += value * times

    def count(self, *values: str) -> int:
        """Return how many observations there were."""
        found = self.values.get(values)
        return sum(found[0]) if found else 0

    def samples(self) -> Iterator[str]:
        """Yield the lines of the text form: buckets count everything up to their bound."""
        bounds = [*map(_number, self.bounds), "+Inf"]
        for values, (buckets, total) in sorted(self.values.items()):
            for bound, count in zip(bounds, accumulate(buckets), strict=True):
                yield f"{self.name}_bucket{_braces((*self.labels, 'le'), (*values, bound))} {count}"
            braces = _braces(self.labels, values)
            yield f"{self.name}_sum{braces} {_number(total[0])}"
            yield f"{self.name}_count{braces} {sum(buckets)}"


def expose(metrics: Sequence[Counter | Gauge | Histogram]) -> str:
    """Return the text form; metrics that have counted nothing yet are left out, as upstream does."""
    lines = []
    for metric in sorted(metrics, key=lambda metric: metric.name):
        samples = list(metric.samples())
        if samples:
            lines += [f"# HELP {metric.name} {metric.description}", f"# TYPE {metric.name} {metric.kind}", *samples]
    return "".join(f"{line}\n" for line in lines)


def _braces(labels: Labels, values: Labels) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in zip(labels, values, strict=True))
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    """Write a number as Go does, in as few digits as tell it from its neighbours."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))
