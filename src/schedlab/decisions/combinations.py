"""Rows that are the same in several columns, found by their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Numbers are made to follow each other when they may be greater than that.
_SPAN_MAX: Final = 1 << 20
#: With a table of so many times as many numbers as there are rows that is quicker than by sorting.
_TABLE_MAX: Final = 8


def combinations(columns: Iterable[NDArray[np.generic]], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the combinations of values in columns [N = size] from 0 on.

    Returns the number of each row, int64[N], and the first row of each number.
    """
    numbers, span = np.zeros(size, np.int64), min(size, 1)
    for column in columns:
        if not size or (column == column[0]).all():
            continue
        values, values_span = _from_zero(column.astype(np.int64))
        numbers, span = numbers * values_span + values, span * values_span
        if span > _SPAN_MAX:
            numbers, span = _following(numbers, span)
    numbers, count = _following(numbers, span)
    first = np.empty(count, np.int64)
    # Of several rows with the same number the one that is written last stays.
    first[numbers[::-1]] = np.arange(size - 1, -1, -1)
    return numbers, first


def _from_zero(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return numbers: int64[N] that differ where the values do, and what all of them are below."""
    least = int(values.min())
    span = int(values.max()) - least + 1
    return (values - least, span) if span <= _SPAN_MAX else _following(values - least, span)


def _following(numbers: NDArray[np.int64], span: int) -> tuple[NDArray[np.int64], int]:
    """Return numbers that follow each other in the place of numbers: int64[N], from 0 to below `span`."""
    if span > _TABLE_MAX * len(numbers):
        found, places = np.unique(numbers, return_inverse=True)
        return places.astype(np.int64), len(found)
    is_there = np.zeros(span, np.bool_)
    is_there[numbers] = True
    following = np.cumsum(is_there) - 1
    return following[numbers], int(is_there.sum())
