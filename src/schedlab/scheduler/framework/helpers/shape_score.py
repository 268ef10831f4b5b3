"""Scoring functions made of straight lines between points.

Mirrors: pkg/scheduler/framework/plugins/helper/shape_score.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from schedlab.scheduler.framework.helpers.normalize import divide

if TYPE_CHECKING:
    from numpy.typing import NDArray

UTILIZATION_MAX: Final = 100


class ShapePoint(NamedTuple):
    """Where two lines meet: utilization in percent, and the score there."""

    utilization: int
    score: int


def broken_linear(shape: Sequence[ShapePoint], utilization: int) -> int:
    """Return the score at a utilization; beyond the outer points it stays what it is there."""
    left = shape[0]
    for right in shape:
        if utilization <= right.utilization:
            if right is left:
                return left.score
            rise = (right.score - left.score) * (utilization - left.utilization)
            return left.score + divide(rise, right.utilization - left.utilization)
        left = right
    return left.score


def broken_linear_table(shape: Sequence[ShapePoint]) -> NDArray[np.int64]:
    """Return int64[101]: the score at each utilization from 0 to 100 percent."""
    return np.array([broken_linear(shape, percent) for percent in range(UTILIZATION_MAX + 1)], np.int64)
