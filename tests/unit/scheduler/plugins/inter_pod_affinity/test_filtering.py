"""InterPodAffinity as a filter: affinity, anti-affinity of both sides, namespaces, dry runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from schedlab.scheduler.config.args import InterPodAffinityArgs
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, Code
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from schedlab.scheduler.plugins.inter_pod_affinity.filtering import REASON_AFFINITY as FAR
from schedlab.scheduler.plugins.inter_pod_affinity.filtering import REASON_ANTI_AFFINITY as NEAR
from schedlab.scheduler.plugins.inter_pod_affinity.filtering import REASON_EXISTING_ANTI_AFFINITY as UNWANTED
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod, verdicts

WEB, DB = {"app": "web"}, {"app": "db"}
ARGS = InterPodAffinityArgs(hard_pod_affinity_weight=1)


def term(labels: Mapping[str, str] | None = DB, key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": None if labels is None else {"matchLabels": labels}, **more}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def away(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def zones(*pods: PodInfo) -> LittleCluster:
    """Two nodes in zone a, one in zone b, one in none; three namespaces."""
    nodes = [
        make_node("a1", {"zone": "a"}),
        make_node("a2", {"zone": "a"}),
        make_node("b1", {"zone": "b"}),
        make_node("x1"),
    ]
    cluster = LittleCluster(nodes, pods)
    cluster.put_namespace("default", team="green")
    cluster.put_namespace("red", team="red")
    cluster.put_namespace("blue", team="blue")
    return cluster


def judged(cluster: LittleCluster, pod: PodInfo) -> dict[str, str]:
    return verdicts(InterPodAffinity(ARGS, cluster.handle), cluster, pod)


def by_name(a1: str, a2: str, b1: str, x1: str) -> dict[str, str]:
    return {"a1": a1, "a2": a2, "b1": b1, "x1": x1}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        pytest.param(near(term()), by_name("", "", FAR, FAR), id="in the zone of a db"),
        pytest.param(away(term()), by_name(NEAR, NEAR, "", ""), id="in no zone of a db; no zone at all is fine"),
        pytest.param(away(term(key="kubernetes.io/hostname")), by_name(NEAR, "", "", ""), id="on no node of a db"),
        pytest.param(near(term({"app": "cache"})), by_name(FAR, FAR, FAR, FAR), id="there is no cache"),
        pytest.param(near(term(None)), by_name(FAR, FAR, FAR, FAR), id="no selector means no pods"),
        pytest.param(away(term(None)), by_name("", "", "", ""), id="so nothing is too near"),
        pytest.param(
            {**near(term()), **away(term(key="kubernetes.io/hostname"))},
            by_name(NEAR, "", FAR, FAR),
            id="near in the zone, away on the node",
        ),
        pytest.param(near(term(), term({"tier": "x"})), by_name(FAR, FAR, FAR, FAR), id="one pod must meet all terms"),
        pytest.param(
            away(term(WEB), term(DB, "kubernetes.io/hostname")), by_name(NEAR, "", "", ""), id="any one keeps away"
        ),
    ],
)
def test_own_terms(affinity: dict[str, Any], expected: dict[str, str]) -> None:
    """A pod goes where its affinity is met and its anti-affinity is not."""
    assert judged(zones(make_pod("db", DB, node="a1")), make_pod("p", WEB, affinity=affinity)) == expected


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param(
            make_pod("e", node="a1", affinity=away(term(WEB))),
            by_name(UNWANTED, UNWANTED, "", ""),
            id="it keeps the pod off its zone",
        ),
        pytest.param(
            make_pod("e", node="a1", affinity=away(term(WEB, "kubernetes.io/hostname"), term(WEB))),
            by_name(UNWANTED, UNWANTED, "", ""),
            id="any term does",
        ),
        pytest.param(
            make_pod("e", node="a1", namespace="red", affinity=away(term(WEB, namespaces=["default"]))),
            by_name(UNWANTED, UNWANTED, "", ""),
            id="from another namespace, named",
        ),
        pytest.param(
            make_pod(
                "e",
                node="a1",
                namespace="red",
                affinity=away(term(WEB, namespaceSelector={"matchLabels": {"team": "green"}})),
            ),
            by_name(UNWANTED, UNWANTED, "", ""),
            id="from another namespace, selected",
        ),
    ],
)
def test_terms_of_pods_on_nodes(owner: PodInfo, expected: dict[str, str]) -> None:
    """The anti-affinity of pods on nodes keeps the pod off their domains."""
    assert judged(zones(owner), make_pod("p", WEB)) == expected


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(make_pod("e", node="a1", affinity=away(term(DB))), id="it speaks of others"),
        pytest.param(make_pod("e", node="x1", affinity=away(term(WEB))), id="its node is in no domain"),
        pytest.param(make_pod("e", node="a1", namespace="red", affinity=away(term(WEB))), id="it speaks of its own"),
        pytest.param(
            make_pod("e", node="a1", affinity=away(term(WEB, namespaceSelector={"matchLabels": {"team": "red"}}))),
            id="it selects other namespaces",
        ),
        pytest.param(make_pod("e", node="a1", affinity=near(term(WEB))), id="it wants to be near"),
    ],
)
def test_nothing_to_filter(owner: PodInfo) -> None:
    """Without terms of its own a pod that no term speaks of leaves the filter out."""
    cluster = zones(owner)
    plugin = InterPodAffinity(ARGS, cluster.handle)

    assert plugin.pre_filter(CycleState(), make_pod("p", WEB), cluster.table) == (None, SKIP)


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        pytest.param({}, FAR, id="its own namespace unless said otherwise"),
        pytest.param({"namespaces": ["red"]}, "", id="named"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "red"}}}, "", id="selected"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, FAR, id="another one selected"),
        pytest.param(
            {"namespaces": ["red"], "namespaceSelector": {"matchLabels": {"team": "blue"}}}, "", id="named or selected"
        ),
        pytest.param({"namespaceSelector": {}}, "", id="an empty selector means all"),
        pytest.param(
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}},
            "",
            id="a selector that is content without labels means all, as upstream has it",
        ),
    ],
)
def test_namespaces_of_own_terms(namespaces: dict[str, Any], expected: str) -> None:
    """A term speaks of the namespaces it names, those it selects, or else the pod's own."""
    cluster = zones(make_pod("db", DB, namespace="red", node="a1"))

    assert judged(cluster, make_pod("p", affinity=near(term(DB, **namespaces))))["a1"] == expected


