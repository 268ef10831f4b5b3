"""Required terms: how often they are met in each topology domain, and the verdicts that follow from it.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.status import NodeStatuses, Status, unresolvable, unschedulable
from schedlab.scheduler.plugins.inter_pod_affinity.terms import (
    IncomingTerm,
    KeptByFacts,
    TermIndex,
    TermLookups,
    all_of,
    namespace_labels,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from schedlab.api.views.core import Node
    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.domains import DomainSums
    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
REASON_AFFINITY: Final = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"

_NO_AFFINITY: Final = unresolvable(REASON_AFFINITY)
_ANTI_AFFINITY: Final = unschedulable(REASON_ANTI_AFFINITY)
_EXISTING_ANTI_AFFINITY: Final = unschedulable(REASON_EXISTING_ANTI_AFFINITY)


class DomainCounts:
    """Numbers by topology key and value: int64[V + 1] per key, position = id of the value in the label's column.

    The last number is always 0: it is what a node without the label reads. Arrays belong to whoever made them: they are
    copied before they change.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._by_key: dict[str, NDArray[np.int64]] = {}
        #: Keys whose array is that of the sums.
        self._sums: dict[str, DomainSums] = {}
        #: Keys whose array is this object's own.
        self._own: dict[str, None] = {}
        # How many numbers are greater than 0, those of sums left out.
        self._positive = 0

    def copy(self) -> DomainCounts:
        """Return an independent copy for a dry run."""
        other = DomainCounts(self._table)
        other._by_key, other._sums, other._positive = dict(self._by_key), dict(self._sums), self._positive
        self._own.clear()
        return other

    @property
    def topology_keys(self) -> tuple[str, ...]:
        """The topology keys that were counted under."""
        return tuple(self._by_key)

    @property
    def is_zero(self) -> bool:
        """Whether there is no number but 0."""
        return not self._positive and not any(sums.positive for sums in self._sums.values())

    @property
    def goes_along(self) -> bool:
        """Whether all numbers are those of sums, so that they stay right when pods come and go."""
        return len(self._sums) == len(self._by_key)

    def count(self, all_sums: Iterable[DomainSums]) -> None:
        """Add the numbers of the domains of some keys; the sums of a key that comes once are used as they are."""
        for sums in all_sums:
            key = sums.label.key
            known = self._by_key.get(key)
            if known is None:
                self._by_key[key], self._sums[key] = sums.counts, sums
            else:
                self._positive += int(np.count_nonzero(sums.counts[known == 0])) + self._release(key)
                self._by_key[key] = known + sums.counts
                self._own[key] = None

    def _release(self, key: str) -> int:
        """Let the numbers of a key not be those of sums any more; return how many of those were greater than 0."""
        sums = self._sums.pop(key, None)
        return 0 if sums is None else sums.positive

    def change(self, node: Node, key: str, step: int) -> None:
        """Add to the domain of one node, if it is in one."""
        value = node.metadata.labels.get(key)
        if value is None:
            return
        counts = self._counts(key)
        if key not in self._own:
            counts = self._by_key[key] = counts.copy()
            self._own[key] = None
            self._positive += self._release(key)
        place = self._table.label(key).values.find(value)
        before = int(counts[place])
        counts[place] = before + step
        self._positive += (before + step > 0) - (before > 0)

    def is_positive(self, key: str, value: str) -> bool:
        """Whether the number of a domain is greater than 0."""
        counts = self._by_key.get(key)
        return counts is not None and bool(counts[self._table.label(key).values.find(value)] > 0)

    def positive_rows(self, key: str, rows: slice) -> NDArray[np.bool_]:
        """Return for each row of the slice whether it is in a domain with a number greater than 0."""
        return self._counts(key)[self._table.label(key).ids[rows]] > 0

    def _counts(self, key: str) -> NDArray[np.int64]:
        counts = self._by_key.get(key)
        if counts is None:
            counts = self._by_key[key] = np.zeros(len(self._table.label(key).values) + 1, np.int64)
            self._own[key] = None
        return counts


@dataclass(slots=True)
class FilterState:
    """What pre_filter leaves for filter, and what dry runs change in copies.

    existing_anti: pods on nodes whose anti-affinity speaks of the pod. affinity: pods that all affinity terms of the
    pod speak of. anti: pods that an anti-affinity term of the pod speaks of. All of them are made of `sums`.
    """

    pod: PodInfo
    namespace_labels: Mapping[str, str] | None
    affinity_terms: tuple[IncomingTerm, ...]
    anti_terms: tuple[IncomingTerm, ...]
    existing_anti: DomainCounts
    affinity: DomainCounts
    anti: DomainCounts
    sums: tuple[DomainSums, ...] = ()

    def copy(self) -> FilterState:
        """Return an independent copy for a dry run."""
        return FilterState(
            self.pod,
            self.namespace_labels,
            self.affinity_terms,
            self.anti_terms,
            self.existing_anti.copy(),
            self.affinity.copy(),
            self.anti.copy(),
        )

    @property
    def is_first_of_series(self) -> bool:
        """Whether no pod is what the pod wants to be near to, but itself would be: then it may go anywhere."""
        return self.affinity.is_zero and _meets_all(self.affinity_terms, self.pod)


