"""Rules of custom resources in CEL: `x-kubernetes-validations`.

Rules about the old value count only where there is one. Of lists, only those with keys tell which item was which.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (v1.36)
Differs: values have the types of their JSON form (a date-time is a string); rules cost nothing but are stopped when they
go on for too long; names that are no identifiers cannot be written as `__x__`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from schedlab.api.validation.definitions.walking import Schema, item_schema, subschemas, value_schema
from schedlab.apimachinery import field
from schedlab.apimachinery.cel import CelError, Expression, Variables
from schedlab.apimachinery.field import ErrorList, FieldError

_RULES: Final = "x-kubernetes-validations"
_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_VARIABLES: Final = Variables("self", "oldSelf")
#: What a rule on the whole object may see of metadata.
_VISIBLE_METADATA: Final = ("name", "generateName")
_BLOCKING: Final = frozenset(
    (
        field.ErrorType.NOT_SUPPORTED,
        field.ErrorType.REQUIRED,
        field.ErrorType.TOO_LONG,
        field.ErrorType.TOO_MANY,
        field.ErrorType.TYPE_INVALID,
    )
)
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def has_rules(schema: Schema) -> bool:
    """Say whether there is a rule anywhere in a schema."""
    return any(part.get(_RULES) for part in subschemas(schema))


def check_rules(obj: Mapping[str, Any], schema: Schema, old: Mapping[str, Any] | None, errors: ErrorList) -> ErrorList:
    """Evaluate all rules about an object, unless what was found before makes them pointless."""
    if any(error.type in _BLOCKING for error in errors):
        return [field.invalid(None, None, _UNCHECKED)]
    return _check(_visible(obj), schema, None if old is None else _visible(old), "")


def _visible(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: obj["metadata"][key] for key in _VISIBLE_METADATA if key in obj["metadata"]}
    return {**obj, "metadata": metadata}


def _check(value: Any, schema: Schema | None, old: Any, path: str) -> ErrorList:
    if schema is None or value is None:
        return []
    errors: ErrorList = []
    unchanged = old is not None and old == value
    for rule in schema.get(_RULES) or ():
        if wrong := _evaluate(rule, value, schema, old, path):
            # A rule that the unchanged value broke already does not freeze the object.
            uses_old = _OLD_SELF.search(rule["rule"]) is not None
            errors += [] if unchanged and not uses_old else [wrong]
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        known, values = schema.get("properties") or {}, value_schema(schema)
        for key in sorted(value):
            place = (f"{path}.{key}" if path else key) if key in known else f"{path}[{key}]"
            errors += _check(value[key], known.get(key, values), before.get(key), place)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            errors += _check(item, item_schema(schema), _old_item(item, schema, old), f"{path}[{position}]")
    return errors


def _old_item(item: Any, schema: Schema, old: Any) -> Any:
    keys = schema.get("x-kubernetes-list-map-keys")
    if not (keys and isinstance(old, list) and isinstance(item, dict)):
        return None
    wanted = [item.get(key) for key in keys]
    return next((one for one in old if isinstance(one, dict) and [one.get(key) for key in keys] == wanted), None)


def _evaluate(rule: Mapping[str, Any], value: Any, schema: Schema, old: Any, path: str) -> FieldError | None:
    """Evaluate one rule; returns what is wrong, if anything is."""
    text = rule["rule"]
    if not text.strip():
        return None
    uses_old, optional = _OLD_SELF.search(text) is not None, bool(rule.get("optionalOldSelf"))
    if uses_old and old is None and not optional:
        return None
    place, kind = path or None, schema.get("type", "")
    shown = (rule.get("message") or text).strip()
    values = {"self": value, "oldSelf": ([] if old is None else [old]) if optional else old}
    try:
        expression = _compiled(_with_optional(text) if optional else text)
    except CelError as error:
        return field.invalid(place, kind, f"rule compile error: compilation failed: {error}")
    bound = _VARIABLES.bind(values)
    try:
        if expression.evaluate(bound)[0] is True:
            return None
    except CelError as error:
        return field.invalid(place, kind, f"{error} evaluating rule: {shown}")
    detail = _message(rule, bound) or (rule.get("message") or f"failed rule: {text}").strip()
    target = rule.get("fieldPath") or ""
    where = f"{path}{target}".removeprefix(".") if target else path or None
    return _error(where, field.OMIT_VALUE if kind in ("object", "array") else value, detail, rule.get("reason"))


def _with_optional(text: str) -> str:
    """Make an optional value of the list in which the old value is handed over, or is not."""
    return f"cel.bind(oldSelf, oldSelf.size() == 0 ? optional.none() : optional.of(oldSelf[0]), {text})"


def _error(path: str | None, value: object, detail: str, reason: str | None) -> FieldError:
    if reason == "FieldValueForbidden":
        return field.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return field.required(path, detail)
    if reason == "FieldValueDuplicate":
        return field.duplicate(path, value)
    return field.invalid(path, value, detail)


def _message(rule: Mapping[str, Any], bound: Any) -> str:
    """Evaluate the expression for the message; "" when there is none or it is no good."""
    text = rule.get("messageExpression")
    if not text:
        return ""
    try:
        found = _compiled(text).evaluate(bound)[0]
    except CelError:
        return ""
    message = found.strip() if isinstance(found, str) else ""
    return "" if "\n" in message or "\r" in message else message


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Expression:
    return _VARIABLES.compile(text)
