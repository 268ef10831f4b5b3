"""Rows of the node table that follow each other, round its end, as views of one array per size of table.

The search visits nodes in turn, so nearly every array of rows is such a piece; making it costs nothing, and whoever keeps
it can tell what it is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@lru_cache(maxsize=16)
def _twice(total: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    rows = np.concatenate([np.arange(total), np.arange(total)])
    short = rows.astype(np.int32)
    rows.setflags(write=False)
    short.setflags(write=False)
    return rows, short


def ring(first: int, size: int, total: int) -> NDArray[np.int64]:
    """Return `size <= total` rows of a table of that size, from `first` on: int64[size], not to be changed."""
    return _twice(total)[0][first : first + size]


def recorded(rows: NDArray[np.int64], total: int) -> NDArray[np.int32]:
    """Return rows as they are recorded: int32, of a ring without a copy."""
    twice, short = _twice(total)
    if rows.base is twice and len(rows):
        first = int(rows[0])
        return short[first : first + len(rows)]
    return rows.astype(np.int32)


def columns(
    values: NDArray[Any], rows: NDArray[np.int64], total: int, order: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """Return `values[..., rows]` of values over a table of that size, as a copy; of a ring that is one or two pieces.

    order: int64[K], what to take of the first axis; None: all.
    """
    size = len(rows)
    if rows.base is not _twice(total)[0] or not size:
        taken = values.take(rows, -1)
        return taken if order is None else taken.take(order, 0)
    first = int(rows[0])
    if first + size <= total:
        piece = values[..., first : first + size]
        return piece.copy() if order is None else piece.take(order, 0)
    taken = np.concatenate((values[..., first:], values[..., : first + size - total]), -1)
    return taken if order is None else taken.take(order, 0)


def piece(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return `values[rows]` of values over a table and a ring of its rows; a view unless that goes round the end."""
    first, size = int(rows[0]), len(rows)
    return values[first : first + size] if first + size <= len(values) else values.take(rows)


def ring_start(rows: NDArray[Any], total: int) -> int | None:
    """Return the first of rows that follow each other round the end of the table; None when they do not."""
    size = len(rows)
    if not 1 < size <= total:
        return None
    first = int(rows[0])
    twice, short = _twice(total)
    if rows.base is short or rows.base is twice:
        return first
    if not 0 <= first < total or int(rows[-1]) != (first + size - 1) % total:
        return None
    return first if np.array_equal(rows, twice[first : first + size]) else None


def equal_rows(one: NDArray[Any], other: NDArray[Any], total: int) -> bool:
    """Whether two arrays hold the same rows in the same order."""
    if one is other:
        return True
    if len(one) != len(other):
        return False
    short = _twice(total)[1]
    if one.base is short and other.base is short:
        return not len(one) or bool(one[0] == other[0])
    return np.array_equal(one, other)
