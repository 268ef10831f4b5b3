"""What keeps free capacity from being used: of each resource, how much is free, and on which nodes it is of no use.

What is free on a node is counted once, for the first of these that holds there:

    cordoned     the node takes no pods            not ready    it has a taint of a node that is not well
    tainted      it has a taint of its own         no pods      it has as many pods as it may
    stranded     another resource is used up: less of it is free than any pod asks for
    crumbs       less is free than any pod asks for
    usable       all else
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.rules.taints import DO_NOT_SCHEDULE, UNSCHEDULABLE_TAINT
from schedlab.scheduler.framework.amounts import CPU, MEMORY
from schedlab.whatif.search.requests import quantity
from schedlab.whatif.trial import Trial, pod_of, waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import PodInfo

CAUSES: Final = ("cordoned", "not ready", "tainted", "no pods", "stranded", "crumbs", "usable")
_CORDONED, _NOT_READY, _TAINTED, _NO_PODS, _STRANDED, _CRUMBS, _USABLE = range(len(CAUSES))
_CONDITION_PREFIX: Final = "node.kubernetes.io/"
#: For so many pods that wait it is looked what but resources keeps them away.
_PODS_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Free:
    """One resource over some nodes: amounts by cause, and on how many nodes each."""

    resource: str
    allocatable: int
    requested: int
    amounts: dict[str, int]
    nodes: dict[str, int]

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data, amounts as quantities."""
        free = sum(self.amounts.values())
        return {
            "resource": self.resource,
            "allocatable": quantity(self.resource, self.allocatable),
            "requested": quantity(self.resource, self.requested),
            "free": quantity(self.resource, free),
            "causes": [
                {
                    "cause": cause,
                    "amount": quantity(self.resource, amount),
                    "nodes": self.nodes[cause],
                    "share": round(amount / free, 4) if free else 0.0,
                }
                for cause, amount in self.amounts.items()
                if self.nodes[cause]
            ],
        }


@dataclass(frozen=True, slots=True)
class NotFull:
    """The whole answer. groups: the same by kind of node. kept_away: pods that wait though nodes have room for them."""

    nodes: int
    free: tuple[Free, ...]
    groups: tuple[tuple[str, int, tuple[Free, ...]], ...]
    taints: dict[str, int]
    largest: dict[str, Any] | None
    typical: dict[str, Any] | None
    kept_away: tuple[dict[str, Any], ...] = field(default=())

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return {
            "nodes": self.nodes,
            "resources": [free.data() for free in self.free],
            "groups": [
                {"group": name, "nodes": nodes, "resources": [free.data() for free in all_free]}
                for name, nodes, all_free in self.groups
            ],
            "taints": [{"taint": taint, "nodes": nodes} for taint, nodes in self.taints.items()],
            "largestPod": self.largest,
            "typicalPod": self.typical,
            "keptAway": list(self.kept_away),
        }


def why_not_full(cluster: Cluster, revision: int | None = None) -> NotFull:
    """Say what keeps free capacity of a cluster from being used, or kept it at a revision.

    Raises SchedlabError when the revision is not kept.
    """
    trial = Trial.of(cluster) if revision is None else Trial.at(cluster, revision)
    trial.scheduler.cache.refresh()
    table = trial.scheduler.cache.table
    waiting = waiting_pods(trial)
    pods = [*trial.scheduler.cache.pods(), *waiting]
    least = {name: _least(pods, name) for name in table.resource_names}
    causes = {name: _causes(table, name, least) for name in _counted(table)}
    everywhere = np.arange(len(table))
    groups = node_groups(table)
    return NotFull(
        len(table),
        tuple(_free(table, name, causes[name], everywhere) for name in causes),
        tuple(
            (
                label,
                len(rows),
                tuple(_free(table, name, causes[name], rows) for name in causes if _has(table, name, rows)),
            )
            for label, rows in groups
        )
        if len(groups) > 1
        else (),
        _taints(table),
        _largest(table, causes),
        _typical(table, causes, pods),
        _kept_away(trial, waiting),
    )


def waiting_pods(trial: Trial) -> list[PodInfo]:
    """Return the pods that the profiles of a trial are to place."""
    pods = trial.listers.lister("pods").all_stored()
    profiles = trial.scheduler.profiles
    return [pod_of(stored) for stored in pods if waits(stored) and stored.view.spec.scheduler_name in profiles]


def _counted(table: NodeTable) -> list[str]:
    return [name for place, name in enumerate(table.resource_names) if table.allocatable[place].any()]


def _has(table: NodeTable, name: str, rows: NDArray[np.int64]) -> bool:
    return bool(table.allocatable[table.resource_index(name), rows].any())


def _least(pods: Sequence[PodInfo], name: str) -> int:
    """Return the least that any pod asks for of a resource, if any does."""
    return min((amount for pod in pods if (amount := pod.requests.get(name, 0))), default=1)


# --- Causes ----------------------------------------------------------------------------------------------------------


def _left(table: NodeTable, name: str) -> NDArray[np.int64]:
    place = table.resource_index(name)
    left: NDArray[np.int64] = np.maximum(table.allocatable[place] - table.requested[place], 0)
    return left


def _causes(table: NodeTable, name: str, least: dict[str, int]) -> NDArray[np.int8]:
    """Return int8[N]: why what is free of a resource on each node is of no use, as a place in CAUSES."""
    causes = np.full(len(table), _USABLE, np.int8)
    # From the weakest to the strongest, so that the strongest stays.
    causes[_left(table, name) < least[name]] = _CRUMBS
    for other in (CPU, MEMORY):
        if other != name:
            causes[_left(table, other) < least[other]] = _STRANDED
    causes[table.pod_count >= table.allowed_pods] = _NO_PODS
    tainted, unwell = _tainted(table)
    causes[tainted], causes[unwell], causes[table.unschedulable] = _TAINTED, _NOT_READY, _CORDONED
    return causes


