"""The machine's clock behind `kernel.clock.Clock`, and chance from the operating system."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from schedlab.kernel.clock import Timer, TimerHeap
from schedlab.kernel.randomness import SeededRandom


class WallClock:
    """Wall time that never steps backwards and never stands still; its driver runs the timers that are due.

    When the machine's clock is set back, this one goes on from where it was, as fast as time does, until the machine's
    clock has caught up.
    """

    def __init__(self) -> None:
        self._timers = TimerHeap()
        self._last_ns = 0
        self._last_monotonic_ns = 0
        self.on_timer: Callable[[], None] | None = None

    def now_ns(self) -> int:
        """Nanoseconds since the Unix epoch."""
        wall_ns, monotonic_ns = time.time_ns(), time.monotonic_ns()
        passed_ns = monotonic_ns - self._last_monotonic_ns
        self._last_ns = wall_ns if wall_ns >= self._last_ns else self._last_ns + passed_ns
        self._last_monotonic_ns = monotonic_ns
        return self._last_ns

    def at(self, when_ns: int, callback: Callable[[], None], priority: int = 0) -> Timer:
        """Run `callback` when its driver next looks after `when_ns`."""
        timer = self._timers.add(when_ns, callback, priority)
        if self.on_timer is not None:
            self.on_timer()
        return timer

    def next_ns(self) -> int | None:
        """When the next timer is due, or None."""
        return self._timers.next_ns()

    def run_due(self) -> bool:
        """Run every timer that is due now; whether there was one."""
        ran = False
        now_ns = self.now_ns()
        while (callback := self._timers.pop_due(now_ns)) is not None:
            callback()
            ran = True
        return ran


def entropy() -> SeededRandom:
    """Return a random source seeded by the operating system."""
    return SeededRandom(secrets.randbits(64))
