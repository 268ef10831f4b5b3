"""MostAllocated: the more of a node is taken, the better.

Mirrors: pkg/scheduler/framework/plugins/noderesources/most_allocated.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.node_resources.allocation import weighted_mean, weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.plugins.node_resources.allocation import Amounts, NodeAmounts


class MostAllocated:
    """The strategy, over resources with these weights."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._weights = weights

    def score(self, amounts: Amounts) -> int:
        total = weight_sum = 0
        for requested, capacity, weight in zip(amounts.requested, amounts.allocatable, self._weights, strict=True):
            if capacity:
                # Defaults for pods that ask for nothing may add up to more than there is.
                total += min(requested, capacity) * MAX_NODE_SCORE // capacity * weight
                weight_sum += weight
        return total // weight_sum if weight_sum else 0

    def expression(self, amounts: Amounts) -> str:
        """Return `score` as arithmetic."""
        return weighted_mean(
            [
                (f"min({requested}, {capacity}) * {MAX_NODE_SCORE} // {capacity}", weight)
                for requested, capacity, weight in zip(
                    amounts.requested, amounts.allocatable, self._weights, strict=True
                )
                if capacity
            ]
        )

    def score_nodes(self, amounts: NodeAmounts) -> NDArray[np.int64]:
        scores = most_scores(amounts.requested, amounts.allocatable)
        total, weight_sum = weighted_sums(scores, amounts.allocatable != 0, self._weights)
        means: NDArray[np.int64] = total // weight_sum
        return means


def most_scores(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[K, F]: the taken percentage of requested, capacity: int64[K, F]; any number where capacity is 0."""
    scores: NDArray[np.int64] = np.minimum(requested, capacity) * MAX_NODE_SCORE // np.maximum(capacity, 1)
    return scores
