"""The live driver: an engine on the asyncio loop, in slices short enough that requests never wait for it.

Work starts when something is committed or a timer is due. A slice ends after SLICE_NS; the loop then serves requests
before the next one.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from schedlab.cluster.driver import Engine
from schedlab.cluster.wall_clock import WallClock

SLICE_NS: Final = 5_000_000


class LiveDriver:
    """Pumps an engine while the loop runs; `wake` must be called whenever a part may have become ready."""

    def __init__(self, engine: Engine, clock: WallClock) -> None:
        self._engine = engine
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self.failure: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Begin on the running loop."""
        self._loop = asyncio.get_running_loop()
        self.failure = self._loop.create_future()
        self._clock.on_timer = self.wake
        self.wake()

    def stop(self) -> None:
        """Take no further slice."""
        self._loop = None
        self._clock.on_timer = None
        if self._timer is not None:
            self._timer.cancel()

    def wake(self) -> None:
        """Look for work soon; harmless when a slice is already planned."""
        if self._loop is not None and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        if self._loop is None:
            return
        try:
            more = self._work()
        except Exception as error:  # noqa: BLE001  # a bug in a part ends the process with its traceback, not silently
            self._fail(error)
            return
        if more:
            self.wake()
        else:
            self._sleep()

    def _work(self) -> bool:
        end_ns = time.monotonic_ns() + SLICE_NS
        self._clock.run_due()
        while self._engine.step():
            if time.monotonic_ns() >= end_ns:
                return True
        return False

    def _fail(self, error: Exception) -> None:
        self.stop()
        if self.failure is not None and not self.failure.done():
            self.failure.set_exception(error)

    def _sleep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_ns = self._clock.next_ns()
        if due_ns is not None and self._loop is not None:
            delay_s = max(0.0, (due_ns - self._clock.now_ns()) / 1e9)
            self._timer = self._loop.call_later(delay_s, self.wake)
