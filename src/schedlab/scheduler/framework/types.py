"""Pods and nodes as the scheduler sees them: parsed once, kept up to date in place.

Mirrors: pkg/scheduler/framework/types.go and staging/src/k8s.io/kube-scheduler/framework/types.go (v1.36).
Differs: nothing is copied per cycle; the cache's NodeInfos are the snapshot, since no event is applied during a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson
from msgspec.structs import replace

from schedlab.api.rules.ports import HostPort, conflicts, host_ports
from schedlab.api.rules.requests import NonZeroRequest, non_zero_request, pod_requests
from schedlab.api.rules.resource_names import is_scalar_resource
from schedlab.api.rules.volumes import claim_name
from schedlab.apimachinery.quantity import parse_milli, parse_value
from schedlab.apimachinery.selectors import Selector, selector_from_view

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.core import Node, Pod, PodAffinityTerm, WeightedPodAffinityTerm

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

MAX_NODE_SCORE: Final = 100


@dataclass(slots=True)
class Resource:
    """Amounts: cpu in milli, all else in units (bytes, counts); `scalar` holds extended and other resources."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    allowed_pod_number: int = 0
    scalar: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Resource:
        """Return amounts by name (cpu in milli) as a Resource; names the scheduler does not count are left out."""
        rest = {name: amount for name, amount in amounts.items() if is_scalar_resource(name)}
        return cls(
            amounts.get(CPU, 0),
            amounts.get(MEMORY, 0),
            amounts.get(EPHEMERAL_STORAGE, 0),
            amounts.get(PODS, 0),
            rest,
        )

    @classmethod
    def of_list(cls, quantities: Mapping[str, str]) -> Resource:
        """Return a wire resource list as a Resource."""
        return cls.of({k: parse_milli(v) if k == CPU else parse_value(v) for k, v in quantities.items()})

    def add(self, other: Resource, sign: int = 1) -> None:
        """Add (or with sign -1 take away) the amounts of a pod; the pod number is left alone."""
        self.milli_cpu += sign * other.milli_cpu
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalar.items():
            self.scalar[name] = self.scalar.get(name, 0) + sign * amount

    def copy(self) -> Resource:
        """Return an independent copy."""
        return Resource(self.milli_cpu, self.memory, self.ephemeral_storage, self.allowed_pod_number, dict(self.scalar))


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod affinity term, parsed; `namespaces` are explicit ones, the selector picks more by their labels."""

    namespaces: tuple[str, ...]
    selector: Selector
    topology_key: str
    namespace_selector: Selector
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str] | None) -> bool:
        """Whether `pod` is one the term speaks of; labels of the pod's namespace, None when it is unknown."""
        if pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels or {}):
            return self.selector.matches(pod.labels)
        return False


def _term(namespace: str, term: PodAffinityTerm, weight: int = 0) -> AffinityTerm:
    names = tuple(term.namespaces)
    if not names and term.namespace_selector is None:
        names = (namespace,)
    return AffinityTerm(
        names,
        selector_from_view(term.label_selector),
        term.topology_key,
        selector_from_view(term.namespace_selector),
        weight,
    )


