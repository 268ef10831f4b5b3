"""PodTopologySpread as a filter: skew, domains that count, messages, dry runs."""

from collections.abc import Mapping
from typing import Any

import pytest

from schedlab.scheduler.config.args import PodTopologySpreadArgs
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP
from schedlab.scheduler.plugins.pod_topology_spread import PodTopologySpread
from schedlab.scheduler.plugins.pod_topology_spread.filtering import (
    REASON_CONSTRAINTS_NOT_MATCH as SKEW,
)
from schedlab.scheduler.plugins.pod_topology_spread.filtering import (
    REASON_NODE_LABEL_NOT_MATCH as NO_LABEL,
)
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod, verdicts

LIST = PodTopologySpreadArgs(defaulting_type="List")
WEB = {"app": "web"}


def constraint(key: str = "zone", skew: int = 1, labels: Mapping[str, str] | None = WEB, **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": None if labels is None else {"matchLabels": labels},
        **more,
    }


def zones(**taints: Any) -> LittleCluster:
    """Two nodes in zone a, one in zone b; with two, no and one web pods."""
    nodes = [make_node("a1", {"zone": "a"}), make_node("a2", {"zone": "a"}), make_node("b1", {"zone": "b"}, **taints)]
    pods = [make_pod("w1", WEB, node="a1"), make_pod("w2", WEB, node="a1"), make_pod("w3", WEB, node="b1")]
    return LittleCluster(nodes, pods)


def judged(cluster: LittleCluster, *constraints: dict[str, Any], **pod: Any) -> dict[str, str]:
    plugin = PodTopologySpread(LIST, cluster.handle)
    labels = pod.pop("labels", WEB)
    return verdicts(plugin, cluster, make_pod("p", labels, topologySpreadConstraints=list(constraints), **pod))


def test_skew_counts_the_pod_itself() -> None:
    """A domain may exceed the smallest one by at most maxSkew, the pod included."""
    assert judged(zones(), constraint()) == {"a1": SKEW, "b1": "", "a2": SKEW}


def test_larger_skew_lets_more_in() -> None:
    assert judged(zones(), constraint(skew=2)) == {"a1": "", "b1": "", "a2": ""}


def test_pod_that_its_selector_does_not_match_adds_nothing() -> None:
    assert judged(zones(), constraint(), labels={"app": "db"}) == {"a1": "", "b1": "", "a2": ""}


def test_every_host_is_a_domain() -> None:
    assert judged(zones(), constraint("kubernetes.io/hostname")) == {"a1": SKEW, "b1": SKEW, "a2": ""}


def test_node_without_the_label_is_out_for_good() -> None:
    """A node without the topology key cannot take the pod, and does not count as a domain."""
    cluster = zones()
    cluster.cache.set_node(make_node("x1"))
    cluster.cache.refresh()

    assert judged(cluster, constraint())["x1"] == NO_LABEL


def test_nodes_that_lack_one_of_the_keys_do_not_count_for_the_other() -> None:
    """Only nodes with all topology keys count."""
    cluster = zones()
    cluster.cache.set_node(make_node("c1", {"zone": "c"}))
    cluster.cache.set_node(make_node("a3", {"zone": "a", "rack": "r"}))
    cluster.cache.refresh()

    found = judged(cluster, constraint("zone"), constraint("rack", 9))

    assert found == {"a1": NO_LABEL, "b1": NO_LABEL, "a2": NO_LABEL, "c1": NO_LABEL, "a3": ""}


@pytest.mark.parametrize(
    ("min_domains", "expected"),
    [
        pytest.param(None, "", id="one is enough unless said otherwise"),
        pytest.param(2, "", id="there are two"),
        pytest.param(3, SKEW, id="there are fewer than three, so the smallest counts as 0"),
    ],
)
def test_min_domains(min_domains: int | None, expected: str) -> None:
    """With fewer domains than asked for, the smallest is taken to be empty."""
    cluster = zones()
    cluster.place(make_pod("w4", WEB, node="b1"))

    assert judged(cluster, constraint(minDomains=min_domains))["a1"] == expected


