"""How much of each scored resource a pod asks for and a node has: what all resource scores start from.

Mirrors: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go (v1.36).
Differs: extended resources that only a DeviceClass offers have no amounts here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from schedlab.api.rules.requests import CPU, MEMORY, NON_ZERO_DEFAULTS, RequestRules, pod_requests
from schedlab.api.rules.resource_names import is_scalar_resource
from schedlab.scheduler.framework.node_table import CPU_INDEX, MEMORY_INDEX
from schedlab.scheduler.framework.types import EPHEMERAL_STORAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Pod
    from schedlab.scheduler.config.args import ResourceSpec
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo, Resource


def is_plain(pod: Pod) -> bool:
    """Whether containers' specs alone say what the pod asks for: no resources of the pod itself, nothing applied."""
    status = pod.status
    return pod.spec.resources is None and not status.container_statuses and not status.init_container_statuses


class Amounts(NamedTuple):
    """Of K resources on one node: what is taken without and with the pod, and what there is; 0 leaves one out."""

    allocated: list[int]
    requested: list[int]
    allocatable: list[int]


@dataclass(frozen=True, slots=True)
class NodeAmounts:
    """The same on F nodes: int64[K, F]."""

    allocated: NDArray[np.int64]
    requested: NDArray[np.int64]
    allocatable: NDArray[np.int64]


class ScoredResources:
    """The K resources a score looks at.

    `real` ones are what pods really ask for; else pods that ask for no cpu or memory count with defaults, and what the
    pod itself or its status says does not count at all, as upstream has it.
    """

    def __init__(self, resources: Sequence[ResourceSpec], *, real: RequestRules | None) -> None:
        self.names = tuple(resource.name for resource in resources)
        self.weights = tuple(resource.weight for resource in resources)
        self._scalar = tuple(map(is_scalar_resource, self.names))
        self._real = real

    def requests_of(self, pod: PodInfo) -> tuple[int, ...]:
        """Return what the pod asks for, of each of the K resources."""
        if is_plain(pod.pod):
            amounts = pod.requests
            if self._real is None:
                cpu, memory = pod.non_zero_request
                amounts = {**amounts, CPU: cpu, MEMORY: memory}
        elif self._real is None:
            rules = RequestRules(status=False, pod_level=False, pod_level_status=False)
            amounts = pod_requests(pod.pod, rules, NON_ZERO_DEFAULTS)
        else:
            amounts = pod_requests(pod.pod, self._real)
        return tuple(amounts.get(name, 0) for name in self.names)

    def on_node(self, node: NodeInfo, requests: Sequence[int]) -> Amounts:
        """Return the amounts on one node; extended resources the pod does not ask for are left out."""
        taken: list[int] = []
        requested: list[int] = []
        allocatable: list[int] = []
        for name, is_scalar, wanted in zip(self.names, self._scalar, requests, strict=True):
            there = 0 if is_scalar and not wanted else amount_of(node.allocatable, name)
            allocated = self._allocated(node, name) if there else 0
            allocatable.append(there)
            taken.append(allocated)
            requested.append(allocated + wanted if there else 0)
        return Amounts(taken, requested, allocatable)

    def on_nodes(self, table: NodeTable, rows: NDArray[np.int64], requests: Sequence[int]) -> NodeAmounts:
        """Return the amounts on rows: int64[F]; where nothing is allocatable the other amounts mean nothing."""
        shape = (len(self.names), len(rows))
        allocatable, allocated = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for k, (name, is_scalar, wanted) in enumerate(zip(self.names, self._scalar, requests, strict=True)):
            index = table.resource_index(name)
            if index < 0 or (is_scalar and not wanted):
                continue
            taken = table.requested[index]
            if self._real is None and index in (CPU_INDEX, MEMORY_INDEX):
                taken = table.non_zero_requested[index]
            np.take(table.allocatable[index], rows, out=allocatable[k])
            np.take(taken, rows, out=allocated[k])
        return NodeAmounts(allocated, allocated + np.array(requests, np.int64)[:, None], allocatable)

    def on_each(self, table: NodeTable, rows: NDArray[np.int64], requests: Sequence[int]) -> list[Amounts]:
        """Return `on_node` of each of the rows."""
        amounts = self.on_nodes(table, rows, requests)
        columns = (amounts.allocated, amounts.requested, amounts.allocatable)
        return list(map(Amounts, *(column.T.tolist() for column in columns)))

    def _allocated(self, node: NodeInfo, name: str) -> int:
        if self._real is None and name == CPU:
            return node.non_zero_cpu
        if self._real is None and name == MEMORY:
            return node.non_zero_memory
        return amount_of(node.requested, name)


def amount_of(resource: Resource, name: str) -> int:
    """Return the amount of a resource, 0 when there is none."""
    if name == CPU:
        return resource.milli_cpu
    if name == MEMORY:
        return resource.memory
    if name == EPHEMERAL_STORAGE:
        return resource.ephemeral_storage
    return resource.scalar.get(name, 0)


def weighted_sum(parts: Iterable[tuple[str, int]]) -> str:
    """Return the sum of expressions times weights, as arithmetic."""
    return " + ".join([f"({expression}) * {weight}" for expression, weight in parts])


def weighted_mean(parts: Sequence[tuple[str, int]]) -> str:
    """Return the mean of expressions by weight, rounded down, as arithmetic; 0 of none."""
    total = sum([weight for _, weight in parts])
    return f"({weighted_sum(parts)}) // {total}" if total else "0"


def explained_amounts(names: Sequence[str], requests: Sequence[int], amounts: Amounts) -> dict[str, dict[str, int]]:
    """Return what a score starts from by resource, cpu in milli: upstream logs the same numbers."""
    allocated, requested, allocatable = amounts
    return {
        name: {
            "pod": requests[k],
            "allocated": allocated[k],
            "requested": requested[k],
            "allocatable": allocatable[k],
        }
        for k, name in enumerate(names)
        if allocatable[k]
    }


def weighted_sums(
    scores: NDArray[np.int64], counted: NDArray[np.bool_], weights: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64] | int]:
    """Return sums int64[F] of scores: int64[K, F] times weights over what is counted: bool[K, F], and of the weights.

    The sum of the weights is one number where everything counts, which is quicker to divide by.
    """
    column = np.array(weights, np.int64)[:, None]
    if counted.all():
        return (scores * column).sum(axis=0), sum(weights)
    return (scores * column * counted).sum(axis=0), np.maximum((column * counted).sum(axis=0), 1)
