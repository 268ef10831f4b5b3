"""Which of the nodes with equal totals is taken.

Upstream turns the feasible nodes into a binary heap (Go's container/heap, greater total first) and takes the root. That
root is the first maximum in pre-order of the implicit tree: heap.Init sifts down from the last parent to the root, and
a child rises only when it is strictly greater than its parent, the left one when both children are equal. So a
permutation per length and one argmax find it.

Mirrors: pkg/scheduler/schedule_one.go (v1.36), newSortedNodeScores and nodeScoreHeap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@lru_cache(maxsize=256)
def pre_order(size: int) -> NDArray[np.int64]:
    """Return the indices of an implicit binary heap of that size in pre-order, as int64[size]."""
    # What a tree lacks of one with full levels are whole subtrees.
    order = _full_pre_order(size.bit_length())
    return order[order < size]


@lru_cache(maxsize=32)
def _full_pre_order(levels: int) -> NDArray[np.int64]:
    """Return the same of a tree of so many full levels, as int64[2 ** levels - 1]."""
    if not levels:
        return np.zeros(0, np.int64)
    below = _full_pre_order(levels - 1)
    # A node at depth d of the tree on the left is found 2 ** d places later in the whole one, on the right twice as many.
    widths = 2 ** np.arange(levels - 1)
    later = np.repeat(widths, widths)[below]
    return np.concatenate(([0], below + later, below + 2 * later))


def heap_root(totals: NDArray[np.int64]) -> int:
    """Return the index of the chosen node among `totals: int64[F]`, F > 0."""
    order = pre_order(len(totals))
    return int(order[totals.take(order).argmax()])


class SortedNodes:
    """The nodes after the chosen one, in the order in which upstream's heap gives them.

    `names` are those of the table, `rows: int64[F]` and `totals: int64[F]` the feasible nodes. A heap is made only when
    one is asked for, which is rare.
    """

    def __init__(self, names: Sequence[str], rows: NDArray[np.int64], totals: NDArray[np.int64]) -> None:
        self._names = names
        self._rows = rows
        self._totals = totals
        self._heap: list[tuple[int, int]] = []
        self._left = len(rows) - 1

    def __len__(self) -> int:
        return self._left

    def pop(self) -> str:
        """Take the best of the nodes out."""
        if not self._heap:
            self._heap = list(zip(self._totals.tolist(), self._rows.tolist(), strict=True))
            for parent in range(len(self._heap) // 2 - 1, -1, -1):
                _sift_down(self._heap, parent, len(self._heap))
            self._pop()
        self._left -= 1
        return self._names[self._pop()]

    def _pop(self) -> int:
        heap, last = self._heap, len(self._heap) - 1
        heap[0], heap[last] = heap[last], heap[0]
        _sift_down(heap, 0, last)
        return heap.pop()[1]


def _sift_down(heap: list[tuple[int, int]], at: int, size: int) -> None:
    while (child := 2 * at + 1) < size:
        if child + 1 < size and heap[child + 1][0] > heap[child][0]:
            child += 1
        if heap[child][0] <= heap[at][0]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child
