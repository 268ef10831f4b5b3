"""Hard constraints: what pre_filter finds out about the domains, and the verdicts that follow from it.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go (v1.36).
Differs: the smallest count is taken from all domains, so there are no "critical paths"; as long as pods are added and
removed on one node of a copy, as preemption does, both give the same number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
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
    from schedlab.scheduler.framework.domains import DomainSums
    from schedlab.scheduler.framework.node_table import LabelColumn, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

#: So many states are kept.
_KEPT_MAX: Final = 8

REASON_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
REASON_NODE_LABEL_NOT_MATCH: Final = f"{REASON_CONSTRAINTS_NOT_MATCH} (missing required label)"

_LABEL_MISSING: Final = unresolvable(REASON_NODE_LABEL_NOT_MATCH)
_SKEWED: Final = unschedulable(REASON_CONSTRAINTS_NOT_MATCH)


class Skew:
    """The domains of a constraint with too many pods, kept up to date by what sums tell of their changes.

    minimum: the fewest pods of a domain. skewed: bool[V + 1], the domains with too many for one more; mark: its bytes.
    """

    def __init__(self, domains: Domains, sums: DomainSums) -> None:
        self._domains, self._sums, self._seen = domains, sums, sums.changes.count
        # A piece costs less than places, and mostly all domains count.
        is_whole = domains.counted[:-1].all() and not domains.counted[-1]
        self._places = slice(0, -1) if is_whole else domains.counted
        self._look_at_all()

    def refresh(self) -> None:
        """Look at what has changed."""
        changes, seen = self._sums.changes, self._seen
        if changes.count == seen:
            return
        changed = changes.since(seen)
        if changed is None or not all(map(self._follow, dict.fromkeys(changed))):
            self._look_at_all()
        self._seen = changes.count

    def _look_at_all(self) -> None:
        domains = self._domains
        self._known = domains.counts.copy()
        counts = self._known[self._places]
        self.minimum = domains.fewest_of(counts)
        #: How many domains have so few.
        self._lowest = int(np.count_nonzero(counts == self.minimum))
        self.skewed = domains.above(self.minimum)
        self.mark = self.skewed.tobytes()

    def _follow(self, value: int) -> bool:
        """Take over the number of one domain; False when the fewest pods may be others than before."""
        domains, minimum = self._domains, self.minimum
        before, now = int(self._known[value]), int(domains.counts[value])
        self._known[value] = now
        if domains.counted[value]:
            self._lowest += (now == minimum) - (before == minimum)
            if now < minimum or not self._lowest:
                return False
        is_skewed = domains.is_above(now, minimum)
        if self.skewed[value] != is_skewed:
            self.skewed[value] = is_skewed
            self.mark = self.skewed.tobytes()
        return True


class Domains:
    """The domains of one constraint.

    label: the topology key's column, of V values. counts: int64[V + 1] matching pods, 0 where a domain does not count
    and, in the last place, for nodes without the label. counted: bool[V + 1] domains with a node that counts.
    self_match: 1 if the constraint's selector matches the pod itself. sums: where the counts are those of sums.
    """

    __slots__ = ("_skew", "constraint", "counted", "counts", "label", "self_match", "sums")

    def __init__(
        self,
        constraint: Constraint,
        label: LabelColumn,
        counts: NDArray[np.int64],
        counted: NDArray[np.bool_],
        self_match: int,
        sums: DomainSums | None = None,
    ) -> None:
        self.constraint, self.label, self.counts, self.counted = constraint, label, counts, counted
        self.self_match, self.sums = self_match, sums
        self._skew = None if sums is None else Skew(self, sums)

    def copy(self) -> Domains:
        """Return an independent copy for a dry run."""
        return Domains(self.constraint, self.label, self.counts.copy(), self.counted, self.self_match)

    def minimum(self) -> int:
        """Return the fewest matching pods of a domain; 0 while there are fewer domains than asked for."""
        skew = self._skew
        if skew is None:
            return self.fewest_of(self.counts[self.counted])
        skew.refresh()
        return skew.minimum

    def skewed(self) -> NDArray[np.bool_]:
        """Return bool[V + 1]: the domains with too many pods for one more; not to be changed."""
        skew = self._skew
        if skew is None:
            return self.above(self.minimum())
        skew.refresh()
        return skew.skewed

    def mark(self) -> bytes:
        """Return the bytes of `skewed`."""
        skew = self._skew
        if skew is None:
            return self.skewed().tobytes()
        skew.refresh()
        return skew.mark

    def fewest_of(self, counts: NDArray[np.int64]) -> int:
        """Work out the minimum from the counts of the domains that count."""
        return 0 if len(counts) < max(self.constraint.min_domains, 1) else int(np.minimum.reduce(counts))

    def above(self, minimum: int) -> NDArray[np.bool_]:
        """Work out which domains are skewed."""
        return self.counts > self.constraint.max_skew + minimum - self.self_match

    def is_above(self, count: int, minimum: int) -> bool:
        """Work out whether a domain with so many pods is skewed."""
        return count + self.self_match - minimum > self.constraint.max_skew

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

    @property
    def goes_along(self) -> bool:
        """Whether all counts are those of sums that go along with the pods."""
        return all(domains.sums is not None and domains.sums.is_current for domains in self.domains)


class KeptStates:
    """The states for the kinds of pods that came last, by which constraints speak of the pod itself.

    A state holds as long as the nodes that count do, and sums go along with the pods.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[CountedNodes, tuple[int, ...]], tuple[int, FilterState]] = OrderedDict()

    def of(self, table: NodeTable, pod: PodInfo, nodes: CountedNodes) -> FilterState:
        """Return the state for a pod with these nodes, to be read within this cycle only."""
        matches = tuple([int(constraint.selector.matches(pod.labels)) for constraint in nodes.constraints])
        version, found = self._kept.get((nodes, matches), (-1, None))
        if found is not None and version == table.columns_version and found.goes_along:
            return found
        made = make_state(table, nodes, matches)
        if made.goes_along:
            self._kept.pop((nodes, matches), None)
            self._kept[nodes, matches] = table.columns_version, made
            if len(self._kept) > _KEPT_MAX:
                self._kept.popitem(last=False)
        return made