def make_state(
    table: NodeTable, pod: PodInfo, namespaces: Lister, lookups: TermLookups, kept: KeptByFacts[FilterState]
) -> FilterState:
    """Count what the required terms speak of, in both directions; for pods that were made alike that is done once."""
    found = kept.find(table, pod)
    if found is not None:
        return found
    index = PodIndex.of(table)
    state = FilterState(
        pod,
        namespace_labels(pod.namespace, namespaces),
        lookups.of(pod, TermKind.REQUIRED),
        lookups.of(pod, TermKind.REQUIRED_ANTI),
        DomainCounts(table),
        DomainCounts(table),
        DomainCounts(table),
    )
    terms = TermIndex.of(table)
    matching = terms.matching(TermKind.REQUIRED_ANTI, pod, state.namespace_labels)
    existing_anti = [terms.per_domain(placed) for placed in matching]
    query = all_of(state.affinity_terms)
    affinity = [index.per_domain(query, term.topology_key) for term in state.affinity_terms]
    anti = [index.per_domain(term.query, term.topology_key) for term in state.anti_terms]
    state.existing_anti.count(existing_anti)
    state.affinity.count(affinity)
    state.anti.count(anti)
    state.sums = (*existing_anti, *affinity, *anti)
    if state.existing_anti.goes_along and state.affinity.goes_along and state.anti.goes_along:
        kept.keep(table, pod, state, state.sums)
    return state


class Mark(NamedTuple):
    """What verdicts followed from: sums as they were after so many flips, and whether the pod could be the first."""

    sums: tuple[DomainSums, ...]
    flips: tuple[int, ...]
    is_first_of_series: bool


def changed_rows(state: FilterState, since: Mark | None) -> tuple[Mark, Sequence[int] | None]:
    """Return a mark of now, and the rows whose verdicts have changed since another one; None when any may have."""
    now = Mark(state.sums, tuple(sums.flips.count for sums in state.sums), state.is_first_of_series)
    if since is None or since.sums != now.sums or since.is_first_of_series != now.is_first_of_series:
        return now, None
    flipped: dict[tuple[LabelColumn, int], None] = {}
    for sums, seen in zip(state.sums, since.flips, strict=True):
        values = sums.flips.since(seen)
        if values is None:
            return now, None
        for value in values:
            flipped[sums.label, value] = None
    return now, [row for label, value in flipped for row in label.rows_of(value).tolist()]


def update_with_pod(state: FilterState, changed: PodInfo, node: Node, step: int) -> None:
    """Count a pod in or out of a node."""
    for existing in changed.required_anti_affinity_terms:
        if existing.matches(state.pod, state.namespace_labels):
            state.existing_anti.change(node, existing.topology_key, step)
    if _meets_all(state.affinity_terms, changed):
        for term in state.affinity_terms:
            state.affinity.change(node, term.topology_key, step)
    for term in state.anti_terms:
        if term.pods.matches(changed.namespace, changed.labels):
            state.anti.change(node, term.topology_key, step)


def _meets_all(terms: tuple[IncomingTerm, ...], pod: PodInfo) -> bool:
    return bool(terms) and all(term.pods.matches(pod.namespace, pod.labels) for term in terms)


def filter_node(state: FilterState, info: NodeInfo) -> Status | None:
    """Judge one node: affinity first, then the pod's own anti-affinity, then that of the pods on nodes."""
    labels = info.node.metadata.labels
    if not _has_affinity(state, labels):
        return _NO_AFFINITY
    if any(_is_met(state.anti, term.topology_key, labels) for term in state.anti_terms):
        return _ANTI_AFFINITY
    if any(_is_met(state.existing_anti, key, labels) for key in state.existing_anti.topology_keys):
        return _EXISTING_ANTI_AFFINITY
    return None


def _has_affinity(state: FilterState, labels: Mapping[str, str]) -> bool:
    if any(term.topology_key not in labels for term in state.affinity_terms):
        return False
    if all(_is_met(state.affinity, term.topology_key, labels) for term in state.affinity_terms):
        return True
    return state.is_first_of_series


def _is_met(counts: DomainCounts, key: str, labels: Mapping[str, str]) -> bool:
    value = labels.get(key)
    return value is not None and counts.is_positive(key, value)


def filter_rows(state: FilterState, table: NodeTable, rows: slice, size: int) -> NodeStatuses:
    """Judge the nodes of a slice of that size."""
    statuses = NodeStatuses.success(size)
    if state.affinity_terms:
        labelled, met = np.ones(size, np.bool_), np.ones(size, np.bool_)
        for term in state.affinity_terms:
            labelled &= table.label(term.topology_key).ids[rows] >= 0
            met &= state.affinity.positive_rows(term.topology_key, rows)
        statuses.reject(~(labelled & (met | state.is_first_of_series)), _NO_AFFINITY)
    for term in state.anti_terms:
        statuses.reject(state.anti.positive_rows(term.topology_key, rows), _ANTI_AFFINITY)
    for key in state.existing_anti.topology_keys:
        statuses.reject(state.existing_anti.positive_rows(key, rows), _EXISTING_ANTI_AFFINITY)
    return statuses
