"""Ephemeral volumes have claims that live as long as their pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

CLAIMS = "persistentvolumeclaims"
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("ephemeral-volume-controller", "garbage-collector-controller")


def add_pod(plane: ControlPlane, **template: Any) -> None:
    """Store a pod with an ephemeral volume."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": SPEC, **template}}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume, {"name": "e", "emptyDir": {}}]}
    plane.create("pods", {"metadata": {"name": "p"}, "spec": spec})
    plane.settle()


def test_a_claim_for_each_volume(plane: ControlPlane) -> None:
    """As its template says, owned by the pod; a deleted one is made again, and all go with the pod."""
    add_pod(plane, metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}})
    claim = plane.get(CLAIMS, "p-scratch")
    pod = plane.get("pods", "p")

    assert (claim["metadata"]["labels"], claim["metadata"]["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert claim["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": pod["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert claim["spec"]["resources"] == SPEC["resources"]
    plane.patch(CLAIMS, "p-scratch", {"metadata": {"finalizers": None}})
    plane.delete(CLAIMS, "p-scratch")
    plane.settle()

    assert plane.names(CLAIMS) == ["p-scratch"]
    plane.patch(CLAIMS, "p-scratch", {"metadata": {"finalizers": None}})
    plane.delete("pods", "p", grace_s=0)
    plane.settle()

    assert plane.names(CLAIMS) == []


def test_a_name_that_is_taken(plane: ControlPlane) -> None:
    """A claim of somebody else is not used; the pod is told until it is gone."""
    plane.create(CLAIMS, {"metadata": {"name": "p-scratch"}, "spec": SPEC})
    add_pod(plane)
    text = "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)"

    assert plane.messages()[0] == ("FailedBinding", "p", text)
    plane.patch(CLAIMS, "p-scratch", {"metadata": {"finalizers": None}})
    plane.delete(CLAIMS, "p-scratch")
    plane.run_for(1)

    assert plane.get(CLAIMS, "p-scratch")["metadata"]["ownerReferences"][0]["name"] == "p"
