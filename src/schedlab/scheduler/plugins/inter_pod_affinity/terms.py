"""Affinity terms: those of the pods on nodes, grouped by identical term, and those of a pod on its way.

A pod that is to be scheduled is matched against distinct terms, of which only those are tried that its labels may
match; how many pods carry a term does not matter.

Differs: upstream goes through the terms of every pod with affinity in each cycle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import numpy as np

from schedlab.apimachinery.selectors import nothing
from schedlab.scheduler.framework.domains import DomainSums, NodeCounts
from schedlab.scheduler.framework.pod_facts import KnownTerm, TermKind
from schedlab.scheduler.framework.pod_index import (
    LabelBuckets,
    PodGroups,
    PodQuery,
    PodTerm,
    change_count,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.past_pods import PastPods
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import AffinityTerm, NodeInfo, PodInfo

T = TypeVar("T")

#: How many terms keep their numbers by node; the one that was not asked for the longest makes room.
COUNTS_MAX: Final = 1024

#: For so many kinds of pods lookups are kept.
_LOOKUPS_MAX: Final = 256
#: For so many kinds of pods it is kept what follows from terms.
_KEPT_MAX: Final = 8
_KEY: Final = "affinity-terms"
_TERMS_OF: Final[Mapping[TermKind, Callable[[PodInfo], tuple[AffinityTerm, ...]]]] = {
    TermKind.REQUIRED: lambda pod: pod.required_affinity_terms,
    TermKind.REQUIRED_ANTI: lambda pod: pod.required_anti_affinity_terms,
    TermKind.PREFERRED: lambda pod: pod.preferred_affinity_terms,
    TermKind.PREFERRED_ANTI: lambda pod: pod.preferred_anti_affinity_terms,
}


@dataclass(slots=True, eq=False)
class PlacedTerm:
    """A term that pods on nodes have, and how often by node name (a pod may have it twice)."""

    known: KnownTerm
    nodes: dict[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> TermKind:
        """What pods want of those that the term speaks of."""
        return self.known.kind

    @property
    def term(self) -> AffinityTerm:
        """The term itself."""
        return self.known.term


class TermIndex(PodGroups[KnownTerm]):
    """The terms of all pods on nodes; a Column of the node table."""

    def __init__(self, table: NodeTable, counts_max: int = COUNTS_MAX) -> None:
        super().__init__(table)
        self._counts_max = counts_max
        self._terms: dict[KnownTerm, PlacedTerm] = {}
        self._by_kind: dict[TermKind, LabelBuckets[PlacedTerm]] = {kind: LabelBuckets() for kind in TermKind}
        #: Grows when a term gets its first pod or loses its last one.
        self.version = 0
        # In order of use, the one to go next first.
        self._counts: dict[PlacedTerm, NodeCounts] = {}

    @classmethod
    def of(cls, table: NodeTable) -> TermIndex:
        """Return the index of a table."""
        past = table.past
        return table.column(_KEY, lambda: cls(table) if past is None else PastTermIndex(table, past))

    def has(self, *kinds: TermKind) -> bool:
        """Whether a pod on a node has a term of one of the kinds."""
        return any(map(self._by_kind.__getitem__, kinds))

    @property
    def is_empty(self) -> bool:
        """Whether no pod on a node has a term."""
        return not self._terms

    def matching(
        self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None
    ) -> Iterator[PlacedTerm]:
        """Yield the terms of that kind that speak of `pod`; labels of its namespace, None when it is unknown."""
        for placed in self._by_kind[kind].candidates(pod.labels):
            if placed.term.matches(pod, namespace_labels):
                yield placed

    def per_node(self, placed: PlacedTerm) -> NDArray[np.int32]:
        """Return how often each node has the term, int32[N]; to be read within this cycle only."""
        return self._counts_of(placed).per_node

    def per_domain(self, placed: PlacedTerm) -> DomainSums:
        """Return how often each domain of the term's topology key has it; to be read within this cycle only."""
        return self._counts_of(placed).by_domain(self._table.label(placed.term.topology_key))

    def _counts_of(self, placed: PlacedTerm) -> NodeCounts:
        counts = self._counts.pop(placed, None)
        if counts is None:
            per_node = np.zeros(len(self._table), np.int32)
            for name, number in placed.nodes.items():
                per_node[self._table.row_of[name]] = number
            counts = NodeCounts(per_node)
            if len(self._counts) >= self._counts_max:
                self._counts.pop(next(iter(self._counts))).end()
        self._counts[placed] = counts
        return counts

    def copy(self, table: NodeTable) -> TermIndex:
        """See Column."""
        other = TermIndex(table, self._counts_max)
        other._on_node = self._nodes_copy()
        for known, placed in self._terms.items():
            other._add_term(known).nodes = dict(placed.nodes)
        for placed, counts in self._counts.items():
            other._counts[other._terms[placed.known]] = counts.copy()
        return other

    def _add_term(self, known: KnownTerm) -> PlacedTerm:
        self.version += 1
        placed = self._terms[known] = PlacedTerm(known)
        self._by_kind[known.kind].add(known.term.selector, placed)
        return placed

    def _groups(self, pod: PodInfo) -> tuple[KnownTerm, ...]:
        return pod.known_terms

    def _change(self, group: KnownTerm, node_name: str, step: int, row: int | None) -> None:
        placed = self._terms.get(group)
        if placed is None:
            placed = self._add_term(group)
        change_count(placed.nodes, node_name, step)
        counts = self._counts.get(placed)
        if counts is not None and row is not None:
            counts.change(row, step)
        if not placed.nodes:
            self.version += 1
            del self._terms[group]
            self._by_kind[placed.kind].remove(placed.term.selector, placed)
            self._counts.pop(placed, None)

    def _reorder_arrays(self, old_rows: NDArray[np.int64]) -> None:
        for counts in self._counts.values():
            counts.reorder(old_rows)


