"""A cluster small enough for a table of cases: nodes and pods as short literals, and what plugins see of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np

from schedlab.api.views.core import Namespace, Node, Pod, Service
from schedlab.api.views.meta import View
from schedlab.api.views.workloads import PodDisruptionBudget, ReplicaSet, ReplicationController, StatefulSet
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.framework.interface import CycleState, Handle
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo

VIEWS: Mapping[str, type[View]] = {
    "pods": Pod,
    "nodes": Node,
    "namespaces": Namespace,
    "services": Service,
    "replicationcontrollers": ReplicationController,
    "replicasets.apps": ReplicaSet,
    "statefulsets.apps": StatefulSet,
    "poddisruptionbudgets.policy": PodDisruptionBudget,
}


def make_node(name: str, labels: Mapping[str, str] | None = None, **fields: Any) -> Node:
    """A node with the host name label; more labels as given; `taints`, `unschedulable` and `allocatable` as fields."""
    allocatable = fields.pop("allocatable", {"cpu": "4", "memory": "8Gi", "pods": "110"})
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return msgspec.convert({"metadata": metadata, "spec": fields, "status": {"allocatable": allocatable}}, Node)


def make_pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    node: str = "",
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    requests: Mapping[str, str] | None = None,
    **spec: Any,
) -> PodInfo:
    """A pod with one container; further fields of the spec by their wire names."""
    container = {"name": "c", "resources": {"requests": dict(requests or {})}}
    raw = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}/{name}",
            "labels": dict(labels or {}),
            **(metadata or {}),
        },
        "spec": {"containers": [container], "nodeName": node, **spec},
        "status": dict(status or {}),
    }
    return PodInfo(msgspec.convert(raw, Pod))


class FakeLister:
    """The objects of one resource, in the order they were put in."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], Any] = {}

    def put(self, view: Any) -> None:
        self._views[view.metadata.namespace, view.metadata.name] = view

    def drop(self, name: str, namespace: str = "") -> None:
        del self._views[namespace, name]

    def get(self, name: str, namespace: str = "") -> Any | None:
        return self._views.get((namespace, name))

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        return [view for (own, _), view in self._views.items() if namespace in (None, own)]

    def stored(self, name: str, namespace: str = "") -> None:
        """Views only."""


class FakeListers:
    """One lister per resource."""

    def __init__(self) -> None:
        self._listers: dict[str, FakeLister] = {}

    def lister(self, resource: str) -> FakeLister:
        return self._listers.setdefault(resource, FakeLister())


class LittleCluster:
    """Nodes and pods in a scheduler cache, other objects in listers, and the handle of a scheduler around them."""

    def __init__(
        self, nodes: Iterable[Node] = (), pods: Iterable[PodInfo] = (), gates: Mapping[str, bool] | None = None
    ) -> None:
        self.cache = SchedulerCache()
        self.listers = FakeListers()
        self.features = FeatureGates.default().with_overrides(gates or {})
        self.clock = VirtualClock()
        self.random = SeededRandom(1)
        for node in nodes:
            self.cache.set_node(node)
        for pod in pods:
            self.place(pod)
        self.cache.refresh()

    @property
    def table(self) -> NodeTable:
        return self.cache.table

    @property
    def handle(self) -> Handle:
        """As much of a handle as plugins that only read need."""
        return cast("Handle", self)

    def place(self, pod: PodInfo) -> PodInfo:
        """Put a pod on the node it names."""
        self.cache.add_pod(pod)
        self.listers.lister("pods").put(pod.pod)
        return pod

    def put(self, resource: str, **raw: Any) -> None:
        """Make an object known to the listers."""
        self.listers.lister(resource).put(msgspec.convert(raw, VIEWS[resource]))

    def put_namespace(self, name: str, **labels: str) -> None:
        self.put("namespaces", metadata={"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}})

    def info(self, name: str) -> NodeInfo:
        info = self.cache.node_info(name)
        assert info is not None
        return info

    def rows(self, *names: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The rows of the nodes; of all when none is named."""
        return np.array([self.table.row_of[name] for name in names or self.table.names], np.int64)


def verdicts(plugin: Any, cluster: LittleCluster, pod: PodInfo, state: CycleState | None = None) -> dict[str, str]:
    """Filter all nodes in both forms, which must agree; return the message by node, "" for nodes that pass."""
    if state is None:
        state = CycleState()
        _, status = plugin.pre_filter(state, pod, cluster.table)
        assert status is None, status
    table = cluster.table
    at_once = plugin.filter_nodes(state, pod, table, slice(0, len(table)))
    result = {}
    for row, info in enumerate(table.infos):
        status = plugin.filter(state, pod, info)
        assert at_once.status(row) == status
        result[info.name] = "" if status is None else status.message
    return result


def raw_scores(plugin: Any, cluster: LittleCluster, pod: PodInfo, *names: str) -> dict[str, int] | None:
    """Score the nodes (all when none is named) in both forms, which must agree; None when scoring is skipped."""
    state, rows = CycleState(), cluster.rows(*names)
    if not _pre_score(plugin, state, cluster, pod, rows):
        return None
    at_once = plugin.score_nodes(state, pod, cluster.table, rows).tolist()
    one_by_one = [plugin.score(state, pod, cluster.table.infos[row])[0] for row in rows]
    assert at_once == one_by_one
    return dict(zip((cluster.table.names[row] for row in rows), at_once, strict=True))


def final_scores(plugin: Any, cluster: LittleCluster, pod: PodInfo, *names: str) -> dict[str, int] | None:
    """Score and normalise the nodes (all when none is named); None when scoring is skipped."""
    state, rows = CycleState(), cluster.rows(*names)
    if not _pre_score(plugin, state, cluster, pod, rows):
        return None
    scores = plugin.score_nodes(state, pod, cluster.table, rows)
    assert plugin.normalize_score(state, pod, rows, scores) is None
    return dict(zip((cluster.table.names[row] for row in rows), scores.tolist(), strict=True))


def _pre_score(plugin: Any, state: CycleState, cluster: LittleCluster, pod: PodInfo, rows: Any) -> bool:
    status = plugin.pre_score(state, pod, cluster.table, rows)
    assert status is None or status.code.text == "Skip"
    return status is None
