"""Pods that no kubelet lets go are deleted."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.controllers import podgc
from tests.support.control_plane import ControlPlane


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("pod-garbage-collector-controller")


def make_pod(plane: ControlPlane, name: str, node: str = "", **metadata: Any) -> None:
    """Store a pod."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    plane.create("pods", {"metadata": {"name": name, **metadata}, "spec": spec})


def test_pods_of_lost_nodes_go_after_a_while(plane: ControlPlane) -> None:
    """Whether the node goes or was never there; one that comes in time saves them."""
    plane.create("nodes", {"metadata": {"name": "n"}})
    make_pod(plane, "never", "x", finalizers=["example.com/f"])
    make_pod(plane, "late", "late")
    make_pod(plane, "p", "n")
    plane.run_for(30)
    plane.create("nodes", {"metadata": {"name": "late"}})
    plane.delete("nodes", "n")
    plane.run_for(20)

    assert plane.names("pods") == ["late", "never", "p"]
    status = plane.get("pods", "never")["status"]

    assert status["phase"] == "Failed"
    assert status["conditions"][0]["reason"] == "DeletionByPodGC"
    plane.run_for(30)

    assert plane.names("pods") == ["late", "never"]


def test_pods_that_never_had_a_node(plane: ControlPlane) -> None:
    """Somebody's finalizer keeps them, but they will not run."""
    make_pod(plane, "p", finalizers=["example.com/f"])
    plane.delete("pods", "p")
    plane.settle()

    assert plane.get("pods", "p")["status"]["phase"] == "Failed"


def test_pods_of_nodes_out_of_service(plane: ControlPlane) -> None:
    """The taint says that their node is off for certain."""
    plane.create("nodes", {"metadata": {"name": "n"}})
    make_pod(plane, "p", "n")
    plane.delete("pods", "p")
    plane.settle()

    assert plane.exists("pods", "p")
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": "nodeshutdown"}
    plane.patch("nodes", "n", {"spec": {"taints": [taint]}})
    plane.settle()

    assert not plane.exists("pods", "p")


def test_too_many_ended_pods(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first, and evicted ones before them."""
    monkeypatch.setattr(podgc, "ENDED_PODS_MAX", 2)
    plane.create("nodes", {"metadata": {"name": "n"}})
    for name in ("a", "b", "c", "d"):
        make_pod(plane, name, "n")
        plane.run_for(1)
    plane.finish("c", "Failed", reason="Evicted")
    for name in ("d", "a", "b"):
        plane.finish(name)
    plane.settle()

    assert plane.names("pods") == ["b", "d"]
