"""Checks of metav1.Conditions and of conditions of older forms.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go (ValidateConditions),
pkg/apis/flowcontrol/validation/validation.go (the checks of statuses) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_REASON_EXAMPLES: Final = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
_REASON_MAX: Final = 1024
_MESSAGE_MAX: Final = 32 * 1024


def validate_conditions(conditions: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(field.duplicate(path.index(i).child("type"), kind))
        seen.append(kind)
        errors += _validate_condition(condition, path.index(i))
    return errors


def validate_condition_types(status: Mapping[str, Any], path: Path) -> ErrorList:
    """Check nothing but that every condition has a type of its own."""
    errors: ErrorList = []
    seen: list[str] = []
    for i, condition in enumerate(status.get("conditions") or ()):
        own, kind = path.child("conditions").index(i).child("type"), condition.get("type", "")
        if kind in seen:
            errors.append(field.duplicate(own, kind))
        seen.append(kind)
        if not kind:
            errors.append(field.required(own))
    return errors


def _validate_condition(condition: Mapping[str, Any], path: Path) -> ErrorList:
    kind, reason = condition.get("type", ""), condition.get("reason", "")
    errors = names.validate_label_name(kind, path.child("type"))
    errors += one_of(condition.get("status", ""), _STATUSES, path.child("status"))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        errors.append(
            field.invalid(path.child("observedGeneration"), generation, "must be greater than or equal to zero")
        )
    if condition.get("lastTransitionTime") is None:
        errors.append(field.required(path.child("lastTransitionTime")))
    if not reason:
        errors.append(field.required(path.child("reason")))
    else:
        errors += _validate_reason(reason, path.child("reason"))
    if names.byte_length(condition.get("message", "")) > _MESSAGE_MAX:
        errors.append(field.too_long(path.child("message"), _MESSAGE_MAX))
    return errors


def _validate_reason(reason: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    if not _REASON.fullmatch(reason):
        detail = names.regex_error(_REASON_RULE, _REASON.pattern, *_REASON_EXAMPLES)
        errors.append(field.invalid(path, reason, detail))
    if names.byte_length(reason) > _REASON_MAX:
        errors.append(field.too_long(path, _REASON_MAX))
    return errors
