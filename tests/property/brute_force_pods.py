"""What spread constraints and pod affinity mean, found out the slow way: by looking at every pod on every node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.api.rules.taints import find_untolerated
from schedlab.api.views.core import TopologySpreadConstraint
from schedlab.apimachinery.selectors import selector_from_view
from schedlab.scheduler.framework.types import AffinityTerm, NodeInfo, PodInfo

HOSTNAME = "kubernetes.io/hostname"
Namespaces = Mapping[str, Mapping[str, str]]
Domain = tuple[str, str]


@dataclass
class World:
    """Nodes with their pods, and namespaces with their labels."""

    nodes: Sequence[NodeInfo]
    namespaces: Namespaces

    def placed(self) -> Iterable[tuple[NodeInfo, PodInfo]]:
        return ((node, pod) for node in self.nodes for pod in node.pods)


def labels_of(node: NodeInfo) -> Mapping[str, str]:
    return node.node.metadata.labels


# --- Spread ---


def counts_here(constraint: TopologySpreadConstraint, node: NodeInfo, pod: PodInfo) -> int:
    """How many pods of the node the constraint speaks of."""
    selector = selector_from_view(constraint.label_selector)
    return sum(
        other.namespace == pod.namespace
        and other.pod.metadata.deletion_timestamp is None
        and not selector.is_empty
        and selector.matches(other.labels)
        for other in node.pods
    )


def node_counts(constraint: TopologySpreadConstraint, node: NodeInfo, pod: PodInfo) -> bool:
    """Whether the node counts under the constraint's policies."""
    if constraint.node_affinity_policy != "Ignore" and not required_node_affinity(pod.pod).matches(node.node):
        return False
    tainted = find_untolerated(node.node.spec.taints, pod.pod.spec.tolerations)
    return constraint.node_taints_policy != "Honor" or tainted is None


def spread_verdict(world: World, pod: PodInfo, node: NodeInfo) -> str:
    """How PodTopologySpread judges the node: "", "label" or "skew"."""
    hard = [c for c in pod.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    with_keys = [n for n in world.nodes if all(c.topology_key in labels_of(n) for c in hard)]
    for constraint in hard:
        key = constraint.topology_key
        if key not in labels_of(node):
            return "label"
        domains: Counter[str] = Counter()
        for other in with_keys:
            if node_counts(constraint, other, pod):
                domains[labels_of(other)[key]] += counts_here(constraint, other, pod)
        fewest = min(domains.values(), default=0)
        if len(domains) < (constraint.min_domains or 1):
            fewest = 0
        itself = selector_from_view(constraint.label_selector).matches(pod.labels)
        if domains[labels_of(node)[key]] + itself - fewest > constraint.max_skew:
            return "skew"
    return ""


def spread_scores(world: World, pod: PodInfo, feasible: Sequence[NodeInfo]) -> list[int] | None:
    """The final scores of PodTopologySpread for the feasible nodes; None without soft constraints."""
    soft = [c for c in pod.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "ScheduleAnyway"]
    if not soft:
        return None
    scored = [node for node in feasible if all(c.topology_key in labels_of(node) for c in soft)]
    raw = {node.name: spread_score(world, pod, soft, scored, node) for node in scored}
    highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
    if highest == 0:
        return [100 if node.name in raw else 0 for node in feasible]
    return [100 * (highest + lowest - raw[node.name]) // highest if node.name in raw else 0 for node in feasible]


def spread_score(
    world: World,
    pod: PodInfo,
    soft: Sequence[TopologySpreadConstraint],
    scored: Sequence[NodeInfo],
    node: NodeInfo,
) -> int:
    total = 0.0
    for constraint in soft:
        key = constraint.topology_key
        if key == HOSTNAME:
            count, size = counts_here(constraint, node, pod), len(scored)
        else:
            size = len({labels_of(other)[key] for other in scored})
            count = sum(
                counts_here(constraint, other, pod)
                for other in world.nodes
                if all(c.topology_key in labels_of(other) for c in soft)
                and node_counts(constraint, other, pod)
                and labels_of(other)[key] == labels_of(node)[key]
            )
        total += count * math.log(size + 2) + (constraint.max_skew - 1)
    return math.floor(total + 0.5)


# --- Affinity ---


def means(world: World, term: AffinityTerm, pod: PodInfo) -> bool:
    """Whether a term of a pod on its way speaks of `pod`."""
    selected = term.namespace_selector.matches({}) or term.namespace_selector.matches(
        world.namespaces.get(pod.namespace, {})
    )
    known = pod.namespace in world.namespaces or term.namespace_selector.matches({})
    return (pod.namespace in term.namespaces or (selected and known)) and term.selector.matches(pod.labels)


def is_meant(world: World, term: AffinityTerm, pod: PodInfo) -> bool:
    """Whether a term of a pod on a node speaks of the pod on its way."""
    return term.matches(pod, world.namespaces.get(pod.namespace))


def domains_of(node: NodeInfo, terms: Iterable[AffinityTerm]) -> list[Domain]:
    labels = labels_of(node)
    return [(term.topology_key, labels[term.topology_key]) for term in terms if term.topology_key in labels]


def affinity_verdict(world: World, pod: PodInfo, node: NodeInfo) -> str:
    """How InterPodAffinity judges the node: "", "far", "near" or "unwanted"."""
    wanted = pod.required_affinity_terms
    company: Counter[Domain] = Counter()
    for other, existing in world.placed():
        if wanted and all(means(world, term, existing) for term in wanted):
            company.update(domains_of(other, wanted))
    here = domains_of(node, wanted)
    if len(here) < len(wanted):
        return "far"
    is_first = not company and all(means(world, term, pod) for term in wanted)
    if wanted and not all(company[domain] for domain in here) and not is_first:
        return "far"
    disliked = {
        domain
        for other, existing in world.placed()
        for term in pod.required_anti_affinity_terms
        if means(world, term, existing)
        for domain in domains_of(other, [term])
    }
    if disliked & set(domains_of(node, pod.required_anti_affinity_terms)):
        return "near"
    refused = {
        domain
        for other, existing in world.placed()
        for term in existing.required_anti_affinity_terms
        if is_meant(world, term, pod)
        for domain in domains_of(other, [term])
    }
    return "unwanted" if refused & set(labels_of(node).items()) else ""


def affinity_scores(world: World, pod: PodInfo, feasible: Sequence[NodeInfo], hard_weight: int) -> list[int] | None:
    """The raw scores of InterPodAffinity for the feasible nodes; None when no term meets a pod in a domain."""
    worth: Counter[Domain] = Counter()
    met = False
    for node, existing in world.placed():
        weighted = [
            *((term, term.weight) for term in pod.preferred_affinity_terms if means(world, term, existing)),
            *((term, -term.weight) for term in pod.preferred_anti_affinity_terms if means(world, term, existing)),
            *((term, hard_weight) for term in existing.required_affinity_terms if is_meant(world, term, pod)),
            *((term, term.weight) for term in existing.preferred_affinity_terms if is_meant(world, term, pod)),
            *((term, -term.weight) for term in existing.preferred_anti_affinity_terms if is_meant(world, term, pod)),
        ]
        for term, weight in weighted:
            for domain in domains_of(node, [term]) if weight else ():
                worth[domain] += weight
                met = True
    return [sum(worth[domain] for domain in labels_of(node).items()) for node in feasible] if met else None
