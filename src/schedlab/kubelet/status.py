"""What a kubelet writes about its node and its pods, as patches.

Pure functions over raw objects; times are RFC 3339 texts handed in.

Mirrors: KWOK's fast stages (node-initialize, pod-ready) and the kubelet's status manager (v1.36).
Differs: a node without capacity gets 4 CPU, 32Gi and 110 pods (KWOK: 1k CPU, 1Ti, 1M pods), so that it can fill up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery.version import KUBERNETES_VERSION
from schedlab.kubelet.admission import Rejection

DEFAULT_CAPACITY: Final = {"cpu": "4", "memory": "32Gi", "pods": "110"}
RUNTIME_VERSION: Final = "schedlab://0"

# type, status, reason, message of a healthy node's conditions, in the kubelet's order.
HEALTHY_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_labels(node: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels a kubelet sets on its node that are not there yet."""
    wanted = {
        "kubernetes.io/hostname": node["metadata"]["name"],
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    have = node["metadata"].get("labels") or {}
    return {key: value for key, value in wanted.items() if key not in have}


def node_status(node: Mapping[str, Any], address: str, now: str) -> dict[str, Any]:
    """Return the status a kubelet reports when it starts: what the object says already is kept."""
    status = node.get("status") or {}
    capacity = status.get("capacity") or status.get("allocatable") or DEFAULT_CAPACITY
    known = {condition["type"] for condition in status.get("conditions") or ()}
    missing = [condition for condition in _healthy(now) if condition["type"] not in known]
    conditions = [*(status.get("conditions") or ()), *missing]
    return {
        "capacity": capacity,
        "allocatable": status.get("allocatable") or capacity,
        "conditions": conditions,
        "addresses": status.get("addresses") or _addresses(node["metadata"]["name"], address),
        "daemonEndpoints": status.get("daemonEndpoints") or {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {**_NODE_INFO, **{k: v for k, v in (status.get("nodeInfo") or {}).items() if v}},
        # Deprecated and not set by real kubelets, but what KWOK's Stages for nodes look for.
        "phase": "Running",
    }


def healthy_conditions(node: Mapping[str, Any], now: str) -> list[Mapping[str, Any]]:
    """Return the conditions of a node on which everything is well again."""
    have = (node.get("status") or {}).get("conditions") or ()
    since = {(each["type"], each["status"]): each.get("lastTransitionTime") or now for each in have}
    healthy = [{**each, "lastTransitionTime": since.get((each["type"], each["status"]), now)} for each in _healthy(now)]
    return merge_conditions(have, healthy)


def _healthy(now: str) -> list[dict[str, str]]:
    return [
        {
            "type": kind,
            "status": state,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, state, reason, message in HEALTHY_CONDITIONS
    ]


def _addresses(name: str, address: str) -> list[dict[str, str]]:
    return [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]


_NODE_INFO: Final = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": RUNTIME_VERSION,
    "kernelVersion": "simulated",
    "kubeProxyVersion": "",
    "kubeletVersion": KUBERNETES_VERSION,
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "schedlab",
    "systemUUID": "",
}


def running_status(pod: Mapping[str, Any], host_address: str, pod_address: str, now: str) -> dict[str, Any]:
    """Return the status of a pod whose containers all run and are ready."""
    spec, generation = pod["spec"], pod["metadata"].get("generation", 1)
    have = (pod.get("status") or {}).get("conditions") or ()
    own = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"]
    gates = [gate["conditionType"] for gate in spec.get("readinessGates") or ()]
    if not is_scheduled(have):
        own.append("PodScheduled")
    return {
        "observedGeneration": generation,
        "phase": "Running",
        "startTime": now,
        "hostIP": host_address,
        "hostIPs": [{"ip": host_address}],
        "podIP": pod_address,
        "podIPs": [{"ip": pod_address}],
        "conditions": merge_conditions(
            have,
            [
                {
                    "type": kind,
                    "status": "True",
                    "lastProbeTime": None,
                    "lastTransitionTime": now,
                    "observedGeneration": generation,
                }
                for kind in (*own, *gates)
            ],
        ),
        "initContainerStatuses": [_init_status(container, now) for container in spec.get("initContainers") or ()],
        "containerStatuses": [_running(container, now) for container in spec["containers"]],
        **ephemeral_statuses(pod, now),
    }


def ephemeral_statuses(pod: Mapping[str, Any], now: str, *, is_over: bool = False) -> dict[str, Any]:
    """Return the statuses of containers that were added for debugging; they run at once and end with their pod."""
    known = {each["name"]: each for each in (pod.get("status") or {}).get("ephemeralContainerStatuses") or ()}
    added = pod["spec"].get("ephemeralContainers") or ()
    statuses = [known.get(each["name"]) or {**_running(each, now), "ready": False} for each in added]
    if is_over:
        statuses = [_ended(each, {"exitCode": 137, "reason": "Error"}, now) for each in statuses]
    return {"ephemeralContainerStatuses": statuses} if statuses else {}


def is_scheduled(conditions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a pod is known to be scheduled; of one that was made with a node's name the kubelet says it."""
    return any(each["type"] == "PodScheduled" and each["status"] == "True" for each in conditions)


def merge_conditions(have: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the conditions with `new` ones put in the place of those of the same type, or at the end."""
    by_type = {condition["type"]: condition for condition in new}
    kept = [by_type.pop(condition["type"], condition) for condition in have]
    return [*kept, *by_type.values()]


def _running(container: Mapping[str, Any], now: str) -> dict[str, Any]:
    status = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
        "lastState": {},
    }
    if container.get("resources"):
        status["resources"] = {k: v for k, v in container["resources"].items() if k in {"requests", "limits"}}
        if "requests" in container["resources"]:
            status["allocatedResources"] = container["resources"]["requests"]
    return status


def _init_status(container: Mapping[str, Any], now: str) -> dict[str, Any]:
    status = _running(container, now)
    if container.get("restartPolicy") != "Always":
        finished = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
        status |= {"started": False, "state": {"terminated": finished}}
    return status


def ended_status(pod: Mapping[str, Any], phase: str, now: str) -> dict[str, Any]:
    """Return the status of a pod whose containers have all ended, by themselves (Succeeded) or stopped (Failed)."""
    known: Mapping[str, Any] = pod.get("status") or {}
    generation = pod["metadata"].get("generation", 1)
    reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
    changed = [
        {
            "type": kind,
            "status": "True" if kind == "Initialized" else "False",
            "reason": reason,
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "observedGeneration": generation,
        }
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    ]
    outcome = {"exitCode": 0, "reason": "Completed"} if phase == "Succeeded" else {"exitCode": 143, "reason": "Error"}
    return {
        "observedGeneration": generation,
        "phase": phase,
        "conditions": merge_conditions(known.get("conditions") or (), changed),
        **{
            name: [_ended(container, outcome, now) for container in known.get(name) or ()]
            for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        },
    }


def _ended(container: Mapping[str, Any], outcome: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return the status of a container that has ended; one that had before stays as it is."""
    running = (container.get("state") or {}).get("running")
    if running is None:
        return dict(container)
    terminated = {**outcome, "startedAt": running.get("startedAt"), "finishedAt": now}
    return {**container, "ready": False, "started": False, "state": {"terminated": terminated}}


def rejected_status(pod: Mapping[str, Any], rejection: Rejection, now: str) -> dict[str, Any]:
    """Return the status of a pod that its node refused."""
    return {
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": "Failed",
        "reason": rejection.reason,
        "message": f"Pod was rejected: {rejection.message}",
        "startTime": now,
    }


@dataclass(frozen=True, slots=True)
class ChangedImages:
    """Containers whose image is another one now, and the statuses after they were started anew."""

    names: tuple[str, ...]
    statuses: dict[str, Any]


def changed_images(pod: Mapping[str, Any], now: str) -> ChangedImages | None:
    """Return what follows from other images in a running pod's spec, None if they are as they were."""
    specs = {each["name"]: each for each in pod["spec"]["containers"]}
    names: list[str] = []
    statuses: list[dict[str, Any]] = []
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        spec, running = specs.get(each["name"]), (each.get("state") or {}).get("running")
        if spec is None or running is None or spec.get("image", "") == each.get("image"):
            statuses.append(dict(each))
            continue
        names.append(each["name"])
        ended = {"exitCode": 137, "reason": "Error", "startedAt": running.get("startedAt"), "finishedAt": now}
        again = {"restartCount": int(each.get("restartCount") or 0) + 1, "state": {"running": {"startedAt": now}}}
        statuses.append({**each, **again, "image": spec.get("image", ""), "lastState": {"terminated": ended}})
    return ChangedImages(tuple(names), {"containerStatuses": statuses}) if names else None
