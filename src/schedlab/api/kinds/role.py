"""Roles and cluster roles.

Mirrors: pkg/registry/rbac/{role,clusterrole}/strategy.go, pkg/apis/rbac/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.workloads import parse_selector
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.names import check_path_segment_name
from schedlab.apimachinery.selectors import validate_label_selector

_RULES: Final = Path("rules")
_SELECTORS: Final = Path("aggregationRule", "clusterRoleSelectors")


def name_is_free(name: str, *, prefix: bool = False) -> list[str]:  # noqa: ARG001 - it makes no difference
    """Check the name of an object of this group: anything that can stand in a URL path."""
    return check_path_segment_name(name)


def _validate_rules(rules: Sequence[Mapping[str, Any]], *, namespaced: bool) -> ErrorList:
    errors: ErrorList = []
    for i, rule in enumerate(rules):
        errors += _validate_rule(rule, _RULES.index(i), namespaced=namespaced)
    return errors


def _validate_rule(rule: Mapping[str, Any], path: Path, *, namespaced: bool) -> ErrorList:
    errors: ErrorList = []
    if not rule.get("verbs"):
        errors.append(field.required(path.child("verbs"), "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        own = path.child("nonResourceURLs")
        if namespaced:
            errors.append(field.invalid(own, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(field.invalid(own, urls, detail))
        return errors
    for key, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(key):
            errors.append(field.required(path.child(key), f"resource rules must supply at least one {what}"))
    return errors


def _validate_role(role: Object, _context: Context) -> ErrorList:
    errors = meta.validate(role["metadata"], name_is_free, namespaced=True)
    return errors + _validate_rules(role.get("rules") or (), namespaced=True)


def _validate_role_update(new: Object, old: Object, context: Context) -> ErrorList:
    return _validate_role(new, context) + meta.validate_update(new["metadata"], old["metadata"])


def _selectors(role: Object) -> Sequence[Mapping[str, Any]]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()


def _validate_cluster_role(role: Object, _context: Context) -> ErrorList:
    return _validate_aggregated(role, allow_invalid_values=False)


def _validate_aggregated(role: Object, *, allow_invalid_values: bool) -> ErrorList:
    errors = meta.validate(role["metadata"], name_is_free, namespaced=False)
    errors += _validate_rules(role.get("rules") or (), namespaced=False)
    selectors = _selectors(role)
    if role.get("aggregationRule") is not None and not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(field.required(_SELECTORS, detail))
    for i, selector in enumerate(selectors):
        path = _SELECTORS.index(i)
        errors += validate_label_selector(selector, path, allow_invalid_values=allow_invalid_values)
        if parse_selector(selector) is None:
            errors.append(field.invalid(path, None, "invalid label selector."))
    return errors


def _validate_cluster_role_update(new: Object, old: Object, _context: Context) -> ErrorList:
    lax = any(validate_label_selector(selector, _SELECTORS) for selector in _selectors(old))
    errors = _validate_aggregated(new, allow_invalid_values=lax)
    return errors + meta.validate_update(new["metadata"], old["metadata"])


ROLE: Final = Strategy(
    resource="roles.rbac.authorization.k8s.io",
    validate=_validate_role,
    update=UpdateStrategy(_validate_role_update),
    allow_create_on_update=True,
)
CLUSTER_ROLE: Final = Strategy(
    resource="clusterroles.rbac.authorization.k8s.io",
    validate=_validate_cluster_role,
    update=UpdateStrategy(_validate_cluster_role_update),
    allow_create_on_update=True,
)
