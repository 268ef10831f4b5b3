"""PodTopologySpread as a score: weights by number of domains, rounding, normalisation, default constraints."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from schedlab.kernel.logarithm import natural_logarithm
from schedlab.scheduler.config.args import PodTopologySpreadArgs
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP
from schedlab.scheduler.plugins.pod_topology_spread import PodTopologySpread
from schedlab.scheduler.plugins.pod_topology_spread.plugin import SYSTEM_DEFAULTS
from schedlab.scheduler.plugins.pod_topology_spread.scoring import ScoreState, _round, normalize
from tests.unit.scheduler.plugins.little_cluster import (
    LittleCluster,
    final_scores,
    make_node,
    make_pod,
    raw_scores,
)

LIST = PodTopologySpreadArgs(defaulting_type="List")
SYSTEM = PodTopologySpreadArgs(defaulting_type="System")
WEB = {"app": "web"}
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def soft(key: str, skew: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": WEB},
        **more,
    }


def cluster(counts: Mapping[str, int], zones: Mapping[str, str]) -> LittleCluster:
    """Nodes with so many web pods, in those zones."""
    made = LittleCluster([make_node(name, {ZONE: zones[name]} if name in zones else {}) for name in counts])
    for name, count in counts.items():
        for number in range(count):
            made.place(make_pod(f"{name}-{number}", WEB, node=name))
    return made


COUNTS = {"a1": 3, "a2": 1, "b1": 1}
ZONES = {"a1": "a", "a2": "a", "b1": "b"}


def test_zone_score_is_the_weighted_number_of_pods() -> None:
    """A node scores the pods of its zone times ln(zones + 2), plus maxSkew - 1, rounded."""
    made = cluster(COUNTS, ZONES)
    weight = natural_logarithm(4)

    found = raw_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(ZONE, 3)])
    )

    assert found == {"a1": round(4 * weight + 2), "b1": round(weight + 2), "a2": round(4 * weight + 2)}


def test_only_zones_of_feasible_nodes_make_up_the_weight() -> None:
    """Nodes that were filtered out add their pods to a zone, but no domain."""
    made = cluster(COUNTS, ZONES)

    found = raw_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(ZONE)]), "a1", "a2"
    )

    assert found == {name: round(4 * natural_logarithm(3)) for name in ("a1", "a2")}


def test_host_score_counts_the_pods_of_the_node() -> None:
    """Of the host name each node is a domain, and there are as many as feasible nodes."""
    made = cluster(COUNTS, ZONES)

    found = raw_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(HOST)])
    )

    assert found == {name: round(count * natural_logarithm(5)) for name, count in COUNTS.items()}


def test_fewest_pods_get_100() -> None:
    """The best get 100, others what remains of (highest + lowest - own) / highest, cut."""
    made = cluster(COUNTS, ZONES)

    found = final_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(HOST)])
    )

    assert found == {"a1": 100 * 2 // 5, "b1": 100, "a2": 100}


def test_no_pods_everybody_gets_100() -> None:
    made = cluster({"a1": 0, "b1": 0}, {"a1": "a", "b1": "b"})

    found = final_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(ZONE)])
    )

    assert found == {"a1": 100, "b1": 100}


def test_nodes_without_a_key_get_0() -> None:
    """Of the pod's own constraints all keys are needed; who lacks one is neither counted nor scored."""
    made = cluster({**COUNTS, "x": 0}, ZONES)

    found = final_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(ZONE)])
    )

    assert found is not None
    assert found["x"] == 0
    assert found["b1"] == 100


def test_no_node_has_the_keys() -> None:
    made = cluster({"x": 1, "y": 0}, {})

    found = final_scores(
        PodTopologySpread(LIST, made.handle), made, make_pod("p", topologySpreadConstraints=[soft(ZONE)])
    )

    assert found == {"x": 0, "y": 0}


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param([], id="none and no defaults"),
        pytest.param([soft(ZONE, whenUnsatisfiable="DoNotSchedule")], id="only hard ones"),
    ],
)
def test_nothing_to_score(constraints: list[dict[str, Any]]) -> None:
    made = cluster(COUNTS, ZONES)
    plugin = PodTopologySpread(LIST, made.handle)

    assert raw_scores(plugin, made, make_pod("p", topologySpreadConstraints=constraints)) is None


def test_no_nodes_no_score() -> None:
    made = LittleCluster()
    plugin = PodTopologySpread(LIST, made.handle)
    pod = make_pod("p", topologySpreadConstraints=[soft(ZONE)])

    assert plugin.pre_score(CycleState(), pod, made.table, made.rows()) == SKIP


def service(made: LittleCluster, name: str, namespace: str = "default", **selector: str) -> None:
    made.put("services", metadata={"name": name, "namespace": namespace}, spec={"selector": selector})


