"""Addresses inside the cluster and ports of nodes for services.

Which ones are taken is seen from the services themselves, so none is ever lost or given out twice.

Mirrors: pkg/registry/core/service/storage/{storage,alloc}.go, ipallocator, portallocator (v1.36)
Differs: the cluster has one family of addresses, IPv4.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.api.validation.cluster_ips import NONE, validate_cluster_ips
from schedlab.api.validation.services import needs_cluster_ip, needs_health_check, needs_node_port
from schedlab.apimachinery import field, ip
from schedlab.apimachinery.errors import new_internal_error, new_invalid
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gvk import GroupKind
from schedlab.registry.core import Core

#: Where addresses and ports of nodes come from. Of each range the first part is left to those who ask for one.
ADDRESSES: Final = ipaddress.IPv4Network("10.96.0.0/12")
PORTS: Final = range(30_000, 32_768)

_RESERVED_ADDRESSES: Final = 256
_RESERVED_PORTS: Final = 86
_FAMILY: Final = "IPv4"
_SPEC: Final = Path("spec")
_POLICY: Final = _SPEC.child("ipFamilyPolicy")
_DRAWS: Final = 64


class ServiceAllocator:
    """Completes services before they are checked."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def begin(self, service: Object, old: Object | None) -> None:
        """Give a service what its type needs; raises Invalid when what it asks for cannot be had."""
        spec, before = service["spec"], {} if old is None else old["spec"]
        if old is not None:
            _adopt(spec, before)
        _align_addresses(spec, before, is_new=old is None)
        if spec.get("type") == "ExternalName":
            return
        self._refuse(service, _settle_families(spec, before))
        if spec.get("clusterIPs") != [NONE]:
            self._give_address(service, before)
        self._give_ports(service, before)

    def _refuse(self, service: Object, errors: ErrorList) -> None:
        if errors:
            raise new_invalid(GroupKind("", "Service"), service["metadata"].get("name", ""), errors)

    def _others(self, service: Object) -> Iterator[Mapping[str, Any]]:
        """Yield the specs of all other services."""
        metadata = service["metadata"]
        own = (metadata.get("namespace", ""), metadata.get("name", ""))
        for stored in self._core.store.list("services"):
            if (stored.namespace, stored.name) != own:
                yield stored.raw["spec"]

    # --- Addresses ---------------------------------------------------------------------------------------------------

    def _give_address(self, service: Object, before: Mapping[str, Any]) -> None:
        spec = service["spec"]
        address = spec.get("clusterIP", "")
        if address and address == before.get("clusterIP"):
            return
        taken = {address for other in self._others(service) for address in other.get("clusterIPs") or ()}
        if not address:
            address = self._free_address(taken)
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            return
        problem = ""
        parsed = ip.parse_ip(address)
        if not isinstance(parsed, ipaddress.IPv4Address) or not _is_in_range(parsed):
            problem = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {ADDRESSES}"
        elif address in taken:
            problem = "provided IP is already allocated"
        if problem:
            detail = f"failed to allocate IP {address}: {problem}"
            self._refuse(service, [field.invalid(_SPEC.child("clusterIPs"), spec["clusterIPs"], detail)])

    def _free_address(self, taken: set[str]) -> str:
        count = ADDRESSES.num_addresses - 1 - _RESERVED_ADDRESSES
        first = int(ADDRESSES.network_address) + _RESERVED_ADDRESSES
        for _ in range(_DRAWS):
            address = str(ipaddress.IPv4Address(first + self._core.random.below(count)))
            if address not in taken:
                return address
        free = (str(ipaddress.IPv4Address(first + i)) for i in range(count))
        found = next((address for address in free if address not in taken), None)
        if found is None:
            raise new_internal_error("failed to allocate a serviceIP: range is full")
        return found

    # --- Ports -------------------------------------------------------------------------------------------------------

    def _give_ports(self, service: Object, before: Mapping[str, Any]) -> None:
        spec = service["spec"]
        known = {port.get("nodePort", 0) for port in before.get("ports") or ()} | {before.get("healthCheckNodePort", 0)}
        asks, checks = needs_node_port(spec), needs_health_check(spec)
        if not asks and not checks:
            return
        taken = {number for other in self._others(service) for number in _used_ports(other)}
        errors: ErrorList = []
        for i, port in enumerate(spec.get("ports") or () if asks else ()):
            own = _SPEC.child("ports").index(i).child("nodePort")
            errors += self._give_port(port, spec["ports"], own, taken, known)
        if checks:
            errors += self._give_health_port(spec, taken, known)
        self._refuse(service, errors[:1])

    def _give_port(
        self, port: Object, ports: Sequence[Object], path: Path, taken: set[int], known: set[int]
    ) -> ErrorList:
        """Give one port; the same port for another protocol gets the same number."""
        number = port.get("nodePort", 0)
        others = [other["nodePort"] for other in ports if other is not port and other.get("nodePort")]
        if not number:
            twins = (other.get("nodePort", 0) for other in ports if other.get("port") == port.get("port"))
            port["nodePort"] = next(filter(None, twins), 0) or self._free_port({*taken, *others})
            return []
        return [] if number in known else _port_errors(number, taken, path)

    def _give_health_port(self, spec: Object, taken: set[int], known: set[int]) -> ErrorList:
        number = spec.get("healthCheckNodePort", 0)
        if not number:
            spec["healthCheckNodePort"] = self._free_port(taken)
            return []
        return [] if number in known else _port_errors(number, taken, _SPEC.child("healthCheckNodePort"))

    def _free_port(self, taken: set[int]) -> int:
        for _ in range(_DRAWS):
            number = PORTS[_RESERVED_PORTS + self._core.random.below(len(PORTS) - _RESERVED_PORTS)]
            if number not in taken:
                return number
        found = next((number for number in PORTS if number not in taken), None)
        if found is None:
            raise new_internal_error("failed to allocate a nodePort: range is full")
        return found


