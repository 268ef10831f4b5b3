"""Numbers of pods by topology domain, kept from cycle to cycle: a pod that comes or goes changes those of its domains.

Readers that keep what follows from the numbers (verdicts, weights) are told which domains have changed since they looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from schedlab.scheduler.framework.node_table import take_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import LabelColumn

#: How many changes `Changes.since` looks back at least.
_CHANGES_KEPT: Final = 64


class Changes:
    """Numbers that were noted one after the other; `count` of them so far."""

    __slots__ = ("_newest", "count")

    def __init__(self) -> None:
        self.count = 0
        self._newest: list[int] = []

    def note(self, number: int) -> None:
        """Take a number down."""
        self.count += 1
        self._newest.append(number)
        if len(self._newest) > 2 * _CHANGES_KEPT:
            del self._newest[:_CHANGES_KEPT]

    def since(self, count: int) -> Sequence[int] | None:
        """Return what was noted since `count` was that; None when it is too long ago."""
        missed = self.count - count
        if missed > len(self._newest):
            return None
        return self._newest[-missed:] if missed else ()


class DomainSums:
    """How many pods there are by value of a node label.

    counts: int64[V + 1], position = id of the value; the last number is always 0: it is what a node without the label
    reads, whose id is -1. positive: how many domains have pods. changes: the values whose number has changed; flips:
    those that got their first pod or lost their last one. is_over: nobody counts here any more.
    """

    __slots__ = ("_version", "changes", "counts", "flips", "is_over", "label", "positive")

    def __init__(self, label: LabelColumn, counts: NDArray[np.int64]) -> None:
        self.label, self._version = label, label.version
        self.counts = counts
        self.positive = int(np.count_nonzero(self.counts))
        self.changes, self.flips = Changes(), Changes()
        self.is_over = False

    @property
    def is_current(self) -> bool:
        """Whether they are counted on, and no node has changed its value since they were made."""
        return not self.is_over and self._version == self.label.version

    def is_of(self, label: LabelColumn) -> bool:
        """Whether these are sums by that column, and no node has changed its value since they were made."""
        return self.label is label and self._version == label.version

    def change(self, row: int, step: int) -> None:
        """Count pods of a node in or out; nothing happens once a node has changed its value, as the sums are over then."""
        value = int(self.label.ids[row])
        if value < 0 or self._version != self.label.version:
            return
        before = int(self.counts[value])
        self.counts[value] = before + step
        self.changes.note(value)
        if before == 0 or before + step == 0:
            self.positive += 1 if before == 0 else -1
            self.flips.note(value)


class NodeCounts:
    """How many pods of a kind each node has, per_node: int32[N], and on demand their sums by topology key."""

    __slots__ = ("_sums", "per_node")

    def __init__(self, per_node: NDArray[np.int32]) -> None:
        self.per_node = per_node
        self._sums: dict[str, DomainSums] = {}

    def by_domain(self, label: LabelColumn) -> DomainSums:
        """Return the sums by the value of a label; the same ones until a node changes its value, joins or leaves."""
        found = self._sums.get(label.key)
        if found is None or not found.is_of(label):
            found = self._sums[label.key] = DomainSums(label, sums_by_value(label, self.per_node))
        return found

    def change(self, row: int, step: int) -> None:
        """Count pods of a node in or out."""
        self.per_node[row] += step
        for sums in self._sums.values():
            sums.change(row, step)

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self.per_node = cast("NDArray[np.int32]", take_rows(self.per_node, old_rows, 0))
        self._sums.clear()

    def end(self) -> None:
        """Count no more."""
        for sums in self._sums.values():
            sums.is_over = True

    def copy(self) -> NodeCounts:
        """Return an independent copy, for a copy of the table; sums are made anew there."""
        return NodeCounts(self.per_node.copy())


def sums_by_value(
    label: LabelColumn, per_node: NDArray[np.int32], nodes: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Sum up per_node: int32[N] (of the nodes: bool[N]) by label value, int64[V + 1].

    The last number is always 0: it is what a node without the label reads, whose id is -1.
    """
    counted = per_node.astype(np.bool_)
    if nodes is not None:
        counted &= nodes
    rows = np.flatnonzero(counted)
    ids = label.ids[rows]
    there = ids >= 0
    # Sums of int32 are exact in the doubles that bincount works with.
    sums = np.bincount(ids[there], per_node[rows[there]], minlength=len(label.values) + 1)
    return sums.astype(np.int64)
