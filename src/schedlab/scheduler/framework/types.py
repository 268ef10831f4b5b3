"""Pods and nodes as the scheduler sees them: parsed once, kept up to date in place.

Mirrors: pkg/scheduler/framework/types.go and staging/src/k8s.io/kube-scheduler/framework/types.go (v1.36).
Differs: nothing is copied per cycle; the cache's NodeInfos are the snapshot, since no event is applied during a cycle.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.api.rules.ports import HostPort, conflicts
from schedlab.api.rules.requests import NonZeroRequest
from schedlab.api.rules.volumes import claim_name
from schedlab.apimachinery.time import parse_time
from schedlab.scheduler.framework.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resource
from schedlab.scheduler.framework.pod_facts import AffinityTerm, KnownTerm, PodKind, asks_the_same, facts_of

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.core import Node, Pod

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "MAX_NODE_SCORE",
    "MEMORY",
    "PODS",
    "AffinityTerm",
    "HostPorts",
    "ImageState",
    "NodeInfo",
    "PodInfo",
    "Resource",
]

MAX_NODE_SCORE: Final = 100

_parse_time = lru_cache(maxsize=65536)(parse_time)


class PodInfo:
    """A pod with everything parsed that scheduling asks for more than once. Immutable: a changed pod is a new PodInfo.

    `pod` is the typed view; `stored` the object it came from (its `raw` holds every field), None for pods made up
    in tests and forks. `facts` are computed on first use and shared by pods that have them in common.
    """

    __slots__ = (
        "__weakref__",
        "facts",
        "key",
        "known_claim_keys",
        "known_kind",
        "labels",
        "name",
        "namespace",
        "pod",
        "priority",
        "stored",
        "uid",
    )

    def __init__(self, pod: Pod, stored: StoredObject | None = None) -> None:
        meta = pod.metadata
        self.pod = pod
        self.stored = stored
        self.namespace = meta.namespace
        self.name = meta.name
        self.uid = meta.uid
        self.key = f"{meta.namespace}/{meta.name}"
        self.labels = meta.labels
        self.priority = pod.spec.priority or 0
        self.facts = facts_of(pod, stored)
        self.known_kind: PodKind | None = None
        self.known_claim_keys: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"

    def on_node(self, node_name: str) -> PodInfo:
        """Return the pod as it will be once it is bound to the node; what was computed already is kept."""
        other = self._copy()
        other.pod = replace(self.pod, spec=replace(self.pod.spec, node_name=node_name))
        return other

    def with_labels(self, labels: dict[str, str]) -> PodInfo:
        """Return the pod with other labels; what was computed already is kept."""
        other = self._copy()
        other.pod = replace(self.pod, metadata=replace(self.pod.metadata, labels=labels))
        other.labels, other.known_kind = labels, None
        return other

    def _copy(self) -> PodInfo:
        other = PodInfo.__new__(PodInfo)
        other.pod, other.stored, other.facts = self.pod, self.stored, self.facts
        other.namespace, other.name, other.uid, other.key = self.namespace, self.name, self.uid, self.key
        other.labels, other.priority = self.labels, self.priority
        other.known_kind, other.known_claim_keys = self.known_kind, self.known_claim_keys
        return other

    def reuse(self, earlier: PodInfo) -> bool:
        """Take over what was computed of an earlier state of the pod, if that is the same in all that counts."""
        mine, theirs = self.pod, earlier.pod
        if mine.spec != theirs.spec or not asks_the_same(mine, theirs):
            return False
        self.facts = earlier.facts
        ends, ended = mine.metadata.deletion_timestamp, theirs.metadata.deletion_timestamp
        if self.labels == earlier.labels and (ends is None) == (ended is None):
            self.known_kind = earlier.known_kind
        return True

    @property
    def kind(self) -> PodKind:
        """What queries for pods can tell of it; there is one object for all pods of a kind."""
        if self.known_kind is None:
            self.known_kind = self.facts.kind(self.labels, terminating=self.terminating)
        return self.known_kind

    @property
    def known_terms(self) -> tuple[KnownTerm, ...]:
        """All terms of pod affinity and anti-affinity, to count them by."""
        return self.facts.known_terms

    @property
    def terminating(self) -> bool:
        """Whether the pod has been deleted and is not gone yet."""
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def started_ns(self) -> int | None:
        """When the pod started; None while its kubelet has not said so."""
        text = self.pod.status.start_time
        return None if text is None else _parse_time(text)

    @property
    def requests(self) -> dict[str, int]:
        """What the pod asks of a node, by resource name; cpu in milli."""
        return self.facts.requests

    @property
    def request(self) -> Resource:
        """The same as a Resource."""
        return self.facts.request

    @property
    def non_zero_request(self) -> NonZeroRequest:
        """(milli cpu, memory) with upstream's defaults for containers that ask for nothing; used by scoring."""
        return self.facts.non_zero_request

    @property
    def required_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity, parsed."""
        return self.facts.required_affinity_terms

    @property
    def required_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity, parsed."""
        return self.facts.required_anti_affinity_terms

    @property
    def preferred_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod affinity, parsed, with weights."""
        return self.facts.preferred_affinity_terms

    @property
    def preferred_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod anti-affinity, parsed, with weights."""
        return self.facts.preferred_anti_affinity_terms

    @property
    def has_affinity(self) -> bool:
        """Whether the pod has any pod affinity or anti-affinity (upstream's PodsWithAffinity)."""
        return self.facts.has_affinity

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """What the pod takes on its node."""
        return self.facts.host_ports

    @property
    def claim_keys(self) -> tuple[str, ...]:
        """namespace/name of the persistent volume claims the pod mounts, those made for ephemeral volumes included."""
        if self.known_claim_keys is None:
            names = (claim_name(self.pod, volume) for volume in self.pod.spec.volumes)
            self.known_claim_keys = tuple(f"{self.namespace}/{name}" for name in names if name is not None)
        return self.known_claim_keys

    @property
    def named_claim_keys(self) -> tuple[str, ...]:
        """namespace/name of the persistent volume claims the pod names itself."""
        return self.facts.named_claim_keys

    @property
    def volume_sources(self) -> tuple[str, ...]:
        """The sources of all volumes but config maps and secrets, as JSON, in an order of their own."""
        return self.facts.volume_sources


