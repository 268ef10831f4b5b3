"""Go's sort.Slice: right for any order, and for orders that are none the same elements in the same places as there."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.framework.preemption.go_sort import _Sorter, go_sorted


def less(one: int, other: int) -> bool:
    return one < other


@given(st.lists(st.integers(0, 30), max_size=120))
def test_sorts(numbers: list[int]) -> None:
    """Whatever comes in, with duplicates or without, is sorted."""
    assert go_sorted(numbers, less) == sorted(numbers)


@pytest.mark.parametrize("length", [13, 49, 50, 200])
@pytest.mark.parametrize(
    "shape",
    [
        lambda i, n: i,
        lambda i, n: n - i,
        lambda i, n: i % 3,
        lambda i, n: min(i, n - i),
        lambda i, n: i if i != n // 2 else -1,
        lambda i, n: i * 7919 % n,
    ],
    ids=["rising", "falling", "few values", "rising, then falling", "one out of place", "scattered"],
)
def test_sorts_shapes(shape: Callable[[int, int], int], length: int) -> None:
    """Each way through the algorithm ends sorted."""
    numbers = [shape(i, length) for i in range(length)]

    assert go_sorted(numbers, less) == sorted(numbers)


def test_heap_sort_is_the_last_resort() -> None:
    """After too many unbalanced partitions the rest is heap-sorted."""
    numbers = [i * 7919 % 101 for i in range(101)]
    _Sorter(numbers, less).sort(0, len(numbers), 0)

    assert numbers == list(range(101))


def test_few_equal_elements_keep_their_order() -> None:
    """Up to twelve elements are sorted by insertion, which is stable."""
    pairs = [(i % 2, i) for i in range(12)]

    assert go_sorted(pairs, lambda one, other: one[0] < other[0]) == sorted(pairs)


def test_many_equal_elements_may_not() -> None:
    """More elements are partitioned around a pivot, which is not stable."""
    pairs = [(i % 3, i) for i in range(14)]
    found = go_sorted(pairs, lambda one, other: one[0] < other[0])

    assert sorted(found) == sorted(pairs)
    assert [one[0] for one in found] == sorted(one[0] for one in pairs)
    assert found != sorted(pairs)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(5, [4, 3, 2, 1, 0], id="insertion brings each to the front"),
        # The middle one is the pivot: it changes places with the first, then with the last, then the rest is inserted.
        pytest.param(13, [11, 10, 9, 8, 7, 0, 5, 4, 3, 2, 1, 12, 6], id="one partition, then insertion"),
    ],
)
def test_each_less_than_the_other(length: int, expected: list[int]) -> None:
    """A comparison that always says yes, as upstream's of pods that have not started does."""
    assert go_sorted(range(length), lambda one, other: True) == expected