def _is_in_range(address: ipaddress.IPv4Address) -> bool:
    ends = (ADDRESSES.network_address, ADDRESSES.broadcast_address)
    return address in ADDRESSES and address not in ends


def _port_errors(number: int, taken: set[int], path: Path) -> ErrorList:
    if number not in PORTS:
        valid = f"{PORTS.start}-{PORTS.stop - 1}"
        detail = f"provided port is not in the valid range. The range of valid ports is {valid}"
        return [field.invalid(path, number, detail)]
    return [field.invalid(path, number, "provided port is already allocated")] if number in taken else []


def _used_ports(spec: Mapping[str, Any]) -> Iterator[int]:
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _adopt(spec: Object, before: Mapping[str, Any]) -> None:
    """Keep what was given out before and an update does not name."""
    if needs_cluster_ip(spec) and needs_cluster_ip(before):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs") and spec.get("clusterIP") == before.get("clusterIP"):
            spec["clusterIPs"] = before["clusterIPs"]
    if needs_node_port(spec) and needs_node_port(before):
        then = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        ports = spec.get("ports") or ()
        used = {port.get("nodePort") for port in ports} & set(then.values())
        for port in ports:
            number = then.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _align_addresses(spec: Object, before: Mapping[str, Any], *, is_new: bool) -> None:
    """Make the list of addresses say what the single one says, for clients that only know that one."""
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs")
    if is_new:
        if address and not addresses:
            spec["clusterIPs"] = [address]
        return
    old, old_list = before.get("clusterIP", ""), before.get("clusterIPs")
    if address == old:
        if old_list and not addresses:
            spec["clusterIPs"] = old_list
    elif addresses == old_list:
        if address:
            spec["clusterIPs"] = [address]
        else:
            spec.pop("clusterIPs", None)


def _settle_families(spec: Object, before: Mapping[str, Any]) -> ErrorList:
    """Fill in which families of addresses a service has; the cluster has one, so most of it is checks."""
    addresses, without_selector = spec.get("clusterIPs") or [], not spec.get("selector")
    headless = spec.get("clusterIP") == NONE
    if "ipFamilyPolicy" not in spec:
        default = "RequireDualStack" if headless and without_selector else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy", default)
    if errors := validate_cluster_ips(spec, before, strict=False):
        return errors
    policy, families = spec["ipFamilyPolicy"], list(spec.get("ipFamilies") or ())
    errors = []
    several = (("clusterIPs", addresses, "cluster IPs"), ("ipFamilies", families, "IP families"))
    for _, values, what in several:
        if policy == "SingleStack" and len(values) == 2:
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            errors.append(field.invalid(_POLICY, policy, detail))
    for i, address in enumerate(addresses if not headless else ()):
        own = "IPv6" if ip.is_ipv6(address) else "IPv4"
        if i >= len(families) and own != _FAMILY:
            detail = f"{own} is not configured on this cluster"
            errors.append(field.invalid(_SPEC.child("clusterIPs").index(i), addresses, detail))
        elif i >= len(families):
            families.append(own)
    if errors:
        return errors
    if headless and without_selector:
        families = families or [_FAMILY]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return []
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(field.invalid(_POLICY, policy, detail))
    for i, family in enumerate(families):
        if family != _FAMILY:
            errors.append(field.invalid(_SPEC.child("ipFamilies").index(i), family, "not configured on this cluster"))
    if not errors:
        spec["ipFamilies"] = families or [_FAMILY]
    return errors
