"""Preferred terms: domains with pods that the pod likes, or that like it, are better; those with disliked ones worse.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go (v1.36).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.inter_pod_affinity.terms import (
    KeptByFacts,
    PlacedTerm,
    TermIndex,
    TermLookups,
    namespace_labels,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.apimachinery.selectors import Selector
    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.domains import DomainSums
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_PREFERRED: Final = ((TermKind.PREFERRED, 1), (TermKind.PREFERRED_ANTI, -1))
#: So many weights are kept.
_KNOWN_MAX: Final = 16


class Contribution(NamedTuple):
    """What one term adds: its weight for each pod in a domain; `selector` says which pods."""

    whose: str
    selector: Selector
    sums: DomainSums
    weight: int


class DomainWeights:
    """What nodes are worth by the value of a label: weights: int64[V + 1], the last for nodes without it.

    It is what parts, pods by domain and what each of them counts, add up to.
    """

    def __init__(self, parts: Sequence[tuple[DomainSums, int]]) -> None:
        self.label = parts[0][0].label
        self._parts = tuple(parts)
        self._seen = [0] * len(parts)
        self._add_up()

    def refresh(self) -> None:
        """Bring the weights of the domains whose pods have changed up to date."""
        stale: dict[int, None] = {}
        for place, (sums, _) in enumerate(self._parts):
            changed = sums.changes.since(self._seen[place])
            if changed is None:
                self._add_up()
                return
            stale |= dict.fromkeys(changed)
            self._seen[place] = sums.changes.count
        for value in stale:
            self.weights[value] = sum(weight * int(sums.counts[value]) for sums, weight in self._parts)

    def _add_up(self) -> None:
        self.weights = np.zeros(len(self.label.values) + 1, np.int64)
        for place, (sums, weight) in enumerate(self._parts):
            self.weights += weight * sums.counts
            self._seen[place] = sums.changes.count


class KnownWeights:
    """The weights of domains that were asked for lately, by what they are made of."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[tuple[DomainSums, int], ...], DomainWeights] = OrderedDict()

    def of(self, parts: Sequence[tuple[DomainSums, int]]) -> DomainWeights:
        """Return the weights that the parts, at least one, add up to; to be read within this cycle only."""
        key = tuple(parts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = DomainWeights(key)
            if len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
            found.refresh()
        return found


#: What terms contribute: pods by domain, and what each of them counts.
Parts: TypeAlias = "tuple[tuple[DomainSums, int], ...]"
#: What pre_score leaves for score: weights by topology key; none when no term met a pod in a domain.
ScoreState: TypeAlias = dict[str, DomainWeights]


def contributions(
    table: NodeTable, pod: PodInfo, namespaces: Lister, hard_affinity_weight: int, lookups: TermLookups
) -> Iterator[Contribution]:
    """Go through what the preferred terms speak of, in both directions; required affinity of pods on nodes counts too."""
    index = PodIndex.of(table)
    for kind, sign in _PREFERRED:
        for term in lookups.of(pod, kind):
            sums = index.per_domain(term.query, term.topology_key)
            yield Contribution("the pod", term.pods.selector, sums, sign * term.weight)
    terms = TermIndex.of(table)
    labels = namespace_labels(pod.namespace, namespaces)
    for placed in terms.matching(TermKind.REQUIRED, pod, labels) if hard_affinity_weight > 0 else ():
        yield _of_placed(terms, placed, hard_affinity_weight)
    for kind, sign in _PREFERRED:
        for placed in terms.matching(kind, pod, labels):
            yield _of_placed(terms, placed, sign * placed.term.weight)


def _of_placed(terms: TermIndex, placed: PlacedTerm, weight: int) -> Contribution:
    return Contribution(f"pods with {placed.kind.value}", placed.term.selector, terms.per_domain(placed), weight)


def make_state(
    table: NodeTable,
    pod: PodInfo,
    namespaces: Lister,
    hard_affinity_weight: int,
    lookups: TermLookups,
    known: KnownWeights,
    kept: KeptByFacts[Parts],
) -> ScoreState:
    """Add up what all terms contribute; for pods that were made alike it is found out once what does."""
    found = kept.find(table, pod)
    if found is None:
        every = contributions(table, pod, namespaces, hard_affinity_weight, lookups)
        found = tuple((each.sums, each.weight) for each in every)
        kept.keep(table, pod, found, tuple(sums for sums, _ in found))
    parts: dict[str, list[tuple[DomainSums, int]]] = {}
    for part in found:
        sums, _ = part
        if sums.positive:
            parts.setdefault(sums.label.key, []).append(part)
    return {key: known.of(some) for key, some in parts.items()}


def score_node(state: ScoreState, info: NodeInfo) -> int:
    """Return the sum of the weights of the node's domains."""
    score = 0
    for key, domains in state.items():
        value = info.node.metadata.labels.get(key)
        if value is not None:
            score += int(domains.weights[domains.label.values.find(value)])
    return score


def score_rows(state: ScoreState, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `score_node` of rows: int64[F]."""
    scores = np.zeros(len(rows), np.int64)
    for domains in state.values():
        scores += domains.weights[domains.label.ids[rows]]
    return scores


def normalize(scores: NDArray[np.int64]) -> None:
    """Stretch scores: int64[F] in place over 0..100; equal ones become 0."""
    lowest, highest = int(scores.min()), int(scores.max())
    if highest == lowest:
        scores[:] = 0
    else:
        scores[:] = (MAX_NODE_SCORE * ((scores - lowest) / (highest - lowest))).astype(np.int64)
