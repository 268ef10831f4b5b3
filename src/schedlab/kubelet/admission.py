"""A node's own check of a pod that was bound to it, and its account of what it has admitted.

A kubelet does not trust schedulers: a pod that does not fit, or that its node affinity keeps away, ends as Failed with
the kubelet's reason.

Mirrors: pkg/kubelet/lifecycle/predicate.go (v1.36), general predicates.
Differs: node ports are checked on exact address, protocol and port conflicts only, as the scheduler does; device and
volume admission is left to their own parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.api.rules.ports import conflicts, host_ports
from schedlab.api.rules.requests import pod_requests
from schedlab.api.rules.taints import find_untolerated
from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery.quantity import parse_milli, parse_value

NODE_AFFINITY_REASON: Final = "NodeAffinity"
NODE_AFFINITY_MESSAGE: Final = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
NODE_PORTS_MESSAGE: Final = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
OS_LABEL: Final = "kubernetes.io/os"
OS_LABEL_MESSAGE: Final = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
OS_MESSAGE: Final = "Failed to admit pod as the OS field doesn't match node OS"
#: Pods that a node has from somewhere else than the API; no taint keeps them away.
STATIC: Final = ("kubernetes.io/config.mirror", "kubernetes.io/config.source")
TAINT_MESSAGE: Final = "Predicate TaintToleration failed: node(s) had untolerated taint(s)"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a kubelet refuses a pod: the pod's status.reason and the text after `Pod was rejected: `.

    resource, missing: of what there is too little, and how much of it, if that is why.
    """

    reason: str
    message: str
    resource: str = field(default="", compare=False)
    missing: int = field(default=0, compare=False)


@dataclass(slots=True)
class NodeAccount:
    """What one node has admitted: amounts by resource (cpu in milli), host ports, all by pod uid."""

    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    ports: dict[str, tuple[tuple[str, str, int], ...]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def take(self, pod: Pod) -> None:
        """Count an admitted pod in; a second time changes nothing."""
        uid = pod.metadata.uid
        if uid in self.requests:
            return
        self.requests[uid] = pod_requests(pod)
        self.ports[uid] = host_ports(pod)
        for name, amount in self.requests[uid].items():
            self.used[name] = self.used.get(name, 0) + amount

    def release(self, uid: str) -> None:
        """Count a pod out that ended or is gone; harmless when it was never admitted."""
        for name, amount in self.requests.pop(uid, {}).items():
            self.used[name] -= amount
        self.ports.pop(uid, None)


def admit(pod: Pod, node: Node, account: NodeAccount) -> Rejection | None:
    """Return None when the node takes the pod, else the first reason, in the kubelet's order."""
    return next(rejections(pod, node, account), None)


def rejections(pod: Pod, node: Node, account: NodeAccount) -> Iterator[Rejection]:
    """Yield all reasons against a pod, in the kubelet's order."""
    if (wrong := _system(pod, node)) is not None:
        yield wrong
        return
    yield from _resources(pod, node, account)
    for found in (_node_affinity(pod, node), _ports(pod, account), _taints(pod, node)):
        if found is not None:
            yield found


def is_static(pod: Pod) -> bool:
    """Whether a node has a pod from somewhere else than the API."""
    return any(pod.metadata.annotations.get(key, "api") != "api" for key in STATIC)


def _system(pod: Pod, node: Node) -> Rejection | None:
    """Refuse pods of another operating system."""
    wanted = pod.metadata.labels.get(OS_LABEL)
    if wanted is not None and wanted != node.metadata.labels.get(OS_LABEL, "linux"):
        return Rejection("PodOSSelectorNodeLabelDoesNotMatch", OS_LABEL_MESSAGE)
    if pod.spec.os is not None and pod.spec.os.name != "linux":
        return Rejection("PodOSNotSupported", OS_MESSAGE)
    return None


def _resources(pod: Pod, node: Node, account: NodeAccount) -> Iterator[Rejection]:
    allocatable = {
        name: parse_milli(text) if name == "cpu" else parse_value(text)
        for name, text in node.status.allocatable.items()
    }
    count, allowed = len(account.requests), allocatable.get("pods", 0)
    if count + 1 > allowed:
        yield _out_of("pods", 1, count, allowed)
    for name, amount in pod_requests(pod).items():
        extended = "/" in name and name not in allocatable
        if amount == 0 or extended or name == "pods":
            continue
        used, capacity = account.used.get(name, 0), allocatable.get(name, 0)
        if amount > capacity - used:
            yield _out_of(name, amount, used, capacity)


def _out_of(name: str, requested: int, used: int, capacity: int) -> Rejection:
    return Rejection(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}",
        name,
        requested - (capacity - used),
    )


def _node_affinity(pod: Pod, node: Node) -> Rejection | None:
    if required_node_affinity(pod).matches(node):
        return None
    return Rejection(NODE_AFFINITY_REASON, NODE_AFFINITY_MESSAGE)


def _ports(pod: Pod, account: NodeAccount) -> Rejection | None:
    taken = [port for ports in account.ports.values() for port in ports]
    if any(conflicts(wanted, used) for wanted in host_ports(pod) for used in taken):
        return Rejection("NodePorts", NODE_PORTS_MESSAGE)
    return None


def _taints(pod: Pod, node: Node) -> Rejection | None:
    if is_static(pod):
        return None
    taint = find_untolerated(node.spec.taints, pod.spec.tolerations, ("NoExecute",))
    return Rejection("TaintToleration", TAINT_MESSAGE) if taint is not None else None
