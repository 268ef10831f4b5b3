"""ReplicaSets and ReplicationControllers keep the number of pods they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object, template

SETS = "replicasets.apps"


def replica_set(replicas: int = 2, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "a"}}
    return {
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": selector, "template": template(), **spec},
    }


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("replicaset-controller", "replicationcontroller-controller")


def status(plane: ControlPlane) -> Object:
    return dict(plane.get(SETS, "web")["status"])


def test_missing_pods_are_made(plane: ControlPlane) -> None:
    """Each pod carries the template's labels and its owner; the status counts what there is."""
    plane.create(SETS, replica_set())
    plane.settle()
    pods = plane.pods()

    assert len(pods) == 2
    assert pods[0]["metadata"]["generateName"] == "web-"
    assert pods[0]["metadata"]["labels"] == {"app": "a"}
    assert [owner["name"] for owner in pods[0]["metadata"]["ownerReferences"]] == ["web"]
    assert status(plane) == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    assert [reason for reason, _, _ in plane.messages()] == ["SuccessfulCreate"] * 2


def test_scaling_down_deletes_what_is_least_useful(plane: ControlPlane) -> None:
    """Pods without a node go before those that run."""
    plane.create(SETS, replica_set(1))
    plane.settle()
    plane.run_pods()
    running = plane.pods()[0]["metadata"]["name"]
    plane.patch(SETS, "web", {"spec": {"replicas": 3}})
    plane.settle()
    plane.patch(SETS, "web", {"spec": {"replicas": 1}})
    plane.settle()

    assert [pod["metadata"]["name"] for pod in plane.pods()] == [running]


def test_deletion_cost_and_doubled_nodes_decide(plane: ControlPlane) -> None:
    """Of ready pods the cheaper goes first, then one that shares its node with another of the same deployment."""
    owned = replica_set(3)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    owned["metadata"]["ownerReferences"] = [owner]
    plane.create(SETS, owned)
    plane.settle()
    first, second, third = plane.pods()
    plane.run_pods([first, second], "n1")
    plane.run_pods([third], "n2")
    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "5"}}}
    plane.patch("pods", second["metadata"]["name"], cost)
    plane.patch(SETS, "web", {"spec": {"replicas": 2}})
    plane.settle()
    left = {pod["metadata"]["name"] for pod in plane.pods()}

    assert left == {second["metadata"]["name"], third["metadata"]["name"]}


def test_orphans_are_adopted_and_strangers_released(plane: ControlPlane) -> None:
    """A pod that matches is taken over; one whose labels change is let go and replaced."""
    plane.create("pods", {"metadata": {"name": "orphan", "labels": {"app": "a"}}, "spec": template()["spec"]})
    plane.create(SETS, replica_set(1))
    plane.settle()
    adopted = plane.get("pods", "orphan")["metadata"]["ownerReferences"][0]
    plane.patch("pods", "orphan", {"metadata": {"labels": {"app": "b"}}})
    plane.settle()

    assert adopted["name"] == "web"
    assert "ownerReferences" not in plane.get("pods", "orphan")["metadata"]
    assert len(plane.pods()) == 2


def test_availability_comes_after_min_ready_seconds(plane: ControlPlane) -> None:
    """A pod counts as available once it has been ready for minReadySeconds."""
    plane.create(SETS, replica_set(1, minReadySeconds=10))
    plane.settle()
    plane.run_pods()
    plane.run_for(9)
    early = status(plane)
    plane.run_for(2)

    assert (early.get("readyReplicas"), early.get("availableReplicas")) == (1, None)
    assert status(plane)["availableReplicas"] == 1


def test_failed_pods_are_replaced(plane: ControlPlane) -> None:
    """What has ended does not count."""
    plane.create(SETS, replica_set(1))
    plane.settle()
    plane.finish(plane.pods()[0]["metadata"]["name"], "Failed")
    plane.settle()

    assert sorted(pod["status"]["phase"] for pod in plane.pods()) == ["Failed", "Pending"]
    assert status(plane)["replicas"] == 1


def test_terminating_pods_are_counted_apart(plane: ControlPlane) -> None:
    """A pod on its way out is replaced at once and shown as terminating."""
    plane.create(SETS, replica_set(1))
    plane.settle()
    plane.run_pods()
    plane.delete("pods", plane.pods()[0]["metadata"]["name"])
    plane.settle()

    assert len(plane.all("pods")) == 2
    assert status(plane)["terminatingReplicas"] == 1


def test_refused_creations_are_reported_and_retried(plane: ControlPlane) -> None:
    """Creation starts slowly: one failure ends a try. The report of it leads to one more, then it takes its time."""
    plane.create(SETS, replica_set(5, template=template(priorityClassName="missing")))
    plane.settle()
    condition = status(plane)["conditions"][0]
    failures = [event for event in plane.all("events") if event["reason"] == "FailedCreate"]

    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert condition["message"].startswith('pods "web-')
    assert sum(event["count"] for event in failures) == 2

    plane.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "missing"}, "value": 1})
    plane.run_for(1)

    assert len(plane.pods()) == 5
    assert "conditions" not in status(plane)


def test_replication_controllers_do_the_same(plane: ControlPlane) -> None:
    """A plain map selects; terminating pods are not counted."""
    plane.create(
        "replicationcontrollers",
        {"metadata": {"name": "old"}, "spec": {"replicas": 2, "selector": {"app": "a"}, "template": template()}},
    )
    plane.settle()

    assert len(plane.pods()) == 2
    assert plane.get("replicationcontrollers", "old")["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
    }


def test_similar_events_are_combined(plane: ControlPlane) -> None:
    """Of many creations ten messages are told one by one; the rest is counted, 25 writes at most."""
    plane.create(SETS, replica_set(40))
    plane.settle()
    events = [event for event in plane.all("events") if event["reason"] == "SuccessfulCreate"]
    combined = [event for event in events if event["message"].startswith("(combined from similar events): ")]

    assert len(events) == 10
    assert [event["count"] for event in combined] == [16]
