"""Fluent builders of pods, nodes and tables for tests.

    pod = make_pod().name("web").req(cpu="1").toleration("gpu", operator="Exists").obj()
    node = make_node().name("n1").capacity(cpu="4", pods="10").taint("gpu").obj()
    table = make_table(make_node().name("n1"), make_node().name("n2"), pods=[make_pod().name("p").node("n1")])

A builder never changes: every method returns a new one, so that a common base can be kept. `dict()` gives the object as
on the wire, `view()` its typed view, `obj()` what plugins get (a PodInfo, a NodeInfo). Names become uids.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

import msgspec

from schedlab.api.rules.taints import NO_SCHEDULE
from schedlab.api.rules.topology import HOSTNAME, REGION, ZONE
from schedlab.api.views.core import Node, Pod
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
#: Every container has an image; the API refuses others.
_IMAGE: Final = "pause"


class _Builder:
    """What builders of all kinds share: a wire object that is copied on every change."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    def dict(self) -> dict[str, Any]:
        """Return the object as on the wire; the caller may change it."""
        return copy.deepcopy(self._raw)

    def name(self, name: str) -> Self:
        return self.set("metadata.name", name)

    def uid(self, uid: str) -> Self:
        return self.set("metadata.uid", uid)

    def label(self, key: str, value: str = "") -> Self:
        return self.labels({key: value})

    def labels(self, labels: Mapping[str, str]) -> Self:
        return self._update("metadata.labels", labels)

    def annotations(self, annotations: Mapping[str, str]) -> Self:
        return self._update("metadata.annotations", annotations)

    def created(self, timestamp: str) -> Self:
        return self.set("metadata.creationTimestamp", timestamp)

    def set(self, path: str, value: object) -> Self:
        """Set any field by its path of wire names, such as `spec.priorityClassName`."""
        *parents, last = path.split(".")
        # Nothing in a builder is ever changed, so that what is not on the path can be shared.
        raw = self._raw.copy()
        place = raw
        for parent in parents:
            child = {**place.get(parent, {})}
            place[parent] = child
            place = child
        place[last] = value
        return type(self)(raw)

    def get(self, path: str, default: Any = None) -> Any:
        """Return a field by its path of wire names."""
        place: Any = self._raw
        for step in path.split("."):
            if step not in place:
                return default
            place = place[step]
        return place

    def _append(self, path: str, *values: object) -> Self:
        return self.set(path, [*self.get(path, ()), *values])

    def _update(self, path: str, values: Mapping[str, Any]) -> Self:
        return self.set(path, {**self.get(path, {}), **values})


