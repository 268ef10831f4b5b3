"""Which nodes a pod's own words leave."""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.testing.builders import make_node, make_pod
from tests.parity.written.building import HELPLESS, NO_VICTIMS, Json, case, places, unavailable, waits


def cases() -> Iterator[Json]:
    """The cases."""
    named = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    yield case(
        "node-affinity-names",
        "nodeaffinity/node_affinity.go: PreFilter: all fields of a term name the same node",
        [make_node(name).capacity(cpu="4").dict() for name in ("n1", "n2")],
        places(make_pod("p").node_affinity({"matchFields": [named, named]}), "n2"),
        nodes=("n1", "n2"),
    )
    yield from _spread()


def _spread() -> Iterator[Json]:
    """n1 in za, where the pod may be, has one pod of its kind; n2 in zb, where it may not be, has none."""
    zone, web = "topology.kubernetes.io/zone", {"app": "web"}
    there = [
        make_node("n1").zone("za").label("disk", "ssd").capacity(cpu="4").dict(),
        make_node("n2").zone("zb").capacity(cpu="4").dict(),
        make_pod("x").labels(web).node("n1").dict(),
    ]
    pod = make_pod("p").labels(web).node_selector({"disk": "ssd"})
    function = "podtopologyspread/common.go: matchNodeInclusionPolicies: nodes that the pod's node affinity leaves out"
    for policy in ({}, {"nodeAffinityPolicy": "Honor"}):
        yield case(
            f"spread-affinity-{'honored' if policy else 'default'}",
            f"{function} do not count",
            there,
            places(pod.spread_constraint(1, zone, web, **policy), "n1"),
            nodes=("n1", "n2"),
        )
    reasons = (
        "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints"
    )
    yield case(
        "spread-affinity-ignored",
        f"{function} count",
        there,
        waits(
            pod.spread_constraint(1, zone, web, nodeAffinityPolicy="Ignore"),
            unavailable(reasons, f"1 {NO_VICTIMS[:-1]}, 1 {HELPLESS}", nodes=2),
            "NodeAffinity",
            "PodTopologySpread",
        ),
        nodes=("n1", "n2"),
    )
