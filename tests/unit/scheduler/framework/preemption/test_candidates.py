"""The best candidate: budgets, then priorities, then numbers, then age decide."""

import pytest

from schedlab.scheduler.framework.interface import Victims
from schedlab.scheduler.framework.preemption.candidates import best_candidates, merits
from schedlab.scheduler.framework.types import PodInfo
from tests.unit.scheduler.plugins.little_cluster import make_pod

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def pod(priority: int, start: str = "01:00:00", day: int = 0) -> PodInfo:
    date = ("2025-12-31", "2026-01-01")[day]
    return make_pod("v", priority=priority, status={"startTime": f"{date}T{start}Z"} if start else {})


def victims(*pods: PodInfo, violations: int = 0) -> Victims:
    return Victims(pods, violations)


@pytest.mark.parametrize(
    ("candidates", "best"),
    [
        pytest.param({"a": victims(pod(1), violations=1), "b": victims(pod(9), pod(9))}, ["b"], id="keep budgets"),
        pytest.param({"a": victims(pod(2)), "b": victims(pod(1), pod(1), pod(1))}, ["b"], id="lowest top priority"),
        pytest.param({"a": victims(pod(3), pod(2)), "b": victims(pod(3), pod(1))}, ["b"], id="lowest sum"),
        pytest.param(
            {"a": victims(pod(-1)), "b": victims(pod(-1), pod(-1))}, ["a"], id="more pods are worse, even negative ones"
        ),
        pytest.param(
            {"a": victims(pod(0), pod(-(2**31))), "b": victims(pod(0))}, ["b"], id="a pod of least priority is a pod"
        ),
        pytest.param(
            {"a": victims(pod(1, "01:00:00")), "b": victims(pod(1, "02:00:00"))}, ["b"], id="who has run the shortest"
        ),
        pytest.param({"a": victims(pod(1, "")), "b": victims(pod(1, "02:00:00"))}, ["a"], id="who has not started"),
        pytest.param(
            {
                "a": victims(pod(2, "02:00:00"), pod(1, "01:00:00")),
                "b": victims(pod(2, "01:30:00"), pod(1, "09:00:00")),
            },
            ["a"],
            id="only the age of the highest priority counts",
        ),
        pytest.param(
            {"a": victims(pod(2), pod(4)), "b": victims(pod(1), pod(5))}, ["b"], id="an extender says who comes first"
        ),
        pytest.param({"b": victims(pod(1)), "c": victims(pod(2)), "a": victims(pod(1))}, ["b", "a"], id="equals"),
        pytest.param({}, [], id="nobody"),
    ],
)
def test_best(candidates: dict[str, Victims], best: list[str]) -> None:
    assert list(best_candidates(merits(candidates, NOW))) == best


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pod(0, "23:59:50"), pod(0, "23:59:40")], NOW - 20 * SECOND, id="the earliest"),
        pytest.param([pod(1, "23:59:50"), pod(0, "23:59:40")], NOW - 10 * SECOND, id="of the highest priority"),
        pytest.param([pod(0, ""), pod(0, "23:59:40")], NOW - 20 * SECOND, id="not having started is now"),
        pytest.param([pod(0, "")], NOW, id="if nobody has"),
        pytest.param([pod(0, ""), pod(0, "00:00:10", day=1)], NOW, id="and earlier than any start to come"),
        pytest.param([pod(0, "00:00:10", day=1)], NOW + 10 * SECOND, id="which counts when all have one"),
    ],
)
def test_latest_start(pods: list[PodInfo], expected: int) -> None:
    """What counts of the start times of a candidate's victims."""
    assert merits({"a": victims(*pods)}, NOW)["a"].latest_start_ns == expected
