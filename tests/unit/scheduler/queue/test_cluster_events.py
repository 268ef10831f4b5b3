"""Texts of events, which registered events they match, and what a change of an object amounts to."""

from typing import Any

import pytest
from msgspec.structs import replace

from schedlab.api.views.core import (
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    PodExtendedResourceClaimStatus,
    PodResourceClaimStatus,
    PodStatus,
    Taint,
)
from schedlab.api.views.meta import ObjectMeta
from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from schedlab.scheduler.queue import cluster_events
from schedlab.scheduler.queue.cluster_events import event_label, event_matches, node_changes, only_results_written
from tests.unit.scheduler.queue.builders import make_pod

DEFAULT = FeatureGates.default()
RESULT = "kube-scheduler-simulator.sigs.k8s.io/selected-node"


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (cluster_events.ASSIGNED_POD_ADD, "AssignedPodAdd"),
        (cluster_events.UNSCHEDULED_POD_UPDATE, "UnschedulablePodUpdate"),
        (ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE), "NodeUpdateNodeAllocatable"),
        (ClusterEvent(EventResource.CSI_DRIVER, ActionType.DELETE), "storage.k8s.io/CSIDriverDelete"),
        (
            ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
            "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        ),
        (cluster_events.TIMEOUT_EVENT, "UnschedulableTimeout"),
        (cluster_events.FORCE_ACTIVATE_EVENT, "ForceActivate"),
        (ClusterEvent(EventResource.WILDCARD, ActionType.ALL), "*All"),
        (ClusterEvent(EventResource.POD, ActionType.ADD | ActionType.DELETE), "Pod"),
    ],
)
def test_event_has_upstreams_text(event: ClusterEvent, label: str) -> None:
    assert event_label(event) == label


POD, NODE, ANY = EventResource.POD, EventResource.NODE, EventResource.WILDCARD
ASSIGNED, UNSCHEDULED = EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD
ADD, DELETE, UPDATE, ALL = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE, ActionType.ALL
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        ((NODE, ADD), (NODE, ADD), True),
        ((NODE, ADD | TAINT), (NODE, TAINT), True),
        ((NODE, ADD), (NODE, TAINT), False),
        ((NODE, ADD), (POD, ADD), False),
        ((NODE, UPDATE), (NODE, LABEL), True),
        ((NODE, LABEL), (NODE, UPDATE), False),
        ((NODE, ALL), (NODE, UPDATE), True),
        ((POD, ADD | DELETE), (ASSIGNED, DELETE), True),
        ((POD, UPDATE), (UNSCHEDULED, ActionType.UPDATE_POD_LABEL), True),
        ((POD, UPDATE), (UNSCHEDULED, UPDATE), True),
        ((ANY, ADD), (NODE, ADD), True),
        ((ANY, ALL), (NODE, LABEL), True),
        ((ANY, ALL), (ANY, ALL), True),
        # What happened to everything reaches only those who registered everything.
        ((NODE, ALL), (ANY, ALL), False),
    ],
)
def test_registered_event_matches_itself_and_what_is_more_specific(
    registered: tuple[EventResource, ActionType],
    incoming: tuple[EventResource, ActionType],
    matches: bool,  # noqa: FBT001
) -> None:
    assert event_matches(ClusterEvent(*registered), ClusterEvent(*incoming)) is matches


CLAIMED = PodStatus(resource_claim_statuses=(PodResourceClaimStatus(name="c", resource_claim_name="c-1"),))
EXTENDED = PodStatus(extended_resource_claim_status=PodExtendedResourceClaimStatus(resource_claim_name="c-1"))


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        ({}, {}, ["UnschedulablePodUpdate"]),
        ({}, {"annotations": {"a": "b"}}, ["UnschedulablePodUpdate"]),
        ({}, {"labels": {"a": "b"}}, ["UnschedulablePodUpdatePodLabel"]),
        ({"cpu": "2"}, {"cpu": "1"}, ["UnschedulablePodUpdatePodScaleDown"]),
        ({"cpu": "2"}, {}, ["UnschedulablePodUpdatePodScaleDown"]),
        ({"cpu": "1"}, {"cpu": "2"}, ["UnschedulablePodUpdate"]),
        ({"gates": ["a", "b"]}, {"gates": ["a"]}, ["UnschedulablePodUpdate"]),
        ({"gates": ["a"]}, {}, ["UnschedulablePodUpdatePodSchedulingGatesEliminated"]),
        ({}, {"tolerations": 1}, ["UnschedulablePodUpdatePodToleration"]),
        ({}, {"status": CLAIMED}, ["UnschedulablePodUpdatePodGeneratedResourceClaim"]),
        ({}, {"status": EXTENDED}, ["UnschedulablePodUpdatePodGeneratedResourceClaim"]),
        ({"node": "n"}, {"node": "n"}, ["AssignedPodUpdate"]),
        (
            {"node": "n", "cpu": "2", "gates": ["a"]},
            {"node": "n", "cpu": "1", "labels": {"a": "b"}, "tolerations": 1},
            [
                "AssignedPodUpdatePodLabel",
                "AssignedPodUpdatePodScaleDown",
                "AssignedPodUpdatePodSchedulingGatesEliminated",
                "AssignedPodUpdatePodToleration",
            ],
        ),
    ],
)
def test_change_of_a_pod_is_named_as_specifically_as_possible(
    before: dict[str, Any], after: dict[str, Any], labels: list[str]
) -> None:
    events = cluster_events.pod_changes(make_pod("p", **before), make_pod("p", **after), DEFAULT)

    assert [event_label(event) for event in events] == labels


