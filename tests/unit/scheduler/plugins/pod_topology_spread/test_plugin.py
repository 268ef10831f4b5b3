"""PodTopologySpread and the queue: which events wake a pod, and which pods are alike."""

from typing import Any

import pytest

from schedlab.api.views.core import Node
from schedlab.scheduler.config.args import PodTopologySpreadArgs
from schedlab.scheduler.framework.events import ActionType, EventResource, QueueingHint
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.pod_topology_spread import ENTRY, PodTopologySpread
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
WEB, DB = {"app": "web"}, {"app": "db"}
LIST = PodTopologySpreadArgs(defaulting_type="List")
TAINT = [{"key": "k", "effect": "NoSchedule"}]


def spread(key: str = "zone", **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
        **more,
    }


def hint(resource: EventResource, pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    plugin = PodTopologySpread(LIST, LittleCluster().handle)
    [registered] = [each for each in plugin.events_to_register() if each.event.resource is resource]
    assert registered.hint is not None
    return registered.hint(pod, old, new)


WAITING = make_pod("p", WEB, topologySpreadConstraints=[spread()])
HONORS_TAINTS = make_pod("p", WEB, topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")])
TOLERANT = make_pod("p", WEB, tolerations=[{"key": "k"}])


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        pytest.param(WAITING, None, make_pod("o", WEB, node="n"), QUEUE, id="a counted pod came"),
        pytest.param(WAITING, None, make_pod("o", DB, node="n"), SKIP, id="another pod came"),
        pytest.param(WAITING, make_pod("o", WEB, node="n"), None, QUEUE, id="a counted pod went"),
        pytest.param(WAITING, make_pod("o", DB, node="n"), None, SKIP, id="another pod went"),
        pytest.param(WAITING, None, make_pod("o", WEB), SKIP, id="a pod without a place does not count"),
        pytest.param(
            WAITING, None, make_pod("o", WEB, status={"nominatedNodeName": "n"}), QUEUE, id="a nomination is a place"
        ),
        pytest.param(WAITING, None, make_pod("o", WEB, node="n", namespace="x"), SKIP, id="another namespace"),
        pytest.param(
            WAITING, make_pod("o", DB, node="n"), make_pod("o", WEB, node="n"), QUEUE, id="a pod began to count"
        ),
        pytest.param(
            WAITING, make_pod("o", WEB, node="n"), make_pod("o", DB, node="n"), QUEUE, id="a pod ceased to count"
        ),
        pytest.param(
            WAITING,
            make_pod("o", WEB, node="n"),
            make_pod("o", {**WEB, "x": "y"}, node="n"),
            SKIP,
            id="a label that does not matter",
        ),
        pytest.param(WAITING, make_pod("p", WEB), make_pod("p", DB), QUEUE, id="the pod itself ceased to count"),
        pytest.param(HONORS_TAINTS, make_pod("p", WEB), TOLERANT, QUEUE, id="a new toleration where taints matter"),
        pytest.param(WAITING, make_pod("p", WEB), TOLERANT, SKIP, id="a new toleration where they do not"),
    ],
)
def test_pod_events(pod: PodInfo, old: PodInfo | None, new: PodInfo | None, expected: QueueingHint) -> None:
    """Only pods that begin or cease to count, or more nodes that do, can help."""
    assert hint(EventResource.POD, pod, old and old.pod, new and new.pod) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_node("n", {"zone": "a"}), QUEUE, id="a node with the key joined"),
        pytest.param(None, make_node("n"), SKIP, id="a node without it joined"),
        pytest.param(make_node("n", {"zone": "a"}), None, QUEUE, id="a node with the key left"),
        pytest.param(make_node("n"), None, SKIP, id="a node without it left"),
        pytest.param(make_node("n"), make_node("n", {"zone": "a"}), QUEUE, id="a node got the key"),
        pytest.param(make_node("n", {"zone": "a"}), make_node("n"), QUEUE, id="a node lost the key"),
        pytest.param(make_node("n", {"zone": "a"}), make_node("n", {"zone": "b"}), QUEUE, id="a node moved"),
        pytest.param(
            make_node("n", {"zone": "a"}), make_node("n", {"zone": "a"}, taints=TAINT), QUEUE, id="taints changed"
        ),
        pytest.param(
            make_node("n", {"zone": "a"}), make_node("n", {"zone": "a", "x": "y"}), SKIP, id="another label changed"
        ),
        pytest.param(make_node("n"), make_node("n", taints=TAINT), SKIP, id="taints of a node that does not count"),
    ],
)
def test_node_events(old: Node | None, new: Node | None, expected: QueueingHint) -> None:
    """Nodes with all keys that come, go, move or change taints can help."""
    assert hint(EventResource.NODE, WAITING, old, new) is expected


def test_registered_events() -> None:
    """Pods and nodes are listened to, with the parts that can matter."""
    plugin = PodTopologySpread(LIST, LittleCluster().handle)
    pods, nodes = (each.event.action for each in plugin.events_to_register())

    assert pods == ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION
    assert nodes == ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("defaulting", "pod", "message"),
    [
        ("List", WAITING, "pods with topology constraints are not signable"),
        ("System", make_pod("p"), "pods with default topology constraints are not signable"),
        ("List", make_pod("p"), None),
    ],
)
def test_signature(defaulting: str, pod: PodInfo, message: str | None) -> None:
    """Pods that are spread are never alike; others are, as far as spreading goes."""
    plugin = ENTRY.factory(PodTopologySpreadArgs(defaulting_type=defaulting), LittleCluster().handle)
    fragments, status = plugin.sign_pod(pod)

    assert (fragments, status and status.message) == ((), None) if message is None else (None, message)
