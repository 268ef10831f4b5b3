"""All nodes as columns: row i of every column is node i of upstream's node order.

The table is changed in place between scheduling cycles, never during one and never rebuilt for one. Rows move only when
nodes come, go or change zone; then every column, a plugin's own included, is permuted together (`reorder`).

Differs: upstream snapshots NodeInfos per cycle; here a cycle sees the table itself, because events wait for its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

import numpy as np

from schedlab.scheduler.framework.types import CPU, EPHEMERAL_STORAGE, MEMORY, NodeInfo, PodInfo, Resource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.past_pods import PastPods

# Columns of `allocatable` and `requested` that always exist; extended resources follow in order of appearance.
BASE_RESOURCES: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
CPU_INDEX: Final = 0
MEMORY_INDEX: Final = 1
EPHEMERAL_INDEX: Final = 2
ABSENT: Final = -1
#: How many changes `changed_since` looks back at least.
_CHANGES_KEPT: Final = 1024


class ColumnError(Exception):
    """A column of a plugin that raised when it was told of a change."""


class Column(Protocol):
    """Something kept per node row. The table tells it of every change; it never looks for changes itself.

    With a method `copy(table)` that returns an independent copy for a copy of the table, it goes along with it; without
    one, it is made anew there when it is needed.
    With a method `replace_pod(row, old, new)` it is told so of a pod whose new state has the same facts and end as the
    old one (its labels may differ); without one, the old state is taken out and the new one put in.
    With an attribute `of_nodes = True` it is told of nodes only: it does not depend on pods.
    With a method `fill(infos)` it takes all nodes at once when it is made; without one, `set_node` tells it of each.
    """

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """Take the values of `old_rows: int64[N]` as the new rows; -1 marks a new row, filled by `set_node`."""

    def set_node(self, row: int, info: NodeInfo) -> None:
        """Recompute a row whose node is new or was changed (its pods are in `info`)."""

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """A pod was added to the node of that row."""

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """A pod was removed from the node of that row."""


def take_rows(values: NDArray[np.generic], old_rows: NDArray[np.int64], fill: int) -> NDArray[np.generic]:
    """Return values[..., old_rows] with `fill` where old_rows is -1; the last axis is the node axis."""
    fresh = old_rows < 0
    if values.shape[-1] == 0:
        return np.full((*values.shape[:-1], len(old_rows)), fill, values.dtype)
    out = values[..., np.where(fresh, 0, old_rows)]
    out[..., fresh] = fill
    return out


class Interner:
    """Gives small ids to hashable values, in order of appearance."""

    def __init__(self) -> None:
        self._ids: dict[object, int] = {}

    def id_of(self, value: object) -> int:
        """Return the value's id, new if need be."""
        return self._ids.setdefault(value, len(self._ids))

    def find(self, value: object) -> int:
        """Return the value's id, or ABSENT."""
        return self._ids.get(value, ABSENT)

    def values(self) -> Sequence[object]:
        """All values; position = id."""
        return tuple(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def copy(self) -> Interner:
        """Return an independent copy."""
        other = Interner()
        other._ids = dict(self._ids)
        return other


class LabelColumn:
    """One label key: ids: int32[N] of the values (ABSENT where a node has no such label).

    version grows when a node has another value than before, and when rows move.
    """

    of_nodes: Final = True

    def __init__(self, key: str) -> None:
        self.key = key
        self.values = Interner()
        self.ids: NDArray[np.int32] = np.zeros(0, np.int32)
        self.version = 0
        self._grouped: tuple[int, NDArray[np.int64], NDArray[np.int64]] | None = None

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self.ids = cast("NDArray[np.int32]", take_rows(self.ids, old_rows, ABSENT))
        self.version += 1

    def fill(self, infos: Sequence[NodeInfo]) -> None:
        """See Column."""
        values = [info.node.metadata.labels.get(self.key) for info in infos]
        self.ids[:] = [ABSENT if value is None else self.values.id_of(value) for value in values]

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        value = info.node.metadata.labels.get(self.key)
        found = ABSENT if value is None else self.values.id_of(value)
        if self.ids[row] != found:
            self.ids[row] = found
            self.version += 1

    def rows_of(self, value: int) -> NDArray[np.int64]:
        """Return the rows with the value of that id, in order; not to be changed."""
        if self._grouped is None or self._grouped[0] != self.version:
            order = np.argsort(self.ids, kind="stable")
            ends = np.cumsum(np.bincount(self.ids + 1, minlength=len(self.values) + 1))
            self._grouped = self.version, order, ends
        _, order, ends = self._grouped
        return order[ends[value] : ends[value + 1]]

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Labels of nodes do not depend on pods."""

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """Labels of nodes do not depend on pods."""

    def copy(self, _table: NodeTable) -> LabelColumn:
        """See Column."""
        other = LabelColumn(self.key)
        other.values, other.ids = self.values.copy(), self.ids.copy()
        return other


C = TypeVar("C", bound=Column)


def _fill(column: Column, infos: Sequence[NodeInfo]) -> None:
    fill = getattr(column, "fill", None)
    if fill is not None:
        fill(infos)
        return
    for row, info in enumerate(infos):
        column.set_node(row, info)


class NodeTable:
    """Columns over N nodes.

    names: str[N], infos: NodeInfo[N]
    allocatable, requested: int64[R, N], row r is resource `resource_names[r]`
    non_zero_requested: int64[2, N] (milli cpu, bytes)
    allowed_pods, pod_count: int64[N]
    unschedulable: bool[N]
    taint_set: int32[N], id of the node's tuple of taints in `taint_sets`
    generation: int64[N], grows with every change of the row; node_generation: int64[N], what it was when the node itself
    changed last
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.infos: list[NodeInfo] = []
        self.row_of: dict[str, int] = {}
        self.resource_names: list[str] = list(BASE_RESOURCES)
        self._resource_index = {name: index for index, name in enumerate(BASE_RESOURCES)}
        self.allocatable: NDArray[np.int64] = np.zeros((len(BASE_RESOURCES), 0), np.int64)
        self.requested: NDArray[np.int64] = np.zeros((len(BASE_RESOURCES), 0), np.int64)
        self.non_zero_requested: NDArray[np.int64] = np.zeros((2, 0), np.int64)
        self.allowed_pods: NDArray[np.int64] = np.zeros(0, np.int64)
        self.pod_count: NDArray[np.int64] = np.zeros(0, np.int64)
        self.unschedulable: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.taint_set: NDArray[np.int32] = np.zeros(0, np.int32)
        self.taint_sets = Interner()
        self.generation: NDArray[np.int64] = np.zeros(0, np.int64)
        self.node_generation: NDArray[np.int64] = np.zeros(0, np.int64)
        #: Counts the times that rows have moved, and the times that nodes have changed or rows have moved.
        self.order = 0
        self.nodes_version = 0
        #: Counts the times that columns were dropped.
        self.columns_version = 0
        self._columns: dict[object, Column] = {}
        #: Those of them that are told of pods.
        self._pod_columns: dict[object, Column] = {}
        #: Columns that raised when they were told of a change, with what they raised.
        self._broken: dict[object, Exception] = {}
        #: Counts the changes of rows.
        self.clock = 0
        #: The rows of the newest changes, oldest first.
        self._changed: list[int] = []
        #: Of a table of the past, which does not change any more: its pods in numbers, in place of indexes over them.
        self.past: PastPods | None = None

    def __len__(self) -> int:
        return len(self.infos)

    def column(self, key: object, make: Callable[[], C]) -> C:
        """Return the column of that key, made and filled on first use; from then on the table keeps it current.

        A column that raises while it is kept current is dropped, so that it harms nobody else; whoever asks for it next
        is told, and the time after it is made anew.
        """
        if key in self._broken:
            error = self._broken.pop(key)
            raise ColumnError(f"column {key!r} could not be kept current: {type(error).__name__}: {error}") from error
        found = self._columns.get(key)
        if found is None:
            found = make()
            found.reorder(np.full(len(self.infos), ABSENT, np.int64))
            _fill(found, self.infos)
            self._keep_column(key, found)
        return cast("C", found)

    def _keep_column(self, key: object, column: Column) -> None:
        self._columns[key] = column
        if not getattr(column, "of_nodes", False):
            self._pod_columns[key] = column

    def drop_column(self, key: object) -> None:
        """Forget a column that nobody needs any more."""
        self._columns.pop(key, None)
        self._pod_columns.pop(key, None)
        self._broken.pop(key, None)
        self.columns_version += 1

    def _note_broken(self, key: object, error: Exception) -> None:
        if isinstance(error, AssertionError):
            # A bug of ours, not a plugin's.
            raise error
        self._broken[key] = error

    def _drop_broken(self) -> None:
        for key in self._broken:
            self._columns.pop(key, None)
            self._pod_columns.pop(key, None)
        self.columns_version += 1

    def changed_since(self, clock: int) -> Sequence[int] | None:
        """Return the rows that have changed since a reading of `clock`; None when that is too long ago."""
        missed = self.clock - clock
        if missed > len(self._changed):
            return None
        return self._changed[-missed:] if missed else ()

    def label(self, key: str) -> LabelColumn:
        """Return the column of a label key."""
        return self.column(("label", key), lambda: LabelColumn(key))

    def resource_index(self, name: str) -> int:
        """Return the row of a resource in `allocatable` and `requested`, or ABSENT when no node or pod has it."""
        return self._resource_index.get(name, ABSENT)

    def reorder(self, infos: Sequence[NodeInfo]) -> None:
        """Make `infos` the rows, in that order; nodes seen before keep their values, new ones are computed."""
        known = {name: row for row, name in enumerate(self.names)}
        old_rows = np.array([known.get(info.name, ABSENT) for info in infos], np.int64)
        self.order += 1
        self.nodes_version += 1
        self._changed.clear()
        self.infos = list(infos)
        self.names = [info.name for info in infos]
        self.row_of = {name: row for row, name in enumerate(self.names)}
        for attribute, fill in _BASE_COLUMNS:
            setattr(self, attribute, take_rows(getattr(self, attribute), old_rows, fill))
        for key, column in self._columns.items():
            try:
                column.reorder(old_rows)
            except Exception as error:  # noqa: BLE001 - see `column`
                self._note_broken(key, error)
        if self._broken:
            self._drop_broken()
        for row, info in enumerate(self.infos):
            info.row = row
        for row in np.flatnonzero(old_rows < 0).tolist():
            self.set_node(self.infos[row])

    def copy(self, *, with_columns: bool = True) -> NodeTable:
        """Return an independent copy over the same infos: whoever changes one puts one of its own in its place."""
        other = NodeTable()
        other.names, other.row_of, other.infos = self.names, self.row_of, list(self.infos)
        other.resource_names, other._resource_index = list(self.resource_names), dict(self._resource_index)
        for attribute, _ in _BASE_COLUMNS:
            setattr(other, attribute, getattr(self, attribute).copy())
        other.taint_sets = self.taint_sets.copy()
        other.clock, other.order, other.nodes_version = self.clock, self.order, self.nodes_version
        for key, column in self._columns.items() if with_columns else ():
            copy = getattr(column, "copy", None)
            if copy is not None:
                other._keep_column(key, copy(other))
        return other

    def take_labels(self, other: NodeTable) -> None:
        """Take over the label columns of a table of the same nodes; of another order or other nodes nothing is taken."""
        if self.names != other.names:
            return
        changed = [info for info, theirs in zip(self.infos, other.infos, strict=True) if info.node is not theirs.node]
        for key, column in other._columns.items():
            if isinstance(column, LabelColumn):
                copy = column.copy(self)
                for info in changed:
                    copy.set_node(info.row, info)
                self._keep_column(key, copy)

    def select(self, rows: NDArray[np.int64]) -> NodeTable:
        """Return a table of its own of some rows, without columns of plugins: what a dry run may change."""
        other = NodeTable()
        other.infos = [self.infos[row] for row in rows.tolist()]
        other.names = [info.name for info in other.infos]
        other.row_of = {name: row for row, name in enumerate(other.names)}
        other.resource_names, other._resource_index = list(self.resource_names), dict(self._resource_index)
        for attribute, _ in _BASE_COLUMNS:
            setattr(other, attribute, getattr(self, attribute)[..., rows])
        other.taint_sets = self.taint_sets
        return other

    def set_node(self, info: NodeInfo) -> None:
        """Recompute the row of a node that is new or was changed."""
        row = info.row
        self._ensure_resources(info.allocatable.scalar)
        self._ensure_resources(info.requested.scalar)
        self._write_amounts(self.allocatable, row, info.allocatable)
        self._write_amounts(self.requested, row, info.requested)
        self.non_zero_requested[0, row] = info.non_zero_cpu
        self.non_zero_requested[1, row] = info.non_zero_memory
        self.allowed_pods[row] = info.allocatable.allowed_pod_number
        self.pod_count[row] = len(info.pods)
        self.unschedulable[row] = info.node.spec.unschedulable
        self.taint_set[row] = self.taint_sets.id_of(info.node.spec.taints)
        for key, column in self._columns.items():
            try:
                column.set_node(row, info)
            except Exception as error:  # noqa: BLE001 - see `column`
                self._note_broken(key, error)
        if self._broken:
            self._drop_broken()
        self._touch(row, info)
        self.node_generation[row] = self.clock
        self.nodes_version += 1

    def add_pod(self, info: NodeInfo, pod: PodInfo) -> None:
        """Count a pod in on the node, in the NodeInfo and in every column."""
        info.add_pod(pod)
        self._take_amounts(info, pod)
        for key, column in self._pod_columns.items():
            try:
                column.add_pod(info.row, pod)
            except Exception as error:  # noqa: BLE001 - see `column`
                self._note_broken(key, error)
        if self._broken:
            self._drop_broken()

    def remove_pod(self, info: NodeInfo, pod: PodInfo) -> bool:
        """Count a pod out; False when the node does not hold it."""
        if not info.remove_pod(pod):
            return False
        self._take_amounts(info, pod)
        for key, column in self._pod_columns.items():
            try:
                column.remove_pod(info.row, pod)
            except Exception as error:  # noqa: BLE001 - see `column`
                self._note_broken(key, error)
        if self._broken:
            self._drop_broken()
        return True

    def replace_pod(self, info: NodeInfo, old: PodInfo, new: PodInfo) -> bool:
        """Put the new state of a pod in place of the old one; False when the node does not hold it.

        Both have the same facts and end, so no amount changes; only the order of the node's pods does, as if the one
        were taken out and the other put in.
        """
        if not info.replace_pod(new):
            return False
        row = info.row
        for key, column in self._pod_columns.items():
            replace = getattr(column, "replace_pod", None)
            try:
                if replace is not None:
                    replace(row, old, new)
                else:
                    column.remove_pod(row, old)
                    column.add_pod(row, new)
            except Exception as error:  # noqa: BLE001 - see `column`
                self._note_broken(key, error)
        if self._broken:
            self._drop_broken()
        return True

    def request_vector(self, request: Resource) -> NDArray[np.int64]:
        """Return the amounts of a pod as int64[R]; resources no node and no placed pod has are left out."""
        out = np.zeros(len(self.resource_names), np.int64)
        out[:3] = request.milli_cpu, request.memory, request.ephemeral_storage
        for name, amount in request.scalar.items():
            index = self._resource_index.get(name, ABSENT)
            if index >= 0:
                out[index] = amount
        return out

    def _take_amounts(self, info: NodeInfo, pod: PodInfo) -> None:
        """Take over the amounts of a node after a pod came or went."""
        row, scalar, now = info.row, pod.facts.request.scalar, info.requested
        if scalar:
            self._ensure_resources(scalar)
            for name in scalar:
                self.requested[self._resource_index[name], row] = now.scalar[name]
        requested = self.requested
        requested[0, row], requested[1, row], requested[2, row] = now.milli_cpu, now.memory, now.ephemeral_storage
        self.non_zero_requested[0, row] = info.non_zero_cpu
        self.non_zero_requested[1, row] = info.non_zero_memory
        self.pod_count[row] = len(info.pods)
        self._touch(row, info)

    def _touch(self, row: int, info: NodeInfo) -> None:
        self.clock += 1
        info.generation = self.clock
        self.generation[row] = self.clock
        self._changed.append(row)
        if len(self._changed) > 2 * _CHANGES_KEPT:
            del self._changed[:_CHANGES_KEPT]

    def _ensure_resources(self, names: Mapping[str, int]) -> None:
        fresh = [name for name in names if name not in self._resource_index]
        if not fresh:
            return
        for name in fresh:
            self._resource_index[name] = len(self.resource_names)
            self.resource_names.append(name)
        more = np.zeros((len(fresh), len(self.infos)), np.int64)
        self.allocatable = np.concatenate([self.allocatable, more])
        self.requested = np.concatenate([self.requested, more])

    def _write_amounts(self, target: NDArray[np.int64], row: int, amounts: Resource) -> None:
        target[:, row] = 0
        target[:3, row] = amounts.milli_cpu, amounts.memory, amounts.ephemeral_storage
        for name, amount in amounts.scalar.items():
            target[self._resource_index[name], row] = amount


_BASE_COLUMNS: Final = (
    ("allocatable", 0),
    ("requested", 0),
    ("non_zero_requested", 0),
    ("allowed_pods", 0),
    ("pod_count", 0),
    ("unschedulable", 0),
    ("taint_set", 0),
    ("generation", 0),
    ("node_generation", 0),
)
