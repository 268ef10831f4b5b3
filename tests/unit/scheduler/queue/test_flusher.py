"""Timers of the flushes: at which moments they fire, and that none is left when nothing waits."""

import pytest

from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.scheduler.queue.flusher import Ticker


def make_ticker(phase: int) -> tuple[VirtualClock, Ticker, list[int]]:
    clock, visits = VirtualClock(100 * SECOND_NS), list[int]()
    ticker = Ticker(clock, 30 * SECOND_NS, phase * SECOND_NS, lambda: visits.append(clock.now_ns() // SECOND_NS))
    return clock, ticker, visits


@pytest.mark.parametrize(
    ("phase", "after", "visit"),
    [
        (0, 50, 120),
        (0, 119, 120),
        (0, 120, 150),
        (0, 121, 150),
        (7, 50, 127),
        (7, 126, 127),
        (7, 127, 157),
        (100, 0, 130),
    ],
)
def test_visit_is_the_first_moment_after_the_time(phase: int, after: int, visit: int) -> None:
    """And after the present, when the time is past."""
    clock, ticker, visits = make_ticker(phase)
    ticker.want(after * SECOND_NS)
    clock.advance_to(1000 * SECOND_NS)

    assert visits == [visit]


def test_earlier_wish_wins_and_a_later_one_changes_nothing() -> None:
    clock, ticker, visits = make_ticker(0)
    ticker.want(200 * SECOND_NS)
    ticker.want(130 * SECOND_NS)
    ticker.want(300 * SECOND_NS)
    clock.advance_to(1000 * SECOND_NS)

    assert visits == [150]


def test_no_timer_is_left_when_nothing_is_wanted() -> None:
    clock, ticker, visits = make_ticker(0)
    ticker.want(200 * SECOND_NS)
    ticker.want(None)
    ticker.stop()

    assert clock.next_ns() is None
    assert visits == []
