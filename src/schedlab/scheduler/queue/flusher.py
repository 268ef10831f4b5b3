"""The two periodic flushes of the queue, as timers that exist only while there is something to flush.

Upstream looks every second for pods whose backoff has ended and every 30 seconds for pods that have waited for too
long. Here a timer is set for the first of those moments that can find a pod, which comes to the same and lets a virtual
clock stand still when nothing waits.

Mirrors: PriorityQueue.Run in pkg/scheduler/backend/queue/scheduling_queue.go, waitUntilAlignedWithOrderingWindow in
backoff_queue.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.queue.backoff_queue import ORDERING_WINDOW_NS

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock, Timer

LEFTOVER_PERIOD_NS: Final = 30 * SECOND_NS


class Ticker:
    """Moments one period apart, of which only those are visited that are asked for."""

    def __init__(self, clock: Clock, period_ns: int, phase_ns: int, visit: Callable[[], None]) -> None:
        self._clock = clock
        self._period_ns = period_ns
        self._phase_ns = phase_ns
        self._visit = visit
        self._timer: Timer | None = None
        self._due_ns = 0

    def want(self, after_ns: int | None) -> None:
        """Visit the first moment after a time, which may be past; None: nothing needs a visit."""
        if after_ns is None:
            self.stop()
            return
        after_ns = max(after_ns, self._clock.now_ns())
        due_ns = after_ns + self._period_ns - (after_ns - self._phase_ns) % self._period_ns
        if self._timer is not None:
            # An earlier visit asks again for what it did not find.
            if self._due_ns <= due_ns:
                return
            self._timer.cancel()
        self._due_ns = due_ns
        self._timer = self._clock.at(due_ns, self._fire)

    def stop(self) -> None:
        """Visit no more until asked again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._visit()


class Flusher:
    """Both flushes of one queue: of completed backoff, aligned to whole seconds or not, and of pods left over."""

    def __init__(
        self,
        clock: Clock,
        started_ns: int,
        on_backoff: Callable[[], None],
        on_leftover: Callable[[], None],
        *,
        aligned: bool,
    ) -> None:
        self.backoff = Ticker(clock, ORDERING_WINDOW_NS, 0 if aligned else started_ns, on_backoff)
        self.leftover = Ticker(clock, LEFTOVER_PERIOD_NS, started_ns, on_leftover)

    def stop(self) -> None:
        """Flush no more."""
        self.backoff.stop()
        self.leftover.stop()
