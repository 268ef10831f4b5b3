"""Prefers nodes whose resources the pod brings into balance.

A node's imbalance is the standard deviation of the fractions of its resources that are taken. The score compares the
node with the pod to the node without it: 75 when nothing changes, towards 100 when the pod helps.

Mirrors: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go (v1.36).
Differs: extended resources that only a DeviceClass offers have no amounts here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.rules.requests import RequestRules
from schedlab.scheduler.framework.explanations import Formula
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import SKIP, Status
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.node_resources.allocation import (
    Amounts,
    ScoredResources,
    explained_amounts,
)
from schedlab.scheduler.plugins.node_resources.requests import PendingRequests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.config.args import NodeResourcesBalancedAllocationArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_PRE_SCORE_KEY: Final = "PreScoreNodeResourcesBalancedAllocation"
_HALF: Final = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation:
    """The plugin."""

    name = "NodeResourcesBalancedAllocation"
    is_of_amounts = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        rules = RequestRules(
            pod_level=handle.features.enabled("PodLevelResources"),
            pod_level_status=handle.features.enabled("InPlacePodLevelResourcesVerticalScaling"),
        )
        self._resources = ScoredResources(args.resources, real=rules)
        self._pending = PendingRequests(handle)

    def pre_score(self, state: CycleState, pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]) -> Status | None:
        requests = self._resources.requests_of(pod)
        if not any(requests):
            # The best place for a pod that asks for nothing is not the same node again and again.
            return SKIP
        state.write(_PRE_SCORE_KEY, requests)
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        requests = self._requests(state, pod)
        if not any(requests):
            return 0, None
        amounts = self._resources.on_node(node, requests)
        with_pod = _balance(amounts.requested, amounts.allocatable)
        without = _balance(amounts.allocated, amounts.allocatable)
        return _HALF + (_HALF + with_pod - without) // 2, None

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        requests = self._requests(state, pod)
        if not any(requests):
            return np.zeros(len(rows), np.int64)
        amounts = self._resources.on_nodes(table, rows, requests)
        counted = amounts.allocatable != 0
        there = np.where(counted, amounts.allocatable, 1).astype(np.float64)
        with_pod = balances(amounts.requested, there, counted)
        without = balances(amounts.allocated, there, counted)
        scores: NDArray[np.int64] = _HALF + (_HALF + with_pod - without) // 2
        return scores

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        requests = self._requests(state, pod)
        if not any(requests):
            return Formula("0")
        return self._formula(requests, self._resources.on_node(node, requests))

    def explain_scores(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> Sequence[Formula]:
        requests = self._requests(state, pod)
        if not any(requests):
            return [Formula("0")] * len(rows)
        return [self._formula(requests, amounts) for amounts in self._resources.on_each(table, rows, requests)]

    def _formula(self, requests: Sequence[int], amounts: Amounts) -> Formula:
        with_pod = _balance_expression(amounts.requested, amounts.allocatable)
        without = _balance_expression(amounts.allocated, amounts.allocatable)
        inputs = {"resources": explained_amounts(self._resources.names, requests, amounts)}
        return Formula(f"{_HALF} + ({_HALF} + {with_pod} - {without}) // 2", inputs)

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return self._pending.sign(pod)

    def _requests(self, state: CycleState, pod: PodInfo) -> tuple[int, ...]:
        found: tuple[int, ...] | None = state.find(_PRE_SCORE_KEY)
        return self._resources.requests_of(pod) if found is None else found


def _balance(taken: Sequence[int], allocatable: Sequence[int]) -> int:
    """Return 50 to 100: how even the fractions are; resources that are not there do not count."""
    fractions = [
        min(float(amount) / float(there), 1.0) for amount, there in zip(taken, allocatable, strict=True) if there
    ]
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        count = max(len(fractions), 1)
        mean = _sum(fractions) / count
        deviation = math.sqrt(_sum([(fraction - mean) * (fraction - mean) for fraction in fractions]) / count)
    return int((1 - deviation) * MAX_NODE_SCORE)


def _balance_expression(taken: Sequence[int], allocatable: Sequence[int]) -> str:
    """Return `_balance` as arithmetic."""
    fractions = [f"min({amount} / {there}, 1)" for amount, there in zip(taken, allocatable, strict=True) if there]
    if len(fractions) < 2:
        return str(MAX_NODE_SCORE)
    if len(fractions) == 2:
        deviation = f"abs(({fractions[0]} - {fractions[1]}) / 2)"
    else:
        mean = f"(({' + '.join(fractions)}) / {len(fractions)})"
        squares = " + ".join(f"({fraction} - {mean}) * ({fraction} - {mean})" for fraction in fractions)
        deviation = f"sqrt(({squares}) / {len(fractions)})"
    return f"trunc((1 - {deviation}) * {MAX_NODE_SCORE})"


def _sum(numbers: Sequence[float]) -> float:
    """Add from left to right; Python's own sum compensates for rounding, Go's loop does not."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def balances(taken: NDArray[np.int64], there: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return int64[F]: how even taken / there: [K, F] are, of the resources that are counted: bool[K, F]."""
    fractions = np.minimum(taken / there, 1.0)
    if len(fractions) == 2 and counted.all():
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        deviation = deviations(np.where(counted, fractions, 0.0), counted)
    scores: NDArray[np.int64] = ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)
    return scores


def deviations(fractions: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[F]: the deviation of fractions: float64[K, F] (0 where not counted: bool[K, F]).

    Sums go from the first resource to the last, so that they are rounded as in the scalar form.
    """
    shape = fractions.shape[1]
    count = counted.sum(axis=0)
    total, squares = np.zeros(shape), np.zeros(shape)
    for fraction in fractions:
        total = total + fraction
    mean = total / np.maximum(count, 1)
    # Of exactly two: the difference of the first and the last that count.
    first, last = np.zeros(shape), np.zeros(shape)
    for fraction, counts in zip(fractions[::-1], counted[::-1], strict=True):
        first = np.where(counts, fraction, first)
    for fraction, counts in zip(fractions, counted, strict=True):
        last = np.where(counts, fraction, last)
        squares = squares + np.where(counts, (fraction - mean) * (fraction - mean), 0.0)
    of_two = np.abs((first - last) / 2)
    of_many = np.sqrt(squares / np.maximum(count, 1))
    return np.where(count == 2, of_two, of_many)


ENTRY: Final = PluginEntry(NodeResourcesBalancedAllocation.name, NodeResourcesBalancedAllocation)
