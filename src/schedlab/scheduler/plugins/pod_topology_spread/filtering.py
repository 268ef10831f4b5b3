"""Hard constraints: what pre_filter finds out about the domains, and the verdicts that follow from it.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go (v1.36).
Differs: the smallest count is taken from all domains, so there are no "critical paths"; as long as pods are added and
removed on one node of a copy, as preemption does, both give the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.status import NodeStatuses, Status, unresolvable, unschedulable
from schedlab.scheduler.plugins.pod_topology_spread.constraints import Constraint, has_all_keys
from schedlab.scheduler.plugins.pod_topology_spread.counted_nodes import CountedNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node
    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
REASON_NODE_LABEL_NOT_MATCH: Final = f"{REASON_CONSTRAINTS_NOT_MATCH} (missing required label)"

_LABEL_MISSING: Final = unresolvable(REASON_NODE_LABEL_NOT_MATCH)
_SKEWED: Final = unschedulable(REASON_CONSTRAINTS_NOT_MATCH)


@dataclass(slots=True)
class Domains:
    """The domains of one constraint.

    label: the topology key's column, of V values. counts: int64[V + 1] matching pods, 0 where a domain does not count
    and, in the last place, for nodes without the label. counted: bool[V + 1] domains with a node that counts.
    self_match: 1 if the constraint's selector matches the pod itself.
    """

    constraint: Constraint
    label: LabelColumn
    counts: NDArray[np.int64]
    counted: NDArray[np.bool_]
    self_match: int

    def copy(self) -> Domains:
        """Return an independent copy for a dry run."""
        return Domains(self.constraint, self.label, self.counts.copy(), self.counted, self.self_match)

    def minimum(self) -> int:
        """Return the fewest matching pods of a domain; 0 while there are fewer domains than asked for."""
        counts = self.counts[self.counted]
        return 0 if len(counts) < max(self.constraint.min_domains, 1) else int(counts.min())

    def skewed(self) -> NDArray[np.bool_]:
        """Return bool[V + 1]: the domains with too many pods for one more."""
        return self.counts + (self.self_match - self.minimum()) > self.constraint.max_skew

    def change(self, node: Node, step: int) -> None:
        """Count a matching pod in or out of a node that counts."""
        self.counts[self.label.values.find(node.metadata.labels[self.constraint.topology_key])] += step


@dataclass(slots=True)
class FilterState:
    """What pre_filter leaves for filter, and what dry runs change in copies."""

    domains: tuple[Domains, ...]
    nodes: CountedNodes

    def copy(self) -> FilterState:
        """Return an independent copy for a dry run."""
        return FilterState(tuple(domains.copy() for domains in self.domains), self.nodes)


def make_state(table: NodeTable, pod: PodInfo, nodes: CountedNodes) -> FilterState:
    """Count the pods of every constraint in every domain that counts."""
    domains = []
    for at, (constraint, label, counted) in enumerate(zip(nodes.constraints, nodes.labels, nodes.domains, strict=True)):
        counts = nodes.sums(table, at)
        domains.append(Domains(constraint, label, counts, counted, int(constraint.selector.matches(pod.labels))))
    return FilterState(tuple(domains), nodes)


def update_with_pod(
    state: FilterState, pod: PodInfo, changed: PodInfo, node: Node, step: int, *, comparison: bool
) -> None:
    """Count a pod in or out of a node, as far as the constraints of `pod` speak of it."""
    constraints = [domains.constraint for domains in state.domains]
    if changed.namespace != pod.namespace or not has_all_keys(node.metadata.labels, constraints):
        return
    tolerations = pod.pod.spec.tolerations
    for domains in state.domains:
        constraint = domains.constraint
        if constraint.selector.matches(changed.labels) and constraint.counts_node(
            node, state.nodes.affinity, tolerations, comparison=comparison
        ):
            domains.change(node, step)


def filter_node(state: FilterState, info: NodeInfo) -> Status | None:
    """Judge one node: no domain may exceed the smallest one by more than the skew once the pod is there."""
    for domains in state.domains:
        constraint = domains.constraint
        value = info.node.metadata.labels.get(constraint.topology_key)
        if value is None:
            return _LABEL_MISSING
        count = int(domains.counts[domains.label.values.find(value)])
        if count + domains.self_match - domains.minimum() > constraint.max_skew:
            return _SKEWED
    return None


def explain_node(state: FilterState, info: NodeInfo) -> list[Fact]:
    """Return what `filter_node` looks at, of every constraint."""
    return [_explain_domain(domains, info) for domains in state.domains]


def _explain_domain(domains: Domains, info: NodeInfo) -> Fact:
    constraint = domains.constraint
    key, value = constraint.topology_key, info.node.metadata.labels.get(constraint.topology_key)
    minimum = domains.minimum()
    places = np.flatnonzero(domains.counted)
    names = domains.label.values.values()
    counts = {str(names[place]): int(domains.counts[place]) for place in places.tolist() if place < len(names)}
    values = {
        "topologyKey": key,
        "maxSkew": constraint.max_skew,
        "selector": str(constraint.selector),
        "domains": counts,
        "minimum": minimum,
    }
    if value is None:
        return Fact(f"the node has no label {key}", values, fits=False)
    count = int(domains.counts[domains.label.values.find(value)])
    after = count + domains.self_match
    skew = after - minimum
    fits = skew <= constraint.max_skew
    fewest = next((name for name, number in counts.items() if number == minimum), "")
    least = f"the fewest are {minimum} in {fewest}" if fewest else f"the fewest are {minimum}"
    if len(counts) < constraint.min_domains:
        least = (
            f"the fewest count as 0 because there are {len(counts)} domains and minDomains is {constraint.min_domains}"
        )
        values["minDomains"] = constraint.min_domains
    text = (
        f"{key}={value} has {count} matching pods and would have {after}, {least}: "
        f"skew {skew} {'is within' if fits else 'exceeds'} maxSkew {constraint.max_skew}"
    )
    return Fact(text, {**values, "domain": value, "count": count, "countWithPod": after, "skew": skew}, fits)


class Mark(NamedTuple):
    """What verdicts followed from: the nodes that count, and the domains of each constraint with too many pods."""

    nodes: CountedNodes
    skewed: tuple[bytes, ...]


def mark_of(state: FilterState) -> Mark:
    """Return what the verdicts follow from; while it stays the same, so do they."""
    return Mark(state.nodes, tuple(domains.skewed().tobytes() for domains in state.domains))


def filter_rows(state: FilterState, rows: slice, size: int) -> NodeStatuses:
    """Judge the nodes of a slice of that size."""
    statuses = NodeStatuses.success(size)
    for domains in state.domains:
        ids = domains.label.ids[rows]
        statuses.reject(ids < 0, _LABEL_MISSING)
        statuses.reject(domains.skewed()[ids], _SKEWED)
    return statuses
