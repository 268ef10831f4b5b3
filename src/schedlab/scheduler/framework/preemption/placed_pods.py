"""The pods on nodes as columns, for dry runs on many nodes at once. Made when preemption is first needed, then kept.

Differs: upstream walks over the pods of each node.
"""

from __future__ import annotations

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
        self._rows: NDArray[np.int64] = np.zeros(_CAPACITY_MIN, np.int64)
        self._priorities: NDArray[np.int64] = np.zeros(_CAPACITY_MIN, np.int64)
        self._starts: NDArray[np.int64] = np.zeros(_CAPACITY_MIN, np.int64)
        self._requests: NDArray[np.int64] = np.zeros((len(table.resource_names), _CAPACITY_MIN), np.int64)

    @classmethod
    def of(cls, table: NodeTable) -> PlacedPods:
        """Return the pods of a table."""
        return table.column(_KEY, lambda: cls(table))

    @property
    def row(self) -> NDArray[np.int64]:
        return self._rows[: len(self.pods)]

    @property
    def priority(self) -> NDArray[np.int64]:
        return self._priorities[: len(self.pods)]

    @property
    def start(self) -> NDArray[np.int64]:
        return self._starts[: len(self.pods)]

    @property
    def requests(self) -> NDArray[np.int64]:
        self._ensure(len(self.pods))
        return self._requests[:, : len(self.pods)]

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        if not self.pods:
            return
        moved = np.full(max(int(self.row.max()), int(old_rows.max(initial=0))) + 1, -1, np.int64)
        moved[old_rows[old_rows >= 0]] = np.flatnonzero(old_rows >= 0)
        self._rows[: len(self.pods)] = moved[self.row]
        for uid in [self.pods[slot].uid for slot in np.flatnonzero(self.row < 0)]:
            self._drop(uid)

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        for uid in [self.pods[slot].uid for slot in np.flatnonzero(self.row == row)]:
            self._drop(uid)
        for pod in info.pods:
            self.add_pod(row, pod)

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        slot = len(self.pods)
        self._ensure(slot + 1)
        self.pods.append(pod)
        self._slot_of[pod.uid] = slot
        started = start_ns(pod)
        self._rows[slot] = row
        self._priorities[slot] = pod.priority
        self._starts[slot] = NOT_STARTED if started is None else started
        self._requests[:, slot] = self._table.request_vector(pod.request)

    def remove_pod(self, row: int, pod: PodInfo) -> None:  # noqa: ARG002 - the signature is Column's
        """See Column."""
        if pod.uid in self._slot_of:
            self._drop(pod.uid)

    def _drop(self, uid: str) -> None:
        slot = self._slot_of.pop(uid)
        last = len(self.pods) - 1
        if slot != last:
            for values in (self._rows, self._priorities, self._starts):
                values[slot] = values[last]
            self._requests[:, slot] = self._requests[:, last]
            self.pods[slot] = self.pods[last]
            self._slot_of[self.pods[slot].uid] = slot
        self.pods.pop()

    def _ensure(self, size: int) -> None:
        """Make room for pods, and for resources that were not known before."""
        resources, capacity = self._requests.shape
        more = max(capacity, _CAPACITY_MIN) if size > capacity else 0
        fresh = len(self._table.resource_names) - resources
        if more:
            self._rows, self._priorities, self._starts = (
                np.concatenate([values, np.zeros(more, np.int64)])
                for values in (self._rows, self._priorities, self._starts)
            )
        if more or fresh:
            self._requests = np.pad(self._requests, ((0, fresh), (0, more)))
