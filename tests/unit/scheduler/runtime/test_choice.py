"""The node that upstream's heap would choose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.runtime.choice import SortedNodes, heap_root, pre_order


def go_heap(totals: list[int]) -> list[tuple[int, int]]:
    """Return (total, index) as a heap made by Go's container/heap with "greater total first"."""
    heap = [(total, index) for index, total in enumerate(totals)]
    for start in range(len(heap) // 2 - 1, -1, -1):
        down(heap, start, len(heap))
    return heap


def down(heap: list[tuple[int, int]], i: int, n: int) -> None:
    while True:
        left = 2 * i + 1
        if left >= n:
            return
        j = left
        if left + 1 < n and heap[left + 1][0] > heap[left][0]:
            j = left + 1
        if not heap[j][0] > heap[i][0]:
            return
        heap[i], heap[j] = heap[j], heap[i]
        i = j


def go_pops(totals: list[int]) -> list[int]:
    heap = go_heap(totals)
    popped = []
    while heap:
        n = len(heap) - 1
        heap[0], heap[n] = heap[n], heap[0]
        down(heap, 0, n)
        popped.append(heap.pop()[1])
    return popped


@pytest.mark.parametrize(
    ("size", "order"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (7, [0, 1, 3, 4, 2, 5, 6]), (6, [0, 1, 3, 4, 2, 5])],
)
def test_pre_order_of_the_implicit_tree(size: int, order: list[int]) -> None:
    assert pre_order(size).tolist() == order


def test_parents_come_before_children_and_left_before_right() -> None:
    """In trees of any size, also without a full last level."""
    for size in range(130):
        found: list[int] = []

        def visit(index: int, size: int = size, found: list[int] = found) -> None:
            if index < size:
                found.append(index)
                visit(2 * index + 1)
                visit(2 * index + 2)

        visit(0)
        assert pre_order(size).tolist() == found


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_root_is_the_one_of_the_heap(totals: list[int]) -> None:
    assert heap_root(np.array(totals, np.int64)) == go_heap(totals)[0][1]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_later_nodes_come_as_from_the_heap(totals: list[int]) -> None:
    names = [str(index) for index in range(len(totals))]
    nodes = SortedNodes(names, np.arange(len(totals)), np.array(totals, np.int64))
    expected = [str(index) for index in go_pops(totals)[1:]]

    assert len(nodes) == len(expected)
    assert [nodes.pop() for _ in expected] == expected
    assert len(nodes) == 0