def node(**parts: Any) -> Node:
    return Node(
        metadata=ObjectMeta(name="n", labels=parts.get("labels", {}), annotations=parts.get("annotations", {})),
        spec=NodeSpec(unschedulable=parts.get("unschedulable", False), taints=parts.get("taints", ())),
        status=NodeStatus(
            allocatable=parts.get("allocatable", {}),
            conditions=parts.get("conditions", ()),
            declared_features=parts.get("features", ()),
        ),
    )


READY = NodeCondition(type="Ready", status="True", last_heartbeat_time="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        ({}, {}, []),
        ({"unschedulable": True}, {}, ["NodeUpdateNodeTaint"]),
        ({}, {"unschedulable": True}, []),
        ({"allocatable": {"cpu": "1"}}, {"allocatable": {"cpu": "1000m"}}, []),
        ({"allocatable": {"cpu": "1"}}, {"allocatable": {"cpu": "2"}}, ["NodeUpdateNodeAllocatable"]),
        ({"allocatable": {"cpu": "1"}}, {"allocatable": {}}, ["NodeUpdateNodeAllocatable"]),
        ({}, {"labels": {"a": "b"}}, ["NodeUpdateNodeLabel"]),
        ({}, {"taints": (Taint(key="k", effect="NoSchedule"),)}, ["NodeUpdateNodeTaint"]),
        ({"conditions": (READY,)}, {"conditions": (replace(READY, last_heartbeat_time="later"),)}, []),
        ({"conditions": (READY,)}, {"conditions": (replace(READY, status="False"),)}, ["NodeUpdateNodeCondition"]),
        ({}, {"annotations": {"a": "b"}}, ["NodeUpdateNodeAnnotation"]),
        ({}, {"annotations": {RESULT: "b"}}, []),
        ({}, {"features": ("F",)}, ["NodeUpdateNodeDeclaredFeature"]),
        (
            {"unschedulable": True, "taints": (Taint(key="k"),)},
            {"labels": {"a": "b"}},
            ["NodeUpdateNodeTaint", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"],
        ),
    ],
)
def test_change_of_a_node_is_named_as_specifically_as_possible(
    before: dict[str, Any], after: dict[str, Any], labels: list[str]
) -> None:
    events = node_changes(node(**before), node(**after), DEFAULT)

    assert [event_label(event) for event in events] == labels


def test_declared_features_do_not_count_while_their_gate_is_off() -> None:
    off = DEFAULT.with_overrides(
        {
            "NodeDeclaredFeatures": False,
            "ExtendWebSocketsToKubelet": False,
            "InPlacePodLevelResourcesVerticalScaling": False,
            "InPlacePodVerticalScalingInitContainers": False,
            "RestartAllContainersOnContainerExits": False,
        }
    )

    assert node_changes(node(), node(features=("F",)), off) == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, False),
        ({}, {"annotations": {RESULT: "n1"}}, True),
        ({"annotations": {RESULT: "n1", "a": "b"}}, {"annotations": {"a": "b"}}, True),
        ({}, {"annotations": {RESULT: "n1", "a": "b"}}, False),
        ({}, {"annotations": {RESULT: "n1"}, "labels": {"a": "b"}}, False),
        ({}, {"annotations": {RESULT: "n1"}, "nominated": "n1"}, False),
        ({}, {"annotations": {RESULT: "n1"}, "tolerations": 1}, False),
    ],
)
def test_writing_results_alone_is_told_apart(before: dict[str, Any], after: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    old, new = make_pod("p", revision=1, **before), make_pod("p", revision=2, **after)

    assert only_results_written(old, new) is expected
