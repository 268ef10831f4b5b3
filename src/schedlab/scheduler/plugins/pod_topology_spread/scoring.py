"""Soft constraints: nodes in domains with fewer matching pods are better.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go (v1.36).
Differs: the logarithms of sizes come from one function that is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.api.rules.topology import HOSTNAME
from schedlab.kernel.logarithm import natural_logarithm
from schedlab.scheduler.framework.explanations import Formula
from schedlab.scheduler.framework.rows import columns
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.pod_topology_spread.counted_nodes import CountedNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.plugins.pod_topology_spread.constraints import Constraint

_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class DomainScores:
    """The domains of one constraint; of the host name each node is one.

    size: how many domains there are to choose from. weight: what a pod counts; more where there are more domains, lest
    the pods of many small ones be watered down.
    per_node: int32[N] matching pods, for the host name; by_value: int64[V + 1] their sums by value of `label`, for all
    other keys.
    """

    constraint: Constraint
    label: LabelColumn
    size: int
    weight: float
    per_node: NDArray[np.int32] | None
    by_value: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class ScoreState:
    """What pre_score leaves for score; ignored: bool[N] nodes that lack a topology key, None where none does."""

    domains: tuple[DomainScores, ...]
    ignored: NDArray[np.bool_] | None

    def ignores(self, row: int) -> bool:
        """Whether a node lacks a topology key."""
        return self.ignored is not None and bool(self.ignored[row])


def make_state(table: NodeTable, nodes: CountedNodes, rows: NDArray[np.int64]) -> ScoreState:
    """Count the pods of every constraint by domain, and weigh by how many domains there are to choose from."""
    scored = rows if nodes.is_complete else rows[nodes.with_keys[rows]]
    domains = []
    for at, (constraint, label) in enumerate(zip(nodes.constraints, nodes.labels, strict=True)):
        per_node, by_value = None, None
        if constraint.topology_key == HOSTNAME:
            per_node, size = nodes.matching_pods(table, at), len(scored)
        else:
            by_value, size = _sums(table, nodes, at), _domain_number(label, scored)
        domains.append(DomainScores(constraint, label, size, natural_logarithm(size + 2), per_node, by_value))
    return ScoreState(tuple(domains), None if nodes.is_complete else ~nodes.with_keys)


def _domain_number(label: LabelColumn, rows: NDArray[np.int64]) -> int:
    """How many values the rows have; to have no such label is to have the empty value."""
    ids = columns(label.ids, rows, len(label.ids))
    empty = label.values.find("")
    if empty >= 0:
        ids = np.where(ids < 0, empty, ids)
    return int(np.count_nonzero(np.bincount(ids + 1)))


def _sums(table: NodeTable, nodes: CountedNodes, at: int) -> NDArray[np.int64]:
    """Sum up by value; the pods of nodes without the label count for the empty value."""
    sums, label, mask = nodes.sums(table, at), nodes.labels[at], nodes.masks[at]
    empty = label.values.find("")
    if empty >= 0 and mask is not None:
        sums[empty] += int(nodes.matching_pods(table, at)[mask & (label.ids < 0)].sum())
    return sums


def score_node(state: ScoreState, pod: PodInfo, info: NodeInfo) -> int:
    """Return the weighted number of matching pods in the node's domains: fewer is better."""
    if state.ignores(info.row):
        return 0
    score = 0.0
    for domains in state.domains:
        constraint = domains.constraint
        value = info.node.metadata.labels.get(constraint.topology_key)
        if value is None:
            continue
        count = _count(domains, pod.namespace, value, info)
        score += count * domains.weight + (constraint.max_skew - 1)
    return int(_round(np.array([score]))[0])


def _count(domains: DomainScores, namespace: str, value: str, info: NodeInfo) -> int:
    """Return the number of matching pods in the node's domain."""
    if domains.by_value is None:
        return _count_on_node(namespace, domains.constraint, info)
    return int(domains.by_value[domains.label.values.find(value)])


