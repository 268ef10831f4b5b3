"""Endpoints.

Mirrors: pkg/registry/core/endpoint/strategy.go, pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go
(ValidateEndpoints…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_label, messages
from schedlab.api.validation.endpoints import validate_endpoint_ip
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import check_ip_legacy, ip_warnings

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SUBSETS: Final = Path("subsets")
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpoint-controller"


def _default(endpoints: Object, _context: Context) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate(endpoints: Object, context: Context) -> ErrorList:
    errors = _validate_metadata(endpoints) + _validate_subsets(endpoints.get("subsets") or (), context)
    if not errors:
        _warn(endpoints, context)
    return errors


def _validate_metadata(endpoints: Object) -> ErrorList:
    return meta.validate(endpoints["metadata"], names.name_is_dns_subdomain, namespaced=True)


def _addresses(subset: Mapping[str, Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    for key in ("addresses", "notReadyAddresses"):
        for i, address in enumerate(subset.get(key) or ()):
            yield address, path.child(key).index(i)


def _validate_subsets(subsets: Sequence[Mapping[str, Any]], context: Context) -> ErrorList:
    errors: ErrorList = []
    for i, subset in enumerate(subsets):
        path = _SUBSETS.index(i)
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(field.required(path, "must specify `addresses` or `notReadyAddresses`"))
        for address, own in _addresses(subset, path):
            errors += _validate_address(address, own, context)
        ports = subset.get("ports") or ()
        for j, port in enumerate(ports):
            errors += _validate_port(port, path.child("ports").index(j), needs_name=len(ports) > 1)
    return errors


def _validate_address(address: Mapping[str, Any], path: Path, context: Context) -> ErrorList:
    text, own = address.get("ip", ""), path.child("ip")
    errors = check_ip_legacy(own, text, strict=context.features.enabled("StrictIPCIDRValidation"))
    if host := address.get("hostname"):
        errors += dns_label(host, path.child("hostname"))
    node = address.get("nodeName")
    if node is not None:
        errors += messages(path.child("nodeName"), node, names.name_is_dns_subdomain(node))
    return errors + validate_endpoint_ip(text, own)


def _validate_port(port: Mapping[str, Any], path: Path, *, needs_name: bool) -> ErrorList:
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    errors: ErrorList = []
    if name:
        errors += dns_label(name, path.child("name"))
    elif needs_name:
        errors.append(field.required(path.child("name")))
    errors += messages(path.child("port"), number, names.check_port_number(number))
    if not protocol:
        errors.append(field.required(path.child("protocol")))
    elif protocol not in _PROTOCOLS:
        errors.append(field.not_supported(path.child("protocol"), protocol, _PROTOCOLS))
    application = port.get("appProtocol")
    if application is not None:
        errors += messages(path.child("appProtocol"), application, names.check_qualified_name(application))
    return errors


def _warn(endpoints: Object, context: Context) -> None:
    """Tell of addresses in an odd form, unless the controller copied them from somewhere."""
    if (endpoints["metadata"].get("labels") or {}).get(_MANAGED_BY) == _CONTROLLER:
        return
    for i, subset in enumerate(endpoints.get("subsets") or ()):
        for address, own in _addresses(subset, _SUBSETS.index(i)):
            context.warnings.extend(ip_warnings(own.child("ip"), address.get("ip", "")))


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"]) + _validate_metadata(new)
    if new.get("subsets") != old.get("subsets"):
        errors += _validate_subsets(new.get("subsets") or (), context)
    if not errors:
        _warn(new, context)
    return errors


ENDPOINTS: Final = Strategy(
    resource="endpoints",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    default=_default,
    allow_create_on_update=True,
)
