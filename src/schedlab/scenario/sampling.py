"""The state of the cluster over time: looked at when something has changed, at most once per interval.

Amounts of nodes are kept as columns while pods come and go (scheduler.cache); a sample is a few operations on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.kernel.clock import SECOND_NS
from schedlab.scenario.fragmentation import Shapes
from schedlab.scenario.skew import SpreadCounts
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.object import WatchEvent
    from schedlab.api.views.core import Node, Pod
    from schedlab.cluster.cluster import Cluster
    from schedlab.scenario.fates import Fates
    from schedlab.scenario.plan import PricePlan
    from schedlab.scheduler.framework.node_table import NodeTable

ZONE: Final = "topology.kubernetes.io/zone"
_OVER: Final = frozenset(("Succeeded", "Failed"))
#: Rows of the table's amounts.
_CPU, _MEMORY, _EPHEMERAL = 0, 1, 2
_SETTLED: Final = 1000
_USAGES: Final = ("resourceusages.kwok.x-k8s.io", "clusterresourceusages.kwok.x-k8s.io")
_NANO: Final = 1e-9
Row = dict[str, float]


class Sampler:
    """Keeps what a sample needs, and the samples: `series`, and `pending`, a row per reason that pods waited for."""

    def __init__(self, cluster: Cluster, fates: Fates, every_ns: int, prices: Sequence[PricePlan]) -> None:
        self._cluster, self._fates, self._every_ns, self._prices = cluster, fates, every_ns, prices
        self._clock = cluster.clock
        self._start_ns = self._clock.now_ns()
        self._cache = SchedulerCache()
        self._spread = SpreadCounts()
        self._shapes = Shapes()
        self._timed = False
        self._per_node = _PerNode(-1)
        self.series: list[Row] = []
        self.pending: list[dict[str, Any]] = []
        #: Hears of every sample.
        self.listener: Callable[[Row], None] | None = None

    # --- Changes -----------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Look at the cluster when the interval ends, if it is not going to be done already."""
        if self._timed:
            return
        self._timed = True
        since_ns = self._clock.now_ns() - self._start_ns
        due_ns = self._start_ns + (since_ns // self._every_ns + 1) * self._every_ns
        self._clock.at(due_ns, self._due, _SETTLED)

    def _due(self) -> None:
        self._timed = False
        self.sample()

    def node_changed(self, event: WatchEvent) -> None:
        """Take a change of a node (client.informers.Handler)."""
        node: Node = event.object.view
        if event.type == "DELETED":
            self._cache.remove_node(node)
        elif event.previous is None or _matters(event.previous.view, node):
            self._cache.set_node(node)
        else:
            return
        self._changed()

    def pod_changed(self, event: WatchEvent) -> None:
        """Take a change of a pod (client.informers.Handler)."""
        self._changed()
        pod: Pod = event.object.view
        counted = self._cache.pod(pod.metadata.uid)
        counts = event.type != "DELETED" and bool(pod.spec.node_name) and pod.status.phase not in _OVER
        if event.type == "ADDED":
            self._shapes.count(PodInfo(pod, event.object))
            self._spread.learn(pod, self._cache.pods(), self._labels)
        if counts and counted is None:
            info = PodInfo(pod, event.object)
            self._cache.add_pod(info)
            self._spread.add(pod, self._labels(pod.spec.node_name), 1)
        elif counted is not None and not counts:
            self._cache.remove_pod(counted)
            self._spread.add(counted.pod, self._labels(counted.pod.spec.node_name), -1)
        elif counted is not None and counted.pod.metadata.generation != pod.metadata.generation:
            self._cache.update_pod(PodInfo(pod, event.object))

    def _labels(self, name: str) -> Mapping[str, str]:
        info = self._cache.node_info(name)
        return {} if info is None or info.node is None else info.node.metadata.labels

    # --- Samples -----------------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Look at the cluster now."""
        fates = self._fates
        fates.settled()
        self._cache.refresh()
        table = self._cache.table
        time_s = (self._clock.now_ns() - self._start_ns) / SECOND_NS
        row: Row = {
            "time_s": time_s,
            "created": len(fates.all),
            "scheduled": fates.scheduled,
            "finished": fates.finished,
            "attempts": fates.attempts,
            "preemptions": fates.preemptions,
            "victims": fates.victims,
            "pending": len(fates.waiting),
            "running": fates.running,
        }
        row |= self._of_nodes(table)
        row["spread_skew"] = self._spread.skew(self._per_node.domains(table))
        if self.series and self.series[-1]["time_s"] == time_s:
            self.series.pop()
            self.pending = [one for one in self.pending if one["time_s"] != time_s]
        # Sums of floats differ in their last digits from one processor to another.
        self.series.append({name: round(value, 9) for name, value in row.items()})
        self.pending += (
            {"time_s": time_s, "reason": reason, "pods": count} for reason, count in fates.reasons.items() if count > 0
        )
        if self.listener is not None:
            self.listener(self.series[-1])

    def _of_nodes(self, table: NodeTable) -> Row:
        if self._per_node.version != table.nodes_version:
            self._per_node = _PerNode.of(table, self._prices)
        used = table.pod_count > 0
        row: Row = {
            "nodes": len(table),
            "nodes_used": int(np.count_nonzero(used)),
            "nodes_needed": _needed(table),
            "cost_per_hour": self._per_node.cost_per_hour,
        }
        for place, name in enumerate(table.resource_names):
            whole, asked = table.allocatable[place], table.requested[place]
            total = int(whole.sum())
            if not total or (place == _EPHEMERAL and not asked.any()):
                continue
            has = whole > 0
            share = asked[has] / whole[has]
            row[f"requested.{name}"] = int(asked.sum()) / total
            row[f"imbalance_nodes.{name}"] = float(share.std())
            row[f"imbalance_zones.{name}"] = _zone_gap(whole, asked, self._per_node.zones)
        row |= _stranded(table)
        fragmentation = self._shapes.fragmentation(table)
        if fragmentation is not None:
            row["fragmentation_gpu"] = fragmentation
        if any(self._cluster.store.count(resource) for resource in _USAGES):
            row |= self._used(table)
        return row

    def _used(self, table: NodeTable) -> Row:
        cpu_nano = memory = 0
        for node in self._cluster.metrics.nodes():
            cpu_nano += node.usage.cpu_nano
            memory += node.usage.memory_bytes
        whole = table.allocatable
        cores, size = int(whole[_CPU].sum()) / 1000, int(whole[_MEMORY].sum())
        return {"used.cpu": cpu_nano * _NANO / cores, "used.memory": memory / size} if cores and size else {}


def _matters(before: Node, after: Node) -> bool:
    """Whether a node has changed in what is measured here; its heartbeats and conditions are not."""
    return (
        before.metadata.labels != after.metadata.labels
        or before.spec != after.spec
        or before.status.allocatable != after.status.allocatable
    )


class _PerNode:
    """What follows from the nodes alone; made anew when they change. zones: int32[N], -1 for a node without one."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.zones: NDArray[np.int32] = np.zeros(0, np.int32)
        self.cost_per_hour = 0.0
        self._domains: dict[str, dict[str, None]] = {}

    @classmethod
    def of(cls, table: NodeTable, prices: Sequence[PricePlan]) -> _PerNode:
        made = cls(table.nodes_version)
        made.zones = table.label(ZONE).ids.copy()
        for info in table.infos:
            labels = info.node.metadata.labels
            made.cost_per_hour += next((one.per_hour for one in prices if one.nodes.holds(info.name, labels)), 0.0)
        return made

    def domains(self, table: NodeTable) -> Callable[[str], Mapping[str, None]]:
        """Return what tells the values of a label that nodes have."""

        def of(key: str) -> Mapping[str, None]:
            found = self._domains.get(key)
            if found is None:
                column = table.label(key)
                values = column.values.values()
                found = {str(values[one]): None for one in np.unique(column.ids).tolist() if one >= 0}
                self._domains[key] = found
            return found

        return of


def _needed(table: NodeTable) -> int:
    """Return the fewest nodes that cover what is requested, in the resource that needs most."""
    most = 0
    for whole, asked in zip(table.allocatable, table.requested, strict=True):
        total = int(asked.sum())
        if total:
            largest = np.cumsum(np.sort(whole)[::-1])
            most = max(most, min(int(np.searchsorted(largest, total)) + 1, len(table)))
    return most


def _zone_gap(whole: NDArray[np.int64], asked: NDArray[np.int64], zones: NDArray[np.int32]) -> float:
    """Return how far the fullest zone is above the emptiest one."""
    inside = zones >= 0
    if not inside.any():
        return 0.0
    amounts = np.bincount(zones[inside], whole[inside].astype(np.float64))
    asked_of = np.bincount(zones[inside], asked[inside].astype(np.float64))
    share = asked_of[amounts > 0] / amounts[amounts > 0]
    return float(share.max() - share.min()) if len(share) else 0.0


def _stranded(table: NodeTable) -> Row:
    """Return how much of cpu and memory is free and cannot be used, because the other one of its node is fuller."""
    whole = table.allocatable[[_CPU, _MEMORY]].astype(np.float64)
    free = 1.0 - np.divide(table.requested[[_CPU, _MEMORY]], whole, out=np.ones_like(whole), where=whole > 0)
    free = np.clip(free, 0.0, 1.0)
    lost = (whole * (free - free.min(axis=0))).sum(axis=1)
    total = whole.sum(axis=1)
    names = table.resource_names
    return {f"stranded.{names[place]}": float(lost[place] / total[place]) for place in (_CPU, _MEMORY) if total[place]}
