"""Checks of claims of devices: what is asked for and what was allocated.

Mirrors: pkg/apis/resource/validation/validation.go (ValidateResourceClaim… and around) (v1.36)
Differs: what a CEL expression costs is not estimated; whether a namespace allows access as an administrator is not
asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import Context
from schedlab.api.rules.device_selectors import compile_selector
from schedlab.api.validation.common import dns_label, dns_subdomain, messages, one_of
from schedlab.api.validation.conditions import validate_conditions
from schedlab.api.validation.device_names import (
    name_of,
    validate_binding_conditions,
    validate_device_name,
    validate_driver_name,
    validate_fully_qualified_name,
    validate_list,
    validate_pool_name,
    validate_raw_object,
    validate_set,
    validate_share_id,
)
from schedlab.api.validation.node_selectors import validate_node_selector
from schedlab.apimachinery import field, names
from schedlab.apimachinery.cel import CelError
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim
from schedlab.apimachinery.ip import check_interface_address

_REQUESTS_MAX: Final = 32
_ALTERNATIVES_MAX: Final = 8
_CONSTRAINTS_MAX: Final = 32
_CONFIGS_MAX: Final = 32
_SELECTORS_MAX: Final = 32
_EXPRESSION_MAX: Final = 10 * 1024
_PARAMETERS_MAX: Final = 10 * 1024
_RESERVED_MAX: Final = 256
_RESULTS_MAX: Final = 32
_STATUS_CONDITIONS_MAX: Final = 8
_STATUS_DATA_MAX: Final = 10 * 1024
_ADDRESSES_MAX: Final = 16
_INTERFACE_MAX: Final = 256
_HARDWARE_MAX: Final = 128

_MODES: Final = ("All", "ExactCount")
_OPERATORS: Final = ("Equal", "Exists")
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_ONE_FORM: Final = "exactly one of `exactly` or `firstAvailable` is required"
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)
#: How Go prints an identifier that is made of handles.
_OPAQUE_ID: Final = Verbatim('{"Driver":{},"Pool":{},"Device":{},"ShareID":{}}')

#: Names of requests to the names of their alternatives.
_RequestNames: TypeAlias = Mapping[str, Sequence[str]]
_DeviceID: TypeAlias = tuple[str, str, str, str]


def request_names(devices: Mapping[str, Any]) -> _RequestNames:
    return {
        request.get("name", ""): [each.get("name", "") for each in request.get("firstAvailable") or ()]
        for request in devices.get("requests") or ()
    }


def validate_claim_spec(spec: Mapping[str, Any], path: Path, context: Context) -> ErrorList:
    """Check what a claim asks for."""
    devices, own = spec.get("devices") or {}, path.child("devices")
    known = request_names(devices)
    errors = validate_set(
        devices.get("requests") or (), _REQUESTS_MAX, _validate_request, name_of, own.child("requests")
    )
    constraint = partial(_validate_constraint, known=known, context=context)
    errors += validate_list(devices.get("constraints") or (), _CONSTRAINTS_MAX, constraint, own.child("constraints"))
    config = partial(_validate_config, known=known)
    return errors + validate_list(devices.get("config") or (), _CONFIGS_MAX, config, own.child("config"))


def _validate_request(request: Mapping[str, Any], path: Path) -> ErrorList:
    errors = dns_label(request.get("name", ""), path.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is None and not alternatives:
        errors.append(field.required(path, _ONE_FORM))
    elif exactly is not None and alternatives:
        errors.append(field.invalid(path, None, f"{_ONE_FORM}, but multiple fields are set"))
    elif alternatives:
        own = path.child("firstAvailable")
        errors += validate_set(alternatives, _ALTERNATIVES_MAX, _validate_alternative, name_of, own)
    else:
        assert exactly is not None
        errors += _validate_exact(exactly, path.child("exactly"))
    return errors


def _validate_alternative(request: Mapping[str, Any], path: Path) -> ErrorList:
    return dns_label(request.get("name", ""), path.child("name")) + _validate_exact(request, path)


def _validate_exact(request: Mapping[str, Any], path: Path) -> ErrorList:
    device_class, own = request.get("deviceClassName", ""), path.child("deviceClassName")
    errors = dns_subdomain(device_class, own) if device_class else [field.required(own)]
    errors += validate_selectors(request.get("selectors") or (), path.child("selectors"))
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode not in _MODES:
        errors.append(field.not_supported(path.child("allocationMode"), mode, _MODES))
    elif mode == "All" and count:
        detail = "must not be specified when allocationMode is 'All'"
        errors.append(field.invalid(path.child("count"), count, detail))
    elif mode == "ExactCount" and count <= 0:
        errors.append(field.invalid(path.child("count"), count, "must be greater than zero"))
    return errors + validate_list(request.get("tolerations") or (), -1, _validate_toleration, path.child("tolerations"))


def validate_selectors(selectors: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    """Check CEL expressions about devices."""
    return validate_list(selectors, _SELECTORS_MAX, _validate_selector, path)


def _validate_selector(selector: Mapping[str, Any], path: Path) -> ErrorList:
    if selector.get("cel") is None:
        return [field.required(path.child("cel"))]
    expression, own = selector["cel"].get("expression", ""), path.child("cel", "expression")
    if names.byte_length(expression) > _EXPRESSION_MAX:
        return [field.too_long(own, _EXPRESSION_MAX)]
    try:
        compile_selector(expression)
    except CelError as error:
        return [field.invalid(own, expression, str(error))]
    return []


def _validate_toleration(toleration: Mapping[str, Any], path: Path) -> ErrorList:
    key, operator, value, effect = (toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
    errors = names.validate_label_name(key, path.child("key")) if key else []
    if operator == "Exists":
        if value:
            errors.append(field.invalid(path.child("value"), value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += messages(path.child("value"), value, names.check_label_value(value))
    elif operator:
        errors.append(field.not_supported(path.child("operator"), operator, _OPERATORS))
    else:
        errors.append(field.required(path.child("operator")))
    return errors + one_of(effect, EFFECTS, path.child("effect")) if effect else errors


def _validate_references(references: Sequence[str], path: Path, known: _RequestNames) -> ErrorList:
    check = partial(_validate_reference, known=known)
    return validate_set(references, _REQUESTS_MAX, check, str, path)


def _validate_reference(name: str, path: Path, known: _RequestNames) -> ErrorList:
    request, *alternatives = name.split("/")
    if len(alternatives) > 1:
        return [field.invalid(path, name, _REFERENCE)]
    errors: ErrorList = []
    for part in (request, *alternatives):
        errors += dns_label(part, path)
    if request not in known or (alternatives and alternatives[0] not in known[request]):
        errors.append(field.invalid(path, name, _REFERENCE))
    return errors


def _validate_constraint(
    constraint: Mapping[str, Any], path: Path, known: _RequestNames, context: Context
) -> ErrorList:
    errors = _validate_references(constraint.get("requests") or (), path.child("requests"), known)
    for key in ("matchAttribute", "distinctAttribute"):
        if constraint.get(key) is not None:
            return errors + validate_fully_qualified_name(constraint[key], path.child(key))
    if context.features.enabled("DRAConsumableCapacity"):
        errors.append(field.required(path, _ONE_ATTRIBUTE))
    else:
        errors.append(field.required(path.child("matchAttribute")))
    return errors


def _validate_config(config: Mapping[str, Any], path: Path, known: _RequestNames) -> ErrorList:
    errors = _validate_references(config.get("requests") or (), path.child("requests"), known)
    return errors + validate_configuration(config, path)


def validate_configuration(config: Mapping[str, Any], path: Path, *, stored: bool = False) -> ErrorList:
    """Check parameters for a driver."""
    opaque, own = config.get("opaque"), path.child("opaque")
    if opaque is None:
        return [field.required(own)]
    errors = validate_driver_name(opaque.get("driver", ""), own.child("driver"))
    parameters = opaque.get("parameters")
    return errors + validate_raw_object(parameters, own.child("parameters"), _PARAMETERS_MAX, stored=stored)


# --- Status -----------------------------------------------------------------------------------------------------------


def device_id(device: Mapping[str, Any]) -> _DeviceID:
    """Return what tells an allocated device, or a share of one, from others."""
    return (
        device.get("driver", ""),
        device.get("pool", ""),
        device.get("device", ""),
        device.get("shareID") or "",
    )


def allocated_devices(status: Mapping[str, Any]) -> list[_DeviceID]:
    """Return the devices that a claim has."""
    allocation = status.get("allocation") or {}
    return [device_id(result) for result in (allocation.get("devices") or {}).get("results") or ()]


def validate_claim_status(new: Mapping[str, Any], old: Mapping[str, Any]) -> ErrorList:
    """Check a write of a claim's status; the arguments are claims."""
    status, before, path = new["status"], old["status"], Path("status")
    reserved = status.get("reservedFor") or ()
    errors = validate_set(reserved, _RESERVED_MAX, _validate_consumer, _uid_of, path.child("reservedFor"))
    errors += _validate_device_statuses(status, path.child("devices"))
    if reserved and status.get("allocation") is None:
        detail = "may not be specified when `allocated` is not set"
        errors.append(field.forbidden(path.child("reservedFor"), detail))
    elif new["metadata"].get("deletionTimestamp") and any(
        each not in (before.get("reservedFor") or ()) for each in reserved
    ):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(field.forbidden(path.child("reservedFor"), detail))
    allocation, known = status.get("allocation"), before.get("allocation")
    own = path.child("allocation")
    if allocation is None:
        return errors
    if known is None:
        return errors + _validate_allocation(allocation, own, request_names(new["spec"].get("devices") or {}))
    if allocation != known:
        shown = internal_text("resource.AllocationResult", allocation)
        errors.append(field.invalid(own, shown, names.FIELD_IMMUTABLE))
    return errors


