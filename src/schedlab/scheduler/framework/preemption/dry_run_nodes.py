"""The dry run of many nodes at once, where nothing of the pods on a node matters but what they ask for.

    remove all pods of lower priority  -> does the pod fit?  (one call per filter, for all nodes)
    put back the k-th of each node     -> does it still fit? (one call per filter and k, for all nodes)

Filters say what of a node's pods they look at (`looks_at` of the contract). One that looks at pods themselves leaves all
nodes to the scalar form; nominated rivals or host ports in the way leave their node to it.

Mirrors: nothing; the results equal those of `dry_run.select_victims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.rules.ports import conflicts
from schedlab.scheduler.framework.preemption.budgets import split_by_budgets
from schedlab.scheduler.framework.preemption.dry_run import NO_VICTIMS, Preemptor, Result, in_order, select_victims
from schedlab.scheduler.framework.preemption.potential_victims import PotentialVictims
from schedlab.scheduler.framework.status import NodeStatuses, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

# Filters may fall back to looking at nodes one by one for pods that ask for very many resources.
_RESOURCES_MAX: Final = 32


def dry_run_nodes(handle: Handle, preemptor: Preemptor, nodes: Sequence[NodeInfo]) -> Iterator[Result]:
    """Yield `select_victims` of each node; what is not known from trying many at once is found out when it is asked for."""
    filters = _local_filters(handle, preemptor)
    together: dict[str, NodeInfo] = {}
    results: Iterator[Result] = iter(())
    if filters is not None:
        together = {node.name: node for node in nodes if not _needs_scalar(handle, preemptor.pod, filters, node)}
        results = _Together(handle.table, filters, preemptor, tuple(together.values())).results()
    for node in nodes:
        yield next(results) if node.name in together else select_victims(handle, preemptor, node)


@dataclass(frozen=True, slots=True)
class _Filters:
    """Filters that run for the pod, in order; `by_amounts` are those that look at sums of requests."""

    all: tuple[Any, ...]
    by_amounts: tuple[Any, ...]
    has_ports: bool


def _local_filters(handle: Handle, preemptor: Preemptor) -> _Filters | None:
    """Return the filters if none of them looks at pods themselves, else None."""
    if handle.filter_tap is not None or len(preemptor.pod.requests) > _RESOURCES_MAX:
        return None
    active = tuple(plugin for plugin in handle.filter_plugins if plugin.name not in preemptor.state.skip_filter)
    sights = [getattr(plugin, "looks_at", "pods") for plugin in active]
    if "pods" in sights:
        return None
    by_amounts = tuple(plugin for plugin, sight in zip(active, sights, strict=True) if sight == "amounts")
    return _Filters(active, by_amounts, "ports" in sights)


def _needs_scalar(handle: Handle, pod: PodInfo, filters: _Filters, node: NodeInfo) -> bool:
    """Whether nominated pods have to be counted in, or somebody on the node has a port that the pod wants."""
    rivals = handle.nominator.pods_for_node(node.name)
    if any(rival.priority >= pod.priority and rival.uid != pod.uid for rival in rivals):
        return True
    return filters.has_ports and any(
        conflicts(wanted, used) for other in node.pods for used in other.host_ports for wanted in pod.host_ports
    )


class _Together:
    """M nodes under one dry run, with V potential victims that are sorted by node and, there, by who returns first."""

    def __init__(self, table: NodeTable, filters: _Filters, preemptor: Preemptor, nodes: Sequence[NodeInfo]) -> None:
        self._filters = filters
        self._preemptor = preemptor
        self._nodes = nodes
        self._rows = np.array([node.row for node in nodes], np.int64)
        self._table = table
        # Per victim: its pod, and requests: int64[R, V].
        self._victims: list[PodInfo] = []
        self._requests: NDArray[np.int64] = np.zeros((len(table.resource_names), 0), np.int64)
        # Per node: where its victims begin, int64[M + 1]; how many of the first of them may break a budget, int64[M];
        # and which filter turned it down without them, int8[M].
        self._first: NDArray[np.int64] = np.zeros(len(nodes) + 1, np.int64)
        self._breaking: NDArray[np.int64] = np.zeros(len(nodes), np.int64)
        self._failed: NDArray[np.int8] = np.zeros(len(nodes), np.int8)

    def results(self) -> Iterator[Result]:
        """Yield the result of each node."""
        if not self._nodes:
            return
        self._find_victims()
        numbers = np.diff(self._first)
        view = self._table.select(self._rows)
        removed = np.add.reduceat(np.pad(self._requests, ((0, 0), (0, 1))), self._first[:-1], axis=1) * (numbers > 0)
        view.requested -= removed
        view.pod_count -= numbers
        statuses = self._without_victims(view)
        stays = self._put_back(view, (statuses.code == 0) & (numbers > 0), numbers)
        for at in range(len(self._nodes)):
            yield self._result(at, statuses.status(at), stays)

    # --- Victims ---

    def _find_victims(self) -> None:
        potential, preemptor, requests = PotentialVictims.of(self._table), self._preemptor, []
        for at, node in enumerate(self._nodes):
            ranked = potential.below(preemptor.pod.priority, node, preemptor.now_ns)
            pods, asked = ranked.pods, ranked.requests
            if preemptor.budgets:
                breaking, others = split_by_budgets(pods, preemptor.budgets)
                place = {pod.uid: at for at, pod in enumerate(pods)}
                self._breaking[at], pods = len(breaking), (*breaking, *others)
                asked = asked[:, [place[pod.uid] for pod in pods]]
            self._victims.extend(pods)
            self._first[at + 1] = len(self._victims)
            requests.append(asked)
        self._requests = np.concatenate(requests, axis=1)

    # --- Filters ---

    def _without_victims(self, view: NodeTable) -> NodeStatuses:
        """Return the first failure of each node when all potential victims are gone."""
        preemptor, everything = self._preemptor, slice(0, len(self._table))
        statuses = NodeStatuses.success(len(self._nodes))
        for index, plugin in enumerate(self._filters.all):
            if plugin in self._filters.by_amounts:
                found = plugin.filter_nodes(preemptor.state, preemptor.pod, view, slice(0, len(view)))
            else:
                found = plugin.filter_nodes(preemptor.state, preemptor.pod, self._table, everything)
                found = NodeStatuses(found.code[self._rows], found.reason[self._rows])
            fresh = (statuses.code == 0) & (found.code != 0)
            statuses.code[fresh] = found.code[fresh]
            statuses.reason[fresh] = found.reason[fresh]
            self._failed[fresh] = index
        return statuses

    def _put_back(
        self, view: NodeTable, open_nodes: NDArray[np.bool_], numbers: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Put the victims of the open nodes back, one of each node at a time; return bool[V], who could stay."""
        stays = np.zeros(len(self._victims), np.bool_)
        for turn in range(int(numbers[open_nodes].max(initial=0))):
            places = np.flatnonzero(open_nodes & (numbers > turn))
            victims = self._first[places] + turn
            view.requested[:, places] += self._requests[:, victims]
            view.pod_count[places] += 1
            fits = self._fits(view)[places]
            stays[victims] = fits
            view.requested[:, places[~fits]] -= self._requests[:, victims[~fits]]
            view.pod_count[places[~fits]] -= 1
        return stays

    def _fits(self, view: NodeTable) -> NDArray[np.bool_]:
        preemptor = self._preemptor
        fits = np.ones(len(view), np.bool_)
        for plugin in self._filters.by_amounts:
            fits &= plugin.filter_nodes(preemptor.state, preemptor.pod, view, slice(0, len(view))).code == 0
        return fits

    def _result(self, at: int, status: Status | None, stays: NDArray[np.bool_]) -> Result:
        first, end = int(self._first[at]), int(self._first[at + 1])
        if first == end:
            return NO_VICTIMS
        if status is not None:
            return status.with_plugin(self._filters.all[self._failed[at]].name)
        breaking = int(self._breaking[at])
        gone = [place for place in range(first, end) if not stays[place]]
        broken = sum(place < first + breaking for place in gone)
        mixed = 0 < breaking < end - first
        return in_order([self._victims[place] for place in gone], broken, mixed=mixed, preemptor=self._preemptor)