class TestDefaults:
    """Pods without constraints of their own get the profile's, with a selector of their services and owners."""

    def test_system_defaults_make_do_without_zones(self) -> None:
        """Host skew 3 and zone skew 5; a node without zone is scored by host alone."""
        made = cluster({**COUNTS, "x": 2}, ZONES)
        service(made, "web", app="web")

        found = raw_scores(PodTopologySpread(SYSTEM, made.handle), made, make_pod("p", WEB))

        # Having no zone is one more value of the zone label.
        host, zone = natural_logarithm(6), natural_logarithm(5)
        assert found == {
            "a1": round(3 * host + 2 + 4 * zone + 4),
            "b1": round(1 * host + 2 + 1 * zone + 4),
            "x": round(2 * host + 2),
            "a2": round(1 * host + 2 + 4 * zone + 4),
        }

    def test_nobody_selects_the_pod(self) -> None:
        """Without a service or owner there is nothing to spread."""
        made = cluster(COUNTS, ZONES)
        service(made, "other", app="db")
        service(made, "elsewhere", "other", app="web")
        made.put("services", metadata={"name": "headless", "namespace": "default"}, spec={})

        assert raw_scores(PodTopologySpread(SYSTEM, made.handle), made, make_pod("p", WEB)) is None

    @pytest.mark.parametrize(
        ("resource", "owner", "spec"),
        [
            ("replicationcontrollers", ("v1", "ReplicationController"), {"selector": WEB}),
            ("replicasets.apps", ("apps/v1", "ReplicaSet"), {"selector": {"matchLabels": WEB}}),
            ("statefulsets.apps", ("apps/v1", "StatefulSet"), {"selector": {"matchLabels": WEB}}),
        ],
    )
    def test_owner_selects(self, resource: str, owner: tuple[str, str], spec: dict[str, Any]) -> None:
        """The selector of the controller that owns the pod counts as well as that of its services."""
        made = cluster(COUNTS, ZONES)
        service(made, "all", tier="front")
        made.place(make_pod("w", {**WEB, "tier": "front"}, node="b1"))
        made.put(resource, metadata={"name": "o", "namespace": "default"}, spec=spec)
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "o", "controller": True}
        pod = make_pod("p", {**WEB, "tier": "front"}, metadata={"ownerReferences": [reference]})

        found = raw_scores(PodTopologySpread(SYSTEM, made.handle), made, pod)

        host, zone = natural_logarithm(5), natural_logarithm(4)
        assert found == {"a1": 6, "b1": round(host + zone + 6), "a2": 6}

    @pytest.mark.parametrize(
        ("kind", "name"), [("ReplicaSet", "gone"), ("Job", "o")], ids=["owner is gone", "owner of another kind"]
    )
    def test_owner_that_does_not_help(self, kind: str, name: str) -> None:
        """An owner that is unknown adds nothing."""
        made = cluster(COUNTS, ZONES)
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
        pod = make_pod("p", WEB, metadata={"ownerReferences": [reference]})

        assert raw_scores(PodTopologySpread(SYSTEM, made.handle), made, pod) is None

    def test_list_defaults_need_all_keys(self) -> None:
        """A profile's own defaults ask for all keys, as a pod's constraints do."""
        made = cluster({**COUNTS, "x": 2}, ZONES)
        service(made, "web", app="web")
        args = PodTopologySpreadArgs(defaulting_type="List", default_constraints=list(SYSTEM_DEFAULTS))
        found = raw_scores(PodTopologySpread(args, made.handle), made, make_pod("p", WEB))

        assert found is not None
        assert found["x"] == 0


def test_empty_zone_and_no_zone_are_one_domain() -> None:
    """A node with an empty zone shares its domain with the pods of nodes that have none."""
    made = cluster({"a": 1, "e": 1, "x": 4}, {"a": "a", "e": ""})
    service(made, "web", app="web")

    found = raw_scores(PodTopologySpread(SYSTEM, made.handle), made, make_pod("p", WEB))

    host, zone = natural_logarithm(5), natural_logarithm(4)
    assert found == {
        "a": round(host + 2 + zone + 4),
        "e": round(host + 2 + 5 * zone + 4),
        "x": round(4 * host + 2),
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (0.49999999999999994, 0), (4503599627370497.0, 4503599627370497)],
)
def test_rounds_half_up(value: float, expected: int) -> None:
    """Go rounds half away from zero."""
    assert _round(np.array([value])).tolist() == [expected]


def test_normalize_ignores_ignored_nodes() -> None:
    """Scores of ignored nodes neither set the range nor survive."""
    state = ScoreState((), np.array([False, True, False]))
    scores = np.array([10, 0, 5], np.int64)
    normalize(state, np.array([0, 1, 2]), scores)

    assert scores.tolist() == [50, 0, 100]