class PodBuilder(_Builder):
    """A pod; without a container of its own it gets an empty one."""

    def dict(self) -> dict[str, Any]:
        raw = super().dict()
        metadata = raw["metadata"]
        metadata.setdefault("uid", f"uid-{metadata['namespace']}/{metadata['name']}")
        raw["spec"].setdefault("containers", [{"name": "c0"}])
        for container in (*raw["spec"]["containers"], *raw["spec"].get("initContainers", ())):
            container["image"] = container.get("image") or _IMAGE
        return raw

    def view(self) -> Pod:
        """Return the typed view."""
        return msgspec.convert(self.dict(), Pod)

    def obj(self) -> PodInfo:
        """Return the pod as plugins see it."""
        return PodInfo(self.view())

    def namespace(self, namespace: str) -> Self:
        return self.set("metadata.namespace", namespace)

    def owner(self, kind: str, name: str, *, api_version: str = "apps/v1") -> Self:
        reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
        return self._append("metadata.ownerReferences", reference)

    def terminating(self, timestamp: str = "2026-01-01T00:00:00Z") -> Self:
        return self.set("metadata.deletionTimestamp", timestamp)

    # --- Containers ---

    def container(self, image: str = "", **fields: Any) -> Self:
        """Add a container; `requests`, `limits` and `hostPorts` are short for what they stand for."""
        return self._append("spec.containers", _container(f"c{len(self.get('spec.containers', ()))}", image, fields))

    def init_container(self, image: str = "", *, sidecar: bool = False, **fields: Any) -> Self:
        container = _container(f"i{len(self.get('spec.initContainers', ()))}", image, fields)
        return self._append("spec.initContainers", container | ({"restartPolicy": "Always"} if sidecar else {}))

    def req(self, requests: Mapping[str, str] | None = None, **amounts: str) -> Self:
        """Add a container that asks for this much; what cannot be overcommitted (devices, huge pages) is its limit, too."""
        asked = {**(requests or {}), **amounts}
        limits = {name: amount for name, amount in asked.items() if "/" in name or name.startswith("hugepages-")}
        return self.container(requests=asked, limits=limits)

    def host_port(self, port: int, protocol: str = "TCP", ip: str = "") -> Self:
        """Add a container that takes a port of its node."""
        return self.container(ports=[_port(port, protocol, ip)])

    def overhead(self, **amounts: str) -> Self:
        return self.set("spec.overhead", amounts)

    def resources(self, requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None) -> Self:
        """Set what the pod as a whole asks for."""
        return self.set("spec.resources", {"requests": dict(requests or {}), "limits": dict(limits or {})})

    # --- Where it may run ---

    def node(self, name: str) -> Self:
        return self.set("spec.nodeName", name)

    def scheduler_name(self, name: str) -> Self:
        return self.set("spec.schedulerName", name)

    def priority(self, priority: int) -> Self:
        return self.set("spec.priority", priority)

    def preemption_policy(self, policy: str) -> Self:
        return self.set("spec.preemptionPolicy", policy)

    def scheduling_gates(self, *names: str) -> Self:
        return self._append("spec.schedulingGates", *({"name": name} for name in names))

    def toleration(self, key: str = "", value: str = "", effect: str = "", *, operator: str = "") -> Self:
        return self._append("spec.tolerations", {"key": key, "value": value, "effect": effect, "operator": operator})

    def node_selector(self, labels: Mapping[str, str]) -> Self:
        return self._update("spec.nodeSelector", labels)

    def node_affinity(self, *terms: Mapping[str, Any]) -> Self:
        """Require one of the terms (see `term`)."""
        path = f"spec.affinity.nodeAffinity.{_REQUIRED}"
        return self.set(path, {"nodeSelectorTerms": [*self.get(f"{path}.nodeSelectorTerms", ()), *terms]})

    def preferred_node_affinity(self, weight: int, term: Mapping[str, Any]) -> Self:
        return self._append(f"spec.affinity.nodeAffinity.{_PREFERRED}", {"weight": weight, "preference": term})

    def pod_affinity(self, topology_key: str, labels: Mapping[str, str], **fields: Any) -> Self:
        return self._append(f"spec.affinity.podAffinity.{_REQUIRED}", _affinity_term(topology_key, labels, fields))

    def pod_anti_affinity(self, topology_key: str, labels: Mapping[str, str], **fields: Any) -> Self:
        return self._append(f"spec.affinity.podAntiAffinity.{_REQUIRED}", _affinity_term(topology_key, labels, fields))

    def preferred_pod_affinity(self, weight: int, topology_key: str, labels: Mapping[str, str], **fields: Any) -> Self:
        term = {"weight": weight, "podAffinityTerm": _affinity_term(topology_key, labels, fields)}
        return self._append(f"spec.affinity.podAffinity.{_PREFERRED}", term)

    def preferred_pod_anti_affinity(
        self, weight: int, topology_key: str, labels: Mapping[str, str], **fields: Any
    ) -> Self:
        term = {"weight": weight, "podAffinityTerm": _affinity_term(topology_key, labels, fields)}
        return self._append(f"spec.affinity.podAntiAffinity.{_PREFERRED}", term)

    def spread_constraint(
        self,
        max_skew: int,
        topology_key: str,
        labels: Mapping[str, str],
        *,
        when_unsatisfiable: str = "DoNotSchedule",
        **fields: Any,
    ) -> Self:
        constraint = {
            "maxSkew": max_skew,
            "topologyKey": topology_key,
            "whenUnsatisfiable": when_unsatisfiable,
            "labelSelector": {"matchLabels": dict(labels)},
            **fields,
        }
        return self._append("spec.topologySpreadConstraints", constraint)

    def claim(self, name: str) -> Self:
        """Mount a persistent volume claim."""
        volume = {"name": f"v{len(self.get('spec.volumes', ()))}", "persistentVolumeClaim": {"claimName": name}}
        return self._append("spec.volumes", volume)

    # --- Status ---

    def phase(self, phase: str) -> Self:
        return self.set("status.phase", phase)

    def start_time(self, timestamp: str) -> Self:
        return self.set("status.startTime", timestamp)

    def nominated_node(self, name: str) -> Self:
        return self.set("status.nominatedNodeName", name)

    def condition(self, kind: str, status: str = "True", reason: str = "") -> Self:
        return self._append("status.conditions", {"type": kind, "status": status, "reason": reason})