class PastTermIndex(TermIndex):
    """The same over a table of the past: terms are looked for when a pod asks for those that speak of it."""

    def __init__(self, table: NodeTable, past: PastPods) -> None:
        super().__init__(table)
        self._past, self._known = past.terms, past.known_terms
        #: By number of a term whether pods had it.
        self._there = self._past.totals() != 0
        self._kinds = self._known.kinds(self._there)
        self._found: dict[tuple[TermKind, PodInfo], list[PlacedTerm]] = {}
        self._numbers: dict[PlacedTerm, int] = {}
        self._sums: dict[PlacedTerm, DomainSums] = {}

    def fill(self, infos: Sequence[NodeInfo]) -> None:
        """See Column."""

    def has(self, *kinds: TermKind) -> bool:
        """See TermIndex."""
        return not self._kinds.isdisjoint(kinds)

    @property
    def is_empty(self) -> bool:
        """See TermIndex."""
        return not self._kinds

    def matching(
        self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None
    ) -> Iterator[PlacedTerm]:
        """See TermIndex."""
        found = self._found.get((kind, pod))
        if found is None:
            found = self._found[kind, pod] = self._look_for(kind, pod, namespace_labels)
        return iter(found)

    def _look_for(self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None) -> list[PlacedTerm]:
        count = len(self._there)
        found = {
            PlacedTerm(known): number
            for number, known in self._known.candidates(kind, pod.labels)
            if number < count and self._there[number] and known.term.matches(pod, namespace_labels)
        }
        self._numbers |= found
        by_key: dict[str, list[PlacedTerm]] = {}
        for placed in found:
            by_key.setdefault(placed.term.topology_key, []).append(placed)
        for key, some in by_key.items():
            label = self._table.label(key)
            numbers = [found[placed] for placed in some]
            counts = self._past.per_value_each(numbers, label.ids, len(label.values))
            self._sums |= {placed: DomainSums(label, each) for placed, each in zip(some, counts, strict=True)}
        return list(found)

    def per_node(self, placed: PlacedTerm) -> NDArray[np.int32]:
        """See TermIndex."""
        return self._past.per_node((self._numbers[placed],))

    def per_domain(self, placed: PlacedTerm) -> DomainSums:
        """See TermIndex."""
        return self._sums[placed]


@dataclass(frozen=True, slots=True)
class IncomingTerm:
    """A term of the pod on its way, with its namespaces looked up; `query` asks for the pods it speaks of."""

    topology_key: str
    weight: int
    pods: PodTerm
    query: PodQuery


def all_of(terms: Sequence[IncomingTerm]) -> PodQuery:
    """Return what asks for pods that every one of the terms, at least one, speaks of."""
    return terms[0].query if len(terms) == 1 else PodQuery(tuple(term.pods for term in terms))


