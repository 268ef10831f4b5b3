"""Which nodes count for a pod's constraints: worked out once for pods that are made alike, until a node changes.

Differs: upstream asks these questions of every node in each cycle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.api.rules.node_affinity import RequiredNodeAffinity, required_node_affinity
from schedlab.scheduler.framework.domains import sums_by_value
from schedlab.scheduler.framework.node_masks import affinity_mask, untolerated_mask
from schedlab.scheduler.framework.pod_index import PodIndex, PodQuery, PodTerm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.domains import DomainSums
    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.plugins.pod_topology_spread.constraints import Constraint

#: For so many kinds of pods it is kept.
_KEPT_MAX: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class CountedNodes:
    """The nodes that count for pods with the same facts and constraints.

    with_keys: bool[N], nodes with the topology keys of all constraints, or all where those are not needed. is_complete:
    they are all nodes. queries: what each constraint speaks of, None of no pods. labels: the column of each. masks: of each constraint bool[N], the nodes that count;
    None where all do that have the label. domains: of each constraint bool[V + 1], the domains with a node that counts.
    """

    constraints: tuple[Constraint, ...]
    affinity: RequiredNodeAffinity
    with_keys: NDArray[np.bool_]
    is_complete: bool
    queries: tuple[PodQuery | None, ...]
    labels: tuple[LabelColumn, ...]
    masks: tuple[NDArray[np.bool_] | None, ...]
    domains: tuple[NDArray[np.bool_], ...]

    @classmethod
    def of(
        cls,
        table: NodeTable,
        pod: PodInfo,
        constraints: tuple[Constraint, ...],
        *,
        requires_all_keys: bool,
        comparison: bool,
    ) -> CountedNodes:
        """Look at all nodes."""
        affinity = required_node_affinity(pod.pod)
        rules = NodeRules(table, pod, affinity, comparison=comparison)
        with_keys = all_keys_mask(table, constraints) if requires_all_keys else np.ones(len(table), np.bool_)
        labels, masks, domains = [], [], []
        for constraint in constraints:
            label = table.label(constraint.topology_key)
            mask, there = with_keys & rules.counted(constraint), label.ids >= 0
            # Nodes without the label are those of the empty value, where there is one.
            is_whole = bool(mask[there].all()) and (requires_all_keys or label.values.find("") < 0)
            counted = np.zeros(len(label.values) + 1, np.bool_)
            counted[label.ids[mask]] = True
            labels.append(label)
            masks.append(None if is_whole else mask)
            domains.append(counted)
        queries = tuple(_query(pod.namespace, constraint) for constraint in constraints)
        is_complete = bool(with_keys.all())
        return cls(constraints, affinity, with_keys, is_complete, queries, tuple(labels), tuple(masks), tuple(domains))

    def matching_pods(self, table: NodeTable, at: int) -> NDArray[np.int32]:
        """Return how many pods on each node a constraint speaks of, int32[N]; terminating pods are left out."""
        query = self.queries[at]
        return np.zeros(len(table), np.int32) if query is None else PodIndex.of(table).per_node(query)

    def sums(self, table: NodeTable, at: int) -> NDArray[np.int64]:
        """Return how many pods of a constraint there are on nodes that count, by value of its label: int64[V + 1].

        The last number is always 0; see sums_by_value. Not to be changed, and to be read within this cycle only.
        """
        found = self.domain_sums(table, at)
        if found is not None:
            return found.counts
        return sums_by_value(self.labels[at], self.matching_pods(table, at), self.masks[at])

    def domain_sums(self, table: NodeTable, at: int) -> DomainSums | None:
        """Return the same as sums that go along with the pods; None where not all nodes count, or no pod does."""
        query = self.queries[at]
        if query is None or self.masks[at] is not None:
            return None
        return PodIndex.of(table).per_domain(query, self.constraints[at].topology_key)


class KeptNodes:
    """The nodes that count for the kinds of pods that came last. `comparison`: a feature of tolerations."""

    def __init__(self, *, comparison: bool) -> None:
        self._comparison = comparison
        self._kept: OrderedDict[PodFacts, tuple[NodeTable, int, bool, CountedNodes]] = OrderedDict()

    def of(
        self, table: NodeTable, pod: PodInfo, constraints: tuple[Constraint, ...], *, requires_all_keys: bool = True
    ) -> CountedNodes:
        """Return the nodes that count for a pod, as they are now."""
        kept = self._kept.get(pod.facts)
        if kept is not None:
            of_table, version, needed, nodes = kept
            if (
                of_table is table
                and version == table.nodes_version
                and needed == requires_all_keys
                and nodes.constraints == constraints
            ):
                return nodes
        nodes = CountedNodes.of(
            table, pod, constraints, requires_all_keys=requires_all_keys, comparison=self._comparison
        )
        self._kept[pod.facts] = table, table.nodes_version, requires_all_keys, nodes
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return nodes


class NodeRules:
    """Which nodes count for a pod, as masks over all rows; the masks are made when they are first needed."""

    def __init__(self, table: NodeTable, pod: PodInfo, affinity: RequiredNodeAffinity, *, comparison: bool) -> None:
        self._table = table
        self._pod = pod
        self._affinity = affinity
        self._comparison = comparison
        self._matching: NDArray[np.bool_] | None = None
        self._tolerated: NDArray[np.bool_] | None = None

    def counted(self, constraint: Constraint) -> NDArray[np.bool_]:
        """Return bool[N]: `constraint.counts_node` of every node."""
        mask = np.ones(len(self._table), np.bool_)
        if constraint.honor_affinity:
            if self._matching is None:
                self._matching = affinity_mask(self._table, self._affinity)
            mask &= self._matching
        if constraint.honor_taints:
            if self._tolerated is None:
                tolerations = self._pod.pod.spec.tolerations
                self._tolerated = ~untolerated_mask(self._table, tolerations, comparison=self._comparison)
            mask &= self._tolerated
        return mask


def all_keys_mask(table: NodeTable, constraints: Sequence[Constraint]) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes with the topology keys of all constraints."""
    mask = np.ones(len(table), np.bool_)
    for constraint in constraints:
        mask &= table.label(constraint.topology_key).ids >= 0
    return mask


def _query(namespace: str, constraint: Constraint) -> PodQuery | None:
    if constraint.selector.is_empty:
        return None
    return PodQuery((PodTerm((namespace,), constraint.selector),), terminating=False)
