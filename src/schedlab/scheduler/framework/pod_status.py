"""The patches the scheduler sends of a pod's status: the PodScheduled condition and the nominated node.

A patch holds only what changes, as the two-way strategic merge patch of upstream does.

Mirrors: updatePod in pkg/scheduler/schedule_one.go, PatchPodStatus in pkg/scheduler/util/utils.go and UpdatePodCondition
in pkg/api/v1/pod/util.go (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod, PodCondition


@dataclass(frozen=True, slots=True)
class NewCondition:
    """A condition to be set; its times and generation follow from the pod."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


def status_patch(
    pod: Pod, condition: NewCondition | None, nominated_node_name: str | None, now_ns: int
) -> Write | None:
    """Return the patch that sets the condition and the nomination (None: leave it), or None if nothing changes."""
    changes: dict[str, Any] = {}
    if condition is not None:
        changes |= _condition_changes(pod, condition, now_ns)
    if nominated_node_name is not None and nominated_node_name != pod.status.nominated_node_name:
        changes["nominatedNodeName"] = nominated_node_name or None
    if not changes:
        return None
    meta = pod.metadata
    return Write("patch", "pods", meta.namespace, meta.name, {"status": changes}, "status", "strategic")


def _condition_changes(pod: Pod, condition: NewCondition, now_ns: int) -> dict[str, Any]:
    old = pod.status.condition(condition.type)
    new = _wire(condition, pod.metadata.generation, format_time(now_ns))
    types = [each.type for each in pod.status.conditions]
    if old is None:
        return {
            "$setElementOrder/conditions": [{"type": type_} for type_ in (*types, condition.type)],
            "conditions": [{"lastProbeTime": None, **new}],
        }
    if (old.status, old.reason, old.message) == (condition.status, condition.reason, condition.message):
        return {}
    if old.status == condition.status:
        del new["lastTransitionTime"]
    known = _wire_of(old)
    changed = {key: value for key, value in new.items() if known.get(key) != value}
    changed |= {key: None for key in known if key not in new and key != "lastTransitionTime"}
    return {
        "$setElementOrder/conditions": [{"type": type_} for type_ in types],
        "conditions": [changed | {"type": condition.type}],
    }


def _wire(condition: NewCondition, generation: int, now: str) -> dict[str, Any]:
    wire = {
        "type": condition.type,
        "observedGeneration": generation,
        "status": condition.status,
        "lastTransitionTime": now,
        "reason": condition.reason,
        "message": condition.message,
    }
    return {key: value for key, value in wire.items() if value}


def _wire_of(condition: PodCondition) -> dict[str, Any]:
    wire = {
        "type": condition.type,
        "observedGeneration": condition.observed_generation,
        "status": condition.status,
        "lastProbeTime": condition.last_probe_time,
        "lastTransitionTime": condition.last_transition_time,
        "reason": condition.reason,
        "message": condition.message,
    }
    return {key: value for key, value in wire.items() if value}
