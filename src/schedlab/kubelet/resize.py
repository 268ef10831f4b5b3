"""Changes of a running pod's resources: whether its node can give them, and what the status says then.

Mirrors: handlePodResourcesResize of pkg/kubelet/allocation/allocation_manager.go, pkg/kubelet/events/resize.go (v1.36).
Differs: what is allocated is applied at once, so PodResizeInProgress is never seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from schedlab.api.rules.requests import RequestRules, amounts_of, pod_requests
from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery import gojson
from schedlab.kubelet.admission import NodeAccount

PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"
DEFERRED: Final = "Deferred"
_WANTED: Final = RequestRules(status=False)


@dataclass(slots=True)
class Verdict:
    """What becomes of a change: nothing (`reason` and message say why it waits), or `restarts` are to be started anew."""

    reason: str = ""
    message: str = ""
    restarts: list[str] = field(default_factory=list)

    @property
    def is_granted(self) -> bool:
        return not self.reason


def wants_resize(pod: Mapping[str, Any]) -> bool:
    """Whether a pod's spec asks for other resources than its status says it has."""
    statuses = {each["name"]: each for each in _statuses(pod)}
    return any(
        container["name"] in statuses
        and _told(container.get("resources")) != _told(statuses[container["name"]].get("resources"))
        for container in _containers(pod)
    )


def judge(pod: Pod, raw: Mapping[str, Any], node: Node, account: NodeAccount) -> Verdict:
    """Say whether a node can give a pod what its spec asks for."""
    wanted = pod_requests(pod, _WANTED)
    had = account.requests.get(pod.metadata.uid, {})
    allocatable = amounts_of(node.status.allocatable)
    for name in ("cpu", "memory"):
        amount, capacity = wanted.get(name, 0), allocatable.get(name, 0)
        if amount > capacity:
            text = f"Node didn't have enough capacity: {name}, requested: {amount}, capacity: {capacity}"
            return Verdict(INFEASIBLE, text)
    for name in ("cpu", "memory"):
        amount, capacity = wanted.get(name, 0), allocatable.get(name, 0)
        used = account.used.get(name, 0) - had.get(name, 0)
        if amount > had.get(name, 0) and amount + used > capacity:
            text = f"Node didn't have enough resource: {name}, requested: {amount}, used: {used}, capacity: {capacity}"
            return Verdict(DEFERRED, text)
    return Verdict(restarts=list(_restarts(raw)))


def _restarts(pod: Mapping[str, Any]) -> Sequence[str]:
    """Return the containers that say that they must be started anew for what changes."""
    statuses = {each["name"]: each for each in _statuses(pod)}
    found = []
    for container in _containers(pod):
        before = _told(statuses.get(container["name"], {}).get("resources"))
        after = _told(container.get("resources"))
        policies = {each["resourceName"]: each["restartPolicy"] for each in container.get("resizePolicy") or ()}
        changed = [
            name
            for part in ("requests", "limits")
            for name in dict.fromkeys((*before.get(part, {}), *after.get(part, {})))
            if before.get(part, {}).get(name) != after.get(part, {}).get(name)
        ]
        if any(policies.get(name) == "RestartContainer" for name in changed):
            found.append(container["name"])
    return found


def granted_status(pod: Mapping[str, Any], restarts: Sequence[str], now: str) -> dict[str, Any]:
    """Return the parts of a status that say what a pod now has."""
    specs = {container["name"]: container for container in _containers(pod)}
    told: dict[str, Any] = {}
    for key in ("initContainerStatuses", "containerStatuses"):
        known = (pod.get("status") or {}).get(key) or ()
        if known:
            told[key] = [
                _resized(each, specs.get(each["name"]), now, restarts=each["name"] in restarts) for each in known
            ]
    return told


def _resized(status: Mapping[str, Any], spec: Mapping[str, Any] | None, now: str, *, restarts: bool) -> dict[str, Any]:
    resources = _told(None if spec is None else spec.get("resources"))
    changed = {**status, "resources": resources, "allocatedResources": resources.get("requests")}
    running = (status.get("state") or {}).get("running")
    if restarts and running:
        ended = {"exitCode": 137, "reason": "Error", "startedAt": running.get("startedAt"), "finishedAt": now}
        changed["restartCount"] = int(status.get("restartCount") or 0) + 1
        changed["lastState"] = {"terminated": ended}
        changed["state"] = {"running": {"startedAt": now}}
    return changed


def message(pod: Mapping[str, Any], prefix: str, error: str = "") -> str:
    """Return the message of an event about a change."""
    spec = pod["spec"]
    told: dict[str, Any] = {}
    if spec.get("initContainers"):
        told["initContainers"] = [_summary(each) for each in spec["initContainers"]]
    told["containers"] = [_summary(each) for each in spec["containers"]]
    told["generation"] = pod["metadata"].get("generation", 1)
    if error:
        told["error"] = error
    return f"{prefix}: {gojson.marshal_bytes(told, sort_keys=False).decode()}"


def _summary(container: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": container["name"], "resources": _told(container.get("resources"))}


def _told(resources: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (resources or {}).items() if key in ("limits", "requests") and value}


def _containers(pod: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    spec = pod["spec"]
    return (*(spec.get("initContainers") or ()), *spec["containers"])


def _statuses(pod: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
