"""Affinity terms: those of the pods on nodes, grouped by identical term, and those of a pod on its way.

A pod that is to be scheduled is matched against distinct terms, of which only those are tried that its labels may
match; how many pods carry a term does not matter.

Differs: upstream goes through the terms of every pod with affinity in each cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from schedlab.scheduler.framework.node_table import take_rows
from schedlab.scheduler.framework.pod_index import LabelBuckets, PodGroups, PodTerm, change_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import AffinityTerm, NodeInfo, PodInfo

#: How many terms keep their numbers as arrays; the one that was not asked for the longest makes room.
ARRAYS_MAX: Final = 1024

_KEY: Final = "affinity-terms"


class TermKind(Enum):
    """What a pod on a node wants of others."""

    REQUIRED = "required affinity"
    REQUIRED_ANTI = "required anti-affinity"
    PREFERRED = "preferred affinity"
    PREFERRED_ANTI = "preferred anti-affinity"


_TERMS: Final[Mapping[TermKind, Callable[[PodInfo], tuple[AffinityTerm, ...]]]] = {
    TermKind.REQUIRED: attrgetter("required_affinity_terms"),
    TermKind.REQUIRED_ANTI: attrgetter("required_anti_affinity_terms"),
    TermKind.PREFERRED: attrgetter("preferred_affinity_terms"),
    TermKind.PREFERRED_ANTI: attrgetter("preferred_anti_affinity_terms"),
}


@dataclass(slots=True, eq=False)
class PlacedTerm:
    """A term that pods on nodes have, and how often by node name (a pod may have it twice)."""

    kind: TermKind
    term: AffinityTerm
    nodes: dict[str, int] = field(default_factory=dict)


_Group = tuple[TermKind, "AffinityTerm"]


class TermIndex(PodGroups[_Group]):
    """The terms of all pods on nodes; a Column of the node table."""

    def __init__(self, table: NodeTable, arrays_max: int = ARRAYS_MAX) -> None:
        super().__init__(table)
        self._arrays_max = arrays_max
        self._terms: dict[_Group, PlacedTerm] = {}
        self._by_kind: dict[TermKind, LabelBuckets[PlacedTerm]] = {kind: LabelBuckets() for kind in TermKind}
        # In order of use, the one to go next first.
        self._arrays: dict[PlacedTerm, NDArray[np.int32]] = {}

    @classmethod
    def of(cls, table: NodeTable) -> TermIndex:
        """Return the index of a table."""
        return table.column(_KEY, lambda: TermsAtRest(table) if table.is_at_rest else cls(table))

    def has(self, *kinds: TermKind) -> bool:
        """Whether a pod on a node has a term of one of the kinds."""
        return any(map(self._by_kind.__getitem__, kinds))

    def matching(
        self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None
    ) -> Iterator[PlacedTerm]:
        """Yield the terms of that kind that speak of `pod`; labels of its namespace, None when it is unknown."""
        for placed in self._by_kind[kind].candidates(pod.labels):
            if placed.term.matches(pod, namespace_labels):
                yield placed

    def per_node(self, placed: PlacedTerm) -> NDArray[np.int32]:
        """Return how often each node has the term, int32[N]; to be read within this cycle only."""
        array = self._arrays.pop(placed, None)
        if array is None:
            array = np.zeros(len(self._table), np.int32)
            for name, number in placed.nodes.items():
                array[self._table.row_of[name]] = number
            if len(self._arrays) >= self._arrays_max:
                del self._arrays[next(iter(self._arrays))]
        self._arrays[placed] = array
        return array

    def copy(self, table: NodeTable) -> TermIndex:
        """See Column."""
        other = TermIndex(table, self._arrays_max)
        other._on_node = self._nodes_copy()
        for group, placed in self._terms.items():
            other._add_term(group).nodes = dict(placed.nodes)
        for placed, array in self._arrays.items():
            other._arrays[other._terms[placed.kind, placed.term]] = array.copy()
        return other

    def _add_term(self, group: _Group) -> PlacedTerm:
        kind, term = group
        placed = self._terms[group] = PlacedTerm(kind, term)
        self._by_kind[kind].add(term.selector, placed)
        return placed

    def _groups(self, pod: PodInfo) -> tuple[_Group, ...]:
        if not pod.has_affinity:
            return ()
        return tuple((kind, term) for kind, terms in _TERMS.items() for term in terms(pod))

    def _change(self, group: _Group, node_name: str, step: int, row: int | None) -> None:
        placed = self._terms.get(group)
        if placed is None:
            placed = self._add_term(group)
        change_count(placed.nodes, node_name, step)
        array = self._arrays.get(placed)
        if array is not None and row is not None:
            array[row] += step
        if not placed.nodes:
            del self._terms[group]
            self._by_kind[placed.kind].remove(placed.term.selector, placed)
            self._arrays.pop(placed, None)

    def _reorder_arrays(self, old_rows: NDArray[np.int64]) -> None:
        for placed, array in self._arrays.items():
            self._arrays[placed] = cast("NDArray[np.int32]", take_rows(array, old_rows, 0))


class TermsAtRest(TermIndex):
    """The same over a table at rest: terms are looked for when a pod asks for those that speak of it."""

    def __init__(self, table: NodeTable) -> None:
        super().__init__(table)
        self._found: dict[tuple[TermKind, PodInfo], list[PlacedTerm]] = {}

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""

    def has(self, *kinds: TermKind) -> bool:
        """See TermIndex."""
        placed = (other for info in self._table.infos for other in info.pods_with_affinity)
        return any(_TERMS[kind](other) for other in placed for kind in kinds)

    def matching(
        self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None
    ) -> Iterator[PlacedTerm]:
        """See TermIndex."""
        found = self._found.get((kind, pod))
        if found is None:
            found = self._found[kind, pod] = self._look_for(kind, pod, namespace_labels)
        return iter(found)

    def _look_for(self, kind: TermKind, pod: PodInfo, namespace_labels: Mapping[str, str] | None) -> list[PlacedTerm]:
        found: dict[AffinityTerm, PlacedTerm] = {}
        terms_of = _TERMS[kind]
        for info in self._table.infos:
            for other in info.pods_with_affinity:
                for term in terms_of(other):
                    if term.matches(pod, namespace_labels):
                        change_count(found.setdefault(term, PlacedTerm(kind, term)).nodes, info.name, 1)
        return list(found.values())


@dataclass(frozen=True, slots=True)
class IncomingTerm:
    """A term of the pod on its way, with its namespaces looked up."""

    topology_key: str
    weight: int
    pods: PodTerm


def look_up(terms: Iterable[AffinityTerm], namespaces: Lister) -> tuple[IncomingTerm, ...]:
    """Look up which namespaces the terms' namespace selectors mean."""
    return tuple(
        IncomingTerm(term.topology_key, term.weight, PodTerm(_namespaces(term, namespaces), term.selector))
        for term in terms
    )


def _namespaces(term: AffinityTerm, namespaces: Lister) -> tuple[str, ...] | None:
    """The namespaces of a term, or None for all of them.

    The selector is also asked about pods of namespaces it did not name, whose labels are then taken to be none
    (upstream meant to forget the selector once it was looked up, but forgets that of a copy). So one that is content
    without labels, `env notin (prod)` say, means all namespaces.
    """
    if term.namespace_selector.matches({}):
        return None
    selected = [
        namespace.metadata.name
        for namespace in namespaces.list()
        if term.namespace_selector.matches(namespace.metadata.labels)
    ]
    return tuple(sorted({*term.namespaces, *selected}))


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