class HostPorts:
    """Host ports in use on a node: a set, so that of two pods with the same port the first to go frees it."""

    __slots__ = ("_used",)

    def __init__(self, ports: Iterable[HostPort] = ()) -> None:
        self._used = dict.fromkeys(ports)

    def changed(self, ports: Iterable[HostPort], sign: int) -> HostPorts:
        """Return what is in use once a pod takes (sign 1) or gives back (-1) its ports."""
        other = HostPorts(self._used)
        for port in ports:
            if sign > 0:
                other._used[port] = None
            else:
                other._used.pop(port, None)
        return other

    def conflicts(self, wanted: HostPort) -> bool:
        """Whether the port is taken."""
        return any(conflicts(wanted, used) for used in self._used)

    def used(self) -> Iterable[HostPort]:
        """Ports in use, in the order they were first taken."""
        return self._used.keys()


@dataclass(frozen=True, slots=True)
class ImageState:
    """An image as one node's snapshot knows it: size in bytes, and on how many nodes it was when last refreshed."""

    size: int
    num_nodes: int


class NodeInfo:
    """A node with the pods on it and their sums.

    `row` is its position in the node table, which is also upstream's node order. Pods are removed by moving the last
    one into the hole, as upstream does, since their order can be seen in preemption.
    `used_ports` and `claim_counts` are replaced when they change, since copies share them.
    """

    __slots__ = (
        "allocatable",
        "claim_counts",
        "declared_features",
        "generation",
        "image_states",
        "known_amounts",
        "name",
        "node",
        "non_zero_cpu",
        "non_zero_memory",
        "pods",
        "requested",
        "row",
        "used_ports",
    )

    def __init__(self, node: Node | None, name: str = "") -> None:
        self.row = -1
        self.generation = 0
        self.pods: list[PodInfo] = []
        self.requested = Resource()
        self.non_zero_cpu = 0
        self.non_zero_memory = 0
        self.used_ports = HostPorts()
        self.claim_counts: dict[str, int] = {}
        self.image_states: dict[str, ImageState] = {}
        self.name = name
        self.set_node(node)

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, pods={len(self.pods)})"

    def set_node(self, node: Node | None) -> None:
        """Take over a new state of the node; None while only its pods are known."""
        self.known_amounts: Hashable | None = None
        self.node: Node = node  # type: ignore[assignment]  # a node-less NodeInfo never reaches the table or a plugin
        if node is None:
            self.allocatable = Resource()
            self.declared_features: frozenset[str] = frozenset()
            return
        self.name = node.metadata.name
        self.allocatable = Resource.of_list(node.status.allocatable)
        self.declared_features = frozenset(node.status.declared_features)

    def add_pod(self, pod: PodInfo) -> None:
        """Count the pod in."""
        self.pods.append(pod)
        self._change(pod, 1)

    def remove_pod(self, pod: PodInfo) -> bool:
        """Count the pod with the same uid out; False when it is not here."""
        found = _swap_remove(self.pods, pod.uid)
        if found is None:
            return False
        self._change(found, -1)
        return True

    def replace_pod(self, pod: PodInfo) -> bool:
        """Put a new state of a pod in, which asks for the same; False when the pod is not here."""
        pods = self.pods
        if pods and pods[-1].uid == pod.uid:
            pods[-1] = pod
        elif _swap_remove(pods, pod.uid) is None:
            return False
        else:
            pods.append(pod)
        return True

    def _change(self, pod: PodInfo, sign: int) -> None:
        facts = pod.facts
        self.known_amounts = None
        self.requested.add(facts.request, sign)
        cpu, memory = facts.non_zero_request
        self.non_zero_cpu += sign * cpu
        self.non_zero_memory += sign * memory
        if facts.host_ports:
            self.used_ports = self.used_ports.changed(facts.host_ports, sign)
        if facts.named_claim_keys:
            self.claim_counts = _counted(self.claim_counts, facts.named_claim_keys, sign)

    def amounts(self) -> Hashable:
        """Return what the node has to give, and what its pods take of that, as something to be compared."""
        if self.known_amounts is None:
            there, taken = self.allocatable, self.requested
            scalar: tuple[Hashable, ...] = ()
            if there.scalar or taken.scalar:
                scalar = tuple(there.scalar.items()), tuple(taken.scalar.items())
            self.known_amounts = (
                there.milli_cpu,
                there.memory,
                there.ephemeral_storage,
                there.allowed_pod_number,
                taken.milli_cpu,
                taken.memory,
                taken.ephemeral_storage,
                self.non_zero_cpu,
                self.non_zero_memory,
                len(self.pods),
                *scalar,
            )
        return self.known_amounts

    def copy(self) -> NodeInfo:
        """Return an independent copy for a dry run; node and pods are shared, they do not change."""
        other = NodeInfo.__new__(NodeInfo)
        other.row, other.generation, other.name, other.node = self.row, self.generation, self.name, self.node
        other.known_amounts = self.known_amounts
        other.allocatable, other.declared_features = self.allocatable, self.declared_features
        other.image_states = self.image_states
        other.pods = self.pods.copy()
        other.requested = self.requested.copy()
        other.non_zero_cpu, other.non_zero_memory = self.non_zero_cpu, self.non_zero_memory
        other.used_ports, other.claim_counts = self.used_ports, self.claim_counts
        return other


def _counted(counts: Mapping[str, int], claims: Iterable[str], sign: int) -> dict[str, int]:
    """Return how often claims are used once a pod that uses some comes (sign 1) or goes (-1)."""
    left = {**counts}
    for claim in claims:
        left[claim] = left.get(claim, 0) + sign
        if left[claim] <= 0:
            del left[claim]
    return left


def _swap_remove(pods: list[PodInfo], uid: str) -> PodInfo | None:
    # From the end: most pods that are taken out came last (an assumption that is confirmed or forgotten).
    for index in range(len(pods) - 1, -1, -1):
        pod = pods[index]
        if pod.uid == uid:
            pods[index] = pods[-1]
            pods.pop()
            return pod
    return None
