"""The search for feasible nodes: filters over slices of the node table, until enough nodes were found.

Per node the first filter that fails decides. Filters with an array form see a contiguous slice of rows at a time, the
others the nodes that are still open. Nodes with nominated pods are looked at one by one, with and without those pods.

Mirrors: pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind) and
pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins, RunFilterPluginsWithNominatedPods) (v1.36).
Differs: nodes are visited in upstream's order for a parallelism of 1, so the result does not depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.rows import columns, ring
from schedlab.scheduler.framework.status import REASONS, Code, NodeStatuses, Status
from schedlab.scheduler.runtime.equal_pods import EveryVerdict, KnownActive
from schedlab.scheduler.runtime.errors import as_status, checked, failure_of, wrapped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState, FilterTap, Nominator
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.runtime.equal_pods import Active, Evaluation

MIN_FEASIBLE_NODES: Final = 100
_MIN_PERCENTAGE: Final = 5
# From this many rows of a pre-filter result on, array forms over the whole table are cheaper than scalar ones.
_MANY_ROWS: Final = 32
_IS_ERROR: Final = np.array([code not in {0, 2, 3, 6} for code in range(256)], np.bool_)

AddPod = Callable[["CycleState", "PodInfo", "PodInfo", "NodeInfo"], "Status | None"]


def wanted_nodes(percentage: int, all_nodes: int) -> int:
    """Return after how many feasible nodes the search may stop; a percentage of 0 adapts to the cluster's size."""
    if all_nodes < MIN_FEASIBLE_NODES:
        return all_nodes
    if percentage == 0:
        percentage = max(50 - all_nodes // 125, _MIN_PERCENTAGE)
    return max(all_nodes * percentage // 100, MIN_FEASIBLE_NODES)


@dataclass(slots=True)
class Verdicts:
    """What the filters say of some nodes: plugin: int8[M] (index of the first that failed, or PASSED), code: uint8[M],
    reason: int32[M], second_pass: bool[M] or None when no node has nominated pods.
    """

    plugin: NDArray[np.int8]
    code: NDArray[np.uint8]
    reason: NDArray[np.int32]
    second_pass: NDArray[np.bool_] | None = None

    @classmethod
    def passed(cls, size: int) -> Verdicts:
        """Return verdicts of M nodes nobody objects to."""
        return cls(np.full(size, PASSED, np.int8), np.zeros(size, np.uint8), np.zeros(size, np.int32))

    def set(self, at: int, plugin: int, status: Status | None, *, second: bool = False) -> None:
        """Replace one verdict."""
        self.plugin[at] = plugin
        self.code[at] = 0 if status is None else status.code
        self.reason[at] = 0 if status is None else _reason(status)
        if second and self.second_pass is None:
            self.second_pass = np.zeros(len(self.code), np.bool_)
        if self.second_pass is not None:
            self.second_pass[at] = second

    def add(self, index: int, found: NodeStatuses) -> bool:
        """Take what a filter says of the nodes that no filter before it turned down; say whether it objects to any."""
        bad = found.code
        if not bad.any():
            return False
        mask = (bad != 0) & (self.code == 0)
        np.copyto(self.plugin, index, where=mask)
        np.copyto(self.code, bad, casting="unsafe", where=mask)
        np.copyto(self.reason, found.reason, casting="unsafe", where=mask)
        return True

    def cut(self, size: int) -> Verdicts:
        """Return the first `size` verdicts."""
        second = None if self.second_pass is None else self.second_pass[:size]
        return Verdicts(self.plugin[:size], self.code[:size], self.reason[:size], second)

    def take(self, rows: NDArray[np.int64]) -> Verdicts:
        """Return the verdicts at the given places."""
        second = None if self.second_pass is None else self.second_pass[rows]
        return Verdicts(self.plugin[rows], self.code[rows], self.reason[rows], second)


@lru_cache(maxsize=16)
def all_passed(size: int) -> Verdicts:
    """Return verdicts of nodes nobody objects to, as views of one value each: not to be changed."""
    return Verdicts(
        np.broadcast_to(np.int8(PASSED), size), np.broadcast_to(np.uint8(0), size), np.broadcast_to(np.int32(0), size)
    )


@lru_cache(maxsize=64)
def _all_pass(shape: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return verdicts of filters on nodes nobody objects to, as views of one value each: not to be changed."""
    return np.broadcast_to(np.uint8(0), shape), np.broadcast_to(np.int32(0), shape)


def _running(plugins: Sequence[Any], skip: frozenset[str], kept: Evaluation | None) -> Active:
    """Return the plugins that run, with their names; for equal pods that is worked out once."""
    known = None if kept is None else kept.running
    if known is not None and known.of is plugins and known.skip == skip:
        return known.active
    running = tuple(plugin for plugin in plugins if plugin.name not in skip)
    found = running, tuple(plugin.name for plugin in running), ()
    if kept is not None:
        kept.running = KnownActive(plugins, skip, found)
    return found


def _reason(status: Status) -> int:
    return REASONS.id_of((status.error, *status.reasons) if status.error else status.reasons)


def _join(parts: Sequence[Verdicts]) -> Verdicts:
    if len(parts) == 1:
        return parts[0]
    second = None
    if any(part.second_pass is not None for part in parts):
        second = np.concatenate(
            [np.zeros(len(p.code), np.bool_) if p.second_pass is None else p.second_pass for p in parts]
        )
    return Verdicts(
        np.concatenate([part.plugin for part in parts]),
        np.concatenate([part.code for part in parts]),
        np.concatenate([part.reason for part in parts]),
        second,
    )


@dataclass(slots=True)
class Search:
    """What a search found: rows: int64[V] visited, their verdicts, feasible: int64[F] rows, or the error that ended it.

    One feasible node beyond the wanted ones is visited and not feasible; a node with an error is visited.
    """

    rows: NDArray[np.int64]
    verdicts: Verdicts
    feasible: NDArray[np.int64]
    error: Status | None = None
    #: Whether it is known that nobody objects to any of the nodes visited.
    is_clean: bool = False
    #: Whether the verdicts are those that `every_verdict` tells of these nodes.
    is_known: bool = False


class FilterRun:
    """The filters that run for one pod in one cycle."""

    def __init__(
        self,
        plugins: Sequence[Any],
        add_pod: AddPod,
        state: CycleState,
        pod: PodInfo,
        table: NodeTable,
        nominator: Nominator,
        tap: FilterTap | None = None,
        kept: Evaluation | None = None,
    ) -> None:
        self.plugins, self.names, _ = _running(plugins, state.skip_filter, kept)
        self._state, self._pod, self._table = state, pod, table
        self._add_pod = add_pod
        self._nominator = nominator
        self._tap = tap
        self._kept = kept
        #: Whether `every_verdict` will be asked for: then array forms are asked once about all nodes.
        self.is_full = False
        # What array forms have said of all nodes, by the place of the plugin.
        self._said: dict[int, NodeStatuses] = {}
        #: Called after every search with the names of the plugins and what was found.
        self.on_search: Callable[[Sequence[str], Search], None] | None = None

    # --- The search ---

    def search(self, wanted: int, start: int) -> Search:
        """Visit all rows, from `start` on and round the end, until more than `wanted` nodes are feasible."""
        total = len(self._table)
        # Nodes may have gone since the search that ended there.
        start %= max(total, 1)
        nominated = self._nominated_rows()
        size = min(total, wanted + 1)
        # The search ends among the first `size` nodes when all of them pass: what is nominated behind them changes nothing.
        beside = not nominated or all((row - start) % total >= size for row in nominated)
        if beside and self._all_pass(start, size, total):
            feasible = ring(start, min(wanted, size), total)
            return self._told(Search(ring(start, size, total), all_passed(size), feasible, is_clean=True))
        if self._knows_all():
            known = self._search_known(wanted, start)
            if all((row - start) % total >= len(known.rows) for row in nominated):
                return self._told(known)

        def evaluate(position: int, size: int) -> tuple[NDArray[np.int64], Verdicts]:
            first = (start + position) % total
            last = min(first + size, total)
            verdicts = self.evaluate(slice(first, last))
            self._add_nominated(verdicts, range(first, last), nominated)
            return ring(first, last - first, total), verdicts

        return self._told(self._visit(total, wanted, evaluate))

    def _all_pass(self, start: int, size: int, total: int) -> bool:
        """Whether it is known that no filter objects to any of `size` nodes from `start` on."""
        kept = self._kept
        if kept is None or not total or self.names != kept.filter_names or self._tap is not None:
            return False
        return kept.pass_all(self._state, self._pod, self._table, start, size)

    def _knows_all(self) -> bool:
        """Whether the verdicts of all filters on all nodes are known."""
        kept, table = self._kept, self._table
        if kept is None or not len(table) or self.names != kept.filter_names or self._tap is not None:
            return False
        return kept.refresh_filters(self._state, self._pod, table, slice(0, 0)) and kept.is_whole(table)

    def _search_known(self, wanted: int, start: int) -> Search:
        """Visit all rows as `search` does; what is known tells where it ends."""
        kept, total = self._kept, len(self._table)
        assert kept is not None, "nothing is known"
        # Among so many nodes there are more than the wanted ones that fit, if there are as many at all.
        size = min(total, wanted + 1 + kept.rejections)
        return self._search_known_rows(ring(start, size, total), wanted)

    def _search_known_rows(self, rows: NDArray[np.int64], wanted: int) -> Search:
        """Visit rows: int64[M] in their order."""
        kept, total = self._kept, len(self._table)
        assert kept is not None, "nothing is known"
        fits = np.flatnonzero(~columns(kept.rejected, rows, total))
        if len(fits) > wanted:
            rows = rows[: int(fits[wanted]) + 1]
        verdicts = Verdicts(
            columns(kept.first_plugin, rows, total),
            columns(kept.first_code, rows, total),
            columns(kept.first_reason, rows, total),
        )
        return Search(rows, verdicts, rows[fits[:wanted]], is_known=True)

    def search_rows(self, rows: NDArray[np.int64], wanted: int, start: int) -> Search:
        """Visit only `rows`, in their order, beginning at `start` modulo their number."""
        offset = start % len(rows) if len(rows) else 0
        order = np.concatenate([rows[offset:], rows[:offset]]) if offset else rows
        nominated = self._nominated_rows()
        if self._knows_all() and not any(row in nominated for row in rows.tolist()):
            return self._told(self._search_known_rows(order, wanted))
        everything = self.evaluate(slice(0, len(self._table))) if len(rows) >= _MANY_ROWS else None

        def evaluate(position: int, size: int) -> tuple[NDArray[np.int64], Verdicts]:
            some = order[position : position + size]
            verdicts = self.evaluate_each(some) if everything is None else everything.take(some)
            self._add_nominated(verdicts, some.tolist(), nominated)
            return some, verdicts

        return self._told(self._visit(len(order), wanted, evaluate))

    def _told(self, search: Search) -> Search:
        if self.on_search is not None:
            self.on_search(self.names, search)
        return search

    def _visit(
        self, total: int, wanted: int, evaluate: Callable[[int, int], tuple[NDArray[np.int64], Verdicts]]
    ) -> Search:
        rows: list[NDArray[np.int64]] = []
        parts: list[Verdicts] = []
        feasible: list[NDArray[np.int64]] = []
        position = found = 0
        failure: Status | None = None
        size = min(total, wanted + 1)
        while position < total and failure is None and found <= wanted:
            some, verdicts = evaluate(position, size)
            fits = np.flatnonzero(verdicts.code == 0)
            end = len(some)
            if found + len(fits) > wanted:
                end = int(fits[wanted - found]) + 1
            if len(fits) < len(some):
                errors = _IS_ERROR[verdicts.code[:end]]
                if errors.any():
                    end = int(errors.argmax()) + 1
                    failure = self._error(verdicts, end - 1)
            rows.append(some[:end])
            parts.append(verdicts.cut(end))
            fits = fits[fits < end][: wanted - found + 1]
            found += len(fits)
            feasible.append(some[fits])
            position += end
            size = _next_size(total - position, wanted + 1 - found, position, found)
        if not rows:
            return Search(np.zeros(0, np.int64), Verdicts.passed(0), np.zeros(0, np.int64))
        fitting = feasible[0] if len(feasible) == 1 else np.concatenate(feasible)
        visited = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return Search(visited, _join(parts), fitting[:wanted], failure)

    def _error(self, verdicts: Verdicts, at: int) -> Status:
        text = ", ".join(REASONS.texts(int(verdicts.reason[at])))
        plugin = int(verdicts.plugin[at])
        status = Status(Code.ERROR, (), "", text)
        return status if plugin == PASSED else self.named_error(plugin, status)

    # --- Verdicts ---

    def evaluate(self, rows: slice) -> Verdicts:
        """Return the verdicts on a contiguous slice of rows, nominated pods left out."""
        verdicts = Verdicts.passed(rows.stop - rows.start)
        code = verdicts.code
        untouched = True
        kept = self._kept
        if kept is not None and not kept.refresh_filters(self._state, self._pod, self._table, rows):
            kept = self._kept = None
        places = {} if kept is None else kept.filter_places
        all_pass = kept is not None and not kept.rejects_any(rows)
        for index, plugin in enumerate(self.plugins):
            if kept is not None and plugin.name in places:
                if not all_pass:
                    untouched &= not verdicts.add(index, kept.verdicts(places[plugin.name], rows))
                continue
            array_form = getattr(plugin, "filter_nodes", None)
            if array_form is None:
                untouched &= not self._scalar(index, plugin, rows.start, verdicts)
                continue
            try:
                found = self._ask(index, array_form, rows)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; it fails the pod, not the scheduler
                self._fail_open(verdicts, index, failure_of(error))
                return verdicts
            untouched &= not verdicts.add(index, found)
            if not untouched and code.all():
                break
        return verdicts

    def _ask(self, index: int, array_form: Callable[..., object], rows: slice) -> NodeStatuses:
        if self.is_full and index not in self._said:
            size = len(self._table)
            try:
                self._said[index] = _verdicts(array_form(self._state, self._pod, self._table, slice(0, size)), size)
            except Exception:  # noqa: BLE001 - a plugin may raise anything; it may do so for nodes that nobody visits
                self.is_full = False
        said = self._said.get(index)
        if said is not None:
            return NodeStatuses(said.code[rows], said.reason[rows])
        return _verdicts(array_form(self._state, self._pod, self._table, rows), rows.stop - rows.start)

    def evaluate_each(self, rows: NDArray[np.int64]) -> Verdicts:
        """Return the verdicts on some rows by the scalar forms."""
        verdicts = Verdicts.passed(len(rows))
        for at, row in enumerate(rows.tolist()):
            plugin, status = self.first_failure(self._state, self._table.infos[row])
            if status is not None:
                verdicts.set(at, plugin, status)
        return verdicts

    def every_verdict(self) -> EveryVerdict:
        """Return what every filter says of every node. Decides nothing."""
        size = len(self._table)
        kept, whole = self._kept, slice(0, size)
        if kept is not None and not kept.refresh_filters(self._state, self._pod, self._table, whole):
            kept = None
        if kept is not None and self.names == kept.filter_names:
            return kept.every_verdict()
        others: dict[int, Verdicts | NodeStatuses] = {}
        everything: FilterRun | None = None
        for index, name in enumerate(self.names):
            if index in self._said:
                others[index] = self._said[index]
            elif kept is None or name not in kept.filter_places:
                everything = everything or self._for_dry_run()
                others[index] = everything.only(self.plugins[index]).evaluate(whole)
        passed = not any(each.code.any() for each in others.values())
        if passed and kept is not None and not kept.rejections:
            return EveryVerdict(*_all_pass((len(self.plugins), size)))
        codes, reasons = np.zeros((len(self.plugins), size), np.uint8), np.zeros((len(self.plugins), size), np.int32)
        for index, name in enumerate(self.names):
            if index in others:
                codes[index], reasons[index] = others[index].code, others[index].reason
            elif kept is not None:
                place = kept.filter_places[name]
                codes[index], reasons[index] = kept.code[place], kept.reason[place]
        return EveryVerdict(codes, reasons)

    def _for_dry_run(self) -> FilterRun:
        return FilterRun(self.plugins, self._add_pod, self._state.copy(), self._pod, self._table, self._nominator)

    def only(self, plugin: Any) -> FilterRun:
        """Return a run of one of the plugins."""
        return FilterRun((plugin,), self._add_pod, self._state, self._pod, self._table, self._nominator)

    def first_failure(self, state: CycleState, info: NodeInfo) -> tuple[int, Status | None]:
        """Return the first filter that fails on the node and its status, or (PASSED, None)."""
        for index, plugin in enumerate(self.plugins):
            status = self._call(plugin, state, info)
            if status is not None and status.code != Code.SUCCESS:
                return index, status
        return PASSED, None

    def with_nominated_pods(self, state: CycleState, info: NodeInfo) -> tuple[int, Status | None, bool]:
        """Return the first failure when the pod must fit both with and without the node's nominated pods.

        Pods of lower priority are left out: they would have to yield. The last value tells whether the pod fitted with
        them and failed without.
        """
        pod = self._pod
        rivals = [
            other
            for other in self._nominator.pods_for_node(info.name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        if not rivals:
            return *self.first_failure(state, info), False
        with_rivals, node = state.copy(), info.copy()
        for rival in rivals:
            node.add_pod(rival)
            status = self._add_pod(with_rivals, pod, rival, node)
            if status is not None and status.code != Code.SUCCESS:
                return PASSED, Status(Code.ERROR, (), "", status.message), False
        plugin, status = self.first_failure(with_rivals, node)
        if status is not None:
            return plugin, status, False
        plugin, status = self.first_failure(state, info)
        return plugin, status, status is not None

    def named_error(self, plugin: int, status: Status) -> Status:
        """Return an error (or anything else that is no rejection) as an error of the plugin."""
        name = self.names[plugin]
        return wrapped(f'running "{name}" filter plugin', status, name)

    def _call(self, plugin: Any, state: CycleState, info: NodeInfo) -> Status | None:
        try:
            status = as_status(plugin.filter(state, self._pod, info))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; it fails the pod, not the scheduler
            status = failure_of(error)
        if self._tap is not None:
            self._tap.filter_called(info.name, plugin.name, status)
        if status is None or status.code == Code.SUCCESS:
            return None
        return status.with_plugin(plugin.name)

    def _scalar(self, index: int, plugin: Any, first: int, verdicts: Verdicts) -> bool:
        """Ask the plugin about the nodes that are still open; say whether it turned any down."""
        failed = False
        for at in np.flatnonzero(verdicts.code == 0).tolist():
            status = self._call(plugin, self._state, self._table.infos[first + at])
            if status is not None:
                verdicts.set(at, index, status)
                failed = True
        return failed

    def _fail_open(self, verdicts: Verdicts, index: int, status: Status) -> None:
        """Let the first node that is still open end the search."""
        for at in np.flatnonzero(verdicts.code == 0).tolist()[:1]:
            verdicts.set(at, index, status)

    # --- Nominated pods ---

    def _nominated_rows(self) -> dict[int, None]:
        names, row_of = self._nominator.node_names(), self._table.row_of
        return {row_of[name]: None for name in names if name in row_of} if names else {}

    def _add_nominated(self, verdicts: Verdicts, rows: Iterable[int], nominated: dict[int, None]) -> None:
        if not nominated:
            return
        if isinstance(rows, range):
            places = sorted((rows.index(row), row) for row in nominated if row in rows)
        else:
            places = [(at, row) for at, row in enumerate(rows) if row in nominated]
        for at, row in places:
            plugin, status, second = self.with_nominated_pods(self._state, self._table.infos[row])
            verdicts.set(at, plugin, status, second=second)


def _verdicts(answer: object, size: int) -> NodeStatuses:
    found = checked(answer, NodeStatuses, "NodeStatuses")
    if len(found.code) != size or len(found.reason) != size:
        raise ValueError(f"a plugin returned {len(found.code)} verdicts for {size} nodes")
    return found


def _next_size(left: int, missing: int, visited: int, found: int) -> int:
    """Return how many nodes to look at next: somewhat more than the share of feasible nodes so far asks for."""
    if found == 0:
        return min(left, 2 * visited)
    return min(left, missing * visited // found + missing // 8 + 16)
