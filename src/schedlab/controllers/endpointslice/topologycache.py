"""Hints for a service with the annotation topology-mode: zones get endpoints in proportion to the CPU of their nodes.

Mirrors: staging/src/k8s.io/endpointslice/topologycache (v1.36).
Differs: zones are gone through by name, where Go takes them in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from schedlab.api.object import Object
from schedlab.api.views.core import Node
from schedlab.apimachinery.quantity import parse_milli
from schedlab.controllers.endpointslice.changes import Changes
from schedlab.controllers.endpointslice.slices import ZONE, endpoints_of, is_ready_endpoint

_OVERLOAD_MAX: Final = 0.2
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_ANNOTATIONS: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_ENABLED: Final = "Topology Aware Hints has been enabled"
_DISABLED: Final = "Topology Aware Hints has been disabled"
_NO_ZONE: Final = "One or more endpoints do not have a zone specified"
_NO_HINTS: Final = "No hints allocated for zones"
_NO_NODES: Final = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
_FEW_ENDPOINTS: Final = "Insufficient number of endpoints"
_OVERLOAD: Final = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"


class HintEvent(NamedTuple):
    """What a service is to be told about its hints."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """How many endpoints a zone should have."""

    minimum: int
    maximum: int
    desired: float


def hints_enabled(annotations: Mapping[str, str]) -> bool:
    """Whether a service asks for hints by an annotation."""
    value = next((annotations[key] for key in _ANNOTATIONS if key in annotations), "")
    return value in ("Auto", "auto")


class TopologyCache:
    """The share of CPU of each zone, and how many endpoints each service has hinted to each."""

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}
        #: By service and family of addresses.
        self._endpoints: dict[str, dict[str, dict[str, int]]] = {}
        self._hinted: dict[str, None] = {}

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Take the CPU of ready nodes by zone; without it for every one of them nothing can be told."""
        cpu: dict[str, int] = {}
        for node in nodes:
            if any(label in node.metadata.labels for label in _CONTROL_PLANE) or not _is_ready(node):
                continue
            zone, milli = node.metadata.labels.get(ZONE), parse_milli(node.status.allocatable.get("cpu", "0"))
            if not zone or not milli:
                self._ratios = {}
                return
            cpu[zone] = cpu.get(zone, 0) + milli
        total = sum(cpu.values())
        self._ratios = {zone: cpu[zone] / total for zone in sorted(cpu)} if len(cpu) > 1 else {}

    def overloaded(self) -> list[str]:
        """Return the services whose hints put too much on an endpoint, as zones are now."""
        return [key for key, families in self._endpoints.items() if any(map(self._overloads, families.values()))]

    def has_hints(self, service: str) -> bool:
        """Whether hints were given to a service."""
        return service in self._hinted

    def any_hints(self) -> bool:
        """Whether hints were given at all."""
        return bool(self._hinted)

    def forget(self, service: str, address_type: str) -> None:
        """Forget the hints of a service."""
        families = self._endpoints.get(service, {})
        families.pop(address_type, None)
        if not families:
            self._endpoints.pop(service, None)
        self._hinted.pop(service, None)

    def withdraw(self, service: str, address_type: str) -> list[HintEvent]:
        """Forget the hints of a service that asks for none."""
        was_hinted = self.has_hints(service)
        self.forget(service, address_type)
        return [_disabled(_DISABLED, address_type)] if was_hinted else []

    def add_hints(self, service: str, address_type: str, changes: Changes) -> list[HintEvent]:
        """Give each ready endpoint a zone to serve, its own unless another one needs it more."""
        allocations = self._allocations(changes.ready_endpoints())
        if isinstance(allocations, str):
            return self._give_up(service, address_type, changes, allocations)
        allocated = _keep_hints(changes, allocations)
        slices = [*changes.create, *changes.update]
        endpoints = [each for found in slices for each in endpoints_of(found)]
        for endpoint in endpoints:
            endpoint.pop("hints", None)
        ready = list(filter(is_ready_endpoint, endpoints))
        if not all(each.get("zone") for each in ready):
            return self._give_up(service, address_type, changes, _NO_ZONE)
        for endpoint in ready:
            zone = endpoint["zone"]
            allocated[zone] = allocated.get(zone, 0) + 1
            endpoint["hints"] = _for_zone(zone)
        _redistribute(ready, allocations, allocated)
        if not allocated:
            return self._give_up(service, address_type, changes, _NO_HINTS)
        was_hinted = self.has_hints(service)
        self._endpoints.setdefault(service, {})[address_type] = allocated
        self._hinted[service] = None
        text = f"{_ENABLED}, addressType: {address_type}"
        return [] if was_hinted else [HintEvent("Normal", "TopologyAwareHintsEnabled", text)]

    def _give_up(self, service: str, address_type: str, changes: Changes, why: str) -> list[HintEvent]:
        self.forget(service, address_type)
        remove_hints(changes)
        return [_disabled(why, address_type)]

    def _allocations(self, endpoints: int) -> dict[str, Allocation] | str:
        """Return how many endpoints each zone should have, or why that cannot be said."""
        if not self._ratios:
            return _NO_NODES
        counts = f"({endpoints} endpoints, {len(self._ratios)} zones)"
        if len(self._ratios) > endpoints:
            return f"{_FEW_ENDPOINTS} {counts}"
        desired = {zone: ratio * endpoints for zone, ratio in self._ratios.items()}
        minimum = {zone: math.ceil(share * (1 / (1 + _OVERLOAD_MAX))) for zone, share in desired.items()}
        spare = endpoints - sum(minimum.values())
        if spare < 0:
            return f"{_OVERLOAD} {counts}"
        return {
            zone: Allocation(minimum[zone], minimum[zone] + spare, max(share, float(minimum[zone])))
            for zone, share in desired.items()
        }

    def _overloads(self, endpoints: Mapping[str, int]) -> bool:
        if not endpoints:
            return False
        if not self._ratios:
            return True
        total = sum(endpoints.values())
        return any(
            zone not in endpoints or endpoints[zone] < math.ceil(total * ratio * (1 / (1 + _OVERLOAD_MAX)))
            for zone, ratio in self._ratios.items()
        )


