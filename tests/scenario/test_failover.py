"""The leader of several schedulers may die at any moment: no pod is lost or bound twice, and another takes over."""

import pytest

from schedlab.kernel.clock import SECOND_NS
from tests.scenario.failover import LEASE_S, Failover

# What a follower waits at the longest: the lease, its own retry period with jitter, and one more try.
_TAKEOVER_NS_MAX = int((LEASE_S + 2 * 0.5 * 2.2) * SECOND_NS)


@pytest.mark.parametrize("seed", range(12))
def test_another_copy_takes_over_when_the_leader_dies(seed: int) -> None:
    story = Failover(seed)

    story.run()

    assert story.takeover_ns <= _TAKEOVER_NS_MAX


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_two_hundred_crash_points(first: int) -> None:
    for seed in range(1000 + first, 1020 + first):
        story = Failover(seed)

        story.run()

        assert story.takeover_ns <= _TAKEOVER_NS_MAX


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = Failover(7), Failover(7)
    first.run()
    second.run()

    assert first.lines == second.lines
    assert first.bound == second.bound
