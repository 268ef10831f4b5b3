"""Sets of completion indexes as a Job's status holds them ("1,3-5"), and the index of a pod.

Mirrors: pkg/controller/job/indexed_job_utils.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from schedlab.api.object import StoredObject

INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
UNKNOWN: Final = -1
_INT32_MAX: Final = 2**31 - 1

#: First and last of a run of indexes.
Interval = tuple[int, int]


class Indexes:
    """A set of numbers as runs in order."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self.intervals = tuple(intervals)

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Indexes:
        """Make a set of single numbers in any order."""
        return cls(_joined((number, number) for number in sorted(numbers)))

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """Read a status, as far as it is below the number of completions; what is malformed is passed over."""
        return cls(_joined(_parse(text, completions)))

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes(_joined(sorted((*self.intervals, *other.intervals))))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __contains__(self, number: int) -> bool:
        position = bisect.bisect_right(self.intervals, number, key=lambda interval: interval[0])
        return position > 0 and number <= self.intervals[position - 1][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self.intervals == other.intervals

    def __hash__(self) -> int:
        return hash(self.intervals)

    def __str__(self) -> str:
        return ",".join(map(_shown, self.intervals))

    def overlap(self, other: Indexes) -> int:
        """Return how many numbers both have."""
        return sum(
            max(0, min(last, other_last) - max(first, other_first) + 1)
            for first, last in self.intervals
            for other_first, other_last in other.intervals
        )

    def missing(self, below: int) -> Iterator[int]:
        """Go through the numbers that are not in it, up to a bound."""
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, below))
            candidate = max(candidate, last + 1)
        yield from range(candidate, below)


def _shown(interval: Interval) -> str:
    first, last = interval
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def _joined(ordered: Iterable[Interval]) -> list[Interval]:
    joined: list[Interval] = []
    for first, last in ordered:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _parse(text: str, completions: int) -> Iterator[Interval]:
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if not all(end.isascii() and end.isdigit() for end in ends[:2]):
            continue
        first = int(ends[0])
        if first >= completions:
            return
        yield first, min(int(ends[1]), completions - 1) if len(ends) > 1 else first


def index_of(pod: StoredObject) -> int:
    """Return for which completion a pod is, UNKNOWN when it does not say."""
    text: str = pod.view.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else UNKNOWN


def failures_of(pod: StoredObject, *, ignored: bool = False) -> int:
    """Return how often earlier pods of the index have failed (and were not to be counted)."""
    annotations: Mapping[str, str] = pod.view.metadata.annotations
    text = annotations.get(IGNORED_FAILURE_COUNT if ignored else FAILURE_COUNT, "")
    if not text.isascii() or not text.isdigit():
        return 0
    count = int(text)
    return count if count <= _INT32_MAX else 0


def all_failures_of(pod: StoredObject) -> int:
    """Return how often earlier pods of the index have failed, counted or not."""
    return failures_of(pod) + failures_of(pod, ignored=True)
