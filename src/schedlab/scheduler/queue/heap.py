"""A heap of queued pods in which each can be found, moved and taken out by its key.

Mirrors: pkg/scheduler/backend/heap/heap.go (v1.36).
Differs: the order comes from a sort key taken when a pod is put in; equal keys leave in the order they came; pods that
come in the order in which they leave need no heap.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo

SortKey: TypeAlias = Callable[["QueuedPodInfo"], Any]

# [sort key, arrival of the pod, number of the put, pod or None when it was taken out]: the number of the put is
# unique, so that pods are never compared.
_Entry: TypeAlias = list[Any]
_POD: Final = 3


class Heap:
    """Pods by key, the one with the smallest sort key first."""

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        # Entries in order, and a heap of those that came out of turn.
        self._in_order: deque[_Entry] = deque()
        self._entries: list[_Entry] = []
        self._by_key: dict[str, _Entry] = {}
        self._puts = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Pods in the order they were put in."""
        return (entry[_POD] for entry in self._by_key.values())

    def get(self, key: str) -> QueuedPodInfo | None:
        entry = self._by_key.get(key)
        return entry[_POD] if entry else None

    def put(self, queued: QueuedPodInfo) -> None:
        """Add a pod, or move it to its place again after it was changed."""
        key = queued.pod.key
        old = self._by_key.get(key)
        self._puts += 1
        entry = [self._sort_key(queued), self._puts if old is None else old[1], self._puts, queued]
        self._by_key[key] = entry
        if self._in_order and entry < self._in_order[-1]:
            heapq.heappush(self._entries, entry)
        else:
            self._in_order.append(entry)
        if old is not None:
            old[_POD] = None
            self._drop_stale()

    def delete(self, key: str) -> QueuedPodInfo | None:
        """Take a pod out and return it, or None when it is not here."""
        entry = self._by_key.pop(key, None)
        if entry is None:
            return None
        queued: QueuedPodInfo = entry[_POD]
        entry[_POD] = None
        self._drop_stale()
        return queued

    def peek(self) -> QueuedPodInfo | None:
        """Return the first pod, or None."""
        heads = [some[0] for some in (self._in_order, self._entries) if some]
        return min(heads)[_POD] if heads else None

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod out, or return None."""
        in_order, entries = self._in_order, self._entries
        if not (in_order or entries):
            return None
        is_next = bool(in_order) and not (entries and entries[0] < in_order[0])
        queued: QueuedPodInfo = (in_order.popleft() if is_next else heapq.heappop(entries))[_POD]
        del self._by_key[queued.pod.key]
        if len(in_order) + len(entries) > len(self._by_key):
            self._drop_stale()
        return queued

    def _drop_stale(self) -> None:
        """Keep live entries at both heads, and stale ones from piling up behind them."""
        while self._in_order and self._in_order[0][_POD] is None:
            self._in_order.popleft()
        while self._entries and self._entries[0][_POD] is None:
            heapq.heappop(self._entries)
        if len(self._in_order) + len(self._entries) > 2 * len(self._by_key) + 16:
            self._in_order, self._entries = deque(sorted(self._by_key.values(), key=_order)), []

    def copy(self, sort_key: SortKey) -> Heap:
        """Return an independent copy that holds copies of the pods."""
        other = Heap(sort_key)
        other._puts = self._puts
        for key, entry in self._by_key.items():
            queued = entry[_POD].copy()
            other._by_key[key] = [sort_key(queued), entry[1], entry[2], queued]
        other._in_order.extend(sorted(other._by_key.values(), key=_order))
        return other

    def validate(self) -> None:
        """Assert that both forms hold the same pods, each under its own key, and both heads are live."""
        live = [entry for entry in (*self._in_order, *self._entries) if entry[_POD] is not None]
        assert len(live) == len(self._by_key), f"heap holds {len(live)} pods, index {len(self._by_key)}"
        for key, entry in self._by_key.items():
            queued = entry[_POD]
            assert queued is not None, f"{key} is indexed but taken out"
            assert queued.key == key, f"{queued.key} is indexed as {key}"
            assert entry[0] == self._sort_key(queued), f"{key} was changed without being put again"
        assert all(some[0][_POD] is not None for some in (self._in_order, self._entries) if some), "a head is stale"


def _order(entry: _Entry) -> Any:
    return entry[:_POD]
