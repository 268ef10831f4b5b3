"""Claims and volumes find each other; what is missing is made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
CLASSES = "storageclasses.storage.k8s.io"
CAPACITIES = "csistoragecapacities.storage.k8s.io"
NAMES = ("persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller")
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane(*NAMES, "persistentvolume-protection-controller", "simulated-provisioner")


def make_claim(plane: ControlPlane, name: str = "c", size: str = "1Gi", **spec: Any) -> None:
    """Store a claim."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    plane.create(CLAIMS, {"metadata": {"name": name}, "spec": wanted})


def make_volume(plane: ControlPlane, name: str, size: str = "1Gi", **spec: Any) -> None:
    """Store a volume."""
    wanted = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/x"}, **spec}
    plane.create(VOLUMES, {"metadata": {"name": name}, "spec": wanted})


def make_class(plane: ControlPlane, name: str = "s", *, waits: bool = False, **fields: Any) -> None:
    """Store a storage class."""
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    plane.create(CLASSES, {"metadata": {"name": name}, "provisioner": "p", "volumeBindingMode": mode, **fields})


def choose(plane: ControlPlane, node: str, name: str = "c") -> None:
    """Choose a node for a claim, as the scheduler does."""
    plane.patch(CLAIMS, name, {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}})


def phases(plane: ControlPlane, resource: str) -> dict[str, str]:
    """Return the phase of each object."""
    return {each["metadata"]["name"]: each["status"]["phase"] for each in plane.all(resource)}


def reasons(plane: ControlPlane) -> list[str]:
    """Return the reasons of all events so far."""
    return [reason for reason, _, _ in plane.messages()]


# --- Binding ----------------------------------------------------------------------------------------------------------


def test_the_smallest_volume_that_fits_is_taken(plane: ControlPlane) -> None:
    """Both say so, and the claim has what the volume holds."""
    for name, size in (("small", "500Mi"), ("large", "9Gi"), ("right", "2Gi")):
        make_volume(plane, name, size)
    make_claim(plane)
    plane.settle()
    claim = plane.get(CLAIMS, "c")

    assert phases(plane, VOLUMES) == {"small": "Available", "large": "Available", "right": "Bound"}
    assert claim["spec"]["volumeName"] == "right"
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert plane.get(VOLUMES, "right")["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]


def test_a_claim_without_a_volume_waits_for_one(plane: ControlPlane) -> None:
    """It is bound when one comes."""
    make_claim(plane)
    plane.settle()

    assert phases(plane, CLAIMS) == {"c": "Pending"}
    assert reasons(plane) == ["FailedBinding"]
    make_volume(plane, "v")
    plane.settle()

    assert phases(plane, CLAIMS) == {"c": "Bound"}


def test_a_claim_may_name_its_volume(plane: ControlPlane) -> None:
    """One that does not fit is refused; one that another claim has, too."""
    make_volume(plane, "small", "1Mi")
    make_volume(plane, "v")
    for name, volume in (("a", "v"), ("b", "v"), ("c", "small")):
        make_claim(plane, name, volumeName=volume)
        plane.settle()

    assert phases(plane, CLAIMS) == {"a": "Bound", "b": "Pending", "c": "Pending"}
    assert plane.messages() == [
        ("FailedBinding", "b", 'volume "v" already bound to a different claim.'),
        ("VolumeMismatch", "c", 'Cannot bind to requested volume "small": requested PV is too small'),
    ]


def test_a_volume_may_name_its_claim(plane: ControlPlane) -> None:
    """It is nobody else's."""
    make_volume(plane, "v", claimRef={"name": "mine", "namespace": "default"})
    make_claim(plane, "other")
    make_claim(plane, "mine")
    plane.settle()

    assert phases(plane, CLAIMS) == {"mine": "Bound", "other": "Pending"}
    assert plane.get(CLAIMS, "mine")["spec"]["volumeName"] == "v"


def test_what_becomes_of_volumes_without_their_claim(plane: ControlPlane) -> None:
    """A retained one is released, and bound to no other."""
    make_volume(plane, "v", persistentVolumeReclaimPolicy="Retain")
    make_claim(plane)
    plane.settle()
    plane.delete(CLAIMS, "c")
    plane.settle()
    make_claim(plane)
    plane.settle()

    assert phases(plane, VOLUMES) == {"v": "Released"}
    assert phases(plane, CLAIMS) == {"c": "Pending"}


def test_claims_that_lose_their_volume(plane: ControlPlane) -> None:
    """Are lost for good."""
    make_volume(plane, "v")
    make_claim(plane)
    plane.settle()
    plane.delete(VOLUMES, "v")
    plane.patch(VOLUMES, "v", {"metadata": {"finalizers": None}})
    plane.settle()

    assert phases(plane, CLAIMS) == {"c": "Lost"}
    assert "ClaimLost" in reasons(plane)


# --- Making volumes ---------------------------------------------------------------------------------------------------


def test_a_class_makes_volumes_at_once(plane: ControlPlane) -> None:
    """And deletes them with their claim."""
    make_class(plane)
    make_claim(plane, storageClassName="s")
    plane.settle()
    claim = plane.get(CLAIMS, "c")
    name = f"pvc-{claim['metadata']['uid']}"

    assert claim["status"]["phase"] == "Bound"
    assert phases(plane, VOLUMES) == {name: "Bound"}
    assert plane.get(VOLUMES, name)["spec"]["csi"] == {"driver": "p", "volumeHandle": name}
    assert reasons(plane) == ["ExternalProvisioning", "ProvisioningSucceeded"]
    plane.delete(CLAIMS, "c")
    plane.settle()

    assert phases(plane, VOLUMES) == {}


def test_a_class_that_waits(plane: ControlPlane) -> None:
    """The volume is made when the scheduler has chosen a node, and reaches only where the driver says."""
    plane.create("nodes", {"metadata": {"name": "n", "labels": {ZONE: "a"}}})
    drivers = [{"name": "p", "nodeID": "n", "topologyKeys": [ZONE]}]
    plane.create("csinodes.storage.k8s.io", {"metadata": {"name": "n"}, "spec": {"drivers": drivers}})
    make_class(plane, waits=True)
    make_claim(plane, storageClassName="s")
    plane.settle()

    assert phases(plane, CLAIMS) == {"c": "Pending"}
    assert reasons(plane) == ["WaitForFirstConsumer"]
    choose(plane, "n")
    plane.settle()
    (volume,) = plane.all(VOLUMES)

    assert phases(plane, CLAIMS) == {"c": "Bound"}
    assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    ]