class TermLookups:
    """Looks up which namespaces the namespace selectors of pods' terms mean.

    That is done once for pods that are made alike, unless it depends on the namespaces there are.
    """

    def __init__(self, namespaces: Lister) -> None:
        self._namespaces = namespaces
        self._known: dict[tuple[PodFacts, TermKind], tuple[IncomingTerm, ...]] = {}

    def of(self, pod: PodInfo, kind: TermKind) -> tuple[IncomingTerm, ...]:
        """Return the terms of a kind that a pod has."""
        found = self._known.get((pod.facts, kind))
        if found is None:
            terms = _TERMS_OF[kind](pod)
            found = tuple(map(self._look_up, terms))
            if all(map(_is_settled, terms)):
                if len(self._known) >= _LOOKUPS_MAX:
                    self._known.clear()
                self._known[pod.facts, kind] = found
        return found

    def _look_up(self, term: AffinityTerm) -> IncomingTerm:
        pods = PodTerm(self._meant(term), term.selector)
        return IncomingTerm(term.topology_key, term.weight, pods, PodQuery((pods,)))

    def _meant(self, term: AffinityTerm) -> tuple[str, ...] | None:
        """The namespaces of a term, or None for all of them.

        The selector is also asked about pods of namespaces it did not name, whose labels are then taken to be none
        (upstream meant to forget the selector once it was looked up, but forgets that of a copy). So one that is content
        without labels, `env notin (prod)` say, means all namespaces.
        """
        if term.namespace_selector.matches({}):
            return None
        if _is_settled(term):
            return tuple(sorted(set(term.namespaces)))
        selected = [
            namespace.metadata.name
            for namespace in self._namespaces.list()
            if term.namespace_selector.matches(namespace.metadata.labels)
        ]
        return tuple(sorted({*term.namespaces, *selected}))


class _Kept(NamedTuple, Generic[T]):
    """Something made for a pod with these labels, in a namespace with those, when the rest was as told."""

    made: T
    sums: tuple[DomainSums, ...]
    table: NodeTable
    columns_version: int
    terms: TermIndex
    terms_version: int
    labels: Mapping[str, str]
    namespace_labels: Mapping[str, str] | None


class KeptByFacts(Generic[T]):
    """What was made for the kinds of pods that came last, of numbers of pods that go along with the pods.

    It holds while the terms of pods on nodes are the same ones, the pods are of the same kind and the numbers are current.
    """

    def __init__(self, namespaces: Lister) -> None:
        self._namespaces = namespaces
        self._kept: OrderedDict[PodFacts, _Kept[T]] = OrderedDict()

    def find(self, table: NodeTable, pod: PodInfo) -> T | None:
        """Return what was made for a pod like this one, None when it does not hold."""
        kept = self._kept.get(pod.facts)
        if (
            kept is None
            or kept.table is not table
            or kept.columns_version != table.columns_version
            or kept.terms_version != kept.terms.version
            or kept.labels != pod.labels
            or kept.namespace_labels != namespace_labels(pod.namespace, self._namespaces)
        ):
            return None
        for sums in kept.sums:
            if not sums.is_current:
                return None
        return kept.made

    def keep(self, table: NodeTable, pod: PodInfo, made: T, sums: tuple[DomainSums, ...]) -> None:
        """Keep what was made of these sums, unless it depends on what namespaces there are."""
        if table.past is not None or not all(_is_settled(known.term) for known in pod.known_terms):
            return
        terms = TermIndex.of(table)
        labels = namespace_labels(pod.namespace, self._namespaces)
        self._kept.pop(pod.facts, None)
        self._kept[pod.facts] = _Kept(
            made, sums, table, table.columns_version, terms, terms.version, pod.labels, labels
        )
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)


def _is_settled(term: AffinityTerm) -> bool:
    """Whether a term means the same namespaces whichever there are: it selects none of them, or all."""
    return term.namespace_selector is nothing() or term.namespace_selector.matches({})


def namespace_labels(name: str, namespaces: Lister) -> Mapping[str, str] | None:
    """Return the labels of a namespace, None when it is unknown."""
    namespace = namespaces.get(name)
    if namespace is None:
        return None
    labels: Mapping[str, str] = namespace.metadata.labels
    return labels


def matches_all(terms: Iterable[AffinityTerm], pod: PodInfo) -> bool:
    """Whether there are terms and all of them speak of the pod, as far as can be told without its namespace."""
    terms = tuple(terms)
    return bool(terms) and all(term.matches(pod, None) for term in terms)
