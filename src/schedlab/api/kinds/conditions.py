"""Conditions in a status.

Mirrors: pkg/api/pod/util.go (UpdatePodCondition) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from schedlab.api.object import Object


def set_condition(status: Object, condition: Object, now: str) -> None:
    """Put a pod's condition in the place of the one of its type; its time moves only when its status does."""
    conditions = status.setdefault("conditions", [])
    made = {**condition, "lastProbeTime": None, "lastTransitionTime": now}
    for i, present in enumerate(conditions):
        if present["type"] == condition["type"]:
            if present["status"] == condition["status"]:
                made["lastTransitionTime"] = present.get("lastTransitionTime")
            conditions[i] = made
            return
    conditions.append(made)
