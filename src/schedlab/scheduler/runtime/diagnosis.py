"""Why a pod did not fit: the verdicts of all nodes, and the message that sums them up.

Mirrors: pkg/scheduler/framework/{types,interface}.go (v1.36), Diagnosis, FitError and NodeToStatus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.scheduler.framework.status import REASONS, Code, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable

EXTENDER: Final = "Extender"
ABSENT: Final = unresolvable()


def left_out(plugins: Sequence[str]) -> Status:
    """Return the status of the nodes that plugins leave out before filtering."""
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]")


class NodeToStatusMap:
    """The statuses of the nodes that were turned down; all other nodes share `absent`.

    Verdicts of the search stay arrays: rows: int64[F], codes: uint8[F], reasons: int32[F], plugins: int8[F] (ids in
    `plugin_names`). Single ones (of a nominated node, of extenders) are kept by name and win.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.absent: Status = ABSENT
        self.plugin_names: tuple[str, ...] = ()
        self._rows: NDArray[np.int64] = _NO_ROWS
        self._codes: NDArray[np.uint8] = _NO_CODES
        self._reasons: NDArray[np.int32] = _NO_REASONS
        self._plugins: NDArray[np.int8] = _NO_PLUGINS
        #: What keeps the texts of reasons known.
        self._texts: object = None
        self._named: dict[str, Status] = {}
        self._index: dict[int, int] | None = None
        #: How many there are of which nobody will ask.
        self._counted = 0

    def __len__(self) -> int:
        named = sum(not self._searched(name) for name in self._named) if self._named else 0
        return len(self._rows) + self._counted + named

    def set(self, name: str, status: Status) -> None:
        """Give one node a status."""
        self._named[name] = status

    def count_searched(self, number: int) -> None:
        """Take so many nodes for turned down by the search: it found others, so nobody will ask which and why."""
        self._counted = number

    def set_searched(
        self,
        rows: NDArray[np.int64],
        codes: NDArray[np.uint8],
        reasons: NDArray[np.int32],
        plugins: NDArray[np.int8],
        plugin_names: tuple[str, ...],
    ) -> None:
        """Take over the verdicts of the search; they replace what was said of the same nodes before."""
        self._rows, self._codes, self._reasons, self._plugins = rows, codes, reasons, plugins
        self._texts = REASONS.pages
        self.plugin_names = plugin_names
        self._index = None
        for name in [name for name in self._named if self._searched(name)]:
            del self._named[name]

    def get(self, name: str) -> Status:
        """See framework.NodeToStatus."""
        found = self._named.get(name)
        if found is not None:
            return found
        at = self._positions().get(self._table.row_of.get(name, -1))
        if at is None:
            return self.absent
        plugin = self.plugin_names[self._plugins[at]]
        return Status(Code(int(self._codes[at])), REASONS.texts(int(self._reasons[at])), plugin)

    def rows_with(self, *codes: int) -> NDArray[np.int64]:
        """See framework.NodeToStatus."""
        by_row = np.full(len(self._table), self.absent.code, np.uint8)
        by_row[self._rows] = self._codes
        for name, status in self._named.items():
            row = self._table.row_of.get(name, -1)
            if row >= 0:
                by_row[row] = status.code
        wanted = np.zeros(len(by_row), np.bool_)
        for code in codes:
            wanted |= by_row == code
        return np.flatnonzero(wanted)

    def explicit(self) -> dict[str, Status]:
        """Return the nodes with a status of their own, in the order in which they got it."""
        names = self._table.names
        return {names[row]: self.get(names[row]) for row in self._rows.tolist()} | self._named

    def named(self) -> dict[str, Status]:
        """Return the statuses that were given to single nodes."""
        return self._named

    def count_reasons(self, all_nodes: int) -> dict[str, int]:
        """Return how often each reason was given; nodes without a status of their own count with `absent`'s."""
        counts: dict[str, int] = {}
        reasons = self._reasons
        if self._named and len(self._rows):
            overridden = np.array([self._table.row_of.get(name, -1) for name in self._named], np.int64)
            reasons = reasons[~np.isin(self._rows, overridden)]
        different, numbers = np.unique(reasons, return_counts=True)
        for reason, count in zip(different.tolist(), numbers.tolist(), strict=True):
            for text in REASONS.texts(reason):
                counts[text] = counts.get(text, 0) + count
        for status in self._named.values():
            for text in reasons_of(status):
                counts[text] = counts.get(text, 0) + 1
        missing = all_nodes - len(self)
        if missing > 0:
            for text in reasons_of(self.absent):
                counts[text] = counts.get(text, 0) + missing
        return counts

    def _searched(self, name: str) -> bool:
        return self._table.row_of.get(name, -1) in self._positions()

    def _positions(self) -> dict[int, int]:
        if self._index is None:
            self._index = {row: at for at, row in enumerate(self._rows.tolist())}
        return self._index


_NO_ROWS: Final = np.zeros(0, np.int64)
_NO_CODES: Final = np.zeros(0, np.uint8)
_NO_REASONS: Final = np.zeros(0, np.int32)
_NO_PLUGINS: Final = np.zeros(0, np.int8)


def reasons_of(status: Status) -> tuple[str, ...]:
    """Return a status' reasons, its error first."""
    return (status.error, *status.reasons) if status.error else status.reasons


@dataclass(slots=True)
class Diagnosis:
    """All that is known of a failure; plugin names are kept in dicts to have an order."""

    nodes: NodeToStatusMap
    unschedulable_plugins: dict[str, None] = field(default_factory=dict)
    pending_plugins: dict[str, None] = field(default_factory=dict)
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def add_plugin_status(self, status: Status) -> None:
        """Note which plugin turned the pod down."""
        if status.plugin and status.rejected:
            self.unschedulable_plugins[status.plugin] = None
            if status.code == Code.PENDING:
                self.pending_plugins[status.plugin] = None


@dataclass(slots=True)
class FitError:
    """The pod fits nowhere."""

    all_nodes: int
    diagnosis: Diagnosis

    def message(self) -> str:
        """Return `0/N nodes are available: <PreFilter>. <Filter>. <PostFilter>`, the parts that there are."""
        diagnosis = self.diagnosis
        text = f"0/{self.all_nodes} nodes are available:"
        if diagnosis.pre_filter_message:
            text += f" {diagnosis.pre_filter_message}."
        else:
            counts = diagnosis.nodes.count_reasons(self.all_nodes)
            parts = sorted(f"{count} {reason}" for reason, count in counts.items())
            if parts:
                text += f" {', '.join(parts)}."
        if diagnosis.post_filter_message:
            text += f" {diagnosis.post_filter_message}"
        return text
