"""Which of two pods is more important, and when pods started: what decides who is preempted.

Mirrors: MoreImportantPod, GetPodStartTime and GetEarliestPodStartTime of pkg/scheduler/util/utils.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from schedlab.apimachinery.time import parse_time
from schedlab.scheduler.framework.preemption.go_sort import go_sorted

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo

_parse = lru_cache(maxsize=65536)(parse_time)


def start_ns(pod: PodInfo) -> int | None:
    """Return when the pod started; None while its kubelet has not said so."""
    text = pod.pod.status.start_time
    return None if text is None else _parse(text)


def more_important(pod: PodInfo, other: PodInfo, now_ns: int) -> bool:
    """Whether a pod ranks before another: by priority, then by age. A pod that has not started is as young as can be.

    Upstream reads its clock for each pod that has not started, so of two such pods the one asked about first is older.
    """
    if pod.priority != other.priority:
        return pod.priority > other.priority
    start, other_start = start_ns(pod), start_ns(other)
    if other_start is None:
        return start is None or start <= now_ns
    return (now_ns if start is None else start) < other_start


def most_important_first(pods: Iterable[PodInfo], now_ns: int) -> list[PodInfo]:
    """Sort pods as upstream does, equal ones included."""
    return go_sorted(pods, lambda pod, other: more_important(pod, other, now_ns))


def earliest_start_ns(pods: Sequence[PodInfo], now_ns: int) -> int:
    """Return the earliest start of those of the pods (at least one) with the highest priority."""
    highest = max(pod.priority for pod in pods)
    starts = (start_ns(pod) for pod in pods if pod.priority == highest)
    return min(now_ns if start is None else start for start in starts)
