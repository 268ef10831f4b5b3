"""Who is more important: priority, then age; pods that have not started are the youngest."""

import pytest

from schedlab.scheduler.framework.preemption.importance import more_important, most_important_first
from schedlab.scheduler.framework.types import PodInfo
from tests.unit.scheduler.plugins.little_cluster import make_pod

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def pod(name: str = "p", priority: int = 0, start: str | None = None) -> PodInfo:
    status = {} if start is None else {"startTime": f"2025-12-31T{start}Z"}
    return make_pod(name, priority=priority, status=status)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(pod(priority=2), pod(priority=1, start="01:00:00"), True, id="priority comes first"),
        pytest.param(pod(priority=1, start="01:00:00"), pod(priority=2), False, id="whatever the age"),
        pytest.param(pod(start="01:00:00"), pod(start="02:00:00"), True, id="then age"),
        pytest.param(pod(start="02:00:00"), pod(start="01:00:00"), False, id="younger"),
        pytest.param(pod(start="01:00:00"), pod(start="01:00:00"), False, id="as old"),
        pytest.param(pod(start="01:00:00"), pod(), True, id="one that has not started is younger"),
        pytest.param(pod(), pod(start="01:00:00"), False, id="than any that has"),
        pytest.param(pod(), pod(), True, id="of two that have not, the one asked about first is older"),
    ],
)
def test_more_important(one: PodInfo, other: PodInfo, expected: bool) -> None:  # noqa: FBT001 - a table
    assert more_important(one, other, NOW) is expected


def test_order() -> None:
    """Most important first; pods that have not started end up in reverse order, as upstream's clock moves on."""
    pods = [pod("new1"), pod("new2"), pod("young", start="02:00:00"), pod("old", start="01:00:00"), pod("high", 5)]

    found = [each.name for each in most_important_first(pods, NOW)]

    assert found == ["high", "old", "young", "new2", "new1"]
