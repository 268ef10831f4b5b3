"""Endpoint slices.

Mirrors: pkg/registry/discovery/endpointslice/strategy.go, pkg/apis/discovery/{v1/defaults,validation/validation}.go
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_label, messages
from schedlab.api.validation.endpoints import validate_endpoint_ip
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import check_ip, check_ip_legacy, ip_warnings, is_ipv6

_ENDPOINTS: Final = Path("endpoints")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_TOPOLOGY_MAX: Final = 16
_ADDRESSES_MAX: Final = 100
_PORTS_MAX: Final = 20_000
_ENDPOINTS_MAX: Final = 1000
_HINTS_MAX: Final = 8
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_HOST_LABEL: Final = "kubernetes.io/hostname"


def _default(endpoints: Object, _context: Context) -> None:
    for port in endpoints.get("ports") or ():
        for key, value in (("name", ""), ("protocol", "TCP")):
            if port.get(key) is None:
                port[key] = value


def _prepare(endpoints: Object, _context: Context) -> None:
    endpoints["metadata"]["generation"] = 1
    _drop_topology(endpoints, ())


def _drop_topology(endpoints: Object, known_nodes: Sequence[str]) -> None:
    """Drop a field that only an older version can set; what it said of the node moves to its own field."""
    for endpoint in endpoints.get("endpoints") or ():
        node = (endpoint.pop("deprecatedTopology", None) or {}).get(_HOST_LABEL)
        is_known = node is not None and node in known_nodes and not names.name_is_dns_subdomain(node)
        if is_known and endpoint.get("nodeName") is None:
            endpoint["nodeName"] = node


def _validate(endpoints: Object, context: Context) -> ErrorList:
    errors = _validate_fixed(endpoints) + _validate_endpoints(endpoints, context)
    if errors:
        return errors
    if endpoints.get("addressType") == "FQDN":
        context.warnings.append("spec.addressType: FQDN endpoints are deprecated")
    _warn(endpoints, context)
    return []


def _validate_fixed(endpoints: Object) -> ErrorList:
    errors = meta.validate(endpoints["metadata"], names.name_is_dns_subdomain, namespaced=True)
    kind, path = endpoints.get("addressType", ""), Path("addressType")
    if kind not in _ADDRESS_TYPES:
        errors.append(field.not_supported(path, kind, _ADDRESS_TYPES) if kind else field.required(path))
    return errors + _validate_ports(endpoints.get("ports") or (), Path("ports"))


def _validate_ports(ports: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    if len(ports) > _PORTS_MAX:
        return [field.too_many(path, len(ports), _PORTS_MAX)]
    errors: ErrorList = []
    seen: dict[str, None] = {}
    for i, port in enumerate(ports):
        own, name, protocol = path.index(i), port.get("name") or "", port.get("protocol")
        if name:
            errors += dns_label(name, own.child("name"))
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        seen[name] = None
        if protocol is None:
            errors.append(field.required(own.child("protocol")))
        elif protocol not in _PROTOCOLS:
            errors.append(field.not_supported(own.child("protocol"), protocol, _PROTOCOLS))
        application = port.get("appProtocol")
        if application is not None:
            errors += messages(own.child("appProtocol"), application, names.check_qualified_name(application))
    return errors


def _validate_endpoints(endpoints: Object, context: Context) -> ErrorList:
    entries = endpoints.get("endpoints") or ()
    if len(entries) > _ENDPOINTS_MAX:
        return [field.too_many(_ENDPOINTS, len(entries), _ENDPOINTS_MAX)]
    errors: ErrorList = []
    strict = context.features.enabled("StrictIPCIDRValidation")
    for i, endpoint in enumerate(entries):
        path = _ENDPOINTS.index(i)
        errors += _validate_addresses(
            endpoint, endpoints.get("addressType", ""), path.child("addresses"), strict=strict
        )
        errors += _validate_endpoint(endpoint, path)
    return errors


def _validate_addresses(endpoint: Mapping[str, Any], kind: str, path: Path, *, strict: bool) -> ErrorList:
    addresses = endpoint.get("addresses") or ()
    errors: ErrorList = []
    if not addresses:
        errors.append(field.required(path, "must contain at least 1 address"))
    elif len(addresses) > _ADDRESSES_MAX:
        errors.append(field.too_many(path, len(addresses), _ADDRESSES_MAX))
    for i, address in enumerate(addresses):
        own = path.index(i)
        if kind == "FQDN":
            errors += names.check_fully_qualified_domain_name(own, address)
        elif kind in ("IPv4", "IPv6"):
            errors += _validate_ip(address, kind, path, own, strict=strict)
    return errors


def _validate_ip(address: str, kind: str, list_path: Path, path: Path, *, strict: bool) -> ErrorList:
    errors = check_ip(path, address) if kind == "IPv6" else check_ip_legacy(path, address, strict=strict)
    if errors:
        return errors
    if is_ipv6(address) is not (kind == "IPv6"):
        errors.append(field.invalid(list_path, address, f"must be an {kind} address"))
    return errors + validate_endpoint_ip(address, path)


def _validate_endpoint(endpoint: Mapping[str, Any], path: Path) -> ErrorList:
    node, host, hints = endpoint.get("nodeName"), endpoint.get("hostname"), endpoint.get("hints")
    errors = [] if node is None else messages(path.child("nodeName"), node, names.name_is_dns_subdomain(node))
    topology, own = endpoint.get("deprecatedTopology") or {}, path.child("deprecatedTopology")
    if len(topology) > _TOPOLOGY_MAX:
        errors.append(field.too_many(own, len(topology), _TOPOLOGY_MAX))
    errors += names.validate_labels(topology, own)
    if host is not None:
        errors += dns_label(host, path.child("hostname"))
    return errors if hints is None else errors + _validate_hints(hints, path.child("hints"))


_HINT_CHECKS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "forZones": names.check_label_value,
    "forNodes": names.name_is_dns_subdomain,
}


def _validate_hints(hints: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    for key, check in _HINT_CHECKS.items():
        own, entries = path.child(key), hints.get(key) or ()
        if len(entries) > _HINTS_MAX:
            errors.append(field.too_many(own, len(entries), _HINTS_MAX))
            return errors
        seen: list[str] = []
        for i, entry in enumerate(entries):
            name = entry.get("name", "")
            if name in seen:
                errors.append(field.duplicate(own.index(i).child("name"), name))
            seen.append(name)
            errors += messages(own.index(i).child("name"), name, check(name))
    return errors


def _warn(endpoints: Object, context: Context) -> None:
    """Tell of addresses in an odd form, unless a controller copied them from somewhere."""
    if (endpoints["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return
    for i, endpoint in enumerate(endpoints.get("endpoints") or ()):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            path = _ENDPOINTS.index(i).child("addresses").index(j)
            context.warnings.extend(ip_warnings(path, address))


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    metadata, before = new["metadata"], old["metadata"]
    same = all(new.get(key) == old.get(key) for key in ("addressType", "endpoints", "ports"))
    if not same or (metadata.get("labels") or {}) != (before.get("labels") or {}):
        metadata["generation"] = before.get("generation", 0) + 1
    if new.get("endpoints") != old.get("endpoints"):
        topologies = [endpoint.get("deprecatedTopology") or {} for endpoint in old.get("endpoints") or ()]
        _drop_topology(new, [topology[_HOST_LABEL] for topology in topologies if topology.get(_HOST_LABEL)])


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate_fixed(new)
    if new.get("endpoints") != old.get("endpoints"):
        errors += _validate_endpoints(new, context)
    kind, before = new.get("addressType", ""), old.get("addressType", "")
    errors += meta.validate_immutable(kind, before, Path("addressType"))
    if not errors:
        _warn(new, context)
    return errors


ENDPOINT_SLICE: Final = Strategy(
    resource="endpointslices.discovery.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
)
