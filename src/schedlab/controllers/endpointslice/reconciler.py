"""Which slices a service should have, with as few changes of those it has as that takes.

    endpoints by their ports ──► slices of the same ports: drop what is not wanted, renew what is another
                             ──► fill the slices that are changed anyway, then one that is not, then new ones
    no slice at all          ──► an empty one says that the service is known

Mirrors: staging/src/k8s.io/endpointslice/reconciler.go (v1.36).
Differs: endpoints and slices are taken in their order, where Go takes any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from schedlab.api.object import Object, StoredObject
from schedlab.api.views.core import Node, Service
from schedlab.client.informers import Informer
from schedlab.controllers.endpointslice.changes import Changes
from schedlab.controllers.endpointslice.slices import (
    ZONE,
    Endpoint,
    EndpointKey,
    Port,
    PortsKey,
    address_types,
    endpoint_ports,
    endpoints_of,
    has_labels_of,
    is_owned,
    is_same,
    key_of,
    new_endpoint,
    new_slice,
    ports_key,
    slice_labels,
)
from schedlab.controllers.endpointslice.topologycache import HintEvent, TopologyCache, hints_enabled, remove_hints
from schedlab.controllers.endpointslice.trafficdist import DISTRIBUTIONS, reconcile_hints
from schedlab.controllers.framework.services import belongs

ENDPOINTS_PER_SLICE_MAX: Final = 100


@dataclass(eq=False)
class Group:
    """The wanted endpoints with the same ports."""

    ports: Sequence[Port]
    endpoints: dict[EndpointKey, Endpoint] = field(default_factory=dict)


@dataclass(eq=False)
class Plan:
    """What is to be written for one family of addresses, and told; `errors` are pods that had to be left out."""

    changes: Changes
    events: list[HintEvent] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Reconciler:
    """Plans the changes of a service's slices; remembers the hints that were given."""

    def __init__(self, nodes: Informer, topology: TopologyCache) -> None:
        self._nodes = nodes
        self._topology = topology

    def plan(self, service: StoredObject, pods: Sequence[StoredObject], existing: Sequence[Object]) -> list[Plan]:
        """Return one plan for each family of addresses; slices of families that the service has not are deleted."""
        families = address_types(service.view)
        plans = [
            self._plan(service, pods, [each for each in existing if each["addressType"] == family], family)
            for family in families
        ]
        others = [each for each in existing if each["addressType"] not in families]
        for each in others:
            self._topology.forget(service.key, each["addressType"])
        return [*plans, Plan(Changes(delete=others))] if others else plans

    def _plan(
        self, service: StoredObject, pods: Sequence[StoredObject], existing: Sequence[Object], family: str
    ) -> Plan:
        plan = Plan(Changes())
        changes = plan.changes
        wanted = self._wanted(service, pods, family, plan.errors)
        by_ports: dict[PortsKey, list[Object]] = {}
        for each in existing:
            if is_owned(each, service):
                by_ports.setdefault(ports_key(each.get("ports")), []).append(each)
            else:
                changes.delete.append(each)
        for key, group in wanted.items():
            changes.merge(_fill(service, by_ports.pop(key, []), group, family))
        for unwanted in by_ports.values():
            changes.delete += unwanted
        if len(existing) == len(changes.delete) and not changes.create:
            _keep_place(changes, new_slice(service, family, ()))
        plan.events += self._add_hints(service, family, changes)
        return plan

    def _wanted(
        self, service: StoredObject, pods: Sequence[StoredObject], family: str, errors: list[str]
    ) -> dict[PortsKey, Group]:
        view: Service = service.view
        wanted: dict[PortsKey, Group] = {}
        is_fixed = all(isinstance(port.target_port, int) for port in view.spec.ports)
        group: Group | None = None
        for pod in pods:
            if not belongs(pod.view, terminating=True):
                continue
            if group is None or not is_fixed:
                ports = endpoint_ports(view, pod.view)
                group = wanted.setdefault(ports_key(ports), Group(ports))
            node: Node | None = self._nodes.get(pod.view.spec.node_name)
            if node is None and not view.spec.publish_not_ready_addresses:
                place = f"Pod {pod.name} for Service {service.key}"
                errors.append(f"skipping {place}: Node {pod.view.spec.node_name} Not Found")
                continue
            zone = "" if node is None else node.metadata.labels.get(ZONE, "")
            endpoint = new_endpoint(pod, zone, view, family)
            if endpoint["addresses"]:
                group.endpoints[key_of(endpoint)] = endpoint
        return wanted

    def _add_hints(self, service: StoredObject, family: str, changes: Changes) -> list[HintEvent]:
        view: Service = service.view
        if hints_enabled(view.metadata.annotations):
            return self._topology.add_hints(service.key, family, changes)
        events = self._topology.withdraw(service.key, family)
        if view.spec.traffic_distribution in DISTRIBUTIONS:
            reconcile_hints(changes, view.spec.traffic_distribution)
        else:
            remove_hints(changes)
        return events


