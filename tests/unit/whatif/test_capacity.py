"""What keeps free capacity from being used: every free amount is counted once, under its first cause."""

from __future__ import annotations

from typing import Any

from schedlab.cli.aggregate_text import not_full_text
from schedlab.whatif.capacity import why_not_full
from tests.unit.whatif.whatif_cluster import Json, Lab

HOSTNAME = "kubernetes.io/hostname"


def asked(lab: Lab) -> Json:
    lab.settle()
    before = lab.digest()
    found = why_not_full(lab.cluster).data()

    assert lab.digest() == before
    return found


def causes(data: Json, resource: str) -> dict[str, tuple[str, int]]:
    (entry,) = (one for one in data["resources"] if one["resource"] == resource)
    return {cause["cause"]: (cause["amount"], cause["nodes"]) for cause in entry["causes"]}


def mixed() -> Lab:
    lab = Lab()
    lab.node("cordoned", cpu="1", memory="1Gi", unschedulable=True)
    lab.node("tainted", cpu="2", memory="1Gi", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    lab.node("crowded", cpu="4", memory="1Gi", pods="1")
    lab.node("stranded", cpu="8", memory="1Gi")
    lab.node("crumbs", cpu="1", memory="8Gi")
    lab.node("usable", cpu="16", memory="16Gi")
    lab.settle()

    def place(name: str, node: str, **requests: str) -> None:
        lab.pod(name, requests=requests, nodeSelector={HOSTNAME: node})

    place("p1", "crowded", cpu="500m", memory="128Mi")
    place("p2", "stranded", cpu="500m", memory="1Gi")
    place("p3", "crumbs", cpu="900m", memory="1Gi")
    place("p4", "usable", cpu="500m", memory="128Mi")
    return lab


def test_free_cpu_by_cause() -> None:
    assert causes(asked(mixed()), "cpu") == {
        "cordoned": ("1", 1),
        "tainted": ("2", 1),
        "no pods": ("3500m", 1),
        "stranded": ("7500m", 1),
        "crumbs": ("100m", 1),
        "usable": ("15500m", 1),
    }


def test_memory_is_stranded_where_cpu_is_used_up() -> None:
    assert causes(asked(mixed()), "memory")["stranded"] == ("7Gi", 1)


def test_causes_add_up_to_what_is_free() -> None:
    for entry in asked(mixed())["resources"]:
        assert abs(sum(cause["share"] for cause in entry["causes"]) - 1) < 0.001


def test_nodes_that_are_not_well() -> None:
    lab = Lab()
    lab.node("n", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}])

    assert causes(asked(lab), "cpu") == {"not ready": ("4", 1)}


def test_groups_of_nodes() -> None:
    data = asked(mixed())

    groups: dict[str, Any] = {group["group"]: group for group in data["groups"]}
    assert groups["cpu 2 memory 1Gi, taint k=v"]["nodes"] == 1
    assert data["taints"] == [{"taint": "k=v:NoSchedule", "nodes": 1}]


def test_the_largest_and_the_typical_pod_that_fit() -> None:
    data = asked(mixed())

    assert data["largestPod"] == {"node": "usable", "cpu": "15500m", "memory": "16256Mi"}
    assert data["typicalPod"] == {"cpu": "500m", "memory": "576Mi", "fit": 28}


def test_pods_that_something_else_keeps_from_nodes_with_room() -> None:
    lab = Lab()
    for name in ("a", "b"):
        lab.node(name)
    lab.settle()
    spread = {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "minDomains": 3,
    }
    for number in range(3):
        lab.pod(f"p{number}", labels={"app": "web"}, topologySpreadConstraints=[spread])

    (entry,) = asked(lab)["keptAway"]
    assert (entry["plugin"], entry["pods"], entry["nodes"]) == ("PodTopologySpread", ["default/p2"], 2)


def test_an_empty_cluster() -> None:
    data = asked(Lab())

    assert (data["nodes"], data["resources"], data["largestPod"]) == (0, [], None)
    assert not_full_text(data).endswith("No node takes any pod.")


def test_text() -> None:
    lines = not_full_text(asked(mixed())).splitlines()

    assert lines[0] == "6 nodes"
    assert lines[1].startswith("cpu: 2400m of 32 requested, free 29600m: 1 cordoned (1 node), 2 tainted (1 node)")
    assert "Largest pod that fits: 15500m cpu with 16256Mi memory, on usable" in lines