def _terms(namespace: str, terms: Iterable[PodAffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(_term(namespace, term) for term in terms)


def _weighted(namespace: str, terms: Iterable[WeightedPodAffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(_term(namespace, term.pod_affinity_term, term.weight) for term in terms)


class PodInfo:
    """A pod with everything parsed that scheduling asks for more than once. Immutable: a changed pod is a new PodInfo.

    `pod` is the typed view; `stored` the object it came from (its `raw` holds every field), None for pods made up
    in tests and forks. Expensive parts are computed on first use.
    """

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

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"

    def on_node(self, node_name: str) -> PodInfo:
        """Return the pod as it will be once it is bound to the node; what was computed already is kept."""
        other = PodInfo.__new__(PodInfo)
        other.__dict__.update(self.__dict__)
        other.pod = replace(self.pod, spec=replace(self.pod.spec, node_name=node_name))
        return other

    def reuse(self, earlier: PodInfo) -> None:
        """Take over what was computed of an earlier state of the pod, if that is the same in all that counts."""
        mine, theirs = self.pod, earlier.pod
        if mine.spec == theirs.spec and mine.metadata.labels == theirs.metadata.labels:
            before, now = theirs.status, mine.status
            if (
                now.container_statuses == before.container_statuses
                and now.init_container_statuses == before.init_container_statuses
                and now.allocated_resources == before.allocated_resources
                and now.resources == before.resources
            ):
                self.__dict__ = {**earlier.__dict__, **self.__dict__}

    @cached_property
    def requests(self) -> dict[str, int]:
        """What the pod asks of a node, by resource name; cpu in milli."""
        return pod_requests(self.pod)

    @cached_property
    def request(self) -> Resource:
        """The same as a Resource."""
        return Resource.of(self.requests)

    @cached_property
    def non_zero_request(self) -> NonZeroRequest:
        """(milli cpu, memory) with upstream's defaults for containers that ask for nothing; used by scoring."""
        return non_zero_request(self.pod)

    @cached_property
    def required_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity, parsed."""
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_affinity
        return _terms(self.namespace, affinity.required_during_scheduling_ignored_during_execution) if affinity else ()

    @cached_property
    def required_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity, parsed."""
        anti = self.pod.spec.affinity and self.pod.spec.affinity.pod_anti_affinity
        return _terms(self.namespace, anti.required_during_scheduling_ignored_during_execution) if anti else ()

    @cached_property
    def preferred_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod affinity, parsed, with weights."""
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_affinity
        return (
            _weighted(self.namespace, affinity.preferred_during_scheduling_ignored_during_execution) if affinity else ()
        )

    @cached_property
    def preferred_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod anti-affinity, parsed, with weights."""
        anti = self.pod.spec.affinity and self.pod.spec.affinity.pod_anti_affinity
        return _weighted(self.namespace, anti.preferred_during_scheduling_ignored_during_execution) if anti else ()

    @cached_property
    def has_affinity(self) -> bool:
        """Whether the pod has any pod affinity or anti-affinity (upstream's PodsWithAffinity)."""
        affinity = self.pod.spec.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """What the pod takes on its node."""
        return host_ports(self.pod)

    @cached_property
    def claim_keys(self) -> tuple[str, ...]:
        """namespace/name of the persistent volume claims the pod mounts, those made for ephemeral volumes included."""
        names = (claim_name(self.pod, volume) for volume in self.pod.spec.volumes)
        return tuple(f"{self.namespace}/{name}" for name in names if name is not None)

    @cached_property
    def named_claim_keys(self) -> tuple[str, ...]:
        """namespace/name of the persistent volume claims the pod names itself."""
        sources = (volume.persistent_volume_claim for volume in self.pod.spec.volumes)
        return tuple(f"{self.namespace}/{source.claim_name}" for source in sources if source is not None)

    @cached_property
    def volume_sources(self) -> tuple[str, ...]:
        """The sources of all volumes but config maps and secrets, as JSON, in an order of their own."""
        if not self.pod.spec.volumes:
            return ()
        # The typed view leaves out sources that do not constrain scheduling; pods without a stored object have no others.
        sources: Iterable[dict[str, Any]] = (
            (msgspec.to_builtins(volume) for volume in self.pod.spec.volumes)
            if self.stored is None
            else msgspec.json.decode(self.stored.json(), type=_WithVolumes).spec.volumes
        )
        texts = []
        for source in sources:
            source.pop("name", None)
            if "configMap" not in source and "secret" not in source:
                texts.append(orjson.dumps(source, option=orjson.OPT_SORT_KEYS).decode())
        return tuple(sorted(texts))


class _Volumes(msgspec.Struct):
    """spec of a pod, of which only the volumes are decoded, with every field."""

    volumes: list[dict[str, Any]] = []


class _WithVolumes(msgspec.Struct):
    """A pod, of which only the volumes are decoded."""

    spec: _Volumes


class HostPorts:
    """Host ports in use on a node: a set, so that of two pods with the same port the first to go frees it."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[HostPort, None] = {}

    def change(self, pod: PodInfo, sign: int) -> None:
        """Take (sign 1) or give back (-1) the pod's ports."""
        for port in pod.host_ports:
            if sign > 0:
                self._used[port] = None
            else:
                self._used.pop(port, None)

    def conflicts(self, wanted: HostPort) -> bool:
        """Whether the port is taken."""
        return any(conflicts(wanted, used) for used in self._used)

    def used(self) -> Iterable[HostPort]:
        """Ports in use, in the order they were first taken."""
        return self._used.keys()

    def copy(self) -> HostPorts:
        """Return an independent copy."""
        other = HostPorts()
        other._used = dict(self._used)
        return other


@dataclass(frozen=True, slots=True)
class ImageState:
    """An image as one node's snapshot knows it: size in bytes, and on how many nodes it was when last refreshed."""

    size: int
    num_nodes: int


class NodeInfo:
    """A node with the pods on it and their sums.

    `row` is its position in the node table, which is also upstream's node order. Pods are removed by moving the last
    one into the hole, as upstream does, since their order can be seen in preemption.
    """

    __slots__ = (
        "allocatable",
        "claim_counts",
        "declared_features",
        "generation",
        "image_states",
        "name",
        "node",
        "non_zero_cpu",
        "non_zero_memory",
        "pods",
        "pods_with_affinity",
        "pods_with_required_anti_affinity",
        "requested",
        "row",
        "used_ports",
    )

    def __init__(self, node: Node | None, name: str = "") -> None:
        self.row = -1
        self.generation = 0
        self.pods: list[PodInfo] = []
        self.pods_with_affinity: list[PodInfo] = []
        self.pods_with_required_anti_affinity: list[PodInfo] = []
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
        if pod.has_affinity:
            self.pods_with_affinity.append(pod)
        if pod.required_anti_affinity_terms:
            self.pods_with_required_anti_affinity.append(pod)
        self._change(pod, 1)

    def remove_pod(self, pod: PodInfo) -> bool:
        """Count the pod with the same uid out; False when it is not here."""
        found = _swap_remove(self.pods, pod.uid)
        if found is None:
            return False
        _swap_remove(self.pods_with_affinity, pod.uid)
        _swap_remove(self.pods_with_required_anti_affinity, pod.uid)
        self._change(found, -1)
        return True

    def _change(self, pod: PodInfo, sign: int) -> None:
        self.requested.add(pod.request, sign)
        cpu, memory = pod.non_zero_request
        self.non_zero_cpu += sign * cpu
        self.non_zero_memory += sign * memory
        if pod.host_ports:
            self.used_ports.change(pod, sign)
        for claim in pod.named_claim_keys:
            left = self.claim_counts.get(claim, 0) + sign
            if left > 0:
                self.claim_counts[claim] = left
            else:
                self.claim_counts.pop(claim, None)

    def copy(self) -> NodeInfo:
        """Return an independent copy for a dry run; node and pods are shared, they do not change."""
        other = NodeInfo.__new__(NodeInfo)
        other.row, other.generation, other.name, other.node = self.row, self.generation, self.name, self.node
        other.allocatable, other.declared_features = self.allocatable, self.declared_features
        other.image_states = self.image_states
        other.pods = list(self.pods)
        other.pods_with_affinity = list(self.pods_with_affinity)
        other.pods_with_required_anti_affinity = list(self.pods_with_required_anti_affinity)
        other.requested = self.requested.copy()
        other.non_zero_cpu, other.non_zero_memory = self.non_zero_cpu, self.non_zero_memory
        other.used_ports = self.used_ports.copy()
        other.claim_counts = dict(self.claim_counts)
        return other


def _swap_remove(pods: list[PodInfo], uid: str) -> PodInfo | None:
    # From the end: most pods that are taken out came last (an assumption that is confirmed or forgotten).
    for index in range(len(pods) - 1, -1, -1):
        pod = pods[index]
        if pod.uid == uid:
            pods[index] = pods[-1]
            pods.pop()
            return pod
    return None
