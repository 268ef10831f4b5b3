"""Time as the core sees it: whole nanoseconds since the Unix epoch, and timers on one heap.

A clock is injected everywhere; nothing below `cluster` reads the machine's own. The virtual clock jumps to the next
timer, the wall clock of a live cluster (in `cluster`) sleeps until it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

SECOND_NS: Final = 1_000_000_000
MILLISECOND_NS: Final = 1_000_000

# 2026-01-01T00:00:00Z: where virtual time starts unless a scenario says otherwise.
EPOCH_NS: Final = 1_767_225_600 * SECOND_NS


class Timer(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it has run already."""


class Clock(Protocol):
    """Tells the time and runs callbacks when theirs has come."""

    def now_ns(self) -> int:
        """Nanoseconds since the Unix epoch; never goes backwards."""

    def at(self, when_ns: int, callback: Callable[[], None], priority: int = 0) -> Timer:
        """Run `callback` once at `when_ns` (at once if that is past); equal times run by priority, then in order."""


@dataclass(order=True, slots=True)
class _Entry:
    when_ns: int
    priority: int
    sequence: int
    callback: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class TimerHeap:
    """Timers ordered by (time, priority, sequence): the sequence number is what makes runs repeatable."""

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._sequence = 0

    def add(self, when_ns: int, callback: Callable[[], None], priority: int = 0) -> Timer:
        """Queue `callback`; the returned timer can be cancelled."""
        entry = _Entry(when_ns, priority, self._sequence, callback)
        self._sequence += 1
        heapq.heappush(self._heap, entry)
        return entry

    def next_ns(self) -> int | None:
        """When the earliest live timer is due, or None."""
        while self._heap and self._heap[0].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0].when_ns if self._heap else None

    def pop_due(self, now_ns: int) -> Callable[[], None] | None:
        """Take out the earliest callback that is due at `now_ns`, or None."""
        due = self.next_ns()
        if due is None or due > now_ns:
            return None
        return heapq.heappop(self._heap).callback


class VirtualClock:
    """A clock that stands still until it is told to move; jumps from timer to timer."""

    def __init__(self, start_ns: int = EPOCH_NS) -> None:
        self._now_ns = start_ns
        self._timers = TimerHeap()

    def now_ns(self) -> int:
        """Nanoseconds since the Unix epoch."""
        return self._now_ns

    def at(self, when_ns: int, callback: Callable[[], None], priority: int = 0) -> Timer:
        """Run `callback` once the clock has been moved to `when_ns` or later."""
        return self._timers.add(max(when_ns, self._now_ns), callback, priority)

    def next_ns(self) -> int | None:
        """When the next timer is due, or None when nothing waits."""
        return self._timers.next_ns()

    def advance_to(self, when_ns: int) -> None:
        """Move to `when_ns`, running every timer on the way at its own time."""
        while (due := self._timers.next_ns()) is not None and due <= when_ns:
            self._now_ns = max(self._now_ns, due)
            callback = self._timers.pop_due(due)
            if callback is not None:
                callback()
        self._now_ns = max(self._now_ns, when_ns)
