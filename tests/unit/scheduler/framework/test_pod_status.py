"""Patches of a pod's status hold only what changes."""

from typing import Any

from schedlab.kernel.clock import EPOCH_NS
from schedlab.scheduler.framework.pod_status import NewCondition, status_patch
from schedlab.testing.builders import make_pod

OLD = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "old",
    "lastTransitionTime": "2025-01-01T00:00:00Z",
}


def patch(condition: NewCondition | None, nominated: str | None, **status: Any) -> Any:
    pod = make_pod("p").set("status", status).set("metadata.generation", 3).view()
    write = status_patch(pod, condition, nominated, EPOCH_NS)
    if write is None:
        return None
    assert (write.verb, write.resource, write.namespace, write.name) == ("patch", "pods", "default", "p")
    assert (write.subresource, write.patch_type) == ("status", "strategic")
    return write.body["status"]  # type: ignore[index,call-overload]


def test_new_condition_is_sent_whole() -> None:
    ready = {"type": "Ready", "status": "False"}

    body = patch(NewCondition("PodScheduled", "False", "Unschedulable", "no room"), None, conditions=[ready])

    assert body == {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "no room",
                "observedGeneration": 3,
                "lastProbeTime": None,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }


def test_only_changed_fields_of_a_known_condition_are_sent() -> None:
    body = patch(NewCondition("PodScheduled", "False", "Unschedulable", "new"), None, conditions=[OLD])

    assert body == {
        "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        "conditions": [{"type": "PodScheduled", "message": "new", "observedGeneration": 3}],
    }


def test_another_status_has_another_transition_time() -> None:
    body = patch(NewCondition("PodScheduled", "True"), None, conditions=[OLD])

    assert body["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "observedGeneration": 3,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": None,
            "message": None,
        }
    ]


def test_equal_condition_is_not_sent() -> None:
    assert patch(NewCondition("PodScheduled", "False", "Unschedulable", "old"), None, conditions=[OLD]) is None
    assert patch(NewCondition("PodScheduled", "False", "Unschedulable", "old"), "", conditions=[OLD]) is None


def test_nomination_is_set_cleared_or_left_alone() -> None:
    assert patch(None, "a") == {"nominatedNodeName": "a"}
    assert patch(None, "", nominatedNodeName="a") == {"nominatedNodeName": None}
    assert patch(None, "a", nominatedNodeName="a") is None
    assert patch(None, None, nominatedNodeName="a") is None
