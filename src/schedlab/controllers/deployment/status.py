"""The status of a Deployment: counts from its ReplicaSets, and how its rollout progresses.

Mirrors: pkg/controller/deployment/{sync,progress}.go, conditions of util/deployment_util.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.views.workloads import Deployment
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.controllers.deployment import sets as replica_sets
from schedlab.controllers.framework.status import Condition, find_condition, without_condition
from schedlab.kernel.clock import SECOND_NS

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
UPDATED: Final = "ReplicaSetUpdated"
COMPLETE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
CREATE_FAILED: Final = "ReplicaSetCreateError"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"

_INT32_MAX: Final = 2**31 - 1

Status = dict[str, Any]
Sets = Sequence[StoredObject | None]


def new_condition(kind: str, status: str, reason: str, message: str, now_ns: int) -> dict[str, Any]:
    """Return a condition as of now."""
    now = format_time(now_ns)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def set_condition(status: Status, condition: dict[str, Any]) -> None:
    """Put a condition in, unless it says nothing new; the time of a transition stays while the status does."""
    conditions: Sequence[Condition] = status.get("conditions") or ()
    known = find_condition(conditions, condition["type"])
    if known is not None and known["status"] == condition["status"]:
        if known.get("reason") == condition["reason"]:
            return
        condition = {**condition, "lastTransitionTime": known.get("lastTransitionTime")}
    status["conditions"] = [*without_condition(conditions, condition["type"]), condition]


def drop_condition(status: Status, kind: str) -> None:
    """Take a condition away."""
    status["conditions"] = without_condition(status.get("conditions") or (), kind)
    if not status["conditions"]:
        del status["conditions"]


def condition_of(status: Mapping[str, Any], kind: str) -> Condition | None:
    """Return a condition of a status."""
    return find_condition(status.get("conditions") or (), kind)


def has_deadline(deployment: Deployment) -> bool:
    """Whether a rollout can take too long."""
    return deployment.spec.progress_deadline_seconds not in (None, _INT32_MAX)


def calculate(
    deployment: Deployment,
    have: Mapping[str, Any],
    sets: Sets,
    new: StoredObject | None,
    now_ns: int,
    *,
    terminating: bool,
) -> Status:
    """Return the status with new counts and the Available condition."""
    count = replica_sets.count
    available = count(sets, "available_replicas")
    status: Status = {"observedGeneration": deployment.metadata.generation}
    counts = {
        "replicas": count(sets, "replicas"),
        "updatedReplicas": count([new], "replicas"),
        "readyReplicas": count(sets, "ready_replicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, replica_sets.wanted(sets) - available),
    }
    status |= {name: number for name, number in counts.items() if number}
    if terminating and (number := _terminating(sets)) is not None:
        status["terminatingReplicas"] = number
    for name in ("collisionCount", "conditions"):
        if have.get(name) is not None:
            status[name] = have[name]
    if available >= deployment.spec.replicas - replica_sets.max_unavailable(deployment):
        reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
        set_condition(status, new_condition(AVAILABLE, "True", reason, message, now_ns))
    else:
        reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        set_condition(status, new_condition(AVAILABLE, "False", reason, message, now_ns))
    return status


def _terminating(sets: Sets) -> int | None:
    """Return how many pods are on their way out; None while a set does not say."""
    total = 0
    for found in sets:
        if found is None:
            continue
        status = found.view.status
        if status.terminating_replicas is not None:
            total += status.terminating_replicas
        elif status.observed_generation:
            return None
    return total


def is_complete(deployment: Deployment, status: Mapping[str, Any]) -> bool:
    """Whether all the pods that are wanted are new and available, and no others are there."""
    size, number = deployment.spec.replicas, status.get
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    return all(number(name, 0) == size for name in counts) and (
        number("observedGeneration", 0) >= deployment.metadata.generation
    )


def has_progressed(have: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether there are more new, ready or available pods, or fewer old ones."""

    def old(counts: Mapping[str, Any]) -> int:
        number: int = counts.get("replicas", 0) - counts.get("updatedReplicas", 0)
        return number

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(status) < old(have) or any(status.get(name, 0) > have.get(name, 0) for name in grown)


def has_timed_out(deployment: Deployment, status: Mapping[str, Any], now_ns: int) -> bool:
    """Whether the last progress was too long ago."""
    condition = condition_of(status, PROGRESSING)
    if condition is None or condition.get("reason") == COMPLETE:
        return False
    return condition.get("reason") == TIMED_OUT or deadline_ns(deployment, condition) < now_ns


def deadline_ns(deployment: Deployment, condition: Condition) -> int:
    """Return until when progress is expected."""
    since = condition.get("lastUpdateTime")
    return (parse_time(since) if since else 0) + (deployment.spec.progress_deadline_seconds or 0) * SECOND_NS


def note_progress(
    deployment: Deployment, have: Mapping[str, Any], status: Status, new: StoredObject | None, now_ns: int
) -> None:
    """Set the Progressing condition of a rollout."""
    if not has_deadline(deployment):
        drop_condition(status, PROGRESSING)
        return
    current = condition_of(have, PROGRESSING)
    settled = current is not None and current.get("reason") == COMPLETE
    if settled and status.get("replicas", 0) == status.get("updatedReplicas", 0):
        return
    name = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{name} has successfully progressed."
        set_condition(status, new_condition(PROGRESSING, "True", COMPLETE, message, now_ns))
    elif has_progressed(have, status):
        condition = new_condition(PROGRESSING, "True", UPDATED, f"{name} is progressing.", now_ns)
        if current is not None:
            # Unlike others, this condition is renewed even with the same reason: the deadline counts from here.
            if current["status"] == "True":
                condition["lastTransitionTime"] = current.get("lastTransitionTime")
            drop_condition(status, PROGRESSING)
        set_condition(status, condition)
    elif has_timed_out(deployment, status, now_ns):
        message = f"{name} has timed out progressing."
        set_condition(status, new_condition(PROGRESSING, "False", TIMED_OUT, message, now_ns))


def note_failures(status: Status, sets: Sets, new: StoredObject | None) -> None:
    """Show the failure of a ReplicaSet, that of the new one rather than those of others."""
    for found in (new, *sets):
        failure = None if found is None else condition_of(found.raw.get("status") or {}, REPLICA_FAILURE)
        if failure is not None:
            shown = {key: failure[key] for key in ("type", "status", "reason", "message") if failure.get(key)}
            since = failure.get("lastTransitionTime")
            set_condition(status, {**shown, "lastUpdateTime": since, "lastTransitionTime": since})
            return
    drop_condition(status, REPLICA_FAILURE)
