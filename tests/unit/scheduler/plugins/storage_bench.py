"""Runs one volume plugin on a small table, with claims, volumes and what belongs to them behind its listers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from schedlab.api.object import StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config.args import VolumeBindingArgs
from schedlab.scheduler.framework.interface import Handle, PluginEntry
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_table
from tests.unit.scheduler.fake_cluster import FakeListers
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

RESOURCES = {
    "Node": "nodes",
    "Pod": "pods",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses.storage.k8s.io",
    "CSINode": "csinodes.storage.k8s.io",
    "CSIDriver": "csidrivers.storage.k8s.io",
    "CSIStorageCapacity": "csistoragecapacities.storage.k8s.io",
    "VolumeAttachment": "volumeattachments.storage.k8s.io",
}
BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}

Raw = dict[str, Any]


def _object(kind: str, name: str, namespace: str = "", **fields: Any) -> Raw:
    metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {**metadata, **fields.pop("metadata", {})},
        **{key: value for key, value in fields.items() if value is not None},
    }


def claim(name: str, storage_class: str | None = "wait", *, volume: str = "", size: str = "1Gi", **more: Any) -> Raw:
    """A claim; with a volume it is fully bound to it."""
    metadata = {"annotations": BIND_COMPLETED if volume else {}, **more.pop("metadata", {})}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        **({"storageClassName": storage_class} if storage_class is not None else {}),
        **({"volumeName": volume} if volume else {}),
        **more.pop("spec", {}),
    }
    status = {"phase": "Bound" if volume else "Pending", **more.pop("status", {})}
    return _object(
        "PersistentVolumeClaim", name, more.pop("namespace", "default"), metadata=metadata, spec=spec, status=status
    )


def volume(name: str, storage_class: str = "wait", *, size: str = "1Gi", on: Any = None, **more: Any) -> Raw:
    """A volume that is free; `on` is a node selector term or several."""
    terms = [on] if isinstance(on, dict) else on
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms is not None else {}),
        **more.pop("spec", {}),
    }
    status = {"phase": "Available", **more.pop("status", {})}
    return _object("PersistentVolume", name, metadata=more.pop("metadata", {}), spec=spec, status=status)


def storage_class(name: str = "wait", mode: str | None = "WaitForFirstConsumer", **fields: Any) -> Raw:
    """A storage class of the driver `csi.example.com`."""
    return _object("StorageClass", name, **{"provisioner": "csi.example.com", "volumeBindingMode": mode, **fields})


def csi_node(name: str, *migrated: str, **limits: int | None) -> Raw:
    """A CSINode; limits by driver with `_` for `.`, None for a driver that has none."""
    drivers = [
        {
            "name": driver.replace("_", "."),
            "nodeID": name,
            **({} if count is None else {"allocatable": {"count": count}}),
        }
        for driver, count in limits.items()
    ]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)}
    return _object("CSINode", name, metadata={"annotations": annotations}, spec={"drivers": drivers})


def csi_driver(name: str = "csi.example.com", **spec: Any) -> Raw:
    return _object("CSIDriver", name, spec=spec)


def csi_capacity(name: str, topology: Mapping[str, str] | None, class_name: str = "wait", **fields: str) -> Raw:
    selector = None if topology is None else {"matchLabels": dict(topology)}
    return _object(
        "CSIStorageCapacity", name, "kube-system", nodeTopology=selector, storageClassName=class_name, **fields
    )


def attachment(name: str, node: str, volume_name: str, attacher: str = "csi.example.com") -> Raw:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume_name}}
    return _object("VolumeAttachment", name, spec=spec)


def view(raw: Raw | None) -> Any:
    """The typed view of an object; None of none."""
    return None if raw is None else StoredObject.encode(RESOURCES[raw["kind"]], raw, 1).view


class _StorageHandle:
    """What volume plugins use of a scheduler."""

    def __init__(self, table: NodeTable, listers: FakeListers, gates: Mapping[str, bool]) -> None:
        self.table = table
        self.listers = listers
        self.features = FeatureGates.default().with_overrides(gates)
        self.clock = VirtualClock()
        self.random = SeededRandom(1)


class StorageBench(PluginBench):
    """A plugin, the table it looks at, and objects behind the listers."""

    def __init__(
        self,
        entry: PluginEntry,
        *objects: NodeBuilder | Raw,
        pods: tuple[PodBuilder, ...] = (),
        args: Any = None,
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        nodes = [each for each in objects if isinstance(each, NodeBuilder)]
        self.table = make_table(*nodes, pods=pods)
        self.listers = FakeListers()
        self.revision = 0
        for node in nodes:
            self.put({"apiVersion": "v1", "kind": "Node", **node.dict()})
        self.put(*(each for each in objects if isinstance(each, dict)))
        self.handle = _StorageHandle(self.table, self.listers, gates or {})
        args = VolumeBindingArgs(bind_timeout_seconds=600) if args is None else args
        self.plugin = entry.factory(args, cast("Handle", self.handle))

    def put(self, *objects: Raw) -> None:
        """Create or replace objects."""
        for raw in objects:
            self.revision += 1
            stored = StoredObject.encode(RESOURCES[raw["kind"]], raw, self.revision)
            self.listers.lister(stored.resource).objects[stored.namespace, stored.name] = stored

    def drop(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object."""
        del self.listers.lister(RESOURCES[kind]).objects[namespace, name]

    def stored(self, kind: str, name: str, namespace: str = "") -> StoredObject:
        found = self.listers.lister(RESOURCES[kind]).stored(name, namespace)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def refused(self, pod: PodBuilder) -> str:
        """Return what pre_filter says, "" for nothing, with "!" when it cannot be resolved by preemption."""
        _, status = self.pre_filter(pod)
        if status is None:
            return ""
        return f"{status.message or status.code.text}{'!' if status.code == 3 else ''}"
