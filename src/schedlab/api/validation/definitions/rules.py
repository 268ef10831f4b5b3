"""Rules of x-kubernetes-validations: their texts, and whether they are sound CEL.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
pkg/apiserver/schema/cel/compilation.go (v1.36)
Differs: of the types of a rule's variables only the outermost is known, so that fewer rules are refused; what rules
cost is not estimated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.validation.definitions.field_paths import PathError, resolve
from schedlab.api.validation.definitions.structural import conversion_problem
from schedlab.api.validation.definitions.walking import Schema
from schedlab.apimachinery import field
from schedlab.apimachinery.cel import BOOL, DOUBLE, DYN, INT, STRING, CelError, CelType, Checker, list_of, map_of
from schedlab.apimachinery.field import ErrorList, Path

_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_TYPES: Final[Mapping[str, CelType]] = {"integer": INT, "number": DOUBLE, "string": STRING, "boolean": BOOL}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What counts of the schemas around a schema."""

    #: The innermost part whose old values cannot be told apart.
    uncorrelatable: Path | None = None
    is_in_metadata: bool = False
    #: Why there may be no default, or nothing.
    no_default: str = ""


def validate_rules(schema: Schema, path: Path) -> ErrorList:
    """Check the texts of rules."""
    errors: ErrorList = []
    for i, rule in enumerate(schema.get(_RULES) or ()):
        errors += _validate_texts(rule, path.child(_RULES).index(i))
        place, own = rule.get("fieldPath") or "", path.child(_RULES).index(i).child("fieldPath")
        if place and not place.strip():
            errors.append(field.invalid(own, place, "must be non-empty if specified"))
        if _LINE_BREAK.search(place):
            errors.append(field.invalid(own, place, "must not contain line breaks"))
        if place and not _is_field(schema, place):
            errors.append(field.invalid(own, place, "must be a valid path"))
    return errors


def _validate_texts(rule: Mapping[str, Any], path: Path) -> ErrorList:
    text, message, expression = (rule.get(key) or "" for key in ("rule", "message", "messageExpression"))
    errors: ErrorList = []
    if not text.strip():
        errors.append(field.required(path.child("rule"), "rule is not specified"))
    elif message and not message.strip():
        errors.append(field.invalid(path.child("message"), message, "must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        errors.append(field.invalid(path.child("message"), message, "must not contain line breaks"))
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        errors.append(field.required(path.child("message"), detail))
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        errors.append(field.required(path.child("messageExpression"), detail))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(field.not_supported(path.child("reason"), reason, _REASONS))
    return errors


def _is_field(schema: Schema, place: str) -> bool:
    if conversion_problem(schema):
        return True
    try:
        resolve(place, schema)
    except PathError:
        return False
    return True


def validate_expressions(schema: Schema, path: Path, around: Surroundings) -> ErrorList:
    """Check the expressions of rules whose texts are sound."""
    errors: ErrorList = []
    for i, rule in enumerate(schema.get(_RULES) or ()):
        own = path.child(_RULES).index(i)
        checker = _checker(_type(schema), bool(rule.get("optionalOldSelf")))
        if problem := _problem(checker, rule["rule"], "bool", "cel expression must evaluate to a bool"):
            shown = internal_text("apiextensions.ValidationRule", rule)
            errors.append(field.invalid(own.child("rule"), shown, problem))
        expression = rule.get("messageExpression") or ""
        wrong = _problem(checker, expression, "string", "messageExpression must evaluate to a string")
        if expression and not problem and wrong:
            shown = internal_text("apiextensions.ValidationRule", rule)
            prefix = "messageExpression " if wrong.startswith("compilation") else ""
            errors.append(field.invalid(own.child("messageExpression"), shown, prefix + wrong))
        errors += _validate_old_self(rule, own, around)
    return errors


def _validate_old_self(rule: Mapping[str, Any], path: Path, around: Surroundings) -> ErrorList:
    if _OLD_SELF.search(rule["rule"]):
        if around.uncorrelatable is None:
            return []
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {around.uncorrelatable}"
        return [field.invalid(path.child("rule"), rule["rule"], detail)]
    optional = rule.get("optionalOldSelf")
    if optional is None:
        return []
    return [field.invalid(path.child("optionalOldSelf"), optional, "may not be set if oldSelf is not used in rule")]


def _problem(checker: Checker, expression: str, wanted: str, other_type: str) -> str:
    if not expression:
        return ""
    try:
        kind = checker.check(expression).lower()
    except CelError as error:
        return f"compilation failed: {error}"
    return "" if kind in (wanted, "dyn", "") else other_type


@cache
def _checker(kind: CelType, has_optional_old: bool) -> Checker:  # noqa: FBT001 - keys of a cache
    return Checker({"self": kind, "oldSelf": DYN if has_optional_old else kind})


def _type(schema: Schema) -> CelType:
    kind = schema.get("type", "")
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string") or schema.get("format"):
        return DYN
    if kind == "array":
        return list_of(DYN)
    if kind == "object" and "additionalProperties" in schema:
        return map_of(STRING, DYN)
    return _TYPES.get(kind, DYN)
