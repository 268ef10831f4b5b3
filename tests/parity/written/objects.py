"""Objects of written cases, as a user would write them; pods and nodes come from `schedlab.testing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]

DRIVER: Final = "csi.example.com"
_BIND_COMPLETED: Final = {"pv.kubernetes.io/bind-completed": "yes"}


def _object(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def service(name: str, selector: Mapping[str, str]) -> Json:
    return _object("v1", "Service", name, "default", spec={"selector": dict(selector)})


def priority_class(name: str, value: int) -> Json:
    return _object("scheduling.k8s.io/v1", "PriorityClass", name, value=value)


def pod_group(name: str, *, least: int | None = None, namespace: str = "default") -> Json:
    """A group of pods; a gang if there is a least number."""
    policy = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    return _object("scheduling.k8s.io/v1alpha2", "PodGroup", name, namespace, spec={"schedulingPolicy": policy})


# --- Storage ---


def claim(
    name: str,
    storage_class: str = "wait",
    *,
    volume: str = "",
    size: str = "1Gi",
    mode: str = "ReadWriteOnce",
    namespace: str = "default",
    **metadata: Any,
) -> Json:
    """A claim; with a volume it is fully bound to it."""
    if volume:
        metadata["annotations"] = _BIND_COMPLETED | metadata.get("annotations", {})
    spec = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
        **({"volumeName": volume} if volume else {}),
    }
    status = {"phase": "Bound" if volume else "Pending"}
    return _object("v1", "PersistentVolumeClaim", name, namespace, metadata=metadata, spec=spec, status=status)


def volume(name: str, *, source: Json | None = None, spec: Json | None = None, **metadata: Any) -> Json:
    """A volume of the driver `csi.example.com`, unless another source is given."""
    whole = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "wait",
        **(source or {"csi": {"driver": DRIVER, "volumeHandle": name}}),
        **(spec or {}),
    }
    return _object("v1", "PersistentVolume", name, metadata=metadata, spec=whole)


def storage_class(name: str = "wait", mode: str = "WaitForFirstConsumer", **fields: Any) -> Json:
    """A storage class of the driver `csi.example.com`, unless another is given."""
    both = {"provisioner": DRIVER, "volumeBindingMode": mode, **fields}
    return _object("storage.k8s.io/v1", "StorageClass", name, **both)


def csi_node(name: str, limits: Mapping[str, int | None], **metadata: Any) -> Json:
    """The drivers of a node, each with how many volumes it takes."""
    drivers = [
        {"name": driver, "nodeID": name, **({} if count is None else {"allocatable": {"count": count}})}
        for driver, count in limits.items()
    ]
    return _object("storage.k8s.io/v1", "CSINode", name, metadata=metadata, spec={"drivers": drivers})


def csi_driver(name: str = DRIVER, **spec: Any) -> Json:
    return _object("storage.k8s.io/v1", "CSIDriver", name, spec=spec)


def storage_capacity(name: str, capacity: str | None, storage_class: str = "wait", **fields: Any) -> Json:
    """Room for volumes of a class on every node."""
    known = {} if capacity is None else {"capacity": capacity}
    both = {"storageClassName": storage_class, "nodeTopology": {}, **known, **fields}
    return _object("storage.k8s.io/v1", "CSIStorageCapacity", name, "kube-system", **both)


def attachment(name: str, node: str, volume: str, driver: str = DRIVER) -> Json:
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return _object("storage.k8s.io/v1", "VolumeAttachment", name, spec=spec)


# --- Devices ---


def device_class(name: str, *, extended_resource: str | None = None, **metadata: Any) -> Json:
    spec = {} if extended_resource is None else {"extendedResourceName": extended_resource}
    return _object("resource.k8s.io/v1", "DeviceClass", name, metadata=metadata, spec=spec)


def slice_of(node: str, *devices: Json | str, driver: str = "gpu.example.com") -> Json:
    """The devices of a node."""
    spec = {
        "driver": driver,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": each} if isinstance(each, str) else each for each in devices],
    }
    return _object("resource.k8s.io/v1", "ResourceSlice", f"{node}-{driver}", spec=spec)


def device_claim(name: str, *requests: Json, status: Json | None = None, **metadata: Any) -> Json:
    """A resource claim; without requests it asks for one device of the class `gpu`."""
    wanted = list(requests) or [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    more = {} if status is None else {"status": status}
    spec = {"devices": {"requests": wanted}}
    return _object("resource.k8s.io/v1", "ResourceClaim", name, "default", metadata=metadata, spec=spec, **more)


def allocation(node: str, *devices: str, driver: str = "gpu.example.com") -> Json:
    """The status of a claim that has devices of a node."""
    results = [{"request": "r", "driver": driver, "pool": node, "device": device} for device in devices]
    return {"allocation": {"devices": {"results": results}}}


def refs(*names: str) -> Sequence[Json]:
    """spec.resourceClaims of a pod that names claims."""
    return [{"name": name, "resourceClaimName": name} for name in names]