def _keep_place(changes: Changes, placeholder: Object) -> None:
    """Have one empty slice; if there is one already, it stays."""
    if len(changes.delete) == 1 and _is_placeholder(changes.delete[0], placeholder):
        changes.unchanged.append(changes.delete.pop())
    else:
        changes.create.append(placeholder)


def _is_placeholder(found: Object, placeholder: Object) -> bool:
    labels = found["metadata"].get("labels")
    return not found.get("endpoints") and not found.get("ports") and labels == placeholder["metadata"]["labels"]


def _fill(service: StoredObject, existing: Sequence[Object], group: Group, family: str) -> Changes:
    """Put the wanted endpoints with the same ports into slices."""
    left = dict(group.endpoints)
    changes = Changes()
    labels = slice_labels(service)
    for found in existing:
        kept, is_changed = _keep(found, left)
        if not kept and endpoints_of(found):
            changes.delete.append(found)
        elif is_changed or not has_labels_of(found, service):
            changes.update.append({**found, "metadata": {**found["metadata"], "labels": labels}, "endpoints": kept})
        else:
            changes.unchanged.append(found)
    # The fullest ones first.
    for found in sorted(changes.update, key=lambda each: -len(each["endpoints"])):
        _pour(left, found)
    while left:
        roomiest = _roomiest(changes.unchanged, len(left)) if len(left) < ENDPOINTS_PER_SLICE_MAX else None
        if roomiest is None:
            target = new_slice(service, family, group.ports)
            target["endpoints"] = []
            changes.create.append(target)
        else:
            changes.touch(roomiest)
            target = changes.update[-1]
        _pour(left, target)
    return changes


def _keep(found: Object, wanted: dict[EndpointKey, Endpoint]) -> tuple[list[Endpoint], bool]:
    """Return what a slice keeps of its endpoints, taken out of what is wanted, and whether that is a change."""
    kept: list[Endpoint] = []
    is_changed = False
    for endpoint in endpoints_of(found):
        now = wanted.pop(key_of(endpoint), None)
        if now is None:
            is_changed = True
            continue
        is_changed = is_changed or not is_same(now, endpoint)
        kept.append(now)
    return kept, is_changed


def _pour(left: dict[EndpointKey, Endpoint], found: Object) -> None:
    """Move endpoints that have no place yet into a slice, as many as it can have."""
    endpoints = found["endpoints"]
    while left and len(endpoints) < ENDPOINTS_PER_SLICE_MAX:
        endpoints.append(left.pop(next(iter(left))))


def _roomiest(slices: Sequence[Object], count: int) -> Object | None:
    """Return the slice that is fullest with so many more endpoints, if they all fit."""
    best: Object | None = None
    least = ENDPOINTS_PER_SLICE_MAX
    for found in slices:
        free = ENDPOINTS_PER_SLICE_MAX - count - len(endpoints_of(found))
        if 0 <= free < least:
            best, least = found, free
    return best
