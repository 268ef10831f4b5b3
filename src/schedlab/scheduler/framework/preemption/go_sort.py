"""Go's sort.Slice, step by step: the order it leaves equal (or inconsistently compared) elements in.

sort.Slice is not stable, so where elements compare equal the result depends on the algorithm: pattern-defeating
quicksort, which is insertion sort for up to 12 elements. Victims of a node without start times, or with equal ones, are
such elements; which of them is reprieved first can be seen.

Mirrors: the standard library's src/sort/zsortfunc.go as of Go 1.26, after https://arxiv.org/abs/2106.05123.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_INSERTION_MAX: Final = 12
_NINTHER_MIN: Final = 50
_SHIFTING_MIN: Final = 50
_SHIFTS_MAX: Final = 5
_SWAPS_MAX: Final = 12
_UINT64: Final = (1 << 64) - 1


class _Hint(Enum):
    UNKNOWN = 0
    INCREASING = 1
    DECREASING = 2


def go_sorted(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """Return the items as sort.Slice leaves them."""
    data = list(items)
    _Sorter(data, less).sort(0, len(data), len(data).bit_length())
    return data


class _Sorter(Generic[T]):
    """Sorts ranges of `data` in place; positions are absolute."""

    def __init__(self, data: list[T], less: Callable[[T, T], bool]) -> None:
        self._data = data
        self._less_items = less

    def _less(self, i: int, j: int) -> bool:
        return self._less_items(self._data[i], self._data[j])

    def _swap(self, i: int, j: int) -> None:
        data = self._data
        data[i], data[j] = data[j], data[i]

    def sort(self, start: int, end: int, limit: int) -> None:
        """Sort data[start:end]; after `limit` unbalanced partitions the rest is heap-sorted."""
        balanced = partitioned = True
        while (length := end - start) > _INSERTION_MAX:
            if limit == 0:
                self._heap_sort(start, end)
                return
            if not balanced:
                self._break_patterns(start, end)
                limit -= 1
            pivot, hint = self._choose_pivot(start, end)
            if hint is _Hint.DECREASING:
                self._data[start:end] = self._data[start:end][::-1]
                pivot = end - 1 - (pivot - start)
                hint = _Hint.INCREASING
            if balanced and partitioned and hint is _Hint.INCREASING and self._nearly_sorted(start, end):
                return
            if start > 0 and not self._less(start - 1, pivot):
                # The pivot equals the one before this range, so nothing here is smaller.
                start = self._partition_equal(start, end, pivot)
                continue
            middle, partitioned = self._partition(start, end, pivot)
            left, right = middle - start, end - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(start, middle, limit)
                start = middle + 1
            else:
                self.sort(middle + 1, end, limit)
                end = middle
        self._insertion_sort(start, end)

    def _insertion_sort(self, start: int, end: int) -> None:
        for i in range(start + 1, end):
            j = i
            while j > start and self._less(j, j - 1):
                self._swap(j, j - 1)
                j -= 1

    def _sift_down(self, root: int, end: int, first: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self._less(first + child, first + child + 1):
                child += 1
            if not self._less(first + root, first + child):
                return
            self._swap(first + root, first + child)
            root = child

    def _heap_sort(self, start: int, end: int) -> None:
        length = end - start
        for i in range((length - 1) // 2, -1, -1):
            self._sift_down(i, length, start)
        for i in range(length - 1, -1, -1):
            self._swap(start, start + i)
            self._sift_down(0, i, start)

    def _partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Bring what is less than the pivot before it; return where it ends up, and whether nothing had to move."""
        self._swap(start, pivot)
        i, j = self._skip_partitioned(start, start + 1, end - 1)
        if i > j:
            self._swap(j, start)
            return j, True
        while i <= j:
            self._swap(i, j)
            i, j = self._skip_partitioned(start, i + 1, j - 1)
        self._swap(j, start)
        return j, False

    def _skip_partitioned(self, pivot: int, i: int, j: int) -> tuple[int, int]:
        while i <= j and self._less(i, pivot):
            i += 1
        while i <= j and not self._less(j, pivot):
            j -= 1
        return i, j

    def _partition_equal(self, start: int, end: int, pivot: int) -> int:
        """Bring what equals the pivot to the front; return where the rest begins."""
        self._swap(start, pivot)
        i, j = start + 1, end - 1
        while True:
            while i <= j and not self._less(start, i):
                i += 1
            while i <= j and self._less(start, j):
                j -= 1
            if i > j:
                return i
            self._swap(i, j)
            i, j = i + 1, j - 1

    def _nearly_sorted(self, start: int, end: int) -> bool:
        """Shift a few elements that are out of order; whether all is in order then."""
        i = start + 1
        for _ in range(_SHIFTS_MAX):
            while i < end and not self._less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - start < _SHIFTING_MIN:
                return False
            self._swap(i, i - 1)
            if i - start >= 2:
                self._shift(range(i - 1, 0, -1))
            if end - i >= 2:
                self._shift(range(i + 1, end))
        return False

    def _shift(self, places: range) -> None:
        for j in places:
            if not self._less(j, j - 1):
                return
            self._swap(j, j - 1)

    def _break_patterns(self, start: int, end: int) -> None:
        length = end - start
        state, mask = length, (1 << length.bit_length()) - 1
        first = start + length // 4 * 2 - 1
        for place in range(first, first + 3):
            state ^= state << 13 & _UINT64
            state ^= state >> 7
            state ^= state << 17 & _UINT64
            other = state & mask
            self._swap(place, start + (other - length if other >= length else other))

    def _choose_pivot(self, start: int, end: int) -> tuple[int, _Hint]:
        """Return the median of three places (of nine for long ranges), and what the comparisons tell of the order."""
        quarter = (end - start) // 4
        a, b, c = start + quarter, start + quarter * 2, start + quarter * 3
        swaps = [0]
        if end - start >= _NINTHER_MIN:
            a, b, c = (self._median(place - 1, place, place + 1, swaps) for place in (a, b, c))
        pivot = self._median(a, b, c, swaps)
        hints = {0: _Hint.INCREASING, _SWAPS_MAX: _Hint.DECREASING}
        return pivot, hints.get(swaps[0], _Hint.UNKNOWN)

    def _median(self, a: int, b: int, c: int, swaps: list[int]) -> int:
        a, b = self._in_order(a, b, swaps)
        b, c = self._in_order(b, c, swaps)
        a, b = self._in_order(a, b, swaps)
        return b

    def _in_order(self, a: int, b: int, swaps: list[int]) -> tuple[int, int]:
        if self._less(b, a):
            swaps[0] += 1
            return b, a
        return a, b
