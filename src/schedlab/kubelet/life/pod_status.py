"""The status that a kubelet reports of a pod with containers in any state.

Mirrors: getPhase of pkg/kubelet/kubelet_pods.go, pkg/kubelet/status/generate.go (v1.36).
Differs: a pod always has its sandbox; conditions of readiness gates are left to whoever sets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schedlab.kubelet.status import is_scheduled, merge_conditions

if TYPE_CHECKING:
    from schedlab.kubelet.life.container_life import ContainerLife

Object = Mapping[str, Any]


def phase_of(init: Sequence[ContainerLife], main: Sequence[ContainerLife]) -> str:
    """Return the phase of a pod."""
    regular = [each for each in init if each.kind == "init"]
    if any(each.step == "ended" and not each.has_succeeded for each in regular):
        return "Failed"
    has_begun = any(each.step == "running" or each.runs for each in main)
    sidecars = [each for each in init if each.kind == "sidecar"]
    if any(not each.has_succeeded for each in regular) or (
        not has_begun and any(not each.is_started for each in sidecars)
    ):
        return "Pending"
    if any(each.step != "running" and not each.runs for each in main):
        return "Pending"
    if all(each.step == "ended" for each in main):
        return "Succeeded" if all(each.has_succeeded for each in main) else "Failed"
    return "Running"


def status_of(
    pod: Object, init: Sequence[ContainerLife], main: Sequence[ContainerLife], phase: str, now: str
) -> dict[str, Any]:
    """Return phase, conditions and the statuses of all containers."""
    generation = pod["metadata"].get("generation", 1)
    have = (pod.get("status") or {}).get("conditions") or ()
    waiting = "PodInitializing" if init else "ContainerCreating"
    conditions = [
        _condition(kind, have, now, generation, *told)
        for kind, told in (
            ("PodReadyToStartContainers", ("False", "", "") if _is_over(phase) else ("True", "", "")),
            ("Initialized", _initialized(init, main, phase)),
            ("Ready", _ready(pod, init, main, phase)),
            ("ContainersReady", _containers_ready(init, main, phase)),
        )
    ]
    if not is_scheduled(have):
        conditions.append(_condition("PodScheduled", have, now, generation, "True", "", ""))
    report: dict[str, Any] = {
        "observedGeneration": generation,
        "phase": phase,
        "conditions": merge_conditions(have, conditions),
        "containerStatuses": [each.status(waiting) for each in main],
    }
    if init:
        report["initContainerStatuses"] = [each.status("PodInitializing") for each in init]
    return report


def _is_over(phase: str) -> bool:
    return phase in ("Succeeded", "Failed")


def _condition(
    kind: str, have: Sequence[Object], now: str, generation: int, status: str, reason: str, message: str
) -> dict[str, Any]:
    before = next((each for each in have if each["type"] == kind), None)
    since = now if before is None or before["status"] != status else before.get("lastTransitionTime") or now
    told = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
    told["observedGeneration"] = generation
    if reason:
        told["reason"] = reason
    if message:
        told["message"] = message
    return told


def _ended(phase: str) -> tuple[str, str, str]:
    return "False", "PodCompleted" if phase == "Succeeded" else "PodFailed", ""


def _initialized(init: Sequence[ContainerLife], main: Sequence[ContainerLife], phase: str) -> tuple[str, str, str]:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if any(each.started_ns for each in main):
        return "True", "", ""
    incomplete = [each.name for each in init if not (each.is_started if each.kind == "sidecar" else each.has_succeeded)]
    if incomplete:
        return "False", "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"
    return "True", "", ""


def _containers_ready(init: Sequence[ContainerLife], main: Sequence[ContainerLife], phase: str) -> tuple[str, str, str]:
    if _is_over(phase):
        return _ended(phase)
    unready = [each.name for each in (*init, *main) if each.kind != "init" and not each.is_ready]
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "True", "", ""


def _ready(
    pod: Object, init: Sequence[ContainerLife], main: Sequence[ContainerLife], phase: str
) -> tuple[str, str, str]:
    told = _containers_ready(init, main, phase)
    if told[0] != "True":
        return told
    have = {each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or ()}
    wrong: list[str] = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        if kind not in have:
            wrong.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif have[kind] != "True":
            wrong.append(f'the status of pod readiness gate "{kind}" is not "True", but {have[kind]}')
    return ("False", "ReadinessGatesNotReady", ", ".join(wrong)) if wrong else told
