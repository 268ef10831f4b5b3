"""Budgets know how many pods may be evicted."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.time import format_time
from tests.support.control_plane import ControlPlane, Object, template

BUDGETS = "poddisruptionbudgets.policy"
DEPLOYMENTS = "deployments.apps"


def budget(name: str = "b", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "a"}}, **spec}}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane(
        "disruption-controller", "deployment-controller", "replicaset-controller", "daemonset-controller"
    )


def shop(plane: ControlPlane, ready: int, replicas: int = 4) -> None:
    selector = {"matchLabels": {"app": "a"}}
    spec = {"replicas": replicas, "selector": selector, "template": template()}
    plane.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    plane.settle()
    plane.run_pods(plane.pods()[:ready])
    plane.settle()


def status(plane: ControlPlane) -> Object:
    return dict(plane.get(BUDGETS, "b")["status"])


@pytest.mark.parametrize(
    ("spec", "ready", "allowed", "desired", "expected"),
    [
        ({"minAvailable": 3}, 4, 1, 3, 4),
        ({"minAvailable": 3}, 2, 0, 3, 4),
        ({"minAvailable": "50%"}, 4, 2, 2, 4),
        ({"maxUnavailable": 1}, 4, 1, 3, 4),
        ({"maxUnavailable": "30%"}, 4, 2, 2, 4),
        ({"maxUnavailable": 9}, 4, 4, 0, 4),
    ],
)
def test_how_many_may_go(
    plane: ControlPlane, spec: Object, ready: int, allowed: int, desired: int, expected: int
) -> None:
    """Percentages are of what the owners want, rounded up."""
    shop(plane, ready)
    plane.create(BUDGETS, budget(**spec))
    plane.settle()
    found = status(plane)
    (condition,) = found.pop("conditions")

    assert found == {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": ready,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }
    assert (condition["status"], condition["reason"]) == (
        ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    )


def test_evictions_are_counted_until_the_pod_is_gone(plane: ControlPlane) -> None:
    """A pod that was evicted is not healthy any more, although it is still there."""
    shop(plane, 4)
    plane.create(BUDGETS, budget(minAvailable=3))
    plane.settle()
    name = plane.pods()[0]["metadata"]["name"]
    plane.patch(
        BUDGETS, "b", {"status": {"disruptedPods": {name: format_time(plane.clock.now_ns())}}}, subresource="status"
    )
    plane.settle()
    held = status(plane)["disruptionsAllowed"], list(status(plane)["disruptedPods"])
    plane.run_for(125)

    assert held == (0, [name])
    assert (status(plane)["disruptionsAllowed"], "disruptedPods" in status(plane)) == (1, False)
    assert "NotDeleted" in [reason for reason, _, _ in plane.messages()]


def test_pods_without_an_owner_are_told(plane: ControlPlane) -> None:
    """A percentage needs to know of how many."""
    plane.create("pods", {"metadata": {"name": "bare", "labels": {"app": "a"}}, "spec": template()["spec"]})
    plane.create(BUDGETS, budget(maxUnavailable=1))
    plane.settle()
    message = next(message for reason, _, message in plane.messages() if reason == "UnmanagedPods")

    assert "(selector: &LabelSelector{MatchLabels:map[string]string{app: a,},MatchExpressions:" in message


def test_owners_without_a_scale_allow_nothing(plane: ControlPlane) -> None:
    """Nobody knows how many pods a DaemonSet should have."""
    plane.node("n")
    daemons = {"selector": {"matchLabels": {"app": "a"}}, "template": template()}
    plane.create("daemonsets.apps", {"metadata": {"name": "d"}, "spec": daemons})
    plane.settle()
    plane.create(BUDGETS, budget(maxUnavailable=1))
    plane.settle()
    (condition,) = status(plane)["conditions"]

    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "daemonsets.apps does not implement the scale subresource",
    )


def test_no_pods_and_several_budgets_are_told(plane: ControlPlane) -> None:
    """A budget about nothing; a pod with two budgets."""
    plane.create(BUDGETS, budget(minAvailable=1))
    plane.create(BUDGETS, budget("other", minAvailable=1))
    plane.settle()
    shop(plane, 0, 1)
    reasons = [reason for reason, _, _ in plane.messages()]

    assert {"NoPods", "MultiplePodDisruptionBudgets"} <= set(reasons)


def test_disruption_that_did_not_come_is_taken_back(plane: ControlPlane) -> None:
    """Two minutes after a pod was marked, the mark is taken away."""
    shop(plane, 1, 1)
    name = plane.pods()[0]["metadata"]["name"]
    mark = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": format_time(plane.clock.now_ns())}
    plane.patch("pods", name, {"status": {"conditions": [mark]}}, subresource="status")
    plane.run_for(119)
    marked = plane.get("pods", name)["status"]["conditions"][0]["status"]
    plane.run_for(2)

    assert marked == "True"
    assert [each["status"] for each in plane.get("pods", name)["status"]["conditions"]] == ["False"]
