"""Nodes are tainted as their conditions are; pods leave nodes that they do not tolerate."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.time import format_micro_time
from schedlab.controllers.node_lifecycle.zones import Zones
from schedlab.kernel.clock import SECOND_NS
from tests.support.control_plane import ControlPlane

NODES = "nodes"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("node-lifecycle-controller", "taint-eviction-controller", "ttl-controller")


def make_node(plane: ControlPlane, name: str = "n", ready: str | None = "True", **spec: Any) -> None:
    """Store a node and let its kubelet report once."""
    labels = {"kubernetes.io/os": "linux"}
    plane.create(NODES, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    if ready is not None:
        report(plane, name, Ready=ready)


def report(plane: ControlPlane, name: str, **conditions: str) -> None:
    """Set conditions of a node, all of them."""
    status = {"conditions": [{"type": kind, "status": state} for kind, state in conditions.items()]}
    plane.patch(NODES, name, {"status": status}, subresource="status")


def beat(plane: ControlPlane, name: str, until_s: int, *, every_s: int = 20) -> None:
    """Let time pass while a kubelet renews its lease."""
    leases = "leases.coordination.k8s.io"
    if not plane.exists(leases, name, "kube-node-lease"):
        plane.create(leases, {"metadata": {"name": name}, "spec": {}}, "kube-node-lease")
    for _ in range(0, until_s, every_s):
        now = format_micro_time(plane.clock.now_ns())
        plane.patch(leases, name, {"spec": {"renewTime": now}}, "kube-node-lease")
        plane.run_for(every_s)


def taints(plane: ControlPlane, name: str = "n") -> list[tuple[str, str]]:
    """Return key and effect of a node's taints."""
    return [(each["key"], each["effect"]) for each in plane.get(NODES, name)["spec"].get("taints", ())]


def make_pod(plane: ControlPlane, name: str, seconds: int | None = None, *, node: str = "n") -> None:
    """Put a pod onto a node that tolerates the taint `k`, and for how long."""
    toleration: dict[str, Any] = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        toleration["tolerationSeconds"] = seconds
    tolerations = [] if seconds == 0 else [toleration]
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": node, "tolerations": tolerations}
    plane.create("pods", {"metadata": {"name": name}, "spec": spec})


def going(plane: ControlPlane) -> list[str]:
    """Return the names of pods that are asked to end."""
    return [pod["metadata"]["name"] for pod in plane.all("pods") if "deletionTimestamp" in pod["metadata"]]


# --- Taints and labels ------------------------------------------------------------------------------------------------


def test_a_node_is_born_tainted_and_loses_the_taint_when_it_is_ready(plane: ControlPlane) -> None:
    """Within the same instant."""
    plane.create(NODES, {"metadata": {"name": "n"}})

    assert taints(plane) == [(NOT_READY, "NoSchedule")]
    report(plane, "n", Ready="True")
    plane.settle()

    assert taints(plane) == []


