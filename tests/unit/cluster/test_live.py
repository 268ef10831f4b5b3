"""The live driver works in slices when woken, sleeps until the next timer, and reports a part's bug."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from schedlab.client.effects import Effect
from schedlab.cluster.driver import Engine
from schedlab.cluster.live import LiveDriver
from schedlab.cluster.wall_clock import WallClock, entropy
from schedlab.kernel.clock import MILLISECOND_NS
from tests.unit.cluster.test_driver import _Client


class _Counter:
    """A part with a number of steps to do."""

    def __init__(self, steps: int, error: Exception | None = None) -> None:
        self.left, self.error = steps, error

    def ready(self) -> bool:
        return self.left > 0

    def step(self) -> Sequence[Effect]:
        self.left -= 1
        if self.error is not None:
            raise self.error
        return ()

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        return ()


async def _until(done: object, part: _Counter) -> None:
    for _ in range(1000):
        if not part.left:
            return
        await asyncio.sleep(0.001)


def _driver(part: _Counter) -> tuple[LiveDriver, WallClock]:
    engine, clock = Engine(), WallClock()
    engine.add(part, _Client())
    return LiveDriver(engine, clock), clock


def test_work_that_is_there_at_start_is_done() -> None:
    async def run() -> int:
        part = _Counter(500)
        driver, _ = _driver(part)
        driver.start()
        await _until(driver, part)
        driver.stop()
        return part.left

    assert asyncio.run(run()) == 0


def test_timer_wakes_a_sleeping_driver() -> None:
    async def run() -> int:
        part = _Counter(0)
        driver, clock = _driver(part)
        driver.start()
        await asyncio.sleep(0.01)
        part.left = 0
        clock.at(clock.now_ns() + 20 * MILLISECOND_NS, lambda: setattr(part, "left", 3))
        await asyncio.sleep(0.1)
        driver.stop()
        return part.left

    assert asyncio.run(run()) == 0


def test_stopped_driver_takes_no_slice() -> None:
    async def run() -> int:
        part = _Counter(1)
        driver, _ = _driver(part)
        driver.start()
        driver.stop()
        driver.wake()
        await asyncio.sleep(0.01)
        return part.left

    assert asyncio.run(run()) == 1


def test_bug_of_a_part_ends_the_driver() -> None:
    async def run() -> None:
        driver, _ = _driver(_Counter(1, RuntimeError("a bug")))
        driver.start()
        assert driver.failure is not None
        await asyncio.wait_for(driver.failure, 5)

    with pytest.raises(RuntimeError, match="a bug"):
        asyncio.run(run())


def test_wall_clock_never_goes_backwards_and_never_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back, it goes on at its pace until the machine's clock has caught up."""
    clock = WallClock()
    moments, paces = iter([100, 50, 51, 120, 130]), iter([1000, 1005, 1007, 1008, 1018])
    monkeypatch.setattr("time.time_ns", lambda: next(moments))
    monkeypatch.setattr("time.monotonic_ns", lambda: next(paces))

    assert [clock.now_ns() for _ in range(5)] == [100, 105, 107, 120, 130]


def test_timers_are_due_though_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an hour, while the driver sleeps: what was to come in a moment comes in a moment."""

    async def run() -> bool:
        driver, clock = _driver(_Counter(0))
        driver.start()
        fired = asyncio.Event()
        clock.at(clock.now_ns() + 50 * MILLISECOND_NS, fired.set)
        real_ns = time.time_ns
        monkeypatch.setattr("time.time_ns", lambda: real_ns() - 3600 * 10**9)
        await asyncio.wait_for(fired.wait(), 5)
        driver.stop()
        return True

    assert asyncio.run(run())


def test_entropy_differs_from_run_to_run() -> None:
    assert entropy().uid() != entropy().uid()