def _count_on_node(namespace: str, constraint: Constraint, info: NodeInfo) -> int:
    if constraint.selector.is_empty:
        return 0
    return sum(
        other.namespace == namespace
        and other.pod.metadata.deletion_timestamp is None
        and constraint.selector.matches(other.labels)
        for other in info.pods
    )


def explain_score(state: ScoreState, pod: PodInfo, info: NodeInfo) -> Formula:
    """Return `score_node` as arithmetic."""
    if state.ignores(info.row):
        return Formula("0", {"ignored": "the node lacks a topology key"})
    parts, inputs = [], []
    for domains in state.domains:
        constraint = domains.constraint
        value = info.node.metadata.labels.get(constraint.topology_key)
        if value is None:
            continue
        count = _count(domains, pod.namespace, value, info)
        parts.append(f"{count} * log({domains.size} + 2) + {constraint.max_skew - 1}")
        inputs.append(
            {
                "topologyKey": constraint.topology_key,
                "domain": value,
                "count": count,
                "domains": domains.size,
                "maxSkew": constraint.max_skew,
            }
        )
    expression = f"round({' + '.join(f'({part})' for part in parts)})" if parts else "0"
    return Formula(expression, {"constraints": inputs})


def score_rows(state: ScoreState, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `score_node` of rows: int64[F]."""
    scores = np.zeros(len(rows), np.float64)
    for domains in state.domains:
        ids = columns(domains.label.ids, rows, len(domains.label.ids))
        if domains.per_node is not None:
            counts = columns(domains.per_node, rows, len(domains.per_node))
            scores += np.where(ids >= 0, counts * domains.weight + (domains.constraint.max_skew - 1), 0.0)
        elif domains.by_value is not None:
            by_value = domains.by_value * domains.weight + (domains.constraint.max_skew - 1)
            # What a node without the label reads, whose id is -1.
            by_value[-1] = 0.0
            scores += by_value[ids]
    if state.ignored is not None:
        scores[state.ignored[rows]] = 0.0
    return _round(scores)


def _round(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round half up, which for scores (never negative) is Go's math.Round; numpy would round half to even."""
    whole = np.floor(scores)
    return whole.astype(np.int64) + (scores - whole >= 0.5)


def explain_normalized(state: ScoreState, rows: NDArray[np.int64], raw: NDArray[np.int64], at: int) -> Formula:
    """Return what `normalize` makes of raw[at] of raw: int64[F] of rows: int64[F], as arithmetic."""
    if state.ignores(int(rows[at])):
        return Formula("0", {"ignored": "the node lacks a topology key"})
    highest, lowest = _bounds(raw if state.ignored is None else raw[~state.ignored[rows]])
    inputs = {"raw": int(raw[at]), "highest": highest, "lowest": lowest}
    if highest == 0:
        return Formula(str(MAX_NODE_SCORE), inputs)
    return Formula(f"{MAX_NODE_SCORE} * ({highest} + {lowest} - {int(raw[at])}) // {highest}", inputs)


def normalize(state: ScoreState, rows: NDArray[np.int64], scores: NDArray[np.int64]) -> None:
    """Turn numbers of pods into 0..100, the fewest being best; ignored nodes get 0."""
    ignored = None if state.ignored is None else state.ignored[rows]
    highest, lowest = _bounds(scores if ignored is None else scores[~ignored])
    if highest == 0:
        scores[:] = MAX_NODE_SCORE
    else:
        scores[:] = MAX_NODE_SCORE * (highest + lowest - scores) // highest
    if ignored is not None:
        scores[ignored] = 0


def _bounds(scores: NDArray[np.int64]) -> tuple[int, int]:
    """Return the highest and the lowest of the scores that count."""
    return int(scores.max(initial=0)), int(scores.min(initial=_INT64_MAX))
