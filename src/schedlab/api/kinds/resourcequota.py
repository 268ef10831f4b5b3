"""Resource quotas.

Mirrors: pkg/registry/core/resourcequota/strategy.go, pkg/apis/core/validation/validation.go (ValidateResourceQuota…)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import status_kept, update_of_status, without_status
from schedlab.api.kinds.resource_lists import round_up
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.resources import validate_name, validate_quantity
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

_SPEC: Final = Path("spec")
_POD_RESOURCES: Final = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods")
_COUNTS: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
)
_STANDARD: Final = (
    *(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")),
    "requests.storage",
    *_COUNTS,
)
#: Which resources a scope can be about; a scope of another name is no scope.
_SCOPES: Final[Mapping[str, Sequence[str]]] = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": ("pods",),
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
_EXISTING_ONLY: Final = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONFLICTS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _default(quota: Object, _context: Context) -> None:
    round_up(quota["spec"].get("hard"))
    round_up(quota["status"].get("hard"))
    round_up(quota["status"].get("used"))


def _validate(quota: Object, context: Context) -> ErrorList:
    errors = meta.validate(quota["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(quota["spec"])
    if not errors:
        context.warnings.extend(_warnings(quota["spec"].get("hard") or {}))
    return errors


def _validate_spec(spec: Object) -> ErrorList:
    errors = _validate_amounts(spec.get("hard") or {}, _SPEC.child("hard"))
    errors += _validate_scopes(spec, _SPEC.child("scopes"))
    if spec.get("scopeSelector") is not None:
        errors += _validate_scope_selector(spec, _SPEC.child("scopeSelector", "matchExpressions"))
    return errors


def _validate_amounts(amounts: Mapping[str, str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for name, text in amounts.items():
        own = path.key(name)
        errors += validate_name(name, own)
        if "/" not in name and not _is_standard(name):
            errors.append(field.invalid(own, name, "must be a standard resource for quota"))
        errors += validate_quantity(name, text, own)
    return errors


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def _misfits(scope: str, hard: Mapping[str, str]) -> int:
    """Count the standard resources of a quota that a scope cannot be about."""
    fitting = _SCOPES.get(scope)
    return 0 if fitting is None else sum(_is_standard(name) and name not in fitting for name in hard)


def _validate_scopes(spec: Object, path: Path) -> ErrorList:
    scopes = spec.get("scopes") or []
    errors: ErrorList = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(field.invalid(path, scopes, "unsupported scope"))
        misfits = _misfits(scope, spec.get("hard") or {})
        errors += [field.invalid(path, scopes, "unsupported scope applied to resource")] * misfits
    return errors + _validate_conflicts(scopes, scopes, path)


def _validate_conflicts(scopes: Sequence[str], shown: Sequence[str] | None, path: Path) -> ErrorList:
    return [
        field.invalid(path, shown, "conflicting scopes")
        for pair in _CONFLICTS
        if pair[0] in scopes and pair[1] in scopes
    ]


def _validate_scope_selector(spec: Object, path: Path) -> ErrorList:
    errors: ErrorList = []
    scopes: list[str] = []
    for requirement in spec["scopeSelector"].get("matchExpressions") or ():
        scope = requirement.get("scopeName", "")
        scopes.append(scope)
        if scope not in _SCOPES:
            errors.append(field.invalid(path.child("scopeName"), scope, "unsupported scope"))
        if misfits := _misfits(scope, spec.get("hard") or {}):
            shown = internal_text("core.ScopeSelector", spec["scopeSelector"])
            errors += [field.invalid(path, shown, "unsupported scope applied to resource")] * misfits
        errors += _validate_requirement(requirement, scope, path)
    return errors + _validate_conflicts(scopes, spec.get("scopes"), path)


def _validate_requirement(requirement: Mapping[str, Any], scope: str, path: Path) -> ErrorList:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors: ErrorList = []
    if scope in _EXISTING_ONLY and operator != "Exists":
        errors.append(field.invalid(path.child("operator"), operator, _MUST_EXIST))
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(field.required(path.child("values"), detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(field.invalid(path.child("values"), values, detail))
    else:
        errors.append(field.invalid(path.child("operator"), operator, "not a valid selector operator"))
    return errors


def _warnings(hard: Mapping[str, str]) -> list[str]:
    """Tell of requests that may exceed the limits."""
    warnings: list[str] = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and parse_cached(hard[request]) > parse_cached(hard[limit]):
            warnings.append(f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})")
    return warnings


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"]) + _validate_spec(new["spec"])
    scopes, before = new["spec"].get("scopes"), old["spec"].get("scopes")
    if sorted(set(scopes or ())) != sorted(set(before or ())):
        errors.append(field.invalid(_SPEC.child("scopes"), scopes, names.FIELD_IMMUTABLE))
    return errors


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    if not new["metadata"].get("resourceVersion"):
        errors.append(field.required("resourceVersion"))
    for key in ("hard", "used"):
        errors += _validate_amounts(new["status"].get(key) or {}, Path("status", key))
    return errors


RESOURCE_QUOTA: Final = Strategy(
    resource="resourcequotas",
    validate=_validate,
    update=UpdateStrategy(_validate_update, status_kept, RESETS_STATUS),
    default=_default,
    prepare=without_status,
    subresources={"status": update_of_status(_validate_status)},
    returns_deleted=True,
)