def remove_hints(changes: Changes) -> None:
    """Take all hints from the slices of a service."""
    for found in list(changes.unchanged):
        if any(each.get("hints") for each in endpoints_of(found)):
            changes.touch(found)
    for found in (*changes.create, *changes.update):
        for endpoint in endpoints_of(found):
            endpoint.pop("hints", None)


def _disabled(why: str, address_type: str) -> HintEvent:
    return HintEvent("Warning", "TopologyAwareHintsDisabled", f"{why}, addressType: {address_type}")


def _for_zone(zone: str) -> Object:
    return {"forZones": [{"name": zone}]}


def _keep_hints(changes: Changes, allocations: Mapping[str, Allocation]) -> dict[str, int]:
    """Count the hints of slices that can stay as they are by zone; the others are to be updated."""
    allocated: dict[str, int] = {}
    for found in list(changes.unchanged):
        counted = _count_hints(found, allocations, allocated)
        if counted is None:
            changes.touch(found)
            continue
        for zone, count in counted.items():
            allocated[zone] = allocated.get(zone, 0) + count
    return allocated


def _count_hints(
    found: Object, allocations: Mapping[str, Allocation], allocated: Mapping[str, int]
) -> dict[str, int] | None:
    """Count the hints of a slice by zone; None if an endpoint has none, or a zone has too many."""
    counted: dict[str, int] = {}
    for endpoint in filter(is_ready_endpoint, endpoints_of(found)):
        zones = [each["name"] for each in (endpoint.get("hints") or {}).get("forZones") or ()]
        if not zones or not all(zone in allocations for zone in zones):
            return None
        for zone in zones:
            counted[zone] = counted.get(zone, 0) + 1
    fits = all(count + allocated.get(zone, 0) <= allocations[zone].maximum for zone, count in counted.items())
    return counted if fits else None


def _redistribute(ready: Iterable[Object], allocations: Mapping[str, Allocation], allocated: dict[str, int]) -> None:
    """Let endpoints of zones that have more than they need serve those that have less."""
    giving, receiving = _moves(allocations, allocated)
    for endpoint in ready:
        giver = endpoint["zone"]
        if not giving.get(giver):
            continue
        receiver = next((zone for zone, count in receiving.items() if count), None)
        if receiver is None:
            return
        endpoint["hints"] = _for_zone(receiver)
        giving[giver] -= 1
        receiving[receiver] -= 1
        allocated[giver] -= 1
        allocated[receiver] = allocated.get(receiver, 0) + 1


def _moves(
    allocations: Mapping[str, Allocation], allocated: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many endpoints each zone gives and how many each receives."""
    surplus = {zone: allocated.get(zone, 0) - each.desired for zone, each in allocations.items()}
    giving: dict[str, int] = {}
    receiving: dict[str, int] = {}
    while True:
        giver, receiver = max(surplus, key=surplus.__getitem__), min(surplus, key=surplus.__getitem__)
        much, little = surplus[giver], -surplus[receiver]
        if min(much, little) < 0.5 or max(much, little) < 1:
            return giving, receiving
        giving[giver] = giving.get(giver, 0) + 1
        receiving[receiver] = receiving.get(receiver, 0) + 1
        surplus[giver] -= 1
        surplus[receiver] += 1


def _is_ready(node: Node) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
