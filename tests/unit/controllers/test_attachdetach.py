"""Volumes are attached to the nodes of the pods that use them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

ATTACHMENTS = "volumeattachments.storage.k8s.io"
UNIQUE = "kubernetes.io/csi/d^h"


@pytest.fixture
def plane() -> ControlPlane:
    plane = ControlPlane("persistentvolume-attach-detach-controller", "simulated-attacher")
    plane.node("n1")
    plane.node("n2")
    return plane


def add_volume(plane: ControlPlane, mode: str = "ReadWriteOnce", **source: Any) -> None:
    """Store a volume and the claim that is bound to it."""
    source = source or {"csi": {"driver": "d", "volumeHandle": "h"}}
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    spec = {"accessModes": [mode], "capacity": {"storage": "1Gi"}, "claimRef": reference, **source}
    plane.create("persistentvolumes", {"metadata": {"name": "v"}, "spec": spec})
    wanted = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
    plane.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": wanted})


def add_pod(plane: ControlPlane, name: str, node: str) -> None:
    """Store a running pod that uses the claim."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    plane.create("pods", {"metadata": {"name": name}, "spec": spec})
    plane.settle()
    plane.run_pods(node=node)
    plane.settle()


def volumes_of(plane: ControlPlane, node: str) -> tuple[list[str], list[str]]:
    """Return what is attached to a node and what is in use there."""
    status = plane.get("nodes", node)["status"]
    return [each["name"] for each in status.get("volumesAttached", ())], status.get("volumesInUse", [])


def test_attached_and_detached(plane: ControlPlane) -> None:
    """The node says so, the pod is told; when the pod has ended everything is undone."""
    add_volume(plane)
    add_pod(plane, "p", "n1")
    (attachment,) = plane.all(ATTACHMENTS)

    assert attachment["metadata"]["name"].startswith("csi-")
    assert attachment["spec"] == {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}
    assert attachment["status"] == {"attached": True}
    assert volumes_of(plane, "n1") == ([UNIQUE], [UNIQUE])
    assert plane.messages() == [("SuccessfulAttachVolume", "p", 'AttachVolume.Attach succeeded for volume "v" ')]
    plane.finish("p")
    plane.settle()

    assert (plane.all(ATTACHMENTS), volumes_of(plane, "n1")) == ([], ([], []))


def test_one_node_at_a_time(plane: ControlPlane) -> None:
    """The second node waits until the first has let go; its pod is told by whom the volume is used."""
    add_volume(plane)
    add_pod(plane, "p", "n1")
    add_pod(plane, "q", "n2")
    text = 'Multi-Attach error for volume "v" Volume is already used by pod(s) p'

    assert ("FailedAttachVolume", "q", text) in plane.messages()
    assert [each["spec"]["nodeName"] for each in plane.all(ATTACHMENTS)] == ["n1"]
    plane.delete("pods", "p", grace_s=0)
    plane.settle()

    assert [each["spec"]["nodeName"] for each in plane.all(ATTACHMENTS)] == ["n2"]
    assert (volumes_of(plane, "n1"), volumes_of(plane, "n2")) == (([], []), ([UNIQUE], [UNIQUE]))


def test_shared_volumes(plane: ControlPlane) -> None:
    """They are attached to as many nodes as have pods, once each."""
    add_volume(plane, "ReadWriteMany")
    for name, node in (("p", "n1"), ("q", "n1"), ("r", "n2")):
        add_pod(plane, name, node)
    plane.delete("pods", "p", grace_s=0)
    plane.settle()

    assert sorted(each["spec"]["nodeName"] for each in plane.all(ATTACHMENTS)) == ["n1", "n2"]


def test_what_is_not_attached(plane: ControlPlane) -> None:
    """Volumes of drivers that need no attachment, or of no driver."""
    plane.create("csidrivers.storage.k8s.io", {"metadata": {"name": "d"}, "spec": {"attachRequired": False}})
    add_volume(plane)
    add_pod(plane, "p", "n1")

    assert plane.all(ATTACHMENTS) == []


def test_attachments_of_others_stay(plane: ControlPlane) -> None:
    """Whoever made an attachment under another name looks after it."""
    add_volume(plane, hostPath={"path": "/x"})
    spec = {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}
    plane.create(ATTACHMENTS, {"metadata": {"name": "mine"}, "spec": spec})
    add_pod(plane, "p", "n1")
    plane.finish("p")
    plane.settle()

    assert plane.names(ATTACHMENTS) == ["mine"]


def test_claims_that_are_bound_later(plane: ControlPlane) -> None:
    """A pod may have its node before its claim has its volume."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    plane.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": wanted})
    add_pod(plane, "p", "n1")
    before = plane.names(ATTACHMENTS)
    plane.delete("persistentvolumeclaims", "c")
    plane.patch("persistentvolumeclaims", "c", {"metadata": {"finalizers": None}})
    add_volume(plane)
    plane.settle()

    assert (before, len(plane.all(ATTACHMENTS))) == ([], 1)
