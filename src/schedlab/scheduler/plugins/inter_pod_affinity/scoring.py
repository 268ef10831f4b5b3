"""Preferred terms: domains with pods that the pod likes, or that like it, are better; those with disliked ones worse.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex, PodQuery, sums_by_value
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.inter_pod_affinity.terms import (
    PlacedTerm,
    TermIndex,
    look_up,
    namespace_labels,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.apimachinery.selectors import Selector
    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo


@dataclass(frozen=True, slots=True)
class DomainWeights:
    """What nodes are worth by the value of a label: weights: int64[V + 1], the last for nodes without it."""

    label: LabelColumn
    weights: NDArray[np.int64]


@dataclass(slots=True)
class ScoreState:
    """What pre_score leaves for score: domains by topology key; none when no term met a pod in a domain."""

    domains: dict[str, DomainWeights] = field(default_factory=dict)

    def add(self, part: Contribution) -> None:
        """Add the weight for each pod to the domain it is in."""
        if not part.counts.any():
            return
        found = self.domains.get(part.label.key)
        if found is None:
            found = DomainWeights(part.label, np.zeros(len(part.label.values) + 1, np.int64))
            self.domains[part.label.key] = found
        found.weights[:] += part.weight * part.counts


class Contribution(NamedTuple):
    """What one term adds: its weight for each pod in a domain; `selector` says which pods.

    counts: int64[V + 1] pods by value of the label, the last number is that of nodes without it: 0.
    """

    whose: str
    selector: Selector
    label: LabelColumn
    counts: NDArray[np.int64]
    weight: int


def contributions(
    table: NodeTable, pod: PodInfo, namespaces: Lister, hard_affinity_weight: int
) -> Iterator[Contribution]:
    """Go through what the preferred terms speak of, in both directions; required affinity of pods on nodes counts too."""
    index = PodIndex.of(table)
    for own_terms, sign in ((pod.preferred_affinity_terms, 1), (pod.preferred_anti_affinity_terms, -1)):
        for term in look_up(own_terms, namespaces):
            label = table.label(term.topology_key)
            counts = sums_by_value(label, index.per_node(PodQuery((term.pods,))))
            yield Contribution("the pod", term.pods.selector, label, counts, sign * term.weight)
    terms = TermIndex.of(table)
    labels = namespace_labels(pod.namespace, namespaces)
    for placed in terms.matching(TermKind.REQUIRED, pod, labels) if hard_affinity_weight > 0 else ():
        yield _of_placed(table, terms, placed, hard_affinity_weight)
    for kind, sign in ((TermKind.PREFERRED, 1), (TermKind.PREFERRED_ANTI, -1)):
        for placed in terms.matching(kind, pod, labels):
            yield _of_placed(table, terms, placed, sign * placed.term.weight)


def _of_placed(table: NodeTable, terms: TermIndex, placed: PlacedTerm, weight: int) -> Contribution:
    label = table.label(placed.term.topology_key)
    counts = sums_by_value(label, terms.per_node(placed))
    return Contribution(f"pods with {placed.kind.value}", placed.term.selector, label, counts, weight)


def make_state(table: NodeTable, pod: PodInfo, namespaces: Lister, hard_affinity_weight: int) -> ScoreState:
    """Add up what all terms contribute."""
    state = ScoreState()
    for each in contributions(table, pod, namespaces, hard_affinity_weight):
        state.add(each)
    return state


def score_node(state: ScoreState, info: NodeInfo) -> int:
    """Return the sum of the weights of the node's domains."""
    score = 0
    for key, domains in state.domains.items():
        value = info.node.metadata.labels.get(key)
        if value is not None:
            score += int(domains.weights[domains.label.values.find(value)])
    return score


def score_rows(state: ScoreState, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `score_node` of rows: int64[F]."""
    scores = np.zeros(len(rows), np.int64)
    for domains in state.domains.values():
        scores += domains.weights[domains.label.ids[rows]]
    return scores


def normalize(scores: NDArray[np.int64]) -> None:
    """Stretch scores: int64[F] in place over 0..100; equal ones become 0."""
    lowest, highest = int(scores.min()), int(scores.max())
    if highest == lowest:
        scores[:] = 0
    else:
        scores[:] = (MAX_NODE_SCORE * ((scores - lowest) / (highest - lowest))).astype(np.int64)
