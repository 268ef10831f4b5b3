"""Rows that are the same in several columns, found by their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def combinations(columns: Iterable[NDArray[np.generic]], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the combinations of values in columns [N = size] from 0 on.

    Returns the number of each row, int64[N], and the first row of each number.
    """
    numbers, first = np.zeros(size, np.int64), np.zeros(min(size, 1), np.int64)
    for column in columns:
        if not size or (column == column[0]).all():
            continue
        values, places = np.unique(column, return_inverse=True)
        _, first, numbers = np.unique(numbers * len(values) + places, return_index=True, return_inverse=True)
    return numbers, first
