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
from schedlab.scheduler.framework.helpers.claims import says
from schedlab.scheduler.framework.preemption.dry_run import NO_VICTIMS, Preemptor, Result, in_order, select_victims
from schedlab.scheduler.framework.preemption.known_results import KnownResults
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
    if filters is None:
        for node in nodes:
            yield select_victims(handle, preemptor, node)
        return
    known: dict[str, Result] = {}
    if filters.are_row_local and not preemptor.budgets:
        known = KnownResults.of(handle.table).for_pods(preemptor.pod.facts, preemptor.state.skip_filter)
    apart = _apart(handle, preemptor.pod, filters, nodes)
    unknown = tuple(node for node in nodes if node.name not in known and node.name not in apart)
    results = _Together(handle.table, filters, preemptor, unknown, known).results()
    for node in nodes:
        if node.name in apart:
            yield select_victims(handle, preemptor, node)
        else:
            found = known.get(node.name)
            yield next(results) if found is None else found


@dataclass(frozen=True, slots=True)
class _Filters:
    """Filters that run for the pod, in order; `by_amounts` are those that look at sums of requests.

    are_row_local: what they say depends on nothing but the pod's facts and the row (see runtime.equal_pods).
    """

    all: tuple[Any, ...]
    by_amounts: tuple[Any, ...]
    has_ports: bool
    are_row_local: bool


def _local_filters(handle: Handle, preemptor: Preemptor) -> _Filters | None:
    """Return the filters if none of them looks at pods themselves, else None."""
    if handle.filter_tap is not None or len(preemptor.pod.requests) > _RESOURCES_MAX:
        return None
    active = tuple(plugin for plugin in handle.filter_plugins if plugin.name not in preemptor.state.skip_filter)
    sights = [getattr(plugin, "looks_at", "pods") for plugin in active]
    if "pods" in sights:
        return None
    by_amounts = tuple(plugin for plugin, sight in zip(active, sights, strict=True) if sight == "amounts")
    are_row_local = all(says(plugin, "is_row_local", preemptor.pod) for plugin in active)
    return _Filters(active, by_amounts, "ports" in sights, are_row_local)


def _apart(handle: Handle, pod: PodInfo, filters: _Filters, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """Return the nodes where nominated pods have to be counted in, or somebody has a port that the pod wants."""
    nominator = handle.nominator
    names = [
        name
        for name in nominator.node_names()
        if any(rival.priority >= pod.priority and rival.uid != pod.uid for rival in nominator.pods_for_node(name))
    ]
    if filters.has_ports:
        names += [node.name for node in nodes if _has_port_of(pod, node)]
    return frozenset(names)


def _has_port_of(pod: PodInfo, node: NodeInfo) -> bool:
    return any(conflicts(wanted, used) for other in node.pods for used in other.host_ports for wanted in pod.host_ports)


class _Together:
    """M nodes under one dry run, with V potential victims that are sorted by node and, there, by who returns first."""

    def __init__(
        self,
        table: NodeTable,
        filters: _Filters,
        preemptor: Preemptor,
        nodes: Sequence[NodeInfo],
        known: dict[str, Result],
    ) -> None:
        self._filters = filters
        # Takes results that hold until the node changes.
        self._known = known
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
        # Whether the order of its victims stays the same, by node.
        self._lasting: list[bool] = []

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
        for at, node in enumerate(self._nodes):
            result = self._result(at, statuses.status(at), stays)
            if self._lasting[at]:
                self._known[node.name] = result
            yield result

    # --- Victims ---

    def _find_victims(self) -> None:
        potential, preemptor = PotentialVictims.of(self._table), self._preemptor
        for at, node in enumerate(self._nodes):
            ranked = potential.below(preemptor.pod.priority, node, preemptor.now_ns)
            pods = ranked.pods
            self._lasting.append(ranked.is_lasting)
            if preemptor.budgets:
                breaking, others = preemptor.budgets.split(pods)
                self._breaking[at], pods = len(breaking), (*breaking, *others)
            self._victims.extend(pods)
            self._first[at + 1] = len(self._victims)
        self._requests = _request_vectors(self._table, self._victims)

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
        broken = sum([place < first + breaking for place in gone]) if breaking else 0
        mixed = 0 < breaking < end - first
        return in_order([self._victims[place] for place in gone], broken, mixed=mixed, preemptor=self._preemptor)


def _request_vectors(table: NodeTable, pods: Sequence[PodInfo]) -> NDArray[np.int64]:
    """Return what V pods ask for: int64[R, V]. Pods that were made alike have one object for it."""
    requests = [pod.facts.request for pod in pods]
    kinds = {id(request): request for request in requests}
    vectors = np.zeros((len(table.resource_names), len(kinds)), np.int64)
    for at, request in enumerate(kinds.values()):
        vectors[:, at] = table.request_vector(request)
    places = {kind: at for at, kind in enumerate(kinds)}
    return vectors[:, [places[id(request)] for request in requests]]