@pytest.mark.parametrize(
    ("pods", "labels", "expected"),
    [
        pytest.param((), DB, by_name("", "", "", FAR), id="the first one may go wherever there is a zone"),
        pytest.param((), WEB, by_name(FAR, FAR, FAR, FAR), id="unless it does not match itself"),
        pytest.param((make_pod("db", DB, node="x1"),), DB, by_name("", "", "", FAR), id="one outside any zone is none"),
        pytest.param((make_pod("db", DB, node="b1"),), DB, by_name(FAR, FAR, "", FAR), id="the second must follow"),
    ],
)
def test_first_pod_of_a_series(pods: Sequence[PodInfo], labels: Mapping[str, str], expected: dict[str, str]) -> None:
    """A pod that wants to be near its own kind may be the first of it."""
    assert judged(zones(*pods), make_pod("p", labels, affinity=near(term()))) == expected


def test_terminating_pods_count() -> None:
    """A pod that is being deleted is still there."""
    pod = make_pod("db", DB, node="a1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    assert judged(zones(pod), make_pod("p", affinity=near(term())))["a2"] == ""


def test_dry_run_changes_only_its_copy() -> None:
    """Pods that a dry run takes off or puts on a node count in all three ways, in the copy of the state."""
    database = make_pod("db", DB, node="a1", affinity=away(term(WEB)))
    cluster = zones(database)
    plugin = InterPodAffinity(ARGS, cluster.handle)
    affinity = {**near(term()), **away(term(DB, "kubernetes.io/hostname"))}
    pod = make_pod("p", WEB, affinity=affinity)
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.table)
    copy = state.copy()
    plugin.remove_pod(copy, pod, database, cluster.info("a1"))

    assert verdicts(plugin, cluster, pod, state) == by_name(NEAR, UNWANTED, FAR, FAR)
    assert verdicts(plugin, cluster, pod, copy) == by_name(FAR, FAR, FAR, FAR)

    plugin.add_pod(copy, pod, make_pod("new", DB), cluster.info("b1"))

    assert verdicts(plugin, cluster, pod, copy) == by_name(FAR, FAR, NEAR, FAR)

    plugin.add_pod(copy, pod, make_pod("hater", affinity=away(term(WEB, "rack"), term(WEB))), cluster.info("b1"))
    plugin.remove_pod(copy, pod, make_pod("new", DB), cluster.info("b1"))
    plugin.add_pod(copy, pod, make_pod("new", DB), cluster.info("a2"))

    assert verdicts(plugin, cluster, pod, copy) == by_name("", NEAR, FAR, FAR)


def test_affinity_cannot_be_cured_by_preemption() -> None:
    """Affinity that is not met is unresolvable, anti-affinity may be cured by removing pods."""
    cluster = zones(make_pod("db", DB, node="a1"))
    plugin = InterPodAffinity(ARGS, cluster.handle)
    codes = []
    for affinity in (near(term()), away(term(key="kubernetes.io/hostname"))):
        state, pod = CycleState(), make_pod("p", affinity=affinity)
        plugin.pre_filter(state, pod, cluster.table)
        codes.append([getattr(plugin.filter(state, pod, cluster.info(name)), "code", None) for name in ("a1", "b1")])

    assert codes == [[None, Code.UNSCHEDULABLE_AND_UNRESOLVABLE], [Code.UNSCHEDULABLE, None]]


def test_filter_needs_pre_filter() -> None:
    """A profile without the pre-filter cannot filter: an internal error, as upstream has it."""
    cluster = zones()
    plugin = InterPodAffinity(ARGS, cluster.handle)
    status = plugin.filter(CycleState(), make_pod("p"), cluster.info("a1"))

    assert status is not None
    assert status.error == 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert plugin.filter_nodes(CycleState(), make_pod("p"), cluster.table, slice(0, 4)).status(3) is not None


def test_selector_that_cannot_be_parsed() -> None:
    """A term that slipped through validation turns the pod down for good."""
    cluster = zones()
    broken = term(None, labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]})
    _, status = InterPodAffinity(ARGS, cluster.handle).pre_filter(
        CycleState(), make_pod("p", affinity=near(broken)), cluster.table
    )

    assert status is not None
    assert status.message == 'parsing pod: "Near" is not a valid label selector operator'
    assert status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
