"""The condition by which a controller says in a pod why it deletes it.

Mirrors: addConditionAndDeletePod of pkg/controller/tainteviction, markFailedAndDeletePodWithCondition of
pkg/controller/podgc, PatchPodStatus of pkg/util/pod (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.client.protocol import Write

_TYPE: Final = "DisruptionTarget"


def disruption_target(pod: StoredObject, reason: str, message: str, now: str) -> dict[str, Any]:
    """Return the condition."""
    return {
        "type": _TYPE,
        "observedGeneration": pod.view.metadata.generation,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def status_patch(pod: StoredObject, condition: dict[str, Any] | None, **fields: Any) -> Write:
    """Return the write of some fields of a pod's status, and of a condition behind those that are there."""
    status = dict(fields)
    if condition is not None:
        others = [each.type for each in pod.view.status.conditions if each.type != condition["type"]]
        status["$setElementOrder/conditions"] = [{"type": kind} for kind in (*others, condition["type"])]
        status["conditions"] = [condition]
    patch = {"metadata": {"uid": pod.uid}, "status": status}
    return Write("patch", "pods", pod.namespace, pod.name, patch, subresource="status", patch_type="strategic")