def _uid_of(consumer: Mapping[str, Any]) -> str:
    uid: str = consumer.get("uid", "")
    return uid


def _validate_consumer(consumer: Mapping[str, Any], path: Path) -> ErrorList:
    return [field.required(path.child(key)) for key in ("resource", "name", "uid") if not consumer.get(key)]


def _validate_allocation(allocation: Mapping[str, Any], path: Path, known: _RequestNames) -> ErrorList:
    devices, own = allocation.get("devices") or {}, path.child("devices")
    result = partial(_validate_result, known=known)
    errors = validate_list(devices.get("results") or (), _RESULTS_MAX, result, own.child("results"))
    config = partial(_validate_allocated_config, known=known)
    errors += validate_list(devices.get("config") or (), 2 * _CONFIGS_MAX, config, own.child("config"))
    selector = allocation.get("nodeSelector")
    return errors if selector is None else errors + validate_node_selector(selector, path.child("nodeSelector"))


def _validate_result(result: Mapping[str, Any], path: Path, known: _RequestNames) -> ErrorList:
    errors = _validate_reference(result.get("request", ""), path.child("request"), known)
    errors += _validate_identity(result, path)
    return errors + validate_binding_conditions(result, path)


def _validate_identity(device: Mapping[str, Any], path: Path) -> ErrorList:
    errors = validate_driver_name(device.get("driver", ""), path.child("driver"))
    errors += validate_pool_name(device.get("pool", ""), path.child("pool"))
    errors += validate_device_name(device.get("device", ""), path.child("device"))
    share = device.get("shareID")
    return errors if share is None else errors + validate_share_id(share, path.child("shareID"))


