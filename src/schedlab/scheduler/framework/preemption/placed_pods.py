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


class PlacedPods:
    """P pods in slots; a slot that falls empty is taken by the last pod, so order says nothing. A Column.

    pods: PodInfo[P]. row: int64[P], of the node. priority: int64[P]. start: int64[P] ns or NOT_STARTED.
    requests: int64[R, P] in the order of the table's resources.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.pods: list[PodInfo] = []
        self._slot_of: dict[str, int] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        # int64[3, capacity]: row, priority, start.
        self._numbers: NDArray[np.int64] = np.zeros((3, _CAPACITY_MIN), np.int64)
        self._requests: NDArray[np.int64] = np.zeros((len(table.resource_names), _CAPACITY_MIN), np.int64)

    @classmethod
    def of(cls, table: NodeTable) -> PlacedPods:
        """Return the pods of a table."""
        return table.column(_KEY, lambda: cls(table))

    @property
    def row(self) -> NDArray[np.int64]:
        return self._numbers[0, : len(self.pods)]

    @property
    def priority(self) -> NDArray[np.int64]:
        return self._numbers[1, : len(self.pods)]

    @property
    def start(self) -> NDArray[np.int64]:
        return self._numbers[2, : len(self.pods)]

    @property
    def requests(self) -> NDArray[np.int64]:
        self._ensure(len(self.pods))
        return self._requests[:, : len(self.pods)]

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        for name in [name for name in self._on_node if name not in self._table.row_of]:
            for uid in self._on_node.pop(name):
                self._drop(uid)
        if self.pods:
            moved = np.full(int(old_rows.max()) + 1, -1, np.int64)
            moved[old_rows[old_rows >= 0]] = np.flatnonzero(old_rows >= 0)
            self._numbers[0, : len(self.pods)] = moved[self.row]

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        for uid in self._on_node.pop(info.name, ()):
            self._drop(uid)
        self._append(row, info.name, info.pods)

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self._append(row, self._table.names[row], (pod,))

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        there = self._on_node.get(self._table.names[row], {})
        if pod.uid in there:
            del there[pod.uid]
            self._drop(pod.uid)

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        slot = self._slot_of.get(new.uid)
        if slot is None:
            return
        self.pods[slot] = new
        start = start_ns(new)
        self._numbers[1, slot] = new.priority
        self._numbers[2, slot] = NOT_STARTED if start is None else start

    def copy(self, table: NodeTable) -> PlacedPods:
        """See Column."""
        other = PlacedPods(table)
        other.pods, other._slot_of = list(self.pods), dict(self._slot_of)
        other._on_node = {name: dict(uids) for name, uids in self._on_node.items()}
        other._numbers, other._requests = self._numbers.copy(), self._requests.copy()
        return other

    def _append(self, row: int, node_name: str, pods: Sequence[PodInfo]) -> None:
        first, end = len(self.pods), len(self.pods) + len(pods)
        self._ensure(end)
        self.pods.extend(pods)
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
        last = len(self.pods) - 1
        if slot != last:
            self._numbers[:, slot] = self._numbers[:, last]
            self._requests[:, slot] = self._requests[:, last]
            self.pods[slot] = self.pods[last]
            self._slot_of[self.pods[slot].uid] = slot
        self.pods.pop()

    def _ensure(self, size: int) -> None:
        """Make room for so many pods, and for resources that were not known before."""
        resources, capacity = self._requests.shape
        more = max(size - capacity, capacity) if size > capacity else 0
        fresh = len(self._table.resource_names) - resources
        if more:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, more)))
        if more or fresh:
            self._requests = np.pad(self._requests, ((0, fresh), (0, more)))
