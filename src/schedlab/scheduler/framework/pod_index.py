"""How many pods of a kind are on each node, counted once and kept: what spreading and pod affinity are made of.

Pods with the same namespace and labels, terminating or not, form a class. A query names classes by namespaces and
selectors; its answer is a column of numbers per node. A query's column is made on first use, from the classes that match
it, and from then on costs an addition per matching pod that comes or goes. Neither making one nor keeping it looks at
pods that do not match: classes are found by the labels a selector asks for, and queries by the labels a class has.

Differs: upstream visits every pod of every node in each cycle (countPodsMatchSelector and its like).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from schedlab.apimachinery.selectors import Operator, Selector
from schedlab.scheduler.framework.domains import DomainSums, NodeCounts
from schedlab.scheduler.framework.pod_facts import PodKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.past_pods import PastPods
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

#: How many queries are kept; the one that was not asked for the longest makes room. A column takes 4 bytes a node.
QUERIES_MAX: Final = 1024

#: How many classes without pods are kept.
EMPTY_MAX: Final = 16

_ONE_OF: Final = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
_KEY: Final = "pod-index"

Label = tuple[str, str]
T = TypeVar("T")


def required_labels(selector: Selector) -> tuple[Label, ...]:
    """Return labels of which a matching object has exactly one; none when the selector asks for no certain value."""
    for requirement in selector.requirements:
        if requirement.operator in _ONE_OF:
            return tuple((requirement.key, value) for value in dict.fromkeys(requirement.values))
    return ()


class LabelBuckets(Generic[T]):
    """Things with a selector, so kept that labels find the ones that may match without trying all of them."""

    def __init__(self) -> None:
        self._by_label: dict[Label, dict[T, None]] = {}
        self._rest: dict[T, None] = {}

    def add(self, selector: Selector, item: T) -> None:
        """Keep an item."""
        labels = required_labels(selector)
        for label in labels:
            self._by_label.setdefault(label, {})[item] = None
        if not labels:
            self._rest[item] = None

    def remove(self, selector: Selector, item: T) -> None:
        """Forget an item that was kept with the same selector."""
        labels = required_labels(selector)
        for label in labels:
            bucket = self._by_label[label]
            del bucket[item]
            if not bucket:
                del self._by_label[label]
        if not labels:
            del self._rest[item]

    def __bool__(self) -> bool:
        return bool(self._by_label or self._rest)

    def candidates(self, labels: Mapping[str, str]) -> Iterator[T]:
        """Yield every item whose selector matches, each once, among others that may not."""
        for label in labels.items():
            yield from self._by_label.get(label, ())
        yield from self._rest


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Pods that a selector matches in some namespaces; None stands for all of them."""

    namespaces: tuple[str, ...] | None
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether pods of that namespace and with those labels are meant."""
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodQuery:
    """Pods that every one of the terms (at least one) means; with or without those that are terminating."""

    terms: tuple[PodTerm, ...]
    terminating: bool = True

    def matches(self, kind: PodKind | PodInfo) -> bool:
        """Whether the pods of a kind, or a pod, are asked for."""
        if kind.terminating and not self.terminating:
            return False
        return all(term.matches(kind.namespace, kind.labels) for term in self.terms)

    @property
    def guide(self) -> PodTerm:
        """The term to look classes up by: one that asks for certain labels, if there is one."""
        return next((term for term in self.terms if required_labels(term.selector)), self.terms[0])


@dataclass(slots=True, eq=False)
class PodClass:
    """The pods of a kind; nodes: number of such pods by node name, `queries` those that count them."""

    kind: PodKind
    nodes: dict[str, int] = field(default_factory=dict)
    queries: list[_Counts] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Counts:
    """The answer to a query."""

    query: PodQuery
    numbers: NodeCounts
    classes: dict[PodClass, None] = field(default_factory=dict)


G = TypeVar("G", bound=Hashable)


class PodGroups(ABC, Generic[G]):
    """A Column that sorts the pods on nodes into groups; a pod may be in any number of them.

    What each node holds is noted, so that a row can be brought up to date without looking at the other rows, and what
    was counted in is counted out even if the pod has changed in between.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._on_node: dict[str, dict[str, tuple[G, ...]]] = {}

    @abstractmethod
    def _groups(self, pod: PodInfo) -> tuple[G, ...]:
        """Return the groups a pod is in."""

    @abstractmethod
    def _change(self, group: G, node_name: str, step: int, row: int | None) -> None:
        """Count a pod of a group in (step 1) or out (-1); no row when the node has left the table."""

    @abstractmethod
    def _reorder_arrays(self, old_rows: NDArray[np.int64]) -> None:
        """Bring what is kept by row into the new order; new rows are empty."""

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        for name in [name for name in self._on_node if name not in self._table.row_of]:
            self._change_all(self._on_node.pop(name), name, -1, None)
        self._reorder_arrays(old_rows)

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        known = self._on_node.get(info.name, {})
        current = {pod.uid: groups for pod in info.pods if (groups := self._groups(pod))}
        if known != current:
            self._change_all(known, info.name, -1, row)
            self._change_all(current, info.name, 1, row)
            self._on_node[info.name] = current

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        groups = self._groups(pod)
        if groups:
            name = self._table.names[row]
            self._on_node.setdefault(name, {})[pod.uid] = groups
            self._change_all({pod.uid: groups}, name, 1, row)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        name = self._table.names[row]
        groups = self._on_node.get(name, {}).pop(pod.uid, ())
        self._change_all({pod.uid: groups}, name, -1, row)

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo) -> None:
        """See Column."""
        groups, name = self._groups(new), self._table.names[row]
        before = self._on_node.get(name, {}).get(old.uid, ())
        if groups == before:
            return
        self._on_node.setdefault(name, {})[new.uid] = groups
        self._exchange(before, groups, name, row)

    def _exchange(self, before: tuple[G, ...], after: tuple[G, ...], node_name: str, row: int) -> None:
        """Count a pod that changes its groups: first in, then out, lest there seem to be none meanwhile."""
        for group in after:
            self._change(group, node_name, 1, row)
        for group in before:
            self._change(group, node_name, -1, row)

    def _nodes_copy(self) -> dict[str, dict[str, tuple[G, ...]]]:
        return {name: dict(pods) for name, pods in self._on_node.items()}

    def _change_all(self, pods: Mapping[str, tuple[G, ...]], node_name: str, step: int, row: int | None) -> None:
        for groups in pods.values():
            for group in groups:
                self._change(group, node_name, step, row)


