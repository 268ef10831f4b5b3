"""Checks of resource names and quantities, and of what containers and pods ask for.

Mirrors: pkg/apis/core/validation/validation.go (validateResourceName … validateResourceRequirements),
pkg/apis/core/helper/helpers.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from schedlab.api.kinds.resource_lists import allows_overcommit, is_huge_page, is_pod_level
from schedlab.api.rules.resource_names import is_extended_resource, is_native_resource
from schedlab.apimachinery import field, names, quantity
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import Quantity, QuantityError, parse_cached

NEGATIVE: Final = names.NEGATIVE
NOT_INTEGER: Final = "must be an integer"
NOT_POSITIVE: Final = "must be greater than zero"

_OBJECT_COUNTS: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_STANDARD: Final = frozenset(
    (
        *_COMPUTE,
        *(f"requests.{name}" for name in _COMPUTE),
        *(f"limits.{name}" for name in _COMPUTE),
        "storage",
        "requests.storage",
        *_OBJECT_COUNTS,
    )
)
#: What pods may ask for as a whole, as messages list it.
_POD_LEVEL_NAMES: Final = ("cpu", "hugepages-", "memory")

NameCheck: TypeAlias = Callable[[str, Path], ErrorList]


def validate_name(name: str, path: Path) -> ErrorList:
    """A qualified name; without a domain, one that Kubernetes knows."""
    if messages := names.check_qualified_name(name):
        return [field.invalid(path, name, message) for message in messages]
    if "/" not in name and name not in _STANDARD and not name.startswith(("hugepages-", "requests.hugepages-")):
        return [field.invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def validate_container_name(name: str, path: Path) -> ErrorList:
    """A resource that a container may ask for."""
    errors = validate_name(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not is_huge_page(name):
            errors.append(field.invalid(path, name, "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(field.invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def validate_pod_name(name: str, path: Path) -> ErrorList:
    """A resource that a pod may ask for as a whole."""
    if errors := validate_name(name, path):
        return errors
    return [] if is_pod_level(name) else [field.not_supported(path, name, _POD_LEVEL_NAMES)]


def validate_nonnegative(text: str, path: Path) -> ErrorList:
    amount = parse_cached(text)
    return [field.invalid(path, str(amount), NEGATIVE)] if amount.sign < 0 else []


def validate_positive(text: str, path: Path) -> ErrorList:
    amount = parse_cached(text)
    return [field.invalid(path, str(amount), NOT_POSITIVE)] if amount.sign <= 0 else []


def validate_quantity(name: str, text: str, path: Path) -> ErrorList:
    """An amount of a resource: not negative, and whole where the resource is counted."""
    errors = validate_nonnegative(text, path)
    if (name in _OBJECT_COUNTS or is_extended_resource(name)) and parse_cached(text).milli_value() % 1000:
        errors.append(field.invalid(path, text, NOT_INTEGER))
    return errors


@lru_cache(maxsize=4096)
def _is_sound(check: NameCheck, name: str, text: str) -> bool:
    """Whether an amount of a resource can be asked for; the few that occur are asked about over and over."""
    path = Path("")
    return not (check(name, path) or validate_quantity(name, text, path) or _huge_page_error(name, text))


def _huge_page_error(name: str, text: str) -> str:
    if not is_huge_page(name) or _divides(name, parse_cached(text)):
        return ""
    return f"{text} is not positive integer multiple of {name}"


def _divides(name: str, amount: Quantity) -> bool:
    try:
        size = quantity.parse(name.removeprefix("hugepages-"))
    except QuantityError:
        return False
    return size.sign > 0 and size.milli_value() % 1000 == 0 and amount.value() % size.value() == 0


def validate_container_requirements(resources: Mapping[str, Any], claims: Collection[str], path: Path) -> ErrorList:
    """Check the resources of a container; `claims` are the names of the pod's resource claims."""
    return _validate_requirements(resources, validate_container_name, claims, path)


def validate_pod_requirements(resources: Mapping[str, Any], claims: Collection[str], path: Path) -> ErrorList:
    """Check the resources of a pod as a whole."""
    return _validate_requirements(resources, validate_pod_name, claims, path)


def _validate_requirements(
    resources: Mapping[str, Any], check: NameCheck, claims: Collection[str], path: Path
) -> ErrorList:
    limits: Mapping[str, str] = resources.get("limits") or {}
    requests: Mapping[str, str] = resources.get("requests") or {}
    errors: ErrorList = []
    for name, text in limits.items():
        if not _is_sound(check, name, text):
            errors.extend(_validate_amount(check, name, text, path.child("limits").key(name)))
    for name, text in requests.items():
        if not _is_sound(check, name, text):
            errors.extend(_validate_amount(check, name, text, path.child("requests").key(name)))
        if text != limits.get(name):
            errors.extend(_validate_against_limit(name, text, limits, path))
    asked = (*limits, *requests)
    if any(map(is_huge_page, asked)) and "cpu" not in asked and "memory" not in asked:
        errors.append(field.forbidden(path, "HugePages require cpu or memory"))
    if used := resources.get("claims"):
        errors.extend(_validate_claim_names(used, claims, path.child("claims")))
    return errors


def _validate_amount(check: NameCheck, name: str, text: str, path: Path) -> ErrorList:
    errors = check(name, path) + validate_quantity(name, text, path)
    if problem := _huge_page_error(name, text):
        errors.append(field.invalid(path, text, problem))
    return errors


def _validate_against_limit(name: str, text: str, limits: Mapping[str, str], path: Path) -> ErrorList:
    """A request must fit below its limit, or be equal to it where nothing can be promised twice."""
    if name not in limits:
        if allows_overcommit(name):
            return []
        return [field.required(path.child("limits"), "Limit must be set for non overcommitable resources")]
    requested, limit = parse_cached(text), parse_cached(limits[name])
    if requested != limit and not allows_overcommit(name):
        detail = f"must be equal to {name} limit of {limit}"
    elif requested > limit:
        detail = f"must be less than or equal to {name} limit of {limit}"
    else:
        return []
    return [field.invalid(path.child("requests"), str(requested), detail)]


def _validate_claim_names(used: Sequence[Mapping[str, Any]], claims: Collection[str], path: Path) -> ErrorList:
    """Check which of the pod's claims, or which requests of them, a container uses."""
    errors: ErrorList = []
    seen: dict[str, None] = {}
    for i, entry in enumerate(used):
        name, request = entry.get("name", ""), entry.get("request", "")
        if not name:
            errors.append(field.required(path.index(i)))
            continue
        errors.extend(_validate_claim_use(name, request, seen, path.index(i)))
        if name not in claims:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += f": {', '.join(sorted(claims))}" if claims else " which is empty"
            errors.append(replace(field.not_found(path.index(i), name), detail=detail))
    return errors


def _validate_claim_use(name: str, request: str, seen: dict[str, None], path: Path) -> ErrorList:
    if name in seen:  # with all its requests
        return [field.duplicate(path, name)]
    errors: ErrorList = []
    if request:
        errors.extend(
            field.invalid(path.child("request"), request, text) for text in names.check_dns1123_label(request)
        )
        key = f"{name}/{request}"
        if key in seen:
            errors.append(field.duplicate(path, key))
    else:
        key = name
        errors.extend(field.duplicate(path, name) for other in seen if other.startswith(f"{name}/"))
    seen[key] = None
    return errors
