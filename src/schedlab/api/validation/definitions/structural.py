"""Structural schemas: every field has its type in one place, conditions on values add nothing to it.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{convert,validation,complete}.go (v1.36)
Differs: a pattern that is no regular expression is described in other words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.definitions.walking import Schema, item_schema, value_schema
from schedlab.apimachinery import field, regexp
from schedlab.apimachinery.field import ErrorList, Path

_UNSUPPORTED: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
#: What a condition on values must leave to the schema that it is about, with the words for it.
_FORBIDDEN_IN_CONDITIONS: Final[Mapping[str, str]] = {
    "title": "must be empty",
    "description": "must be empty",
    "nullable": "must be false",
    "x-kubernetes-preserve-unknown-fields": "must be false",
    "x-kubernetes-embedded-resource": "must be false",
    "x-kubernetes-int-or-string": "must be false",
    "x-kubernetes-list-map-keys": "must be empty",
    "x-kubernetes-list-type": "must be undefined",
    "x-kubernetes-map-type": "must be undefined",
}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_EITHER: Final = "x-kubernetes-int-or-string"
_TYPE_REQUIRED: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def conversion_problem(schema: Schema) -> str:
    """Say why a schema cannot even be read as a structural one."""
    for key, name in _UNSUPPORTED:
        if schema.get(key) not in (None, "", {}, []):
            return f"OpenAPIV3Schema '{name}' is not supported"
    parts: list[Any] = [schema.get("not")]
    for key in _JUNCTORS:
        parts += schema.get(key) or ()
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    parts += [schema.get("items"), *(schema.get("properties") or {}).values(), schema.get("additionalProperties")]
    problems = (conversion_problem(part) for part in parts if isinstance(part, Mapping))
    return next(filter(None, problems), "")


def validate_structural(schema: Schema, path: Path) -> ErrorList:
    """Check a schema that can be read as a structural one."""
    errors = _validate(schema, "root", path) + _junctors_complete(schema, schema, path, path)
    return sorted(errors, key=str)


def _validate(schema: Schema, level: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    items, properties = item_schema(schema), schema.get("properties") or {}
    if items is None and schema.get("type") == "array":
        errors.append(field.required(path.child("items"), "must be specified"))
    if items is not None:
        errors += _validate(items, "item", path.child("items"))
    for key, value in properties.items():
        errors += _validate(value, "field", path.child("properties").key(key))
    if "additionalProperties" in schema:
        own, values = path.child("additionalProperties"), value_schema(schema)
        if level == "root":
            errors.append(field.forbidden(own, "must not be used at the root"))
        if values is not None:
            errors += _validate(values, "field", own)
    errors += _validate_extensions(schema, path)
    errors += _validate_conditions(schema, path)
    errors += _validate_type(schema, level, path)
    return errors + _validate_metadata_fields(schema, level, path)


def _validate_extensions(schema: Schema, path: Path) -> ErrorList:
    if not schema.get(_EITHER):
        return []
    detail = f"must be false if {_EITHER} is true"
    return [field.invalid(path.child(key), True, detail) for key in (_PRESERVE, _EMBEDDED) if schema.get(key)]


def _validate_type(schema: Schema, level: str, path: Path) -> ErrorList:
    kind, embedded, own = schema.get("type", ""), schema.get(_EMBEDDED), path.child("type")
    errors: ErrorList = []
    if embedded and kind != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        errors.append(field.invalid(own, kind, detail) if kind else field.required(own, detail))
    elif not kind and not schema.get(_EITHER) and not schema.get(_PRESERVE):
        errors.append(field.required(own, _TYPE_REQUIRED[level]))
    if embedded and "additionalProperties" in schema:
        detail = f"must not be used if {_EMBEDDED} is set"
        errors.append(field.forbidden(path.child("additionalProperties"), detail))
    if level == "root" and kind and kind != "object":
        errors.append(field.invalid(own, kind, "must be object at the root"))
    return errors


def _validate_metadata_fields(schema: Schema, level: str, path: Path) -> ErrorList:
    """Check the fields that every object has: where an object begins, they must be as they are in every object."""
    begins = level == "root" or bool(schema.get(_EMBEDDED))
    properties, own = schema.get("properties") or {}, path.child("properties")
    errors: ErrorList = []
    for key in ("kind", "apiVersion"):
        kind = properties.get(key, {}).get("type", "")
        if begins and key in properties and kind != "string":
            errors.append(field.invalid(own.key(key).child("type"), kind, "must be string"))
    metadata = properties.get("metadata")
    if metadata is not None:
        if begins and metadata.get("type", "") != "object":
            errors.append(field.invalid(own.key("metadata").child("type"), metadata.get("type", ""), "must be object"))
        if level == "root" and not _is_bare(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(field.forbidden(own.key("metadata"), detail))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        errors.append(field.required(own, detail))
    return errors


def _is_bare(metadata: Schema) -> bool:
    """Whether the schema of metadata speaks of names only."""
    rest = {key: value for key, value in metadata.items() if key not in ("type", "default") and value}
    return set(rest.pop("properties", {})) <= {"name", "generateName"} and not rest


def _validate_conditions(schema: Schema, path: Path) -> ErrorList:
    """Check what a schema says of values, at one level."""
    errors: ErrorList = []
    for key, i, condition in _conditions(schema):
        if key == "anyOf" and schema["anyOf"] == _INT_OR_STRING:
            continue
        own = path.child(key) if i is None else path.child(key).index(i)
        errors += _validate_condition(condition, own, is_first_of_all=key == "allOf" and i == 0)
    return errors + _validate_pattern(schema, path)


def _conditions(schema: Schema) -> Iterator[tuple[str, int | None, Schema]]:
    for key in ("anyOf", "allOf", "oneOf"):
        for i, condition in enumerate(schema.get(key) or ()):
            yield key, i, condition
    if schema.get("not") is not None:
        yield "not", None, schema["not"]


def _validate_pattern(schema: Schema, path: Path) -> ErrorList:
    pattern = schema.get("pattern", "")
    try:
        regexp.compiled(pattern)
    except regexp.RegexpError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        return [field.invalid(path.child("pattern"), pattern, detail)]
    return []


def _validate_condition(condition: Schema, path: Path, *, is_first_of_all: bool = False) -> ErrorList:
    """Check a condition; the first of all may say that a value is a number or a text."""
    errors: ErrorList = []
    for key, i, part in _conditions(condition):
        if is_first_of_all and key == "anyOf" and condition["anyOf"] == _INT_OR_STRING:
            continue
        errors += _validate_condition(part, path.child(key) if i is None else path.child(key).index(i))
    errors += _validate_pattern(condition, path)
    items, properties = item_schema(condition), condition.get("properties") or {}
    if items is not None:
        errors += _validate_condition(items, path.child("items"))
    for key, part in properties.items():
        errors += _validate_condition(part, path.child("properties").key(key))
    if condition.get("type"):
        errors.append(field.forbidden(path.child("type"), "must be empty to be structural"))
    if condition.get("additionalProperties") not in (None, False):
        errors.append(field.forbidden(path.child("additionalProperties"), "must be undefined to be structural"))
    if condition.get("default") is not None:
        errors.append(field.forbidden(path.child("default"), "must be undefined to be structural"))
    for key, words in _FORBIDDEN_IN_CONDITIONS.items():
        if condition.get(key):
            errors.append(field.forbidden(path.child(key), f"{words} to be structural"))
    if condition.get("x-kubernetes-validations"):
        errors.append(field.forbidden(path.child("x-kubernetes-validations"), "must be empty to be structural"))
    if "metadata" in properties:
        own = path.child("properties").key("metadata")
        errors.append(field.forbidden(own, "must not be specified in a nested context"))
    return errors


def _junctors_complete(condition: Schema, schema: Schema, path: Path, own: Path) -> ErrorList:
    """Check that conditions speak of fields only that the schema has; `own` is the path of the condition."""
    parts: Sequence[tuple[Path, Any]] = [(own.child("not"), condition.get("not"))]
    for key in _JUNCTORS:
        parts = [*parts, *((own.child(key).index(i), part) for i, part in enumerate(condition.get(key) or ()))]
    errors: ErrorList = []
    for place, part in parts:
        if part is not None:
            errors += _complete(part, schema, path, place)
    return errors


def _complete(condition: Schema, schema: Schema | None, path: Path, own: Path) -> ErrorList:
    if schema is None:
        return [field.required(path, f"because it is defined in {own}")]
    errors = _junctors_complete(condition, schema, path, own)
    items = item_schema(condition)
    if items is not None:
        errors += _complete(items, item_schema(schema), path.child("items"), own.child("items"))
    known = schema.get("properties") or {}
    for key, part in (condition.get("properties") or {}).items():
        errors += _complete(part, known.get(key), path.child("properties").key(key), own.child("properties").key(key))
    return errors