def _validate_allocated_config(config: Mapping[str, Any], path: Path, known: _RequestNames) -> ErrorList:
    source, own = config.get("source", ""), path.child("source")
    allowed = ("FromClaim", "FromClass")
    errors = one_of(source, allowed, own) if source else [field.required(own)]
    return errors + _validate_config(config, path, known)


def _validate_device_statuses(status: Mapping[str, Any], path: Path) -> ErrorList:
    known = allocated_devices(status)
    errors: ErrorList = []
    seen: list[_DeviceID] = []
    for i, device in enumerate(status.get("devices") or ()):
        own, identity = path.index(i), device_id(device)
        errors += _validate_identity(device, own)
        if identity not in known:
            errors.append(field.invalid(own, _OPAQUE_ID, "must be an allocated device in the claim"))
        if identity in seen:
            errors.append(field.duplicate(own, _OPAQUE_ID))
        seen.append(identity)
        errors += _validate_device_status(device, own)
    return errors


def _validate_device_status(device: Mapping[str, Any], path: Path) -> ErrorList:
    conditions, own = device.get("conditions") or (), path.child("conditions")
    errors: ErrorList = []
    if len(conditions) > _STATUS_CONDITIONS_MAX:
        errors.append(field.too_many(own, len(conditions), _STATUS_CONDITIONS_MAX))
    errors += validate_conditions(conditions, own)
    if device.get("data") is not None:
        errors += validate_raw_object(device["data"], path.child("data"), _STATUS_DATA_MAX)
    network, own = device.get("networkData") or {}, path.child("networkData")
    for key, limit in (("interfaceName", _INTERFACE_MAX), ("hardwareAddress", _HARDWARE_MAX)):
        if names.byte_length(network.get(key, "")) > limit:
            errors.append(field.too_long(own.child(key), limit))
    addresses = network.get("ips") or ()
    return errors + validate_set(addresses, _ADDRESSES_MAX, _validate_address, str, own.child("ips"))


def _validate_address(text: str, path: Path) -> ErrorList:
    return check_interface_address(path, text)