def test_terminating_pods_and_other_namespaces_do_not_count() -> None:
    cluster = zones()
    cluster.place(make_pod("w4", WEB, node="b1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    cluster.place(make_pod("w5", WEB, node="b1", namespace="other"))

    assert judged(cluster, constraint())["a1"] == SKEW


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(None, {"a1": "", "b1": "", "a2": ""}, id="no selector, no pods"),
        pytest.param({}, {"a1": "", "b1": "", "a2": ""}, id="an empty selector counts nothing, only the pod itself"),
    ],
)
def test_selectors_that_ask_for_nothing(labels: Mapping[str, str] | None, expected: dict[str, str]) -> None:
    assert judged(zones(), constraint(labels=labels)) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("Honor", {"a1": "", "b1": "", "a2": ""}, id="zone b is out of reach and does not count"),
        pytest.param("Ignore", {"a1": SKEW, "b1": "", "a2": SKEW}, id="zone b counts although it is out of reach"),
        pytest.param(None, {"a1": "", "b1": "", "a2": ""}, id="honoured unless said otherwise"),
    ],
)
def test_node_affinity_policy(policy: str | None, expected: dict[str, str]) -> None:
    """Nodes that the pod's node selector rules out count only when the policy says so."""
    found = judged(zones(), constraint(nodeAffinityPolicy=policy), nodeSelector={"zone": "a"})

    assert found == expected


@pytest.mark.parametrize(
    ("policy", "tolerated", "expected"),
    [
        pytest.param("Honor", False, "", id="a tainted zone does not count"),
        pytest.param("Honor", True, SKEW, id="unless it is tolerated"),
        pytest.param("Ignore", False, SKEW, id="or taints do not matter"),
        pytest.param(None, False, SKEW, id="which they do not unless said otherwise"),
    ],
)
def test_node_taints_policy(policy: str | None, tolerated: bool, expected: str) -> None:  # noqa: FBT001 - a table
    """Nodes with taints that the pod does not tolerate count only when the policy says so."""
    cluster = zones(taints=[{"key": "k", "effect": "NoSchedule"}])
    tolerations = [{"key": "k", "operator": "Exists"}] if tolerated else []

    assert judged(cluster, constraint(nodeTaintsPolicy=policy), tolerations=tolerations)["a1"] == expected


@pytest.mark.parametrize(("merges", "expected"), [(True, ""), (False, SKEW)])
def test_match_label_keys(merges: bool, expected: str) -> None:  # noqa: FBT001 - a table
    """Keys in matchLabelKeys narrow the selector to pods with the same value, while their gate is on."""
    cluster = zones()
    gates = {"MatchLabelKeysInPodTopologySpread": merges, "MatchLabelKeysInPodTopologySpreadSelectorMerge": merges}
    plugin = PodTopologySpread(LIST, LittleCluster(gates=gates).handle)
    own = constraint(matchLabelKeys=["version", "missing"])
    pod = make_pod("p", {**WEB, "version": "2"}, topologySpreadConstraints=[own])

    assert verdicts(plugin, cluster, pod)["a1"] == expected


def test_no_hard_constraint_no_filter() -> None:
    """Soft constraints leave the filter out."""
    cluster = zones()
    plugin = PodTopologySpread(LIST, cluster.handle)
    pod = make_pod("p", WEB, topologySpreadConstraints=[constraint(whenUnsatisfiable="ScheduleAnyway")])

    assert plugin.pre_filter(CycleState(), pod, cluster.table) == (None, SKIP)


def test_dry_run_changes_only_its_copy() -> None:
    """Pods that a dry run takes off or puts on a node count in the copy of the state, and only there."""
    cluster = zones()
    plugin = PodTopologySpread(LIST, cluster.handle)
    pod = make_pod("p", WEB, topologySpreadConstraints=[constraint()])
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.table)
    copy = state.copy()
    plugin.remove_pod(copy, pod, make_pod("w1", WEB), cluster.info("a1"))
    plugin.remove_pod(copy, pod, make_pod("o", WEB, namespace="other"), cluster.info("a1"))
    plugin.remove_pod(copy, pod, make_pod("o", {"app": "db"}), cluster.info("a1"))

    assert verdicts(plugin, cluster, pod, copy)["a1"] == ""
    plugin.add_pod(copy, pod, make_pod("w1", WEB), cluster.info("a1"))
    assert verdicts(plugin, cluster, pod, copy)["a1"] == SKEW
    assert verdicts(plugin, cluster, pod, state)["a1"] == SKEW


def test_no_node_has_the_key() -> None:
    """With a topology key that nobody has, every node is turned down."""
    assert set(judged(zones(), constraint("rack")).values()) == {NO_LABEL}


def test_filter_needs_pre_filter() -> None:
    """A profile without the pre-filter cannot filter: an internal error, as upstream has it."""
    cluster = zones()
    plugin = PodTopologySpread(LIST, cluster.handle)
    status = plugin.filter(CycleState(), make_pod("p"), cluster.info("a1"))

    assert status is not None
    assert status.error == 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    at_once = plugin.filter_nodes(CycleState(), make_pod("p"), cluster.table, slice(0, 3))
    assert at_once.status(2) is not None
