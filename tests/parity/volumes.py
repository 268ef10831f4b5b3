"""What becomes of volumes when the scheduler has written them: bound at once, or provisioned and bound at once.

claimRef of a volume is set           -> volume and claim are Bound
a claim has the selected-node         -> a volume `pvc-<uid of the claim>` is made for it, both are Bound
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.api.object import Object

if TYPE_CHECKING:
    from tests.parity.world import World

_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_CLASSES: Final = "storageclasses.storage.k8s.io"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def react(world: World, resource: str, key: str) -> None:
    """Do what follows from a write of a volume or a claim by the scheduler."""
    stored = world.store.get(resource, key)
    if stored is None:
        return
    obj = stored.thaw()
    if resource == _VOLUMES:
        claim = obj["spec"].get("claimRef")
        if claim and obj["status"].get("phase") != "Bound":
            obj["status"]["phase"] = "Bound"
            world.replace(_VOLUMES, obj)
            _bind_claim(world, f"{claim['namespace']}/{claim['name']}", obj)
    elif resource == _CLAIMS and not obj["spec"].get("volumeName") and _wants_volume(obj):
        volume = _provision(world, obj)
        world.make(volume)
        _bind_claim(world, key, volume)


def _wants_volume(claim: Object) -> bool:
    return _SELECTED_NODE in claim["metadata"].get("annotations", {})


def _bind_claim(world: World, key: str, volume: Object) -> None:
    stored = world.store.get(_CLAIMS, key)
    assert stored is not None, f"a volume is bound to claim {key}, which is gone"
    claim = stored.thaw()
    annotations = claim["metadata"].setdefault("annotations", {})
    annotations |= {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    spec = volume["spec"]
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["status"] |= {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
    world.replace(_CLAIMS, claim)


def _provision(world: World, claim: Object) -> dict[str, Any]:
    metadata, spec = claim["metadata"], claim["spec"]
    found = world.store.get(_CLASSES, spec["storageClassName"])
    assert found is not None, f"claim {metadata['name']} names no storage class"
    storage_class = found.raw
    name = f"pvc-{metadata['uid']}"
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    reference |= {key: metadata[key] for key in ("namespace", "name", "uid")}
    driver = storage_class["provisioner"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": driver}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": reference,
            "csi": {"driver": driver, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": spec["storageClassName"],
        },
        "status": {"phase": "Bound"},
    }
