"""The seven kinds that kube-scheduler-simulator moves between clusters, in the order in which they depend on each other.

Mirrors: resourceapplier.DefaultGVRs, snapshot.ResourcesForSnap and resourcewatcher of kube-scheduler-simulator
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class MirroredKind:
    """One kind: its resource here, and what upstream's files and streams call it.

    snapshot: its key in a snapshot. stream: its Kind in a watch stream. version_key: the query key that says where the
    stream goes on.
    """

    resource: str
    snapshot: str
    stream: str
    version_key: str


NAMESPACES: Final = MirroredKind("namespaces", "namespaces", "namespaces", "namespaceLastResourceVersion")
PRIORITY_CLASSES: Final = MirroredKind(
    "priorityclasses.scheduling.k8s.io", "priorityClasses", "priorityclasses", "pcsLastResourceVersion"
)
STORAGE_CLASSES: Final = MirroredKind(
    "storageclasses.storage.k8s.io", "storageClasses", "storageclasses", "scsLastResourceVersion"
)
CLAIMS: Final = MirroredKind("persistentvolumeclaims", "pvcs", "persistentvolumeclaims", "pvcsLastResourceVersion")
NODES: Final = MirroredKind("nodes", "nodes", "nodes", "nodesLastResourceVersion")
VOLUMES: Final = MirroredKind("persistentvolumes", "pvs", "persistentvolumes", "pvsLastResourceVersion")
PODS: Final = MirroredKind("pods", "pods", "pods", "podsLastResourceVersion")

#: In the order in which they are made.
KINDS: Final = (NAMESPACES, PRIORITY_CLASSES, STORAGE_CLASSES, CLAIMS, NODES, VOLUMES, PODS)
#: In the order in which a snapshot and a stream have them.
SNAPSHOT_ORDER: Final = (PODS, NODES, VOLUMES, CLAIMS, STORAGE_CLASSES, PRIORITY_CLASSES, NAMESPACES)


def is_systems(kind: MirroredKind, name: str) -> bool:
    """Whether every cluster has an object of that name by itself, so that none is carried over."""
    if kind is NAMESPACES:
        return name == "default" or name.startswith("kube-")
    return kind is PRIORITY_CLASSES and name.startswith("system-")
