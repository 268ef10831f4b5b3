"""Rows that follow each other are views that can be told from others."""

from __future__ import annotations

import numpy as np
import pytest

from schedlab.scheduler.framework.rows import equal_rows, recorded, ring, ring_start


@pytest.mark.parametrize(
    ("first", "size", "rows"), [(0, 3, [0, 1, 2]), (3, 4, [3, 4, 0, 1]), (2, 0, []), (1, 5, [1, 2, 3, 4, 0])]
)
def test_ring_goes_round_the_end_of_the_table(first: int, size: int, rows: list[int]) -> None:
    assert ring(first, size, 5).tolist() == rows


def test_ring_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ring(0, 3, 5)[0] = 7


@pytest.mark.parametrize("rows", [[3, 4, 0, 1], [0, 1], [4, 0]])
def test_start_is_told_of_rings_and_of_equal_arrays(rows: list[int]) -> None:
    """However they were made."""
    made = np.array(rows, np.int32)

    assert ring_start(made, 5) == rows[0]
    assert ring_start(ring(rows[0], len(rows), 5), 5) == rows[0]
    assert ring_start(recorded(ring(rows[0], len(rows), 5), 5), 5) == rows[0]


@pytest.mark.parametrize("rows", [[], [3], [0, 2], [0, 1, 3], [1, 0], [0, 1, 2, 3, 4, 0], [7, 8]])
def test_start_is_not_told_of_others(rows: list[int]) -> None:
    assert ring_start(np.array(rows, np.int32), 5) is None


def test_recorded_rows_are_short_and_share_the_ring() -> None:
    rows = recorded(ring(4, 3, 5), 5)

    assert rows.dtype == np.int32
    assert rows.tolist() == [4, 0, 1]
    assert rows.base is not None
    assert recorded(np.array([2, 0], np.int64), 5).dtype == np.int32
    assert recorded(ring(0, 0, 5), 5).tolist() == []


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([0, 1], [0, 1], True),
        ([0, 1], [1, 2], False),
        ([0, 1], [0, 1, 2], False),
        ([], [], True),
        ([0, 2], [0, 2], True),
    ],
)
def test_rows_are_compared_by_what_they_are(one: list[int], other: list[int], *, equal: bool) -> None:
    made = [np.array(rows, np.int32) for rows in (one, other)]
    rings = [recorded(ring(rows[0] if rows else 0, len(rows), 5), 5) for rows in (one, other)]

    assert equal_rows(made[0], made[1], 5) is equal
    if one != [0, 2]:
        assert equal_rows(rings[0], rings[1], 5) is equal
        assert equal_rows(rings[0], made[1], 5) is equal
