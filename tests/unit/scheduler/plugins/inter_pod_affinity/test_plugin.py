"""InterPodAffinity and the queue: which events wake a pod, and which pods are alike."""

from typing import Any

import pytest

from schedlab.api.views.core import Node
from schedlab.scheduler.config.args import InterPodAffinityArgs
from schedlab.scheduler.framework.events import ActionType, EventResource, QueueingHint
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity import ENTRY, InterPodAffinity
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
WEB, DB = {"app": "web"}, {"app": "db"}


def required(kind: str, *labels: dict[str, str]) -> dict[str, Any]:
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": each}} for each in labels]
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


NEAR_DB = make_pod("p", WEB, affinity=required("podAffinity", DB))
NEAR_BOTH = make_pod("p", WEB, affinity=required("podAffinity", DB, {"tier": "x"}))
AWAY_FROM_DB = make_pod("p", WEB, affinity=required("podAntiAffinity", DB))
PLAIN = make_pod("p", WEB)


def hint(resource: EventResource, pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    plugin = InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=1), LittleCluster().handle)
    [registered] = [each for each in plugin.events_to_register() if each.event.resource is resource]
    assert registered.hint is not None
    return registered.hint(pod, old, new)


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        pytest.param(NEAR_DB, None, make_pod("o", DB, node="n"), QUEUE, id="one to be near came"),
        pytest.param(NEAR_DB, None, make_pod("o", WEB, node="n"), SKIP, id="another came"),
        pytest.param(NEAR_BOTH, None, make_pod("o", DB, node="n"), SKIP, id="one pod must meet all terms"),
        pytest.param(NEAR_DB, None, make_pod("o", DB), SKIP, id="it has no place yet"),
        pytest.param(
            NEAR_DB, None, make_pod("o", DB, status={"nominatedNodeName": "n"}), QUEUE, id="a nomination is a place"
        ),
        pytest.param(NEAR_DB, make_pod("o", DB, node="n"), None, SKIP, id="one to be near went"),
        pytest.param(AWAY_FROM_DB, make_pod("o", DB, node="n"), None, QUEUE, id="one to be away from went"),
        pytest.param(AWAY_FROM_DB, make_pod("o", WEB, node="n"), None, SKIP, id="another went"),
        pytest.param(
            PLAIN,
            make_pod("o", node="n", affinity=required("podAntiAffinity", WEB)),
            None,
            QUEUE,
            id="one that kept the pod away went",
        ),
        pytest.param(
            NEAR_DB, make_pod("o", WEB, node="n"), make_pod("o", DB, node="n"), QUEUE, id="a pod became one to be near"
        ),
        pytest.param(
            AWAY_FROM_DB,
            make_pod("o", DB, node="n"),
            make_pod("o", WEB, node="n"),
            QUEUE,
            id="a pod ceased to be one to be away from",
        ),
        pytest.param(
            NEAR_DB, make_pod("o", DB, node="n"), make_pod("o", {**DB, "x": "y"}, node="n"), SKIP, id="no difference"
        ),
        pytest.param(PLAIN, make_pod("p", DB), PLAIN, QUEUE, id="the pod's own labels changed"),
    ],
)
def test_pod_events(pod: PodInfo, old: PodInfo | None, new: PodInfo | None, expected: QueueingHint) -> None:
    """Only pods that terms of either side speak of can help."""
    assert hint(EventResource.POD, pod, old and old.pod, new and new.pod) is expected


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        pytest.param(NEAR_DB, None, make_node("n", {"zone": "a"}), QUEUE, id="a node with the key joined"),
        pytest.param(NEAR_DB, None, make_node("n"), SKIP, id="a node without it joined"),
        pytest.param(AWAY_FROM_DB, None, make_node("n"), QUEUE, id="any node may be away from pods"),
        pytest.param(PLAIN, None, make_node("n", {"zone": "a"}), SKIP, id="a pod without terms"),
        pytest.param(NEAR_DB, make_node("n"), make_node("n", {"zone": "a"}), QUEUE, id="a node got the key"),
        pytest.param(NEAR_DB, make_node("n", {"zone": "a"}), make_node("n"), SKIP, id="a node lost the key"),
        pytest.param(AWAY_FROM_DB, make_node("n"), make_node("n", {"zone": "a"}), SKIP, id="got it, no gain"),
        pytest.param(AWAY_FROM_DB, make_node("n", {"zone": "a"}), make_node("n"), QUEUE, id="lost it, a gain"),
        pytest.param(
            NEAR_DB, make_node("n", {"zone": "a"}), make_node("n", {"zone": "b"}), QUEUE, id="moved, to be near"
        ),
        pytest.param(
            AWAY_FROM_DB, make_node("n", {"zone": "a"}), make_node("n", {"zone": "b"}), QUEUE, id="moved, to be away"
        ),
        pytest.param(
            NEAR_DB, make_node("n", {"zone": "a"}), make_node("n", {"zone": "a", "x": "y"}), SKIP, id="did not move"
        ),
    ],
)
def test_node_events(pod: PodInfo, old: Node | None, new: Node, expected: QueueingHint) -> None:
    """Nodes that join or move can help."""
    assert hint(EventResource.NODE, pod, old, new) is expected


def test_registered_events() -> None:
    """Pods and nodes are listened to, with the parts that can matter."""
    plugin = InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=1), LittleCluster().handle)
    pods, nodes = (each.event.action for each in plugin.events_to_register())

    assert pods == ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL
    assert nodes == ActionType.ADD | ActionType.UPDATE_NODE_LABEL


@pytest.mark.parametrize(
    ("pod", "ignore", "fragments", "message"),
    [
        (NEAR_DB, False, None, "pods with InterPodAffinity are not signable"),
        (make_pod("p", {"b": "2", "a": "1"}), False, (("v1.Pod.Labels", (("a", "1"), ("b", "2"))),), None),
        (PLAIN, True, (), None),
    ],
)
def test_signature(pod: PodInfo, ignore: bool, fragments: Any, message: str | None) -> None:  # noqa: FBT001 - a table
    """Pods with terms are never alike; others are when their labels are, as the terms of other pods see those."""
    args = InterPodAffinityArgs(hard_pod_affinity_weight=1, ignore_preferred_terms_of_existing_pods=ignore)
    found, status = ENTRY.factory(args, LittleCluster().handle).sign_pod(pod)

    assert (found, status and status.message) == (fragments, message)
