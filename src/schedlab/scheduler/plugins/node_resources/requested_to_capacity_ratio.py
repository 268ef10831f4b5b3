"""RequestedToCapacityRatio: a function given by points says how good each utilization is.

Mirrors: pkg/scheduler/framework/plugins/noderesources/requested_to_capacity_ratio.go (v1.36).
Differs: the mean is rounded in integers; with weights up to 100 that is what rounding the float64 quotient gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.scheduler.framework.helpers.shape_score import (
    UTILIZATION_MAX,
    ShapePoint,
    broken_linear,
    broken_linear_table,
)
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.node_resources.allocation import weighted_sum, weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.config.args import UtilizationShapePoint
    from schedlab.scheduler.plugins.node_resources.allocation import Amounts, NodeAmounts

# Scores of a shape go up to 10.
MAX_CUSTOM_PRIORITY_SCORE: Final = 10


class RequestedToCapacityRatio:
    """The strategy, over resources with these weights."""

    def __init__(self, weights: Sequence[int], shape: Sequence[UtilizationShapePoint]) -> None:
        factor = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
        self._weights = weights
        self._shape = [ShapePoint(point.utilization, point.score * factor) for point in shape]
        self._table = broken_linear_table(self._shape)

    def score(self, amounts: Amounts) -> int:
        total = weight_sum = 0
        for requested, capacity, weight in zip(amounts.requested, amounts.allocatable, self._weights, strict=True):
            if capacity:
                utilization = min(requested, capacity) * UTILIZATION_MAX // capacity
                score = broken_linear(self._shape, utilization)
                # A resource that scores nothing does not dilute the others.
                if score > 0:
                    total += score * weight
                    weight_sum += weight
        return (2 * total + weight_sum) // (2 * weight_sum) if weight_sum else 0

    def expression(self, amounts: Amounts) -> str:
        """Return `score` as arithmetic; the shape's lines are read off, not written out."""
        parts = []
        for requested, capacity, weight in zip(amounts.requested, amounts.allocatable, self._weights, strict=True):
            if capacity:
                score = broken_linear(self._shape, min(requested, capacity) * UTILIZATION_MAX // capacity)
                if score > 0:
                    parts.append((str(score), weight))
        return f"round(({weighted_sum(parts)}) / {sum(weight for _, weight in parts)})" if parts else "0"

    def score_nodes(self, amounts: NodeAmounts) -> NDArray[np.int64]:
        scores = self._table[utilizations(amounts.requested, amounts.allocatable)]
        total, weight_sum = weighted_sums(scores, (amounts.allocatable != 0) & (scores > 0), self._weights)
        means: NDArray[np.int64] = (2 * total + weight_sum) // (2 * weight_sum)
        return means


def utilizations(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[K, F], 0 to 100: the percentage of capacity: int64[K, F] that requested: int64[K, F] takes."""
    percent: NDArray[np.int64] = np.minimum(requested, capacity) * UTILIZATION_MAX // np.maximum(capacity, 1)
    return percent
