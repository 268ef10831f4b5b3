"""What a kubelet reserves for pods: the cgroup v2 settings of a node, its classes of pods, pods and containers.

    /kubepods.slice                                                     all pods of the node
      kubepods-pod<uid>.slice                                           a Guaranteed pod
      kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice        a Burstable pod
      kubepods-besteffort.slice/kubepods-besteffort-pod<uid>.slice      a BestEffort pod
        cri-containerd-<id>.scope                                       a container of it

The weight of a CPU request is computed twice on a real node: the kubelet writes node, class and pod cgroups with its
own linear formula, the container runtime writes those of containers with the newer quadratic one of runc 1.4 and crun
1.24 (`linear_weight`, `runtime_weight`).

Mirrors: pkg/kubelet/cm/{helpers,cgroup_manager,qos_container_manager,node_container_manager}_linux.go, calculateLinuxResources and
generateLinuxContainerResources of pkg/kubelet/kuberuntime, pkg/kubelet/qos/policy.go, pkg/util/bandwidth (v1.36);
ConvertCPUSharesToCgroupV2Value of github.com/opencontainers/cgroups v0.0.6.
Differs: cgroups are named as by the systemd driver with containerd. With the gate MemoryQoS on, memory is protected
(memoryReservationPolicy TieredReservation, not None).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from typing import Any, Final

from schedlab.api.rules.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, qos_class
from schedlab.api.rules.requests import CPU, MEMORY, amounts_of, is_sidecar, pod_limits, pod_requests
from schedlab.api.views.core import Container, Node, Pod
from schedlab.apimachinery.quantity import QuantityError, parse, parse_value
from schedlab.kubelet.preemption import is_critical

SHARES_MIN: Final = 2
SHARES_MAX: Final = 262_144
SHARES_PER_CPU: Final = 1024
PERIOD_US: Final = 100_000
QUOTA_US_MIN: Final = 1000
PAGE_BYTES: Final = 4096
HUGE_PAGES: Final = "hugepages-"
ROOT: Final = "/kubepods.slice"
INGRESS: Final = "kubernetes.io/ingress-bandwidth"
EGRESS: Final = "kubernetes.io/egress-bandwidth"

_BITS_MIN: Final = 1000
_BITS_MAX: Final = 10**15
_OOM_GUARANTEED: Final = -997
_OOM_BEST_EFFORT: Final = 1000
_NODE_CRITICAL: Final = "system-node-critical"
# runc multiplies the part of a limit that may be used without throttling by this; upstream's default.
_THROTTLING_PERCENT: Final = 90
_CONTEXT: Final = Context(prec=40)


@dataclass(slots=True)
class Cgroup:
    """One cgroup: its path below /sys/fs/cgroup and what is written into its files."""

    path: str
    settings: dict[str, str] = field(default_factory=dict)
    container: str = ""
    oom_score_adj: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it with the names of the wire."""
        told: dict[str, Any] = {"path": self.path, "settings": self.settings}
        if self.container:
            told = {"container": self.container, **told, "oomScoreAdj": self.oom_score_adj}
        return told


# --- weights and quotas ------------------------------------------------------------------------------------------------


