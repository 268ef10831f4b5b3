"""Volumes, claims and volume attributes classes stay as long as they are used."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
CLASSES = "volumeattributesclasses.storage.k8s.io"
CONTROLLERS = (
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
)


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("serviceaccount-controller", *CONTROLLERS)


def claim(name: str, **spec: Any) -> dict[str, Any]:
    """Return a claim of 1Gi."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


def volume(name: str, **spec: Any) -> dict[str, Any]:
    """Return a volume of 1Gi."""
    source = {"hostPath": {"path": "/x"}}
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **source, **spec},
    }


def pod(name: str, volume: dict[str, Any], node: str = "") -> dict[str, Any]:
    """Return a pod with a volume."""
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", **volume}]}
    return {"metadata": {"name": name}, "spec": {**spec, **({"nodeName": node} if node else {})}}


def test_an_unused_claim_goes_at_once(plane: ControlPlane) -> None:
    """Nobody names it."""
    plane.settle()
    plane.create(CLAIMS, claim("c"))
    plane.delete(CLAIMS, "c")
    plane.settle()

    assert not plane.exists(CLAIMS, "c")


@pytest.mark.parametrize(("node", "stays"), [("n1", True), ("", False)])
def test_a_claim_waits_for_pods_on_nodes_only(plane: ControlPlane, node: str, *, stays: bool) -> None:
    """A pod without a node will not be started with a claim that goes."""
    plane.settle()
    plane.create(CLAIMS, claim("c"))
    plane.create("pods", pod("p", {"persistentVolumeClaim": {"claimName": "c"}}, node))
    plane.delete(CLAIMS, "c")
    plane.settle()

    assert plane.exists(CLAIMS, "c") == stays
    plane.delete("pods", "p", grace_s=0)
    plane.settle()

    assert not plane.exists(CLAIMS, "c")


def test_a_claim_of_an_ephemeral_volume_waits_for_its_own_pod_only(plane: ControlPlane) -> None:
    """One that only has the name that the pod's claim would have is not the pod's."""
    plane.settle()
    plane.create(CLAIMS, claim("p-v"))
    template = {"spec": claim("x")["spec"]}
    plane.create("pods", pod("p", {"ephemeral": {"volumeClaimTemplate": template}}, "n1"))
    plane.delete(CLAIMS, "p-v")
    plane.settle()

    assert not plane.exists(CLAIMS, "p-v")


def test_a_bound_volume_waits_for_its_claim(plane: ControlPlane) -> None:
    """What counts is its phase."""
    plane.create(VOLUMES, volume("v"))
    plane.patch(VOLUMES, "v", {"status": {"phase": "Bound"}}, subresource="status")
    plane.delete(VOLUMES, "v")
    plane.settle()

    assert plane.exists(VOLUMES, "v")
    plane.patch(VOLUMES, "v", {"status": {"phase": "Released"}}, subresource="status")
    plane.settle()

    assert not plane.exists(VOLUMES, "v")


def test_a_class_waits_for_volumes_and_claims(plane: ControlPlane) -> None:
    """Whoever names it keeps it."""
    plane.create(CLASSES, {"metadata": {"name": "fast"}, "driverName": "d", "parameters": {"a": "b"}})
    plane.create(CLAIMS, claim("c", volumeAttributesClassName="fast"))
    plane.delete(CLASSES, "fast")
    plane.settle()

    assert plane.exists(CLASSES, "fast")
    plane.delete(CLAIMS, "c")
    plane.settle()

    assert not plane.exists(CLASSES, "fast")


def test_objects_without_the_finalizer_get_it(plane: ControlPlane) -> None:
    """They are older than the admission, or somebody took it away."""
    plane.create(CLAIMS, claim("c"))
    plane.patch(CLAIMS, "c", {"metadata": {"finalizers": None}})
    plane.settle()

    assert plane.get(CLAIMS, "c")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
