"""Limit ranges.

Mirrors: pkg/registry/core/limitrange/strategy.go, pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem),
pkg/apis/core/validation/validation.go (ValidateLimitRange) (v1.36)
Differs: one that comes without a name is called by its uid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.resource_lists import allows_overcommit, round_up
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.api.validation.resources import validate_container_name, validate_name
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import Quantity, of_int, parse_cached

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_MILLI_MAX: Final = (2**63 - 1) // 1000


def _default(limits: Object, _context: Context) -> None:
    for item in limits["spec"].get("limits") or ():
        if item.get("type") == "Container":
            highest, lowest = item.get("max") or {}, item.get("min") or {}
            default = {**highest, **(item.get("default") or {})}
            request = {**lowest, **default, **(item.get("defaultRequest") or {})}
            for key, values in (("default", default), ("defaultRequest", request)):
                if values:
                    item[key] = values
        for key in _LISTS:
            round_up(item.get(key))


def _prepare(limits: Object, _context: Context) -> None:
    metadata = limits["metadata"]
    if not metadata.get("name"):
        metadata["name"] = metadata["uid"]


def _validate(limits: Object, _context: Context) -> ErrorList:
    errors = meta.validate(limits["metadata"], names.name_is_dns_subdomain, namespaced=True)
    types: list[str] = []
    for i, item in enumerate(limits["spec"].get("limits") or ()):
        path = Path("spec", "limits").index(i)
        kind = item.get("type", "")
        errors += _validate_type(kind, path.child("type"))
        if kind in types:
            errors.append(field.duplicate(path.child("type"), kind))
        types.append(kind)
        errors += _validate_item(item, kind, path)
    return errors


def _validate_type(kind: str, path: Path) -> ErrorList:
    if found := names.check_qualified_name(kind):
        return messages(path, kind, found)
    if "/" in kind or kind in _TYPES:
        return []
    return [field.invalid(path, kind, "must be a standard limit type or fully qualified")]


def _validate_item(item: Mapping[str, Any], kind: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    amounts: dict[str, dict[str, Quantity]] = {}
    check = validate_container_name if kind in ("Pod", "Container") else validate_name
    for key in _LISTS:
        given: Mapping[str, str] = item.get(key) or {}
        if kind == "Pod" and key in ("default", "defaultRequest"):
            if given:
                errors.append(field.forbidden(path.child(key), "may not be specified when `type` is 'Pod'"))
            continue
        for name, text in given.items():
            errors += check(name, path.child(key).key(name))
            amounts.setdefault(name, {})[key] = parse_cached(text)
    if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(key) or {}) for key in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(field.required(path.child("limits"), detail))
    for name, own in amounts.items():
        errors += _validate_order(name, own, path)
        errors += _validate_ratio(name, own, path)
    return errors


#: A pair of lists whose amounts must be in this order, what the message calls them, and whose fault it is: the list
#: that is named, and the one whose value is shown.
_ORDER: Final = (
    ("min", "max", "min value", "max value", "min", "min"),
    ("min", "defaultRequest", "min value", "default request value", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "default request value", "max value", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "default request value", "default limit value", "defaultRequest", "defaultRequest"),
    ("min", "default", "min value", "default value", "default", "min"),
    ("default", "max", "default value", "max value", "default", "max"),
)


def _validate_order(name: str, amounts: Mapping[str, Quantity], path: Path) -> ErrorList:
    errors: ErrorList = []
    for lower, upper, lower_words, upper_words, place, shown in _ORDER:
        if lower in amounts and upper in amounts and amounts[lower] > amounts[upper]:
            detail = f"{lower_words} {amounts[lower]} is greater than {upper_words} {amounts[upper]}"
            errors.append(field.invalid(path.child(place).key(name), str(amounts[shown]), detail))
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if default is not None and request is not None and default != request and not allows_overcommit(name):
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        errors.append(field.invalid(path.child("defaultRequest").key(name), str(request), detail))
    return errors


def _validate_ratio(name: str, amounts: Mapping[str, Quantity], path: Path) -> ErrorList:
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    own = path.child("maxLimitRequestRatio").key(name)
    errors: ErrorList = []
    if ratio < of_int(1):
        errors.append(field.invalid(own, str(ratio), f"ratio {ratio} is less than 1"))
    lowest, highest = amounts.get("min"), amounts.get("max")
    if lowest is None or highest is None:
        return errors
    value, low, high = float(ratio.value()), lowest.value(), highest.value()
    if max(ratio.value(), low, high) < _MILLI_MAX:
        value, low, high = ratio.milli_value() / 1000, lowest.milli_value(), highest.milli_value()
    limit = high / low if low else float("inf")
    if value > limit:
        errors.append(field.invalid(own, str(ratio), f"ratio {ratio} is greater than max/min = {limit:f}"))
    return errors


def _validate_update(new: Object, _old: Object, context: Context) -> ErrorList:
    return _validate(new, context)


LIMIT_RANGE: Final = Strategy(
    resource="limitranges",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    default=_default,
    prepare=_prepare,
    allow_create_on_update=True,
)