def shares_of(cpu_milli: int) -> int:
    """Return the CPU shares of a request: 1024 for one CPU, 2 at least and for none."""
    return min(max(cpu_milli * SHARES_PER_CPU // 1000, SHARES_MIN), SHARES_MAX)


def linear_weight(shares: int) -> int:
    """Return the cpu.weight that the kubelet makes of shares."""
    return 10_000 if shares >= SHARES_MAX else 1 + (shares - 2) * 9999 // 262_142


@cache
def runtime_weight(shares: int) -> int:
    """Return the cpu.weight that the container runtime makes of shares: 1 for 2, 100 for 1024, 10000 for 262144."""
    if shares <= SHARES_MIN:
        return 1
    if shares >= SHARES_MAX:
        return 10_000
    if shares & (shares - 1) == 0:
        logarithm = Decimal(shares.bit_length() - 1)
    else:
        logarithm = _CONTEXT.divide(Decimal(shares).ln(_CONTEXT), Decimal(2).ln(_CONTEXT))
    # (l² + 125 l) / 612 - 7 / 34, where 7 / 34 is 126 / 612
    exponent = _CONTEXT.divide(logarithm * logarithm + 125 * logarithm - 126, Decimal(612))
    weight = _CONTEXT.power(Decimal(10), exponent)
    # Powers of ten are exact; what the last digits of others may be off by is less than this.
    return int((weight - Decimal("1e-25")).to_integral_value(ROUND_CEILING))


def cpu_max(limit_milli: int) -> str:
    """Return the cpu.max of a limit: quota and period in microseconds."""
    if limit_milli == 0:
        return f"max {PERIOD_US}"
    return f"{max(limit_milli * PERIOD_US // 1000, QUOTA_US_MIN)} {PERIOD_US}"


def _memory_max(limit: int) -> str:
    return str(limit) if limit else "max"


# --- pods --------------------------------------------------------------------------------------------------------------


def pod_path(pod: Pod) -> str:
    """Return the path of a pod's cgroup."""
    name = f"pod{pod.metadata.uid.replace('-', '_')}.slice"
    kind = qos_class(pod)
    if kind == GUARANTEED:
        return f"{ROOT}/kubepods-{name}"
    return f"{class_path(kind)}/kubepods-{kind.lower()}-{name}"


def class_path(kind: str) -> str:
    """Return the path of the cgroup of a class of pods; Guaranteed pods are directly below the root."""
    return ROOT if kind == GUARANTEED else f"{ROOT}/kubepods-{kind.lower()}.slice"


def pod_cgroup(pod: Pod, *, memory_qos: bool) -> Cgroup:
    """Return the cgroup that the kubelet makes for a pod."""
    requests, limits, kind = pod_requests(pod), pod_limits(pod), qos_class(pod)
    if kind == BEST_EFFORT:
        return Cgroup(pod_path(pod), {"cpu.weight": str(linear_weight(SHARES_MIN))})
    settings = {"cpu.weight": str(linear_weight(shares_of(requests.get(CPU, 0))))}
    if kind == GUARANTEED or _all_limit(pod, CPU):
        settings["cpu.max"] = cpu_max(limits.get(CPU, 0))
    if kind == GUARANTEED or _all_limit(pod, MEMORY):
        settings["memory.max"] = _memory_max(limits.get(MEMORY, 0))
    settings |= _huge_pages(requests)
    if memory_qos and requests.get(MEMORY):
        settings["memory.min" if kind == GUARANTEED else "memory.low"] = str(requests[MEMORY])
    return Cgroup(pod_path(pod), settings)


def _all_limit(pod: Pod, resource: str) -> bool:
    """Whether every container has a limit of a resource, or the pod itself."""
    own = pod.spec.resources
    if own is not None and amounts_of(own.limits).get(resource):
        return True
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return all(amounts_of(container.resources.limits).get(resource) for container in containers)


def _huge_pages(requests: Mapping[str, int]) -> dict[str, str]:
    settings = {}
    for name, amount in sorted(requests.items()):
        if name.startswith(HUGE_PAGES):
            size = name.removeprefix(HUGE_PAGES).removesuffix("i")
            settings[f"hugetlb.{size}B.max"] = str(amount)
    return settings


def container_cgroup(pod: Pod, container: Container, node: Node, *, memory_qos: bool) -> Cgroup:
    """Return the cgroup that the container runtime makes for a container."""
    requests, limits = amounts_of(container.resources.requests), amounts_of(container.resources.limits)
    own = {} if pod.spec.resources is None else amounts_of(pod.spec.resources.limits)
    # A container without a limit of its own may use all that the pod may.
    cpu, memory = (limits.get(resource) or own.get(resource, 0) for resource in (CPU, MEMORY))
    settings = {
        "cpu.weight": str(runtime_weight(shares_of(requests.get(CPU, cpu)))),
        "cpu.max": cpu_max(cpu),
        "memory.max": _memory_max(memory),
        # All processes of a container go when one has used too much (singleProcessOOMKill is false on cgroup v2).
        "memory.oom.group": "1",
        **_huge_pages(limits),
    }
    if memory_qos:
        settings |= _protected(pod, requests.get(MEMORY, 0), limits.get(MEMORY, 0), node)
    path = f"{pod_path(pod)}/cri-containerd-{container.name}.scope"
    capacity = _memory_of(node.status.capacity)
    return Cgroup(path, settings, container.name, oom_score_adj(pod, container, capacity))


def _protected(pod: Pod, request: int, limit: int, node: Node) -> dict[str, str]:
    """Return what MemoryQoS adds: protection of the request, and throttling below the limit."""
    settings = {}
    if request:
        settings["memory.min" if qos_class(pod) == GUARANTEED else "memory.low"] = str(request)
    top = limit or _memory_of(node.status.allocatable)
    if request != limit and top:
        high = (request + (top - request) * _THROTTLING_PERCENT // 100) // PAGE_BYTES * PAGE_BYTES
        if high > request:
            settings["memory.high"] = str(high)
    return settings


def oom_score_adj(pod: Pod, container: Container, capacity_bytes: int) -> int:
    """Return who is killed first when the node runs out of memory: higher ones are."""
    kind = qos_class(pod)
    if kind == GUARANTEED or (is_critical(pod) and pod.spec.priority_class_name == _NODE_CRITICAL):
        return _OOM_GUARANTEED
    if kind == BEST_EFFORT or not capacity_bytes:
        return _OOM_BEST_EFFORT
    rest = _unassigned_memory(pod)
    score = _score(_memory_of(container.resources.requests) + rest, capacity_bytes)
    if is_sidecar(container):
        least = min((_memory_of(each.resources.requests) for each in pod.spec.containers), default=0)
        score = min(score, _score(least + rest, capacity_bytes))
    return min(max(score, 1000 + _OOM_GUARANTEED), _OOM_BEST_EFFORT - 1)


def _score(bytes_: int, capacity_bytes: int) -> int:
    return 1000 - 1000 * bytes_ // capacity_bytes


def _unassigned_memory(pod: Pod) -> int:
    """Return each container's part of what the pod itself asks for beyond its containers."""
    own = 0 if pod.spec.resources is None else _memory_of(pod.spec.resources.requests)
    containers = [*pod.spec.containers, *(each for each in pod.spec.init_containers if is_sidecar(each))]
    asked = sum(_memory_of(each.resources.requests) for each in containers)
    return max(own - asked, 0) // len(containers) if own and containers else 0


def _memory_of(quantities: Mapping[str, str]) -> int:
    return parse_value(quantities[MEMORY]) if MEMORY in quantities else 0


# --- nodes -------------------------------------------------------------------------------------------------------------


def node_cgroups(node: Node, pods: Iterable[Pod], *, memory_qos: bool) -> list[Cgroup]:
    """Return the cgroups of a node and of its classes of pods; `pods` are those that it has admitted."""
    requests: dict[str, dict[str, int]] = {GUARANTEED: {}, BURSTABLE: {}, BEST_EFFORT: {}}
    for pod in pods:
        sums = requests[qos_class(pod)]
        for name, amount in pod_requests(pod).items():
            sums[name] = sums.get(name, 0) + amount
    allocatable = amounts_of({key: text for key, text in node.status.allocatable.items() if key in (CPU, MEMORY)})
    root = Cgroup(ROOT, {"cpu.weight": str(linear_weight(shares_of(allocatable.get(CPU, 0))))})
    root.settings["memory.max"] = _memory_max(allocatable.get(MEMORY, 0))
    burstable = Cgroup(class_path(BURSTABLE))
    burstable.settings["cpu.weight"] = str(linear_weight(shares_of(requests[BURSTABLE].get(CPU, 0))))
    if memory_qos:
        root.settings["memory.min"] = str(requests[GUARANTEED].get(MEMORY, 0) + requests[BURSTABLE].get(MEMORY, 0))
        burstable.settings["memory.low"] = str(requests[BURSTABLE].get(MEMORY, 0))
    best_effort = Cgroup(class_path(BEST_EFFORT), {"cpu.weight": str(linear_weight(SHARES_MIN))})
    return [root, burstable, best_effort]


def bandwidth(annotations: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return how the network plugin shapes a pod's traffic: bits per second by direction, or what is wrong."""
    found: dict[str, dict[str, Any]] = {}
    for key, direction in ((INGRESS, "ingress"), (EGRESS, "egress")):
        text = annotations.get(key)
        if text is None:
            continue
        try:
            bits = parse(text).value()
        except QuantityError as error:
            found[direction] = {"error": str(error)}
            continue
        if bits < _BITS_MIN:
            found[direction] = {"error": "resource is unreasonably small (< 1kbit)"}
        elif bits > _BITS_MAX:
            found[direction] = {"error": "resource is unreasonably large (> 1Pbit)"}
        else:
            found[direction] = {"bitsPerSecond": bits}
    return found


def reservation(pod: Pod, node: Node, *, memory_qos: bool = False) -> dict[str, Any]:
    """Return all that a node reserves for a pod, with the names of the wire."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return {
        "node": node.metadata.name,
        "qosClass": qos_class(pod),
        "pod": pod_cgroup(pod, memory_qos=memory_qos).as_json(),
        "containers": [container_cgroup(pod, each, node, memory_qos=memory_qos).as_json() for each in containers],
        "bandwidth": bandwidth(pod.metadata.annotations),
    }