def test_nodes_outside_of_the_allowed_topologies(plane: ControlPlane) -> None:
    """The choice is taken back, so that the scheduler chooses anew."""
    plane.create("nodes", {"metadata": {"name": "n", "labels": {ZONE: "b"}}})
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    make_class(plane, waits=True, allowedTopologies=allowed)
    make_claim(plane, storageClassName="s")
    plane.settle()
    choose(plane, "n")
    plane.settle()

    assert "volume.kubernetes.io/selected-node" not in plane.get(CLAIMS, "c")["metadata"]["annotations"]
    assert "ProvisioningFailed" in reasons(plane)
    assert phases(plane, VOLUMES) == {}


def test_storage_runs_out(plane: ControlPlane) -> None:
    """What is left counts down with each volume, and up again when it goes."""
    plane.create("csidrivers.storage.k8s.io", {"metadata": {"name": "p"}, "spec": {"storageCapacity": True}})
    plane.create(
        CAPACITIES, {"metadata": {"name": "k"}, "storageClassName": "s", "capacity": "3Gi", "nodeTopology": {}}
    )
    make_class(plane)
    make_claim(plane, "a", "2Gi", storageClassName="s")
    plane.settle()
    make_claim(plane, "b", "2Gi", storageClassName="s")
    plane.settle()

    assert phases(plane, CLAIMS) == {"a": "Bound", "b": "Pending"}
    assert plane.get(CAPACITIES, "k")["capacity"] == "1Gi"
    plane.delete(CLAIMS, "a")
    plane.settle()

    assert phases(plane, CLAIMS) == {"b": "Bound"}
    assert plane.get(CAPACITIES, "k")["capacity"] == "1Gi"
    plane.delete(CLAIMS, "b")
    plane.settle()

    assert plane.get(CAPACITIES, "k")["capacity"] == "3Gi"


def test_provisioners_with_a_slash_in_their_names_are_no_csi_drivers(plane: ControlPlane) -> None:
    """Their volumes are folders of the node, since no CSI driver may be called so."""
    make_class(plane, provisioner="rancher.io/local-path")
    make_claim(plane, storageClassName="s")
    plane.settle()

    [volume] = plane.all(VOLUMES)
    assert volume["spec"]["hostPath"]["path"] == f"/var/lib/volumes/{volume['metadata']['name']}"
    assert phases(plane, CLAIMS) == {"c": "Bound"}
