"""The columns of pods.

Mirrors: printPod of pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery.table import AGE, NAME, NONE, Cell, Column, Object, Printer, age, name_of, since
from schedlab.apiserver.printers.common import has_true_condition, part, shows

_GATED: Final = "SchedulingGated"
_UNREACHABLE: Final = "NodeLost"


def _completed(reason: str, message: str) -> Sequence[Mapping[str, str]]:
    return ({"type": "Completed", "status": "True", "reason": reason, "message": message},)


_CONDITIONS: Final = {
    "Succeeded": _completed("Succeeded", "The pod has completed successfully."),
    "Failed": _completed("Failed", "The pod failed."),
}


@dataclass(slots=True)
class _Summary:
    """What the states of the containers add up to."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""
    sidecar_restarts: int = 0
    sidecar_last_restart: str = ""
    is_initializing: bool = False


def _cells(pod: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = {c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    summary = _Summary(_reason_of_pod(status))
    _add_init_containers(summary, spec, status, sidecars)
    if not summary.is_initializing or has_true_condition(pod, "Initialized"):
        _add_containers(summary, status)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts = f"{restarts} ({since(summary.last_restart, now_ns)} ago)"
    return (
        name_of(pod),
        f"{summary.ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        _reason_of_deletion(pod, status) or summary.reason,
        restarts,
        age(pod, now_ns),
        next((ip.get("ip") for ip in status.get("podIPs") or ()), "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    )


def _reason_of_pod(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == _GATED:
            return _GATED
    return str(status.get("reason") or status.get("phase", ""))


def _reason_of_deletion(pod: Object, status: Mapping[str, Any]) -> str:
    if not pod["metadata"].get("deletionTimestamp"):
        return ""
    if status.get("reason") == _UNREACHABLE:
        return "Unknown"
    return "" if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _restart_of(container: Mapping[str, Any]) -> tuple[int, str]:
    """Return how often a container restarted and when it last ended before."""
    ended = part(container, "lastState", "terminated").get("finishedAt") or ""
    return container.get("restartCount") or 0, ended


def _add_init_containers(
    summary: _Summary, spec: Mapping[str, Any], status: Mapping[str, Any], sidecars: set[str]
) -> None:
    """Go through the init containers up to the first one that is not done."""
    total = len(spec.get("initContainers") or ())
    for i, container in enumerate(status.get("initContainerStatuses") or ()):
        restarts, ended = _restart_of(container)
        is_sidecar = container.get("name") in sidecars
        summary.restarts += restarts
        summary.last_restart = max(summary.last_restart, ended)
        if is_sidecar:
            summary.sidecar_restarts += restarts
            summary.sidecar_last_restart = max(summary.sidecar_last_restart, ended)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            summary.ready += 1 if container.get("ready") else 0
            continue
        if terminated is not None:
            summary.reason = f"Init:{_reason_of_end(terminated)}"
        elif waiting.get("reason") not in (None, "", "PodInitializing"):
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{i}/{total}"
        summary.is_initializing = True
        return


def _add_containers(summary: _Summary, status: Mapping[str, Any]) -> None:
    """Go through the containers from the last to the first, whose reason counts most."""
    summary.restarts, summary.last_restart = summary.sidecar_restarts, summary.sidecar_last_restart
    has_running = False
    for container in reversed(status.get("containerStatuses") or ()):
        restarts, ended = _restart_of(container)
        summary.restarts += restarts
        summary.last_restart = max(summary.last_restart, ended)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if part(state, "waiting").get("reason"):
            summary.reason = state["waiting"]["reason"]
        elif terminated is not None:
            summary.reason = _reason_of_end(terminated)
        elif container.get("ready") and state.get("running") is not None:
            has_running = True
            summary.ready += 1
    if summary.reason == "Completed" and has_running:
        summary.reason = "Running" if _is_ready(status) else "NotReady"


def _is_ready(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _reason_of_end(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _readiness_gates(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    states: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        states.setdefault(condition.get("type", ""), condition.get("status", ""))
    fulfilled = sum(states.get(gate.get("conditionType", "")) == "True" for gate in gates)
    return f"{fulfilled}/{len(gates)}"


PODS: Final = Printer(
    (
        NAME,
        Column("Ready", description="The aggregate readiness state of this pod for accepting traffic."),
        Column("Status", description="The aggregate status of the containers in this pod."),
        Column(
            "Restarts",
            description="The number of times the containers in this pod have been restarted and when the last "
            "container in this pod has restarted.",
        ),
        AGE,
        shows("IP", "core.v1.PodStatus", "podIP", priority=1),
        shows("Node", "core.v1.PodSpec", "nodeName", priority=1),
        shows("Nominated Node", "core.v1.PodStatus", "nominatedNodeName", priority=1),
        shows("Readiness Gates", "core.v1.PodSpec", "readinessGates", priority=1),
    ),
    _cells,
    lambda pod: _CONDITIONS.get(part(pod, "status").get("phase", ""), ()),
)
