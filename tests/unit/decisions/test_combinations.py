"""Rows get the same number where all columns say the same, however far apart the values are."""

from __future__ import annotations

import numpy as np
import pytest

from schedlab.decisions.combinations import combinations

FAR = 1 << 62


@pytest.mark.parametrize(
    "columns",
    [
        [[]],
        [[7]],
        [[3, 3, 3], [0, 0, 0]],
        [[True, False, True], [1, 1, 1]],
        [[-1, 5, -1, 5], [2, 2, 2, 3]],
        [[FAR, -FAR, FAR, 0], [0, 1, 0, 1], [-FAR, 1, -FAR, FAR]],
        [
            [number % 97 for number in range(500)],
            [number % 3 for number in range(500)],
            list(range(0, 5_000_000, 10_000)),
        ],
        # So many rows that a table is quicker, far above 0.
        [[3 + 1400 * (number % 1000) for number in range(200_000)]],
        [[number % size for number in range(500)] for size in (50, 40, 30, 20, 10, 7, 3)],
    ],
)
def test_rows_are_told_apart_by_all_columns(columns: list[list[int]]) -> None:
    rows = list(zip(*columns, strict=True))

    numbers, first = combinations([np.array(column) for column in columns], len(rows))

    assert sorted(set(numbers.tolist())) == list(range(len(first)))
    places: dict[tuple[int, ...], int] = {}
    for at, row in enumerate(rows):
        places.setdefault(row, at)
    assert [places[row] for row in rows] == first[numbers].tolist()
