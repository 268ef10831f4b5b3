"""Virtual time: timers run in order of time, priority and sequence, each at its own instant."""

from __future__ import annotations

from collections.abc import Callable

from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock


class Ran:
    """Notes which callback ran, and in which second."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, int]] = []

    def noting(self, name: str, clock: VirtualClock) -> Callable[[], None]:
        return lambda: self.notes.append((name, clock.now_ns() // SECOND_NS))


def void(_: object) -> None:
    """Throw a result away."""


def test_clock_stands_still_until_moved() -> None:
    clock = VirtualClock()

    assert clock.now_ns() == EPOCH_NS
    assert clock.next_ns() is None


def test_timers_run_in_order_of_time_then_priority_then_sequence() -> None:
    clock, ran = VirtualClock(0), Ran()
    for when, priority, name in ((2, 0, "late"), (1, 5, "low"), (1, 0, "first"), (1, 0, "second")):
        clock.at(when * SECOND_NS, ran.noting(name, clock), priority)

    clock.advance_to(3 * SECOND_NS)

    assert ran.notes == [("first", 1), ("second", 1), ("low", 1), ("late", 2)]
    assert clock.now_ns() == 3 * SECOND_NS


def test_cancelled_timer_does_not_run() -> None:
    clock, ran = VirtualClock(0), Ran()
    timer = clock.at(1, ran.noting("no", clock))
    clock.at(2, ran.noting("yes", clock))

    timer.cancel()
    clock.advance_to(2)

    assert ran.notes == [("yes", 0)]
    assert clock.next_ns() is None


def test_timer_set_by_a_timer_runs_on_the_way() -> None:
    clock, ran = VirtualClock(0), Ran()
    clock.at(SECOND_NS, lambda: void(clock.at(2 * SECOND_NS, ran.noting("inner", clock))))

    clock.advance_to(5 * SECOND_NS)

    assert ran.notes == [("inner", 2)]


def test_timer_in_the_past_is_due_now() -> None:
    clock = VirtualClock(10)
    clock.at(3, lambda: None)

    assert clock.next_ns() == 10
