"""What is reserved for pods follows the kubelet's formula for pods and the container runtime's for containers."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node, Pod
from schedlab.kubelet.cgroups import (
    bandwidth,
    cpu_max,
    linear_weight,
    node_cgroups,
    reservation,
    runtime_weight,
    shares_of,
)

UID = "0f9c3a52-7a6b-4c0e-9d5e-1f2a3b4c5d6e"
MIB = 1 << 20


def pod(*resources: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    containers = [{"name": f"c{at}", "image": "i", "resources": each} for at, each in enumerate(resources)]
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d", "uid": UID, "annotations": annotations or {}},
        "spec": {"containers": containers, **spec},
        "status": {},
    }
    view: Pod = StoredObject.encode("pods", obj, 1).view
    return view


def node(cpu: str = "4", memory: str = "8Gi") -> Node:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    view: Node = StoredObject.encode("nodes", obj, 1).view
    return view


def both(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


@pytest.mark.parametrize(
    ("cpu_milli", "shares", "kubelet", "runtime"),
    [
        (0, 2, 1, 1),
        (1, 2, 1, 1),
        (100, 102, 4, 17),
        (250, 256, 10, 35),
        (500, 512, 20, 59),
        (1000, 1024, 39, 100),
        (2000, 2048, 79, 174),
        (4000, 4096, 157, 303),
        (8000, 8192, 313, 532),
        (64_000, 65_536, 2500, 3023),
        (256_000, 262_144, 10_000, 10_000),
        (1_000_000, 262_144, 10_000, 10_000),
    ],
)
def test_weight_of_a_request_is_linear_for_pods_and_quadratic_for_containers(
    cpu_milli: int, shares: int, kubelet: int, runtime: int
) -> None:
    """The values of both public formulas; 100m, 1 CPU, 4 CPU and none are in the documentation."""
    assert shares_of(cpu_milli) == shares
    assert linear_weight(shares) == kubelet
    assert runtime_weight(shares) == runtime


@pytest.mark.parametrize(
    ("limit_milli", "expected"),
    [(0, "max 100000"), (1, "1000 100000"), (5, "1000 100000"), (100, "10000 100000"), (1500, "150000 100000")],
)
def test_limit_is_a_quota_of_at_least_a_millisecond(limit_milli: int, expected: str) -> None:
    assert cpu_max(limit_milli) == expected


def test_guaranteed_pod_is_below_the_root_with_all_limits() -> None:
    told = reservation(pod(both("1", "256Mi")), node())

    assert told["qosClass"] == "Guaranteed"
    assert told["pod"] == {
        "path": "/kubepods.slice/kubepods-pod0f9c3a52_7a6b_4c0e_9d5e_1f2a3b4c5d6e.slice",
        "settings": {"cpu.weight": "39", "cpu.max": "100000 100000", "memory.max": str(256 * MIB)},
    }
    [container] = told["containers"]
    assert container["path"] == told["pod"]["path"] + "/cri-containerd-c0.scope"
    assert container["settings"] == {
        "cpu.weight": "100",
        "cpu.max": "100000 100000",
        "memory.max": str(256 * MIB),
        "memory.oom.group": "1",
    }
    assert container["oomScoreAdj"] == -997


def test_burstable_pod_has_the_limits_that_all_of_its_containers_have() -> None:
    limited = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}}
    free = {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}
    told = reservation(pod(limited, free), node())

    assert told["pod"]["path"].startswith("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f9c3a52_")
    assert told["pod"]["settings"] == {"cpu.weight": "8", "memory.max": str(3 << 30)}
    assert [each["settings"]["cpu.max"] for each in told["containers"]] == ["100000 100000", "max 100000"]
    assert [each["settings"]["cpu.weight"] for each in told["containers"]] == ["17", "17"]
    # 1 GiB of 8 is an eighth.
    assert [each["oomScoreAdj"] for each in told["containers"]] == [875, 999]


def test_best_effort_pod_has_the_least_weight_and_no_limit() -> None:
    told = reservation(pod({}), node())

    assert told["pod"]["path"].startswith("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod")
    assert told["pod"]["settings"] == {"cpu.weight": "1"}
    assert told["containers"][0]["settings"] == {
        "cpu.weight": "1",
        "cpu.max": "max 100000",
        "memory.max": "max",
        "memory.oom.group": "1",
    }
    assert told["containers"][0]["oomScoreAdj"] == 1000


def test_container_without_a_limit_has_that_of_its_pod() -> None:
    """What a container asks for by itself stays; without that, it asks for the limit."""
    own = {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "4Gi"}}
    told = reservation(pod({"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}, {}, resources=own), node())

    settings = [each["settings"] for each in told["containers"]]
    assert [each["cpu.weight"] for each in settings] == ["17", "303"]
    assert [each["cpu.max"] for each in settings] == ["400000 100000"] * 2
    assert [each["memory.max"] for each in settings] == [str(1 << 30), str(4 << 30)]
    assert told["pod"]["settings"] == {"cpu.weight": "79", "cpu.max": "400000 100000", "memory.max": str(4 << 30)}


@pytest.mark.parametrize(
    ("resources", "spec", "expected"),
    [
        ({"requests": {"memory": "8Gi"}}, {}, 3),
        ({"requests": {"memory": "1Mi"}}, {}, 999),
        (
            {"requests": {"memory": "1Mi"}},
            {"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"},
            999,
        ),
        (
            {"requests": {"memory": "1Mi"}},
            {"priority": 2_000_001_000, "priorityClassName": "system-node-critical"},
            -997,
        ),
        ({"requests": {"cpu": "1"}}, {}, 999),
        # The pod's own request is shared by its containers.
        ({}, {"resources": {"requests": {"memory": "4Gi"}}}, 500),
    ],
)
def test_oom_score_follows_the_request(resources: dict[str, Any], spec: dict[str, Any], expected: int) -> None:
    assert reservation(pod(resources, **spec), node())["containers"][0]["oomScoreAdj"] == expected


def test_sidecar_goes_not_before_the_containers() -> None:
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {}}
    told = reservation(pod({"requests": {"memory": "2Gi"}}, initContainers=[sidecar]), node())

    assert [(each["container"], each["oomScoreAdj"]) for each in told["containers"]] == [("s", 750), ("c0", 750)]


def test_memory_is_protected_with_the_gate_only() -> None:
    guaranteed, burstable = (
        pod(both("1", "256Mi")),
        pod({"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}),
    )
    without = [reservation(each, node()) for each in (guaranteed, burstable)]
    assert not [
        key
        for told in without
        for part in (told["pod"], *told["containers"])
        for key in part["settings"]
        if key in {"memory.min", "memory.low", "memory.high"}
    ]

    first, second = (reservation(each, node(), memory_qos=True) for each in (guaranteed, burstable))
    assert first["pod"]["settings"]["memory.min"] == first["containers"][0]["settings"]["memory.min"] == str(256 * MIB)
    assert second["pod"]["settings"]["memory.low"] == str(100 * MIB)
    assert second["containers"][0]["settings"]["memory.high"] == str(190 * MIB)


def test_huge_pages_are_limited() -> None:
    resources = {"requests": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "limits": {"hugepages-2Mi": "4Mi"}}

    assert reservation(pod(resources), node())["pod"]["settings"]["hugetlb.2MB.max"] == str(4 * MIB)


def test_node_and_classes_weigh_what_they_have_and_what_their_pods_ask_for() -> None:
    pods = [
        pod(both("1", "1Gi")),
        pod({"requests": {"cpu": "500m", "memory": "1Gi"}}),
        pod({"requests": {"cpu": "500m"}}),
        pod({}),
    ]
    cgroups = {each.path: each.settings for each in node_cgroups(node(), pods, memory_qos=False)}
    protected = {each.path: each.settings for each in node_cgroups(node(), pods, memory_qos=True)}

    assert cgroups == {
        "/kubepods.slice": {"cpu.weight": "157", "memory.max": str(8 << 30)},
        "/kubepods.slice/kubepods-burstable.slice": {"cpu.weight": "39"},
        "/kubepods.slice/kubepods-besteffort.slice": {"cpu.weight": "1"},
    }
    assert protected["/kubepods.slice"]["memory.min"] == str(2 << 30)
    assert protected["/kubepods.slice/kubepods-burstable.slice"]["memory.low"] == str(1 << 30)


def test_bandwidth_is_read_from_annotations() -> None:
    keys = {"ingress": "kubernetes.io/ingress-bandwidth", "egress": "kubernetes.io/egress-bandwidth"}

    assert bandwidth({}) == {}
    assert bandwidth({keys["ingress"]: "10M", keys["egress"]: "1Gi"}) == {
        "ingress": {"bitsPerSecond": 10_000_000},
        "egress": {"bitsPerSecond": 1 << 30},
    }
    assert bandwidth({keys["ingress"]: "100"}) == {"ingress": {"error": "resource is unreasonably small (< 1kbit)"}}
    assert bandwidth({keys["egress"]: "2P"}) == {"egress": {"error": "resource is unreasonably large (> 1Pbit)"}}
    assert "error" in bandwidth({keys["egress"]: "fast"})["egress"]
