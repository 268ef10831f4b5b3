"""Checks of the names in devices and in claims of them, and of what both have in common.

Mirrors: pkg/apis/resource/validation/validation.go (validatePoolName … validateFullyQualifiedName, validateSet,
validateMap, validateDeviceBindingParameters, validateRawExtension) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from schedlab.api.validation.common import dns_label, dns_subdomain, messages
from schedlab.api.validation.volume_sources import csi_driver_name
from schedlab.apimachinery import field, gojson, names
from schedlab.apimachinery.field import ErrorList, Path

_Item = TypeVar("_Item")

_POOL_LENGTH_MAX: Final = 253
_ID_LENGTH_MAX: Final = 32
_BINDING_CONDITIONS_MAX: Final = 4
_UUID: Final = re.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_NORMAL_UUID: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)

validate_driver_name = csi_driver_name
validate_device_name = dns_label


def validate_list(
    items: Sequence[_Item], items_max: int, check: Callable[[_Item, Path], ErrorList], path: Path
) -> ErrorList:
    """Check every item of a list that may have so many; a negative number is no limit."""
    if 0 <= items_max < len(items):
        return [field.too_many(path, len(items), items_max)]
    errors: ErrorList = []
    for i, item in enumerate(items):
        errors += check(item, path.index(i))
    return errors


def validate_set(
    items: Sequence[_Item],
    items_max: int,
    check: Callable[[_Item, Path], ErrorList],
    key_of: Callable[[_Item], str],
    path: Path,
) -> ErrorList:
    """Check a list whose items differ in their key."""
    errors = validate_list(items, items_max, check, path)
    if 0 <= items_max < len(items):
        return errors
    seen: dict[str, None] = {}
    for i, item in enumerate(items):
        key = key_of(item)
        if key in seen:
            errors.append(field.duplicate(path.index(i), key))
        seen[key] = None
    return errors


def name_of(item: Mapping[str, Any]) -> str:
    """Return the key of most sets."""
    name: str = item.get("name", "")
    return name


def validate_map(
    values: Mapping[str, _Item],
    items_max: int,
    key_length_max: int,
    check_key: Callable[[str, Path], ErrorList],
    check: Callable[[_Item, Path], ErrorList],
    path: Path,
) -> ErrorList:
    """Check a map that may have so many entries; long keys are shortened in paths."""
    if 0 <= items_max < len(values):
        return [field.too_many(path, len(values), items_max)]
    errors: ErrorList = []
    for key, value in values.items():
        errors += check_key(key, path) + check(value, path.key(_shortened(key, key_length_max)))
    return errors


def _shortened(text: str, length_max: int) -> str:
    length_max = max(length_max, 16)
    if len(text) <= length_max:
        return text
    remaining = length_max - 3
    return f"{text[: (remaining + 1) // 2]}...{text[len(text) - remaining // 2 :]}"


def validate_pool_name(name: str, path: Path) -> ErrorList:
    """Subdomains with slashes between them."""
    if not name:
        return [field.required(path)]
    errors: ErrorList = []
    if names.byte_length(name) > _POOL_LENGTH_MAX:
        errors.append(field.too_long(path, _POOL_LENGTH_MAX))
    for part in name.split("/"):
        errors += dns_subdomain(part, path)
    return errors


def validate_qualified_name(name: str, path: Path) -> ErrorList:
    """A C identifier, perhaps with the domain of who defined it."""
    parts = name.split("/")
    if len(parts) == 1:
        return _validate_identifier(name, path)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = csi_driver_name(domain, path) if domain else [field.invalid(path, "", "the domain must not be empty")]
    if not identifier:
        errors.append(field.invalid(path, "", "the name must not be empty"))
        return errors
    return errors + _validate_identifier(identifier, path)


def validate_fully_qualified_name(name: str, path: Path) -> ErrorList:
    errors = validate_qualified_name(name, path)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(field.invalid(path, name, detail))
    return errors


def _validate_identifier(name: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    if names.byte_length(name) > _ID_LENGTH_MAX:
        errors.append(field.too_long(path, _ID_LENGTH_MAX))
    return errors + messages(path, name, names.check_c_identifier(name))


def validate_share_id(uid: str, path: Path) -> ErrorList:
    if _UUID.fullmatch(uid):
        return [] if uid == uid.lower() else [field.invalid(path, uid, _NORMAL_UUID)]
    problem = "invalid UUID format" if len(uid) == 36 else f"invalid UUID length: {len(uid)}"
    return [field.invalid(path, uid, f"error validating uid: {problem}")]


def validate_binding_conditions(holder: Mapping[str, Any], path: Path) -> ErrorList:
    """Check the conditions that a driver sets before a pod is bound, and those that say that it cannot be."""
    good: Sequence[str] = holder.get("bindingConditions") or []
    bad: Sequence[str] = holder.get("bindingFailureConditions") or []
    good_path, bad_path = path.child("bindingConditions"), path.child("bindingFailureConditions")
    errors: ErrorList = []
    for conditions, own in ((good, good_path), (bad, bad_path)):
        errors += validate_list(conditions, _BINDING_CONDITIONS_MAX, names.validate_label_name, own)
        errors += [field.duplicate(own.index(i), name) for i, name in enumerate(conditions) if name in conditions[:i]]
    detail = "bindingFailureConditions must not overlap with bindingConditions"
    errors += [field.invalid(bad_path.index(i), name, detail) for i, name in enumerate(bad) if name in good]
    if bad and not good:
        detail = "bindingConditions are required to use bindingFailureConditions"
        errors.append(field.invalid(good_path, holder.get("bindingConditions"), detail))
    if good and not bad:
        detail = "bindingFailureConditions are required to use bindingConditions"
        errors.append(field.invalid(bad_path, holder.get("bindingFailureConditions"), detail))
    return errors


def validate_raw_object(value: Any, path: Path, size_max: int, *, stored: bool = False) -> ErrorList:
    """Check a JSON object of a driver's own; one that is stored already may be of any size."""
    if value is None:
        return [field.required(path)]
    if not stored and len(gojson.marshal_bytes(value, sort_keys=False, html=False)) > size_max:
        return [field.too_long(path, size_max)]
    if isinstance(value, dict):
        return []
    return [field.invalid(path, "<value omitted>", "must be a valid JSON object")]