def test_conditions_and_cordons_are_taints(plane: ControlPlane) -> None:
    """In their order; they go with them, and those of others stay."""
    make_node(plane, taints=[{"key": "mine", "effect": "NoSchedule"}])
    report(plane, "n", MemoryPressure="True", DiskPressure="True", PIDPressure="False", Ready="True")
    plane.settle()
    plane.patch(NODES, "n", {"spec": {"unschedulable": True}})
    plane.settle()

    assert taints(plane) == [
        ("mine", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    report(plane, "n", Ready="True")
    plane.patch(NODES, "n", {"spec": {"unschedulable": None}})
    plane.settle()

    assert taints(plane) == [("mine", "NoSchedule")]


def test_labels_have_their_old_names_too(plane: ControlPlane) -> None:
    """And the annotation by which kubelets know how long to keep what they read."""
    make_node(plane)
    plane.settle()
    metadata = plane.get(NODES, "n")["metadata"]

    assert metadata["labels"]["beta.kubernetes.io/os"] == "linux"
    assert metadata["annotations"] == {"node.alpha.kubernetes.io/ttl": "0"}


# --- Silence ----------------------------------------------------------------------------------------------------------


def test_a_silent_node_becomes_unreachable(plane: ControlPlane) -> None:
    """After 50 s its conditions are unknown and its pods not ready; a second, living node keeps the zone alive."""
    make_node(plane)
    make_node(plane, "other")
    make_pod(plane, "p", 300)
    plane.settle()
    plane.run_pods(node="n")
    beat(plane, "other", 40)

    assert taints(plane) == []
    beat(plane, "other", 80)
    conditions = {each["type"]: each["status"] for each in plane.get(NODES, "n")["status"]["conditions"]}

    assert conditions == dict.fromkeys(("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown")
    assert taints(plane) == [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    assert plane.get("pods", "p")["status"]["conditions"][0]["status"] == "False"
    assert ("NodeNotReady", "n", "Node n status is now: NodeNotReady") in plane.messages()


def test_everything_silent_is_no_reason_to_evict(plane: ControlPlane) -> None:
    """It is rather the control plane that is cut off."""
    make_node(plane)
    plane.run_for(120)

    assert taints(plane) == [(UNREACHABLE, "NoSchedule")]


def test_one_taint_replaces_the_other_at_once(plane: ControlPlane) -> None:
    """Not ready is not unreachable; ready is neither."""
    make_node(plane, "other")
    make_node(plane, ready="False")
    plane.settle()

    assert taints(plane) == [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    report(plane, "n", Ready="Unknown")
    plane.settle()

    assert sorted(taints(plane)) == [(UNREACHABLE, "NoExecute"), (UNREACHABLE, "NoSchedule")]
    report(plane, "n", Ready="True")
    plane.settle()

    assert taints(plane) == []


def test_a_zone_is_emptied_slowly() -> None:
    """One node in ten seconds; none when most of a small zone is down; all zones down: none at all."""
    zones = Zones()
    for number in range(10):
        zones.put(f"n{number}", "z", ready=True)
    for number in range(2):
        zones.put(f"n{number}", "z", ready=False)
        zones.wait(f"n{number}")

    assert zones.take(0) == (["n0"], 10 * SECOND_NS)
    assert zones.take(10 * SECOND_NS) == (["n1"], None)
    for number in range(6):
        zones.put(f"n{number}", "z", ready=False)
        zones.wait(f"n{number}")

    assert zones.take(30 * SECOND_NS) == ([], None)
    for number in range(10):
        zones.put(f"n{number}", "z", ready=False)

    assert zones.all_disrupted
    zones.put("far", "y", ready=True)

    assert zones.take(40 * SECOND_NS)[0] == ["n0"]


# --- Eviction ---------------------------------------------------------------------------------------------------------


def test_pods_leave_when_they_stand_it_no_longer(plane: ControlPlane) -> None:
    """At once, after their time, or never."""
    make_node(plane)
    for name, seconds in (("never", None), ("later", 30), ("now", 0)):
        make_pod(plane, name, seconds)
    plane.settle()
    plane.patch(NODES, "n", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    plane.settle()

    assert not plane.exists("pods", "now") or going(plane) == ["now"]
    plane.run_for(29)

    assert "later" not in going(plane)
    plane.run_for(2)

    assert "later" in going(plane)
    assert "never" not in going(plane)
    condition = next(
        each for each in plane.get("pods", "later")["status"]["conditions"] if each["type"] == "DisruptionTarget"
    )
    assert condition["reason"] == "DeletionByTaintManager"
    assert ("TaintManagerEviction", "now", "Marking for deletion Pod default/now") in plane.messages()


def test_a_taint_that_goes_in_time_evicts_nobody(plane: ControlPlane) -> None:
    """What was planned is cancelled."""
    make_node(plane)
    make_pod(plane, "p", 30)
    plane.settle()
    plane.patch(NODES, "n", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    plane.run_for(10)
    plane.patch(NODES, "n", {"spec": {"taints": None}})
    plane.run_for(60)

    assert going(plane) == []
    assert ("TaintManagerEviction", "p", "Cancelling deletion of Pod default/p") in plane.messages()


def test_pods_that_come_to_a_tainted_node(plane: ControlPlane) -> None:
    """Are looked at, too."""
    make_node(plane, taints=[{"key": "k", "effect": "NoExecute"}])
    make_pod(plane, "p", 0)
    make_pod(plane, "q", None)
    plane.settle()

    assert going(plane) == ["p"]
