"""Random lives of clusters break nothing that must hold: room, ports, the queue, the node table."""

from __future__ import annotations

import pytest

from tests.scenario.stress import Life


@pytest.mark.parametrize("seed", [1, 2])
def test_short_lives(seed: int) -> None:
    """Some hundred attempts on two clusters."""
    Life(seed).live(400)


def test_judging_every_filter_changes_no_decision() -> None:
    """Full mode records more and decides the same."""
    lives = [Life(3, full=full) for full in (False, True)]
    for life in lives:
        life.live(250)

    plain, full = ({pod.metadata.name: pod.spec.node_name for pod in life.pods()} for life in lives)
    assert plain == full


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(10, 20))
def test_twenty_thousand_attempts(seed: int) -> None:
    """Ten clusters of two thousand attempts each."""
    Life(seed).live(2000)
