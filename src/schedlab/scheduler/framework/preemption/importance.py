"""Which of two pods is more important, and when pods started: what decides who is preempted.

Mirrors: MoreImportantPod, GetPodStartTime and GetEarliestPodStartTime of pkg/scheduler/util/utils.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from schedlab.scheduler.framework.preemption.go_sort import go_sorted

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo

#: Priority, and start in ns or None.
_Rank: TypeAlias = "tuple[int, int | None]"


def more_important(pod: PodInfo, other: PodInfo, now_ns: int) -> bool:
    """Whether a pod ranks before another: by priority, then by age. A pod that has not started is as young as can be.

    Upstream reads its clock for each pod that has not started, so of two such pods the one asked about first is older.
    """
    return _ranks_before(_rank(pod), _rank(other), now_ns)


def most_important_first(pods: Sequence[PodInfo], now_ns: int) -> list[PodInfo]:
    """Sort pods as upstream does, equal ones included."""
    return [pods[place] for place in _order(tuple([_rank(pod) for pod in pods]), now_ns)]


def _rank(pod: PodInfo) -> _Rank:
    return pod.priority, pod.started_ns


def _ranks_before(one: _Rank, other: _Rank, now_ns: int) -> bool:
    if one[0] != other[0]:
        return one[0] > other[0]
    start, other_start = one[1], other[1]
    if other_start is None:
        return start is None or start <= now_ns
    return (now_ns if start is None else start) < other_start


@lru_cache(maxsize=1024)
def _order(ranks: tuple[_Rank, ...], now_ns: int) -> tuple[int, ...]:
    """Return the places in order. Nodes are often filled alike, and all that is compared are ranks."""
    keys = [(-priority, now_ns if start is None else start) for priority, start in ranks]
    if len(set(keys)) == len(keys):
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))
    # Of equals the algorithm decides.
    return tuple(go_sorted(range(len(ranks)), lambda i, j: _ranks_before(ranks[i], ranks[j], now_ns)))