def make_state(table: NodeTable, nodes: CountedNodes, matches: Sequence[int]) -> FilterState:
    """Count the pods of every constraint in every domain that counts; matches: 1 for those that speak of the pod itself."""
    domains = []
    for at, (constraint, label, counted) in enumerate(zip(nodes.constraints, nodes.labels, nodes.domains, strict=True)):
        sums = nodes.domain_sums(table, at)
        counts = nodes.sums(table, at) if sums is None else sums.counts
        domains.append(Domains(constraint, label, counts, counted, matches[at], sums))
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
        if domains.is_above(count, domains.minimum()):
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
        there = "is 1 domain" if len(counts) == 1 else f"are {len(counts)} domains"
        least = f"the fewest count as 0 because there {there} and minDomains is {constraint.min_domains}"
        values["minDomains"] = constraint.min_domains
    text = (
        f"{key}={value} has {count} matching pod{'s' * (count != 1)} and would have {after}, {least}: "
        f"skew {skew} {'is within' if fits else 'exceeds'} maxSkew {constraint.max_skew}"
    )
    return Fact(text, {**values, "domain": value, "count": count, "countWithPod": after, "skew": skew}, fits)


class Mark(NamedTuple):
    """What verdicts followed from: the nodes that count, and the domains of each constraint with too many pods."""

    nodes: CountedNodes
    skewed: tuple[bytes, ...]


def mark_of(state: FilterState) -> Mark:
    """Return what the verdicts follow from; while it stays the same, so do they."""
    return Mark(state.nodes, tuple([domains.mark() for domains in state.domains]))


def filter_rows(state: FilterState, rows: slice, size: int) -> NodeStatuses:
    """Judge the nodes of a slice of that size."""
    statuses = NodeStatuses.success(size)
    for domains in state.domains:
        ids = domains.label.ids[rows]
        statuses.reject(ids < 0, _LABEL_MISSING)
        statuses.reject(domains.skewed()[ids], _SKEWED)
    return statuses
