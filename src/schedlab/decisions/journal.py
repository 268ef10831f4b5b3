"""What happened to the node table, so that it can be had as it was at an earlier moment.

The journal is a column of the table and so hears of every change: an entry is what has to be known to take the change
back. Pods that came are noted by uid alone, since they are still there or were noted when they went. The oldest entries
are forgotten when there are too many; moments before them cannot be had any more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import HostPorts, NodeInfo, PodInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.api.rules.ports import HostPort
    from schedlab.api.views.core import Node
    from schedlab.scheduler.framework.types import ImageState

#: How many changes are remembered, and how many pods that went: those keep what would otherwise be gone.
ENTRIES_MAX: Final = 200_000
REMOVALS_MAX: Final = 20_000

_KEY: Final = "decisions/journal"


@dataclass(slots=True)
class _NodeState:
    """A node, its view of images, its pods by uid, and its ports in use, which do not follow from the pods alone."""

    node: Node
    images: Mapping[str, ImageState]
    pods: dict[str, PodInfo]
    ports: tuple[HostPort, ...]


@dataclass(frozen=True, slots=True)
class _Came:
    """A pod came to a node; `ports` were in use before, None when the pod takes none."""

    name: str
    uid: str
    ports: tuple[HostPort, ...] | None


@dataclass(frozen=True, slots=True)
class _Went:
    """A pod went; `ports` as in _Came."""

    name: str
    pod: PodInfo
    ports: tuple[HostPort, ...] | None


@dataclass(frozen=True, slots=True)
class _Relabelled:
    """A pod got other labels; these are the old ones."""

    name: str
    uid: str
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Changed:
    """A node changed: how it was; `state` is None when its pods stayed the same."""

    name: str
    node: Node
    images: Mapping[str, ImageState]
    state: _NodeState | None


@dataclass(frozen=True, slots=True)
class _Reordered:
    """Nodes came, went or moved: the order before, and the state of those that went."""

    names: tuple[str, ...]
    gone: Mapping[str, _NodeState]


_PodEntry = _Came | _Went | _Relabelled
_Entry = _PodEntry | _Changed | _Reordered


class TableJournal:
    """The changes of one table since `oldest`; a moment is a number of changes (`now`)."""

    def __init__(self, table: NodeTable, *, entries_max: int = ENTRIES_MAX, removals_max: int = REMOVALS_MAX) -> None:
        self._table = table
        self._entries_max, self._removals_max = entries_max, removals_max
        self._entries: list[_Entry] = []
        self._removals = 0
        #: The first moment that can still be had.
        self.oldest = 0
        self._names: tuple[str, ...] = ()
        self._nodes: dict[str, _NodeState] = {}
        # By node, the moments of its changes; and the moment after nodes came, went or moved last.
        self._places: dict[str, list[int]] = {}
        self._last_order = 0

    @classmethod
    def of(cls, table: NodeTable) -> TableJournal:
        """Return the journal of a table, begun now unless it has one."""
        return table.column(_KEY, lambda: cls(table))

    @property
    def now(self) -> int:
        """The present moment."""
        return self.oldest + len(self._entries)

    def before(self, uid: str) -> int:
        """Return the moment before the newest changes that were all of one pod: of its own assumption, say."""
        place = len(self._entries)
        while place and self._is_of(self._entries[place - 1], uid):
            place -= 1
        return self.oldest + place

    @staticmethod
    def _is_of(entry: _Entry, uid: str) -> bool:
        return isinstance(entry, _PodEntry) and _uid(entry) == uid

    # --- Column ---

    def reorder(self, old_rows: NDArray[np.int64]) -> None:  # noqa: ARG002 - the table has the new order already
        """See Column."""
        names = tuple(self._table.names)
        kept = self._table.row_of
        gone = {name: state for name, state in self._nodes.items() if name not in kept}
        for name in gone:
            del self._nodes[name]
        self._note(_Reordered(self._names, gone))
        self._names = names

    def set_node(self, row: int, info: NodeInfo) -> None:  # noqa: ARG002 - the info says all
        """See Column."""
        before = self._nodes.get(info.name)
        pods = {pod.uid: pod for pod in info.pods}
        if before is not None:
            same = before.pods.keys() == pods.keys()
            self._note(_Changed(info.name, before.node, before.images, None if same else before))
        self._nodes[info.name] = _NodeState(info.node, info.image_states, pods, tuple(info.used_ports.used()))

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        name = self._table.names[row]
        self._nodes[name].pods[pod.uid] = pod
        self._note(_Came(name, pod.uid, self._swap_ports(row, name, pod)))

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        name = self._table.names[row]
        known = self._nodes[name].pods.pop(pod.uid, pod)
        self._removals += 1
        self._note(_Went(name, known, self._swap_ports(row, name, pod)))

    def _swap_ports(self, row: int, name: str, pod: PodInfo) -> tuple[HostPort, ...] | None:
        """Take note of the ports in use now and return those before."""
        if not pod.host_ports:
            return None
        state = self._nodes[name]
        before, state.ports = state.ports, tuple(self._table.infos[row].used_ports.used())
        return before

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo) -> None:
        """See Column; a state of a pod that asks for the same and is labelled alike changes no number."""
        name = self._table.names[row]
        self._nodes[name].pods[new.uid] = new
        if old.labels != new.labels:
            self._note(_Relabelled(name, new.uid, old.labels))

    def _note(self, entry: _Entry) -> None:
        if isinstance(entry, _Reordered):
            self._last_order = self.now + 1
        else:
            places = self._places.get(entry.name)
            if places is None:
                self._places[entry.name] = [self.now]
            else:
                places.append(self.now)
        self._entries.append(entry)
        if len(self._entries) > self._entries_max or self._removals > self._removals_max:
            self._forget(len(self._entries) // 2)

    def _forget(self, count: int) -> None:
        self._removals -= sum(isinstance(entry, _Went) for entry in self._entries[:count])
        del self._entries[:count]
        self.oldest += count
        for name, places in tuple(self._places.items()):
            del places[: bisect_left(places, self.oldest)]
            if not places:
                del self._places[name]

    # --- Going back ---

    def nodes_are_those_of(self, moment: int) -> bool:
        """Whether no node came, went or moved since, so that rows are the same."""
        return self.oldest <= moment and self._last_order <= moment

    def node_at(self, name: str, moment: int) -> NodeInfo:
        """Return a node as it was at a moment since which the nodes are the same."""
        assert self.nodes_are_those_of(moment), f"moment {moment} had other nodes"
        row = self._table.row_of[name]
        info = self._settled(self._table.infos[row], row)
        places = self._places.get(name, [])
        alone = NodeTable()
        alone.reorder([info])
        since = places[bisect_left(places, moment) :]
        for undo in _undone(alone, [self._entries[place - self.oldest] for place in since]):
            undo()
        info.row = row
        return info

    def table_at(self, moment: int) -> NodeTable | None:
        """Return a table of its own as it was at a moment; None when that is forgotten."""
        if not self.oldest <= moment <= self.now:
            return None
        table = self._table.copy()
        table.infos = [self._settled(info, row) for row, info in enumerate(self._table.infos)]
        table.drop_column(_KEY)
        for undo in _undone(table, self._entries[moment - self.oldest :]):
            undo()
        return table

    def _settled(self, info: NodeInfo, row: int) -> NodeInfo:
        """Return a copy of a node as the table has it; changes that wait for the next cycle are left out."""
        state = self._nodes[info.name]
        known = info.node is state.node and info.image_states is state.images and len(info.pods) == len(state.pods)
        copied = info.copy() if known and info.row == row else _revived(state)
        copied.row = row
        return copied


def _undone(table: NodeTable, entries: Sequence[_Entry]) -> list[Callable[[], Any]]:
    """Return what takes the entries back, newest first; changes that took each other back are left out."""
    steps: list[Callable[[], Any]] = []
    batch = _Batch(table)
    for entry in reversed(entries):
        if isinstance(entry, _PodEntry):
            batch.add(entry)
        else:
            steps += (batch.settle, _node_step(table, entry))
            batch = _Batch(table)
    return [*steps, batch.settle]


class _Batch:
    """What changes of pods in a row come to: by node and uid the pod, None, or its labels; by node the ports in use."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._pods: dict[tuple[str, str], PodInfo | dict[str, str] | None] = {}
        self._ports: dict[str, tuple[HostPort, ...]] = {}

    def add(self, entry: _PodEntry) -> None:
        """Go back by one more entry."""
        key = entry.name, _uid(entry)
        if isinstance(entry, _Relabelled):
            later = self._pods.get(key)
            self._pods[key] = later.with_labels(entry.labels) if isinstance(later, PodInfo) else entry.labels
            return
        self._pods[key] = entry.pod if isinstance(entry, _Went) else None
        if entry.ports is not None:
            self._ports[entry.name] = entry.ports

    def settle(self) -> None:
        """Change the table."""
        table = self._table
        for (name, uid), earlier in self._pods.items():
            info = table.infos[table.row_of[name]]
            there = next((each for each in info.pods if each.uid == uid), None)
            if isinstance(earlier, dict):
                assert there is not None, f"pod {uid} got other labels on {name} and is not there"
                pod: PodInfo | None = there.with_labels(earlier)
            else:
                pod = earlier
            if there is not None:
                table.remove_pod(info, there)
            if pod is not None:
                table.add_pod(info, pod)
        for name, ports in self._ports.items():
            info = table.infos[table.row_of[name]]
            info.used_ports = HostPorts.of(ports)
            table.set_node(info)


def _uid(entry: _PodEntry) -> str:
    return entry.pod.uid if isinstance(entry, _Went) else entry.uid


def _node_step(table: NodeTable, entry: _Changed | _Reordered) -> Callable[[], Any]:
    def change() -> None:
        assert isinstance(entry, _Changed)
        info = table.infos[table.row_of[entry.name]]
        info.set_node(entry.node)
        info.image_states = dict(entry.images)
        if entry.state is not None:
            for pod in tuple(info.pods):
                info.remove_pod(pod)
            _fill(info, entry.state)
        table.set_node(info)

    def reorder() -> None:
        assert isinstance(entry, _Reordered)
        known = {info.name: info for info in table.infos}
        table.reorder([known.get(name) or _revived(entry.gone[name]) for name in entry.names])

    return change if isinstance(entry, _Changed) else reorder


def _revived(state: _NodeState) -> NodeInfo:
    info = NodeInfo(state.node)
    info.image_states = dict(state.images)
    _fill(info, state)
    return info


def _fill(info: NodeInfo, state: _NodeState) -> None:
    for pod in state.pods.values():
        info.add_pod(pod)
    info.used_ports = HostPorts.of(state.ports)