class NodeBuilder(_Builder):
    """A node; it has the label of its host name."""

    def dict(self) -> dict[str, Any]:
        raw = super().dict()
        metadata = raw["metadata"]
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        metadata["labels"] = {HOSTNAME: metadata["name"], **metadata.get("labels", {})}
        return raw

    def view(self) -> Node:
        """Return the typed view."""
        return msgspec.convert(self.dict(), Node)

    def obj(self, *pods: PodBuilder) -> NodeInfo:
        """Return the node with pods on it as plugins see it; its images are on this node only."""
        return make_table(self, pods=[pod.node(self.get("metadata.name")) for pod in pods]).infos[0]

    def zone(self, zone: str, region: str = "") -> Self:
        return self.labels({ZONE: zone} | ({REGION: region} if region else {}))

    def capacity(self, amounts: Mapping[str, str] | None = None, **more: str) -> Self:
        """Set both what the node has and what pods may take; for 32 pods unless another number is given."""
        known = {} if "pods" in self.get("status.capacity", {}) else {"pods": "32"}
        both = {**known, **(amounts or {}), **more}
        with_capacity = self._update("status.capacity", both)
        return with_capacity.set("status.allocatable", {**self.get("status.allocatable", {}), **both})

    def taint(self, key: str, value: str = "", effect: str = NO_SCHEDULE) -> Self:
        return self._append("spec.taints", {"key": key, "value": value, "effect": effect})

    def unschedulable(self) -> Self:
        return self.set("spec.unschedulable", True)

    def image(self, *names: str, size: int) -> Self:
        return self._append("status.images", {"names": list(names), "sizeBytes": size})

    def declared_features(self, *names: str) -> Self:
        return self._append("status.declaredFeatures", *names)

    def condition(self, kind: str, status: str = "True") -> Self:
        return self._append("status.conditions", {"type": kind, "status": status})


def make_pod(name: str = "pod", namespace: str = "default") -> PodBuilder:
    """Return a builder of a pod."""
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
    return PodBuilder({**head, "spec": {}, "status": {}})


def make_node(name: str = "node") -> NodeBuilder:
    """Return a builder of a node."""
    return NodeBuilder({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": {}})


def make_table(*nodes: NodeBuilder, pods: Iterable[PodBuilder] = ()) -> NodeTable:
    """Return a table of the nodes with the pods on the nodes they name."""
    return make_cache(*nodes, pods=pods).table


def make_cache(*nodes: NodeBuilder, pods: Iterable[PodBuilder] = ()) -> SchedulerCache:
    """Return a scheduler's cache of the nodes with the pods on the nodes they name."""
    cache = SchedulerCache()
    for node in nodes:
        cache.set_node(node.view())
    for pod in pods:
        cache.add_pod(pod.obj())
    cache.refresh()
    return cache


def term(
    *expressions: tuple[str, str, Sequence[str]], fields: Iterable[tuple[str, str, Sequence[str]]] = ()
) -> dict[str, Any]:
    """Return a node selector term of (key, operator, values): `term(("zone", "In", ["a"]))`."""
    return {"matchExpressions": list(map(_requirement, expressions)), "matchFields": list(map(_requirement, fields))}


def _requirement(requirement: tuple[str, str, Sequence[str]]) -> dict[str, Any]:
    key, operator, values = requirement
    return {"key": key, "operator": operator, "values": list(values)}


def _affinity_term(topology_key: str, labels: Mapping[str, str], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"topologyKey": topology_key, "labelSelector": {"matchLabels": dict(labels)}, **fields}


def _container(name: str, image: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    rest = dict(fields)
    resources = {key: dict(rest.pop(key)) for key in ("requests", "limits") if key in rest}
    ports = [_port(port, "TCP", "") for port in rest.pop("hostPorts", ())]
    return {"name": name, "image": image} | _non_empty({"resources": resources, "ports": ports}) | rest


def _port(port: int, protocol: str, ip: str) -> dict[str, Any]:
    return {"containerPort": port, "hostPort": port, "protocol": protocol} | _non_empty({"hostIP": ip})


def _non_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}
