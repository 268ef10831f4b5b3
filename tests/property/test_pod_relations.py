"""PodTopologySpread and InterPodAffinity on random clusters that change between questions.

Their counts are kept from change to change; the brute force has none to keep. Both forms of each plugin must give its
answers, for the cluster as it is and for dry runs with some pods taken away. The same questions are asked again after
every few changes, so that what was kept for them must have followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.config.args import InterPodAffinityArgs, PodTopologySpreadArgs
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from schedlab.scheduler.plugins.inter_pod_affinity import filtering as affinity_filtering
from schedlab.scheduler.plugins.pod_topology_spread import PodTopologySpread
from schedlab.scheduler.plugins.pod_topology_spread import filtering as spread_filtering
from tests.property.brute_force_pods import (
    World,
    affinity_scores,
    affinity_verdict,
    spread_scores,
    spread_verdict,
)
from tests.unit.scheduler.plugins.little_cluster import (
    LittleCluster,
    final_scores,
    make_node,
    make_pod,
    raw_scores,
    verdicts,
)

WORDS = {
    spread_filtering.REASON_CONSTRAINTS_NOT_MATCH: "skew",
    spread_filtering.REASON_NODE_LABEL_NOT_MATCH: "label",
    affinity_filtering.REASON_AFFINITY: "far",
    affinity_filtering.REASON_ANTI_AFFINITY: "near",
    affinity_filtering.REASON_EXISTING_ANTI_AFFINITY: "unwanted",
    "": "",
}
NAMESPACES = {"red": {"team": "r"}, "blue": {"team": "b"}, "grey": {}}
KEYS = ("zone", "rack", "kubernetes.io/hostname")
HARD_WEIGHT = 3
NODES = ("n0", "n1", "n2", "n3", "n4")

namespaces = st.sampled_from(("red", "red", "red", "blue", "grey", "lost"))
labels = st.fixed_dictionaries({"app": st.sampled_from("aab")}, optional={"tier": st.sampled_from("xy")})
selectors = st.sampled_from(
    (
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchLabels": {"app": "a", "tier": "x"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {},
        None,
    )
)
namespace_selectors = st.sampled_from(
    (
        {},
        {"matchLabels": {"team": "r"}},
        {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["r"]}]},
    )
)
terms = st.fixed_dictionaries(
    {"topologyKey": st.sampled_from(KEYS), "labelSelector": selectors},
    optional={
        "namespaces": st.lists(st.sampled_from((*NAMESPACES, "lost")), max_size=2, unique=True),
        "namespaceSelector": namespace_selectors,
    },
)
preferences = st.builds(lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 3), terms)
no_terms: st.SearchStrategy[list[Any]] = st.just([])
affinity_sides = st.builds(
    lambda required, preferred: {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    },
    st.one_of(no_terms, st.lists(terms, min_size=1, max_size=2)),
    st.one_of(no_terms, st.lists(preferences, min_size=1, max_size=2)),
)
affinities = st.fixed_dictionaries({}, optional={"podAffinity": affinity_sides, "podAntiAffinity": affinity_sides})
constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "topologyKey": st.sampled_from(KEYS),
        "whenUnsatisfiable": st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": selectors,
    },
    optional={
        "minDomains": st.integers(1, 3),
        "nodeAffinityPolicy": st.sampled_from(("Honor", "Ignore")),
        "nodeTaintsPolicy": st.sampled_from(("Honor", "Ignore")),
    },
)
pods = st.fixed_dictionaries(
    {
        "labels": labels,
        "namespace": namespaces,
        "affinity": affinities,
        "terminating": st.booleans(),
    }
)
nodes = st.fixed_dictionaries(
    {"tainted": st.booleans(), "zone": st.sampled_from(("a", "b", "b", "c", "", None))},
    optional={"rack": st.sampled_from(("1", "2"))},
)
changes = st.one_of(
    st.tuples(st.just("place"), pods, st.sampled_from(NODES)),
    st.tuples(st.just("place"), pods, st.sampled_from(NODES)),
    st.tuples(st.just("remove"), st.integers(0, 30)),
    st.tuples(st.just("relabel"), st.integers(0, 30), labels),
    st.tuples(st.just("node"), nodes, st.sampled_from(NODES)),
    st.tuples(st.just("leave"), st.sampled_from(NODES)),
    st.tuples(st.just("namespace"), st.sampled_from(tuple(NAMESPACES)), st.sampled_from(({}, {"team": "r"}))),
)
crowds = st.lists(st.tuples(st.just("place"), pods, st.sampled_from(NODES)), min_size=4, max_size=10)
questions = st.fixed_dictionaries(
    {
        "labels": labels,
        "namespace": namespaces,
        "affinity": affinities,
        "constraints": st.lists(constraints, min_size=1, max_size=3),
        "selects_zone": st.booleans(),
    }
)


def to_node(name: str, drawn: dict[str, Any]) -> Any:
    node_labels = {key: drawn[key] for key in ("zone", "rack") if drawn.get(key) is not None}
    return make_node(name, node_labels, taints=[{"key": "t", "effect": "NoSchedule"}] if drawn["tainted"] else [])


def to_pod(name: str, drawn: dict[str, Any], node: str) -> PodInfo:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if drawn["terminating"] else {}
    return make_pod(
        name, drawn["labels"], namespace=drawn["namespace"], node=node, metadata=metadata, affinity=drawn["affinity"]
    )


def apply(cluster: LittleCluster, change: tuple[Any, ...], name: str) -> None:
    """Carry a change out; one that names what is not there does nothing."""
    placed = [pod for info in cluster.table.infos for pod in info.pods]
    match change:
        case "place", drawn, node:
            cluster.place(to_pod(name, drawn, node))
        case "remove", index:
            for pod in placed[index : index + 1]:
                cluster.cache.remove_pod(pod)
        case "relabel", index, fresh:
            for pod in placed[index : index + 1]:
                node = pod.pod.spec.node_name
                cluster.cache.update_pod(make_pod(pod.name, fresh, namespace=pod.namespace, node=node))
        case "node", drawn, node:
            cluster.cache.set_node(to_node(node, drawn))
        case "leave", node:
            info = cluster.cache.node_info(node)
            if info is not None and info.node is not None:
                cluster.cache.remove_node(info.node)
        case "namespace", name, own:
            cluster.put("namespaces", metadata={"name": name, "labels": own})
    cluster.cache.refresh()


def check_filter(
    plugin: Any,
    judge: Any,
    cluster: LittleCluster,
    world: World,
    pod: PodInfo,
    constraints: Sequence[dict[str, Any]] = (),
) -> None:
    state = CycleState()
    _, status = plugin.pre_filter(state, pod, cluster.table)
    expected = {node.name: judge(world, pod, node) for node in world.nodes}
    if status is not None:
        assert set(expected.values()) <= {""}
        return
    assert _words(verdicts(plugin, cluster, pod, state)) == expected
    # Upstream counts pods in and out under an empty selector, although it counts none to begin with.
    if not any(constraint["labelSelector"] == {} for constraint in constraints):
        for node in world.nodes:
            check_dry_run(plugin, judge, cluster, world, pod, node, state)


def check_dry_run(
    plugin: Any, judge: Any, cluster: LittleCluster, world: World, pod: PodInfo, node: NodeInfo, state: CycleState
) -> None:
    """Take the pods off one node, as preemption does; then put the first one back."""
    copy, bare = state.copy(), node.copy()
    # Upstream counts terminating pods out of spread constraints although it never counted them in.
    victims = [victim for victim in node.pods if victim.pod.metadata.deletion_timestamp is None]
    for victim in victims:
        bare.remove_pod(victim)
        plugin.remove_pod(copy, pod, victim, bare)
    others = World([bare if other is node else other for other in world.nodes], world.namespaces)
    assert _words(verdicts(plugin, cluster, pod, copy)) == {n.name: judge(others, pod, n) for n in others.nodes}
    for victim in victims[:1]:
        bare.add_pod(victim)
        plugin.add_pod(copy, pod, victim, bare)
        assert _words(verdicts(plugin, cluster, pod, copy)) == {n.name: judge(others, pod, n) for n in others.nodes}


def _words(found: dict[str, str]) -> dict[str, str]:
    return {name: WORDS[message] for name, message in found.items()}


class Told:
    """The verdicts of one filter on all nodes for one pod, as they were, and the mark it gave then."""

    def __init__(self) -> None:
        self.mark: object = None
        self.order = -1
        self.verdicts: list[tuple[int, int]] = []

    def check(
        self, plugin: InterPodAffinity | PodTopologySpread, cluster: LittleCluster, pod: PodInfo, state: CycleState
    ) -> None:
        """Other verdicts than before are on rows that the filter tells of."""
        table = cluster.table
        self.mark, rows = plugin.changed_verdicts(state, pod, table, self.mark)
        found = plugin.filter_nodes(state, pod, table, slice(0, len(table)))
        verdicts = list(zip(found.code.tolist(), found.reason.tolist(), strict=True))
        # Whoever keeps verdicts forgets them when rows move.
        if rows is not None and self.order == table.order:
            changed = {row for row in range(len(table)) if verdicts[row] != self.verdicts[row]}
            assert changed <= set(rows)
        self.order, self.verdicts = table.order, verdicts


@dataclass
class Plugins:
    """The plugins of one cluster, asked again and again, and what they told of each pod."""

    spread: PodTopologySpread
    affinity: InterPodAffinity
    told: defaultdict[tuple[str, PodInfo], Told] = field(default_factory=lambda: defaultdict(Told))

    @classmethod
    def of(cls, cluster: LittleCluster) -> Plugins:
        return cls(
            PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List"), cluster.handle),
            InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=HARD_WEIGHT), cluster.handle),
        )


def to_question(drawn: dict[str, Any]) -> tuple[PodInfo, Sequence[dict[str, Any]]]:
    """A pod to be asked about, and its spread constraints as they were drawn."""
    pod = make_pod(
        "asked",
        drawn["labels"],
        namespace=drawn["namespace"],
        affinity=drawn["affinity"],
        topologySpreadConstraints=drawn["constraints"],
        nodeSelector={"zone": "a"} if drawn["selects_zone"] else {},
    )
    return pod, drawn["constraints"]


def check_question(
    cluster: LittleCluster, plugins: Plugins, pod: PodInfo, constraints: Sequence[dict[str, Any]]
) -> None:
    labels = {each.metadata.name: each.metadata.labels for each in cluster.listers.lister("namespaces").list()}
    world = World(cluster.table.infos, labels)
    spread, affinity = plugins.spread, plugins.affinity
    check_filter(spread, spread_verdict, cluster, world, pod, constraints)
    check_filter(affinity, affinity_verdict, cluster, world, pod)
    for plugin in (spread, affinity):
        state = CycleState()
        if plugin.pre_filter(state, pod, cluster.table)[1] is None:
            plugins.told[plugin.name, pod].check(plugin, cluster, pod, state)
    feasible: Sequence[NodeInfo] = cluster.table.infos[1:] or cluster.table.infos
    names = [node.name for node in feasible]
    found = final_scores(spread, cluster, pod, *names)
    assert (found and list(found.values())) == spread_scores(world, pod, feasible)
    found = raw_scores(affinity, cluster, pod, *names)
    assert (found and list(found.values())) == affinity_scores(world, pod, feasible, HARD_WEIGHT)
    raw_scores(spread, cluster, pod, *names)


@given(
    st.lists(nodes, min_size=3, max_size=len(NODES)),
    crowds,
    st.lists(st.lists(changes, max_size=4), min_size=1, max_size=4),
    st.lists(questions.map(to_question), min_size=1, max_size=4),
)
def test_equal_to_brute_force(
    first_nodes: list[dict[str, Any]],
    crowd: list[tuple[Any, ...]],
    rounds: list[list[tuple[Any, ...]]],
    asked: list[tuple[PodInfo, list[dict[str, Any]]]],
) -> None:
    """After any changes, filter and score in both forms say what looking at every pod says."""
    cluster = LittleCluster(to_node(name, drawn) for name, drawn in zip(NODES, first_nodes, strict=False))
    for name, own in NAMESPACES.items():
        cluster.put("namespaces", metadata={"name": name, "labels": own})
    plugins = Plugins.of(cluster)
    for turn, changed in enumerate([crowd, *rounds]):
        for number, change in enumerate(changed):
            apply(cluster, change, f"p{turn}-{number}")
        for pod, constraints in asked if len(cluster.table) else ():
            check_question(cluster, plugins, pod, constraints)
            if turn % 2:
                # What is kept for pods with the same spec must not be taken for one with other labels.
                check_question(cluster, plugins, pod.with_labels({"app": "b", "tier": "x"}), constraints)