def change_count(nodes: dict[str, int], node_name: str, step: int) -> None:
    """Change a number by node name; none is not noted."""
    left = nodes.get(node_name, 0) + step
    if left:
        nodes[node_name] = left
    else:
        del nodes[node_name]


class PodIndex(PodGroups[PodKind]):
    """All pods on nodes, by class; a Column of the node table."""

    def __init__(self, table: NodeTable, queries_max: int = QUERIES_MAX) -> None:
        super().__init__(table)
        self._queries_max = queries_max
        self._classes: dict[PodKind, PodClass] = {}
        #: Classes that had no pod once, the one for which that is the longest ago first.
        self._emptied: dict[PodKind, None] = {}
        self._by_label: dict[Label, dict[PodClass, None]] = {}
        self._by_namespace: dict[str, dict[PodClass, None]] = {}
        # In order of use, the one to go next first.
        self._counts: dict[PodQuery, _Counts] = {}
        self._queries: LabelBuckets[_Counts] = LabelBuckets()

    @classmethod
    def of(cls, table: NodeTable) -> PodIndex:
        """Return the index of a table."""
        past = table.past
        return table.column(_KEY, lambda: cls(table) if past is None else PastPodIndex(table, past))

    def per_node(self, query: PodQuery) -> NDArray[np.int32]:
        """Return how many pods of the query each node has, int32[N]; to be read within this cycle only."""
        return self._find(query).numbers.per_node

    def per_domain(self, query: PodQuery, topology_key: str) -> DomainSums:
        """Return how many pods of the query each domain has; to be read within this cycle only."""
        return self._find(query).numbers.by_domain(self._table.label(topology_key))

    def _find(self, query: PodQuery) -> _Counts:
        counts = self._counts.pop(query, None)
        if counts is None:
            counts = self._make(query)
            if len(self._counts) >= self._queries_max:
                self._drop(next(iter(self._counts)))
        self._counts[query] = counts
        return counts

    # --- Column ---

    def _groups(self, pod: PodInfo) -> tuple[PodKind, ...]:
        return (pod.kind,)

    def _change(self, group: PodKind, node_name: str, step: int, row: int | None) -> None:
        known = self._class(group)
        if row is not None:
            for counts in known.queries:
                counts.numbers.change(row, step)
        self._count(known, node_name, step)

    def _exchange(self, before: tuple[PodKind, ...], after: tuple[PodKind, ...], node_name: str, row: int) -> None:
        """See PodGroups; queries that count the pod before and afterwards are not told."""
        gone, come = self._class(before[0]), self._class(after[0])
        if gone.queries != come.queries:
            for counts in come.queries:
                if counts not in gone.queries:
                    counts.numbers.change(row, 1)
            for counts in gone.queries:
                if counts not in come.queries:
                    counts.numbers.change(row, -1)
        self._count(come, node_name, 1)
        self._count(gone, node_name, -1)

    def _count(self, known: PodClass, node_name: str, step: int) -> None:
        change_count(known.nodes, node_name, step)
        if not known.nodes:
            self._keep_empty(known.kind)

    def _keep_empty(self, kind: PodKind) -> None:
        """Keep a class without pods for the next ones: where binding gives pods labels, that of assumed ones is often empty."""
        self._emptied.pop(kind, None)
        self._emptied[kind] = None
        if len(self._emptied) > EMPTY_MAX:
            oldest = next(iter(self._emptied))
            del self._emptied[oldest]
            if not self._classes[oldest].nodes:
                self._drop_class(oldest)

    def _reorder_arrays(self, old_rows: NDArray[np.int64]) -> None:
        for counts in self._counts.values():
            counts.numbers.reorder(old_rows)

    def copy(self, table: NodeTable) -> PodIndex:
        """See Column."""
        other = PodIndex(table, self._queries_max)
        other._on_node = self._nodes_copy()
        for kind, known in self._classes.items():
            other._add_class(kind).nodes = dict(known.nodes)
        other._emptied = dict(self._emptied)
        for query, counts in self._counts.items():
            copied = other._counts[query] = _Counts(query, counts.numbers.copy())
            other._queries.add(query.guide.selector, copied)
            for known in counts.classes:
                _link(other._classes[known.kind], copied)
        return other

    # --- Classes ---

    def _class(self, kind: PodKind) -> PodClass:
        return self._classes.get(kind) or self._add_class(kind)

    def _add_class(self, kind: PodKind) -> PodClass:
        known = self._classes[kind] = PodClass(kind)
        for label in kind.labels.items():
            self._by_label.setdefault(label, {})[known] = None
        self._by_namespace.setdefault(kind.namespace, {})[known] = None
        for counts in self._queries.candidates(kind.labels):
            if counts.query.matches(kind):
                _link(known, counts)
        return known

    def _drop_class(self, kind: PodKind) -> None:
        known = self._classes.pop(kind)
        for label in kind.labels.items():
            _discard(self._by_label, label, known)
        _discard(self._by_namespace, kind.namespace, known)
        for counts in known.queries:
            del counts.classes[known]

    # --- Queries ---

    def _make(self, query: PodQuery) -> _Counts:
        per_node = np.zeros(len(self._table), np.int32)
        counts = _Counts(query, NodeCounts(per_node))
        for known in self._candidates(query.guide):
            if query.matches(known.kind):
                _link(known, counts)
                for name, number in known.nodes.items():
                    per_node[self._table.row_of[name]] += number
        self._queries.add(query.guide.selector, counts)
        return counts

    def _candidates(self, term: PodTerm) -> Iterator[PodClass]:
        labels = required_labels(term.selector)
        if labels:
            for label in labels:
                yield from self._by_label.get(label, ())
        elif term.namespaces is None:
            yield from self._classes.values()
        else:
            for namespace in term.namespaces:
                yield from self._by_namespace.get(namespace, ())

    def _drop(self, query: PodQuery) -> None:
        counts = self._counts.pop(query)
        self._queries.remove(query.guide.selector, counts)
        counts.numbers.end()
        for known in counts.classes:
            known.queries.remove(counts)


class PastPodIndex(PodIndex):
    """The same over a table of the past: nothing is kept but answers."""

    def __init__(self, table: NodeTable, past: PastPods) -> None:
        super().__init__(table)
        self._past = past

    def fill(self, infos: Sequence[NodeInfo]) -> None:
        """See Column."""

    def _make(self, query: PodQuery) -> _Counts:
        wanted = required_labels(query.guide.selector)
        key, values = wanted[0][0] if wanted else "", {value for _, value in wanted}
        groups = [
            number
            for kind, number in self._past.kinds.known()
            if (not wanted or kind.labels.get(key) in values) and query.matches(kind)
        ]
        counts = _Counts(query, NodeCounts(self._past.kinds.per_node(groups)))
        self._queries.add(query.guide.selector, counts)
        return counts


def _link(known: PodClass, counts: _Counts) -> None:
    known.queries.append(counts)
    counts.classes[known] = None


K = TypeVar("K")


def _discard(index: dict[K, dict[PodClass, None]], key: K, known: PodClass) -> None:
    bucket = index[key]
    del bucket[known]
    if not bucket:
        del index[key]
