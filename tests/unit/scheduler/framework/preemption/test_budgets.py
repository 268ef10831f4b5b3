"""Disruption budgets: which pods they cover, and who breaks one when many go at once."""

from typing import Any

import msgspec
import pytest

from schedlab.api.views.workloads import PodDisruptionBudget
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.scheduler.framework.types import PodInfo
from tests.unit.scheduler.plugins.little_cluster import make_pod

WEB = {"app": "web"}


def budget(selector: Any, allowed: int = 0, namespace: str = "default", disrupted: tuple[str, ...] = ()) -> Budget:
    raw = {
        "metadata": {"name": "b", "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")},
    }
    return Budget.of(msgspec.convert(raw, PodDisruptionBudget))


FOR_WEB = {"matchLabels": WEB}
BROKEN = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]}


@pytest.mark.parametrize(
    ("own", "pod", "expected"),
    [
        pytest.param(budget(FOR_WEB), make_pod("p", WEB), True, id="selected"),
        pytest.param(budget(FOR_WEB), make_pod("p", {"app": "db"}), False, id="not selected"),
        pytest.param(budget(FOR_WEB), make_pod("p", WEB, namespace="x"), False, id="of another namespace"),
        pytest.param(budget({}), make_pod("p", WEB), False, id="an empty selector selects nothing here"),
        pytest.param(budget(None), make_pod("p", WEB), False, id="nor does none"),
        pytest.param(budget(BROKEN), make_pod("p", WEB), False, id="nor one that cannot be parsed"),
        pytest.param(
            budget({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
            make_pod("p"),
            False,
            id="a pod without labels is never covered",
        ),
        pytest.param(budget(FOR_WEB, disrupted=("p",)), make_pod("p", WEB), False, id="known to be on its way out"),
    ],
)
def test_covers(own: Budget, pod: PodInfo, expected: bool) -> None:  # noqa: FBT001 - a table
    assert (Budgets([own]).covering(pod) == (0,)) is expected


def names(pods: list[PodInfo]) -> str:
    return " ".join(pod.name for pod in pods)


@pytest.mark.parametrize(
    ("budgets", "breaking", "others"),
    [
        pytest.param([], "", "w1 d1 w2 w3", id="no budgets"),
        pytest.param([budget(FOR_WEB, 1)], "w2 w3", "w1 d1", id="the first may go, the rest would break it"),
        pytest.param([budget(FOR_WEB, 3)], "", "w1 d1 w2 w3", id="all may go"),
        pytest.param(
            [budget(FOR_WEB, 2), budget({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, 1)],
            "d1 w2 w3",
            "w1",
            id="each budget is used up by itself, even by those that break another",
        ),
    ],
)
def test_split(budgets: list[Budget], breaking: str, others: str) -> None:
    """In order, budgets are used up; who comes too late would break one."""
    pods = [make_pod("w1", WEB), make_pod("d1", {"app": "db"}), make_pod("w2", WEB), make_pod("w3", WEB)]

    found = Budgets(budgets).split(pods)

    assert (names(found[0]), names(found[1])) == (breaking, others)


def test_pods_that_are_labelled_alike_are_looked_at_once() -> None:
    """A cluster has few sets of labels beside its pods, and may have many budgets."""
    asked: list[str] = []

    class Counting(Budget):
        def selects(self, pod: PodInfo) -> bool:
            asked.append(pod.name)
            return super().selects(pod)

    one = budget(FOR_WEB, disrupted=("w2",))
    budgets = Budgets([Counting(one.namespace, one.selector, one.allowed, one.disrupted)])
    pods = [make_pod("w1", WEB), make_pod("w2", WEB), make_pod("d1", {"app": "db"}), make_pod("w3", WEB, namespace="x")]

    assert [budgets.covering(pod) for pod in [*pods, *pods]] == [(0,), (), (), ()] * 2
    assert asked == ["w1", "d1", "w3"]
