"""Checks of node selectors, in pods, volumes and device allocations.

Mirrors: pkg/apis/core/validation/validation.go (ValidateNodeSelector and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_BAD_OPERATOR = "not a valid selector operator"


def validate_node_selector(selector: Mapping[str, Any], path: Path) -> ErrorList:
    """Check a node selector; it must have terms."""
    terms: Sequence[Mapping[str, Any]] = selector.get("nodeSelectorTerms") or ()
    own = path.child("nodeSelectorTerms")
    if not terms:
        return [field.required(own, "must have at least one node selector term")]
    errors: ErrorList = []
    for i, term in enumerate(terms):
        errors += validate_term(term, own.index(i))
    return errors


def validate_term(term: Mapping[str, Any], path: Path, *, any_value: bool = False) -> ErrorList:
    """Check one term; `any_value` allows values that no label can have."""
    errors: ErrorList = []
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _validate_expression(requirement, path.child("matchExpressions").index(i), any_value=any_value)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_field(requirement, path.child("matchFields").index(i))
    return errors


def _validate_expression(requirement: Mapping[str, Any], path: Path, *, any_value: bool) -> ErrorList:
    errors: ErrorList = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(field.required(path.child("values"), detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(field.forbidden(path.child("values"), detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(field.required(path.child("values"), detail))
    else:
        errors.append(field.invalid(path.child("operator"), operator, _BAD_OPERATOR))
    errors += names.validate_label_name(requirement.get("key", ""), path.child("key"))
    for i, value in enumerate(() if any_value else values):
        found = names.check_label_value(value)
        errors += [
            field.invalid(path.child("values").index(i), value, text, "format=k8s-label-value") for text in found
        ]
    return errors


def _validate_field(requirement: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    operator, key, values = requirement.get("operator", ""), requirement.get("key", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(field.invalid(path.child("operator"), operator, _BAD_OPERATOR))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(field.required(path.child("values"), detail))
    if key != "metadata.name":
        errors.append(field.invalid(path.child("key"), key, "not a valid field selector key"))
        return errors
    for i, value in enumerate(values):
        found = names.name_is_dns_subdomain(value)
        errors += [field.invalid(path.child("values").index(i), value, text) for text in found]
    return errors
