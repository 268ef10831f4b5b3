"""Checks of resource slices: the devices that a driver offers.

Mirrors: pkg/apis/resource/validation/validation.go (ValidateResourceSlice… and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.rules.resource_names import is_native_resource
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_label, messages, one_of
from schedlab.api.validation.device_claims import EFFECTS
from schedlab.api.validation.device_names import (
    name_of,
    validate_binding_conditions,
    validate_device_name,
    validate_driver_name,
    validate_list,
    validate_map,
    validate_pool_name,
    validate_qualified_name,
    validate_set,
)
from schedlab.api.validation.node_selectors import validate_node_selector
from schedlab.api.validation.request_policies import validate_request_policy
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

_DEVICES_MAX: Final = 128
#: When devices have taints, counters or lists.
_ADVANCED_DEVICES_MAX: Final = 64
_COUNTER_SETS_MAX: Final = 8
_COUNTERS_MAX: Final = 32
_CONSUMPTIONS_MAX: Final = 2
_ATTRIBUTES_MAX: Final = 32
_VALUES_MAX: Final = 48
_VALUE_LENGTH_MAX: Final = 64
_TAINTS_MAX: Final = 16
_LABEL_LENGTH_MAX: Final = 63
_KEY_LENGTH_MAX: Final = 63 + 1 + 32

_PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_DEVICE_PLACE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required "
    "when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_DEVICE_PLACE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set "
    "if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_ONE_VALUE: Final = "exactly one value must be specified"
_LISTS: Final = ("bools", "ints", "strings", "versions")
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def validate_slice_spec(spec: Mapping[str, Any], old: Mapping[str, Any] | None, path: Path) -> ErrorList:
    """Check a slice; `old` is what is stored."""
    pool = spec.get("pool") or {}
    errors = validate_driver_name(spec.get("driver", ""), path.child("driver"))
    errors += _validate_pool(pool, path.child("pool"))
    if old is not None:
        errors += _validate_fixed(spec, old, path)
    errors += _validate_place(spec, path)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        errors.append(field.invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
    devices = spec.get("devices") or ()
    known = {device.get("name", ""): device for device in (old or {}).get("devices") or ()}
    check = partial(_validate_device, known=known, has_places=bool(spec.get("perDeviceNodeSelection")))
    devices_max = _ADVANCED_DEVICES_MAX if any(map(_is_advanced, devices)) else _DEVICES_MAX
    errors += validate_set(devices, devices_max, check, name_of, path.child("devices"))
    counters = spec.get("sharedCounters") or ()
    own = path.child("sharedCounters")
    return errors + validate_set(counters, _COUNTER_SETS_MAX, _validate_counter_set, name_of, own)


def _validate_pool(pool: Mapping[str, Any], path: Path) -> ErrorList:
    errors = validate_pool_name(pool.get("name", ""), path.child("name"))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        errors.append(field.invalid(path.child("resourceSliceCount"), count, "must be greater than zero"))
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.append(field.invalid(path.child("generation"), generation, detail))
    return errors


def _validate_fixed(spec: Mapping[str, Any], old: Mapping[str, Any], path: Path) -> ErrorList:
    pool, old_pool = (each.get("pool") or {} for each in (spec, old))
    errors = meta.validate_immutable(pool.get("name", ""), old_pool.get("name", ""), path.child("pool", "name"))
    errors += meta.validate_immutable(spec.get("driver", ""), old.get("driver", ""), path.child("driver"))
    return errors + meta.validate_immutable(spec.get("nodeName"), old.get("nodeName"), path.child("nodeName"))


def _validate_place(spec: Mapping[str, Any], path: Path) -> ErrorList:
    """Say where the devices are, in exactly one way."""
    errors: ErrorList = []
    used: list[str] = []
    for key in _PLACES:
        value, own = spec.get(key), path.child(key)
        if value is None:
            continue
        if key == "nodeSelector":
            errors += validate_node_selector(value, own)
            terms = value.get("nodeSelectorTerms")
            if len(terms or ()) != 1:
                shown = internal_text("[]core.NodeSelectorTerm", terms)
                detail = "must have exactly one node selector term"
                errors.append(field.invalid(own.child("nodeSelectorTerms"), shown, detail))
        elif not value:
            wanted = "a non-empty string" if key == "nodeName" else "true"
            errors.append(field.invalid(own, value, f"must be either unset or set to {wanted}"))
            continue
        elif key == "nodeName":
            errors += messages(own, value, names.name_is_dns_subdomain(value))
        used.append(f"`{key}`")
    return errors + _validate_choice(used, path, _ONE_PLACE, f"{_ONE_PLACE}, but multiple fields are set")


def _validate_choice(used: Sequence[str], path: Path, none: str, several: str) -> ErrorList:
    if not used:
        return [field.required(path, none)]
    return [] if len(used) == 1 else [field.invalid(path, f"{{{', '.join(used)}}}", several)]


def _is_advanced(device: Mapping[str, Any]) -> bool:
    attributes = (device.get("attributes") or {}).values()
    lists = any(attribute.get(key) is not None for attribute in attributes for key in _LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _validate_counter_set(counters: Mapping[str, Any], path: Path) -> ErrorList:
    return _validate_counters(counters, "name", path)


def _validate_counters(holder: Mapping[str, Any], key: str, path: Path) -> ErrorList:
    name, counters = holder.get(key, ""), holder.get("counters") or {}
    errors = dns_label(name, path.child(key)) if name else [field.required(path.child(key))]
    own = path.child("counters")
    if not counters:
        errors.append(field.required(own))
        return errors
    return errors + validate_map(counters, _COUNTERS_MAX, _LABEL_LENGTH_MAX, dns_label, _accept, own)


def _accept(_value: Any, _path: Path) -> ErrorList:
    return []


def _validate_device(
    device: Mapping[str, Any], path: Path, known: Mapping[str, Mapping[str, Any]], *, has_places: bool
) -> ErrorList:
    name = device.get("name", "")
    errors = validate_device_name(name, path.child("name"))
    errors += _validate_facts(device, path)
    taints = device.get("taints") or ()
    if name not in known or (known[name].get("taints") or ()) != taints:
        errors += validate_list(taints, _TAINTS_MAX, _validate_taint, path.child("taints"))
    consumptions, own = device.get("consumesCounters") or (), path.child("consumesCounters")
    errors += validate_set(consumptions, _CONSUMPTIONS_MAX, _validate_consumption, _counter_set_of, own)
    errors += _validate_device_place(device, path, has_places=has_places)
    errors += validate_binding_conditions(device, path)
    return errors + _validate_mappings(device, path.child("nodeAllocatableResourceMappings"))


def _validate_facts(device: Mapping[str, Any], path: Path) -> ErrorList:
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    errors: ErrorList = []
    count = len(attributes) + len(capacity)
    if count > _ATTRIBUTES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_MAX}"
        errors.append(field.invalid(path, count, detail))
    values = sum(sum(len(each.get(key) or ()) for key in _LISTS) or 1 for each in attributes.values())
    if values > _VALUES_MAX:
        detail = f"the total number of attribute values must not exceed {_VALUES_MAX}"
        errors.append(field.invalid(path, values, detail))
    own = path.child("attributes")
    errors += validate_map(attributes, -1, _KEY_LENGTH_MAX, validate_qualified_name, _validate_attribute, own)
    check = partial(_validate_capacity, is_shared=bool(device.get("allowMultipleAllocations")))
    own = path.child("capacity")
    return errors + validate_map(capacity, -1, _KEY_LENGTH_MAX, validate_qualified_name, check, own)


def _validate_attribute(attribute: Mapping[str, Any], path: Path) -> ErrorList:
    given = [key for key in ("bool", "int", "string", "version", *_LISTS) if attribute.get(key) is not None]
    errors: ErrorList = []
    for key in given:
        value, own = attribute[key], path.child(key)
        if key in ("string", "version"):
            errors += _validate_text(value, own, is_version=key == "version")
        elif key in _LISTS:
            if not value:
                errors.append(field.invalid(own, value, "must not be empty if specified"))
            for i, item in enumerate(value) if key in ("strings", "versions") else ():
                errors += _validate_text(item, own.index(i), is_version=key == "versions")
    if not given:
        errors.append(field.invalid(path, "", _ONE_VALUE))
    elif len(given) > 1:
        errors.append(field.invalid(path, internal_text("resource.DeviceAttribute", attribute), _ONE_VALUE))
    return errors


def _validate_text(text: str, path: Path, *, is_version: bool) -> ErrorList:
    errors: ErrorList = []
    if is_version and not _SEMVER.fullmatch(text):
        errors.append(field.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0"))
    if names.byte_length(text) > _VALUE_LENGTH_MAX:
        errors.append(field.too_long(path, _VALUE_LENGTH_MAX))
    return errors


def _validate_capacity(capacity: Mapping[str, Any], path: Path, *, is_shared: bool) -> ErrorList:
    policy, own = capacity.get("requestPolicy"), path.child("requestPolicy")
    if policy is None:
        return []
    if not is_shared:
        return [field.forbidden(own, "allowMultipleAllocations must be true")]
    return validate_request_policy(parse_cached(capacity.get("value", "0")), policy, own)


def _validate_taint(taint: Mapping[str, Any], path: Path) -> ErrorList:
    errors = names.validate_label_name(taint.get("key", ""), path.child("key"))
    value, effect, own = taint.get("value", ""), taint.get("effect", ""), path.child("effect")
    if value:
        errors += messages(path.child("value"), value, names.check_label_value(value))
    return errors + (one_of(effect, EFFECTS, own) if effect else [field.required(own)])


def _counter_set_of(consumption: Mapping[str, Any]) -> str:
    name: str = consumption.get("counterSet", "")
    return name


def _validate_consumption(consumption: Mapping[str, Any], path: Path) -> ErrorList:
    return _validate_counters(consumption, "counterSet", path)


def _validate_device_place(device: Mapping[str, Any], path: Path, *, has_places: bool) -> ErrorList:
    given = [key for key in _PLACES[:3] if device.get(key) is not None]
    if not has_places:
        return [field.invalid(path, None, _NO_DEVICE_PLACE)] if given else []
    errors: ErrorList = []
    used: list[str] = []
    for key in given:
        value, own = device[key], path.child(key)
        if key == "nodeSelector":
            errors += validate_node_selector(value, own)
        elif not value:
            detail = "must not be empty" if key == "nodeName" else "must be either unset or set to true"
            errors.append(field.invalid(own, value, detail))
            continue
        elif key == "nodeName":
            errors += messages(own, value, names.name_is_dns_subdomain(value))
        used.append(f"`{key}`")
    return errors + _validate_choice(used, path, _ONE_DEVICE_PLACE, _ONE_DEVICE_PLACE)


def _validate_mappings(device: Mapping[str, Any], path: Path) -> ErrorList:
    capacity = device.get("capacity") or {}
    errors: ErrorList = []
    for name, mapping in (device.get("nodeAllocatableResourceMappings") or {}).items():
        own, multiplier, key = path.key(name), mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if not is_native_resource(name):
            errors.append(field.invalid(own, name, "must be a node allocatable resource name"))
        if multiplier is None and key is None:
            detail = "at least one of allocationMultiplier or capacityKey must be set"
            errors.append(field.invalid(own, "", detail))
        if multiplier is not None and parse_cached(multiplier).sign <= 0:
            errors.append(field.invalid(own.child("allocationMultiplier"), multiplier, "must be positive"))
        if key == "":
            errors.append(field.invalid(own.child("capacityKey"), "", "capacityKey must not be an empty string"))
        elif key is not None and key not in capacity:
            errors.append(field.not_found(own.child("capacityKey"), key))
    return errors
