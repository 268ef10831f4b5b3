"""The pods on nodes as columns, for dry runs on many nodes at once.

Differs: upstream walks over the pods of each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.scheduler.framework.preemption.importance import start_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

#: Stands for "has not started".
NOT_STARTED: Final = np.iinfo(np.int64).max

_KEY: Final = "placed-pods"
_CAPACITY_MIN: Final = 64
#: So many changes are noted whatever the number of pods.
_CHANGES_MIN: Final = 1024


class PlacedPods:
    """P pods in slots; a slot that falls empty is taken by the last pod, so order says nothing. A Column.

    pods: PodInfo[P]. row: int64[P], of the node. priority: int64[P]. start: int64[P] ns or NOT_STARTED.
    requests: int64[R, P] in the order of the table's resources.
    Dry runs are rare, so changes are only noted; who reads catches up with them first.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._pods: list[PodInfo] = []
        self._slot_of: dict[str, int] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        # int64[3, capacity]: row, priority, start.
        self._numbers: NDArray[np.int64] = np.zeros((3, _CAPACITY_MIN), np.int64)
        self._requests: NDArray[np.int64] = np.zeros((len(table.resource_names), _CAPACITY_MIN), np.int64)
        # Changes that are not in the arrays yet: node, pod, whether it came; and nodes to be taken over as they are.
        self._changes: list[tuple[str, PodInfo, bool]] = []
        self._stale_nodes: dict[str, None] = {}
        self._all_stale = False

    @classmethod
    def of(cls, table: NodeTable) -> PlacedPods:
        """Return the pods of a table."""
        return table.column(_KEY, lambda: cls(table))

    @property
    def pods(self) -> list[PodInfo]:
        self._catch_up()
        return self._pods

    @property
    def row(self) -> NDArray[np.int64]:
        self._catch_up()
        return self._numbers[0, : len(self._pods)]

    @property
    def priority(self) -> NDArray[np.int64]:
        self._catch_up()
        return self._numbers[1, : len(self._pods)]

    @property
    def start(self) -> NDArray[np.int64]:
        self._catch_up()
        return self._numbers[2, : len(self._pods)]

    @property
    def requests(self) -> NDArray[np.int64]:
        self._catch_up()
        self._ensure(len(self._pods))
        return self._requests[:, : len(self._pods)]

    # --- Column ---

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self._drop_gone_nodes()
        if self._pods and not self._all_stale:
            moved = np.full(int(old_rows.max()) + 1, -1, np.int64)
            moved[old_rows[old_rows >= 0]] = np.flatnonzero(old_rows >= 0)
            rows = self._numbers[0, : len(self._pods)]
            rows[:] = moved[rows]

    def set_node(self, row: int, info: NodeInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._stale_nodes[info.name] = None

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self._note(row, pod, came=True)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self._note(row, pod, came=False)

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo) -> None:
        """See Column."""
        self._note(row, old, came=False)
        self._note(row, new, came=True)

    def copy(self, table: NodeTable) -> PlacedPods:
        """See Column."""
        self._catch_up()
        other = PlacedPods(table)
        other._pods, other._slot_of = list(self._pods), dict(self._slot_of)
        other._on_node = {name: dict(uids) for name, uids in self._on_node.items()}
        other._numbers, other._requests = self._numbers.copy(), self._requests.copy()
        return other

    def _note(self, row: int, pod: PodInfo, *, came: bool) -> None:
        if self._all_stale:
            return
        self._changes.append((self._table.names[row], pod, came))
        if len(self._changes) > _CHANGES_MIN + 2 * len(self._pods):
            # By now it is less work to begin anew.
            self._all_stale = True
            self._changes.clear()
            self._stale_nodes.clear()

    # --- Catching up ---

    def _catch_up(self) -> None:
        if self._all_stale:
            self._begin_anew()
        elif self._changes or self._stale_nodes:
            self._apply_changes()

    def _begin_anew(self) -> None:
        self._all_stale = False
        self._pods, self._slot_of, self._on_node = [], {}, {}
        for row, info in enumerate(self._table.infos):
            self._append(row, info.name, info.pods)
        self._changes.clear()
        self._stale_nodes.clear()

    def _apply_changes(self) -> None:
        row_of, stale = self._table.row_of, self._stale_nodes
        for name in stale:
            for uid in self._on_node.pop(name, ()):
                self._drop(uid)
        for name, pod, came in self._changes:
            if name in stale or name not in row_of:
                continue
            if came:
                self._append(row_of[name], name, (pod,))
            elif pod.uid in self._on_node.get(name, ()):
                del self._on_node[name][pod.uid]
                self._drop(pod.uid)
        for name in stale:
            if name in row_of:
                self._append(row_of[name], name, self._table.infos[row_of[name]].pods)
        self._changes.clear()
        self._stale_nodes.clear()

    def _drop_gone_nodes(self) -> None:
        """Drop the pods of nodes that have left the table."""
        row_of = self._table.row_of
        for name in [name for name in self._on_node if name not in row_of]:
            for uid in self._on_node.pop(name):
                self._drop(uid)

    def _append(self, row: int, node_name: str, pods: Sequence[PodInfo]) -> None:
        first, end = len(self._pods), len(self._pods) + len(pods)
        self._ensure(end)
        self._pods.extend(pods)
        uids = [pod.uid for pod in pods]
        self._slot_of.update(zip(uids, range(first, end), strict=True))
        self._on_node.setdefault(node_name, {}).update(dict.fromkeys(uids))
        starts = (start_ns(pod) for pod in pods)
        self._numbers[0, first:end] = row
        self._numbers[1, first:end] = [pod.priority for pod in pods]
        self._numbers[2, first:end] = [NOT_STARTED if start is None else start for start in starts]
        for slot, pod in enumerate(pods, first):
            self._requests[:, slot] = self._table.request_vector(pod.request)

    def _drop(self, uid: str) -> None:
        slot = self._slot_of.pop(uid)
        last = len(self._pods) - 1
        if slot != last:
            self._numbers[:, slot] = self._numbers[:, last]
            self._requests[:, slot] = self._requests[:, last]
            self._pods[slot] = self._pods[last]
            self._slot_of[self._pods[slot].uid] = slot
        self._pods.pop()

    def _ensure(self, size: int) -> None:
        """Make room for so many pods, and for resources that were not known before."""
        resources, capacity = self._requests.shape
        more = max(size - capacity, capacity) if size > capacity else 0
        fresh = len(self._table.resource_names) - resources
        if more:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, more)))
        if more or fresh:
            self._requests = np.pad(self._requests, ((0, fresh), (0, more)))