def _tainted(table: NodeTable) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    own, unwell = [], []
    for taints in table.taint_sets.values():
        assert isinstance(taints, tuple)
        hard = [taint for taint in taints if taint.effect in DO_NOT_SCHEDULE and taint.key != UNSCHEDULABLE_TAINT.key]
        unwell.append(any(taint.key.startswith(_CONDITION_PREFIX) for taint in hard))
        own.append(bool(hard))
    return np.array(own, np.bool_)[table.taint_set], np.array(unwell, np.bool_)[table.taint_set]


def _free(table: NodeTable, name: str, causes: NDArray[np.int8], rows: NDArray[np.int64]) -> Free:
    place = table.resource_index(name)
    left = _left(table, name)[rows]
    amounts, nodes = {}, {}
    for number, cause in enumerate(CAUSES):
        mine = (causes[rows] == number) & (left > 0)
        amounts[cause], nodes[cause] = int(left[mine].sum()), int(mine.sum())
    allocatable, requested = table.allocatable[place, rows], table.requested[place, rows]
    return Free(name, int(allocatable.sum()), int(requested.sum()), amounts, nodes)


def _taints(table: NodeTable) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for info in table.infos:
        for taint in info.node.spec.taints:
            if taint.effect in DO_NOT_SCHEDULE and taint.key != UNSCHEDULABLE_TAINT.key:
                counts[f"{taint.key}={taint.value}:{taint.effect}".replace("=:", ":")] += 1
    return dict(counts.most_common())


def node_groups(table: NodeTable) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the nodes by how large they are and what taints of their own they have, the most first."""
    found: dict[str, list[int]] = {}
    for row, info in enumerate(table.infos):
        allocatable = info.node.status.allocatable
        size = " ".join(f"{name} {text}" for name, text in allocatable.items() if name in (CPU, MEMORY) or "/" in name)
        taints = [
            f"{taint.key}={taint.value}".rstrip("=")
            for taint in info.node.spec.taints
            if not taint.key.startswith(_CONDITION_PREFIX)
        ]
        found.setdefault(", ".join([size, *(f"taint {taint}" for taint in taints)]), []).append(row)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(label, np.array(rows, np.int64)) for label, rows in ranked]


# --- Pods that would fit ---------------------------------------------------------------------------------------------


def _usable(causes: dict[str, NDArray[np.int8]]) -> NDArray[np.bool_]:
    usable: NDArray[np.bool_] = causes[CPU] == _USABLE
    return usable & (causes[MEMORY] == _USABLE) if MEMORY in causes else usable


def _largest(table: NodeTable, causes: dict[str, NDArray[np.int8]]) -> dict[str, Any] | None:
    """Return the node with the most cpu of those that take any pod, and what a pod may ask for there."""
    if CPU not in causes or not _usable(causes).any():
        return None
    rows = np.flatnonzero(_usable(causes))
    cpu, memory = _left(table, CPU)[rows], _left(table, MEMORY)[rows]
    best = int(np.lexsort((memory, cpu))[-1])
    return {
        "node": table.names[int(rows[best])],
        CPU: quantity(CPU, int(cpu[best])),
        MEMORY: quantity(MEMORY, int(memory[best])),
    }


def _typical(table: NodeTable, causes: dict[str, NDArray[np.int8]], pods: Sequence[PodInfo]) -> dict[str, Any] | None:
    """Return how many pods still fit that ask for what half of the pods ask for at most."""
    if not pods or CPU not in causes:
        return None
    cpu = int(np.median([pod.requests.get(CPU, 0) for pod in pods]))
    memory = int(np.median([pod.requests.get(MEMORY, 0) for pod in pods]))
    room = np.maximum(table.allowed_pods - table.pod_count, 0)
    for name, amount in ((CPU, cpu), (MEMORY, memory)):
        if amount:
            room = np.minimum(room, _left(table, name) // amount)
    fitting = int(room[_usable(causes)].sum())
    return {CPU: quantity(CPU, cpu), MEMORY: quantity(MEMORY, memory), "fit": fitting}


def _kept_away(trial: Trial, waiting: Sequence[PodInfo]) -> tuple[dict[str, Any], ...]:
    """Return, by plugin, pods that wait and nodes that have room for them and are refused by that plugin alone."""
    found: dict[str, tuple[list[str], dict[int, None]]] = {}
    for pod in waiting[:_PODS_MAX]:
        record = trial.attempt(pod)
        every = None if record.filter is None else record.filter.every_verdict()
        if record.filter is None or every is None:
            continue
        blocked = every[0] != 0
        for place, plugin in enumerate(record.filter.plugins):
            alone = blocked[place] & (blocked.sum(axis=0) == 1)
            if plugin == "NodeResourcesFit" or not alone.any():
                continue
            pods, rows = found.setdefault(plugin, ([], {}))
            pods.append(pod.key)
            rows |= dict.fromkeys(np.flatnonzero(alone).tolist())
    table = trial.scheduler.cache.table
    return tuple(
        {
            "plugin": plugin,
            "pods": pods,
            "nodes": len(rows),
            CPU: quantity(CPU, int(_left(table, CPU)[list(rows)].sum())),
            MEMORY: quantity(MEMORY, int(_left(table, MEMORY)[list(rows)].sum())),
        }
        for plugin, (pods, rows) in sorted(found.items(), key=lambda item: -len(item[1][0]))
    )
