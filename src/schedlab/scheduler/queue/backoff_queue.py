"""Pods that have been given another try and must wait for it: after a rejection, and after an error.

Each attempt that failed doubles the wait, from the initial to the maximal backoff; errors are counted apart. While the
SchedulerPopFromBackoffQ gate is on, ends of backoff are rounded down to whole seconds, so that within one second pods
go by priority, and a pod whose backoff ends in the present second still waits.

Mirrors: pkg/scheduler/backend/queue/backoff_queue.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.queue.heap import Heap, SortKey

if TYPE_CHECKING:
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo

ORDERING_WINDOW_NS: Final = SECOND_NS


class Backoff:
    """How long pods wait between attempts."""

    def __init__(self, initial_ns: int, max_ns: int, *, whole_windows: bool) -> None:
        self._initial_ns = initial_ns
        self._max_ns = max_ns
        self._whole_windows = whole_windows

    def expiration_ns(self, queued: QueuedPodInfo) -> int:
        """When the pod's wait ends; 0 when it need not wait."""
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if not self._max_ns or not count:
            return 0
        if queued.backoff_expiration_ns is None:
            queued.backoff_expiration_ns = self.align(queued.timestamp_ns + self._duration_ns(count))
        return queued.backoff_expiration_ns

    def is_backing_off(self, queued: QueuedPodInfo, now_ns: int) -> bool:
        """Whether the pod must still wait."""
        return self.expiration_ns(queued) >= self.align(now_ns)

    def align(self, time_ns: int) -> int:
        """Round down to the window."""
        return time_ns - time_ns % ORDERING_WINDOW_NS if self._whole_windows else time_ns

    def _duration_ns(self, count: int) -> int:
        shift = count - 1
        return self._max_ns if self._initial_ns > self._max_ns >> shift else self._initial_ns << shift


class BackoffQueue:
    """Two heaps by end of backoff: of rejected pods, which may be popped early, and of pods that met an error."""

    def __init__(self, backoff: Backoff, sort_key: SortKey, *, by_priority: bool) -> None:
        self._backoff = backoff
        self._by_priority = by_priority
        self._rejected = Heap(self._rejected_key(sort_key))
        self._errors = Heap(backoff.expiration_ns)

    def _rejected_key(self, sort_key: SortKey) -> SortKey:
        def by_window_and_priority(queued: QueuedPodInfo) -> tuple[int, Any]:
            return self._backoff.expiration_ns(queued), sort_key(queued)

        return by_window_and_priority if self._by_priority else self._backoff.expiration_ns

    def __len__(self) -> int:
        return len(self._rejected) + len(self._errors)

    def __bool__(self) -> bool:
        return bool(self._rejected or self._errors)

    def __contains__(self, key: object) -> bool:
        return key in self._rejected or key in self._errors

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        yield from self._rejected
        yield from self._errors

    def errors(self) -> Iterator[QueuedPodInfo]:
        """Pods that met an error."""
        return (queued for queued in self._errors if not queued.rejectors)

    def has_rejected(self) -> bool:
        """Whether there is a pod that may be popped early."""
        return bool(self._rejected)

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._rejected.get(key) or self._errors.get(key)

    def put(self, queued: QueuedPodInfo) -> None:
        """Add a pod, or move it to its place again after it was changed; without rejecting plugins it met an error."""
        (self._rejected if queued.may_pop_early else self._errors).put(queued)

    def delete(self, key: str) -> QueuedPodInfo | None:
        """Take a pod out and return it, or None when it is not here."""
        return self._rejected.delete(key) or self._errors.delete(key)

    def pop_rejected(self) -> QueuedPodInfo | None:
        """Take out the rejected pod whose backoff ends first, whether it has ended or not."""
        return self._rejected.pop()

    def pop_completed(self, now_ns: int) -> list[QueuedPodInfo]:
        """Take out the pods whose backoff has ended."""
        completed = []
        for heap in (self._rejected, self._errors):
            while (queued := heap.peek()) is not None and not self._backoff.is_backing_off(queued, now_ns):
                heap.pop()
                completed.append(queued)
        return completed

    def next_expiration_ns(self) -> int | None:
        """When the first backoff ends, or None."""
        heads = [head for heap in (self._rejected, self._errors) if (head := heap.peek()) is not None]
        return min((self._backoff.expiration_ns(head) for head in heads), default=None)

    def copy(self, backoff: Backoff, sort_key: SortKey) -> BackoffQueue:
        """Return an independent copy that holds copies of the pods."""
        other = BackoffQueue(backoff, sort_key, by_priority=self._by_priority)
        other._rejected = self._rejected.copy(other._rejected_key(sort_key))
        other._errors = self._errors.copy(backoff.expiration_ns)
        return other

    def validate(self) -> None:
        """Assert that both heaps are sound and each pod is in the right one."""
        self._rejected.validate()
        self._errors.validate()
        assert all(queued.may_pop_early for queued in self._rejected), "a pod may be popped early that may not"
        assert not any(queued.may_pop_early for queued in self._errors), "a rejected pod waits as after an error"
