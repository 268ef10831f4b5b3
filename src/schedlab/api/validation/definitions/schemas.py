"""Schemas of CustomResourceDefinitions: which keywords may be used, and which of them go together.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceDefinitionOpenAPISchema, validateCustomResourceDefinitionValidation) (v1.36)
Differs: that defaults obey their own schemas is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as member
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.validation.definitions.rules import Surroundings, validate_expressions, validate_rules
from schedlab.api.validation.definitions.structural import conversion_problem, validate_structural
from schedlab.api.validation.definitions.walking import Schema, item_schema
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_METADATA_FIELDS: Final = ("metadata", "kind", "apiVersion")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
#: Keywords that a schema with a status subresource may have at its root.
_AT_ROOT: Final[Mapping[str, str]] = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    _PRESERVE: "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
_FIRST: Final = ("id", "$schema", "$ref")


@dataclass(slots=True)
class _Errors:
    """What is wrong with a schema, and with the expressions in it, which come last."""

    schema: ErrorList = member(default_factory=list)
    expressions: ErrorList = member(default_factory=list)


def validate_schema(schema: Schema, path: Path, *, has_status: bool) -> ErrorList:
    """Check the schema of a version; `path` is that of what holds it."""
    own = path.child("openAPIV3Schema")
    errors = _validate_root(schema, own) if has_status else []
    if schema.get("nullable"):
        errors.append(field.forbidden(own.child("nullable"), "nullable cannot be true at the root"))
    problem = conversion_problem(schema)
    structural = [] if problem else validate_structural(schema, own)
    found = _Errors()
    is_structural = not problem and not structural
    _validate(schema, own, Surroundings(), found, is_root=True, with_expressions=is_structural)
    errors += structural + found.schema + found.expressions
    if problem and not errors:
        errors.append(field.invalid(own, "", problem))
    return errors


def _validate_root(schema: Schema, path: Path) -> ErrorList:
    kind = schema.get("type", "")
    others = [key for key, value in schema.items() if value not in (None, "", [], {}, False) and key not in _AT_ROOT]
    if kind and kind != "object" and not set(others) & set(_FIRST):
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [field.invalid(path.child("type"), kind, detail)]
    if not others:
        return []
    allowed = " ".join(_AT_ROOT.values())
    detail = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [field.invalid(path, internal_text("apiextensions.JSONSchemaProps", schema), detail)]


def _validate(
    schema: Schema, path: Path, around: Surroundings, found: _Errors, *, is_root: bool = False, with_expressions: bool
) -> None:
    """Check a schema and those in it."""
    own = _validate_keywords(schema, path, around)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        own.append(field.forbidden(path.child("uniqueItems"), detail))
    if schema.get("properties") and schema.get("additionalProperties", True) is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        own.append(field.forbidden(path.child("additionalProperties"), detail))
    parts = _Errors(own)
    for part, place, inner, is_part in _parts(schema, path, around, is_root=is_root):
        _validate(part, place, inner, parts, with_expressions=with_expressions and is_part)
    own += _validate_maps(schema, path) + _validate_lists(schema, path) + _validate_list_items(schema, path)
    own += validate_rules(schema, path)
    if with_expressions and not own:
        parts.expressions += validate_expressions(schema, path, around)
    found.schema += own
    found.expressions += parts.expressions


def _validate_keywords(schema: Schema, path: Path, around: Surroundings) -> ErrorList:
    errors: ErrorList = []
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        errors.append(field.not_supported(path.child("type"), kind, _TYPES))
    if schema.get("default") is not None and around.no_default:
        errors.append(field.forbidden(path.child("default"), f"must not be set {around.no_default}"))
    for key in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        if schema.get(key) not in (None, "", {}):
            errors.append(field.forbidden(path.child(key), f"{key} is not supported"))
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        errors.append(field.forbidden(path.child("type"), detail))
    if isinstance(schema.get("items"), list):
        errors.append(field.forbidden(path.child("items"), "items must be a schema object and not an array"))
    if around.is_in_metadata and schema.get("x-kubernetes-embedded-resource"):
        detail = "must not be used inside of resource meta"
        errors.append(field.forbidden(path.child("x-kubernetes-embedded-resource"), detail))
    return errors


def _parts(
    schema: Schema, path: Path, around: Surroundings, *, is_root: bool
) -> Iterator[tuple[Schema, Path, Surroundings, bool]]:
    """Yield the schemas in a schema with paths and surroundings, and whether their rules are about parts of values."""
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        reason = "inside additionalProperties applying to object metadata"
        inner = replace(around, no_default=reason) if around.is_in_metadata else around
        yield values, path.child("additionalProperties"), inner, True
    for key, part in (schema.get("properties") or {}).items():
        yield part, path.child("properties").key(key), _property(schema, key, path, around, is_root=is_root), True
    if schema.get("not") is not None:
        yield schema["not"], path.child("not"), around, False
    for junctor in ("allOf", "oneOf", "anyOf"):
        for i, part in enumerate(schema.get(junctor) or ()):
            yield part, path.child(junctor).index(i), around, False
    for key, part in (schema.get("definitions") or {}).items():
        yield part, path.child("definitions").key(key), around, False
    inner = around if schema.get(_LIST_TYPE) == "map" else _uncorrelatable(around, path)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield items, path.child("items"), inner, True
    elif isinstance(items, list):
        for i, part in enumerate(items):
            yield part, path.child("items").index(i), inner, True
    for key, part in (schema.get("dependencies") or {}).items():
        if isinstance(part, Mapping):
            yield part, path.child("dependencies").key(key), around, False


def _property(schema: Schema, key: str, path: Path, around: Surroundings, *, is_root: bool) -> Surroundings:
    inner = _uncorrelatable(around, path) if schema.get(_MAP_TYPE) == "atomic" else around
    if key not in _METADATA_FIELDS or not (is_root or schema.get("x-kubernetes-embedded-resource")):
        return inner
    return replace(inner, is_in_metadata=True, no_default=f"in top-level {key}" if is_root else inner.no_default)


def _uncorrelatable(around: Surroundings, path: Path) -> Surroundings:
    return around if around.uncorrelatable is not None else replace(around, uncorrelatable=path)


def _validate_maps(schema: Schema, path: Path) -> ErrorList:
    errors: ErrorList = []
    if schema.get(_PRESERVE) is False:
        errors.append(field.invalid(path.child(_PRESERVE), False, "must be true or undefined"))
    kind = schema.get(_MAP_TYPE)
    if kind is not None:
        errors += _must_be(schema, "object", f"if {_MAP_TYPE} is specified", path)
        if kind not in ("atomic", "granular"):
            errors.append(field.not_supported(path.child(_MAP_TYPE), kind, ("atomic", "granular")))
    return errors


def _must_be(schema: Schema, wanted: str, condition: str, path: Path) -> ErrorList:
    kind, detail = schema.get("type", ""), f"must be {wanted} {condition}"
    if kind == wanted:
        return []
    return [field.invalid(path.child("type"), kind, detail) if kind else field.required(path.child("type"), detail)]


def _validate_lists(schema: Schema, path: Path) -> ErrorList:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS) or [], schema.get("items")
    errors: ErrorList = []
    if kind is not None:
        errors += _must_be(schema, "array", f"if {_LIST_TYPE} is specified", path)
        if kind == "set" and not errors:
            errors += _validate_set_items(item_schema(schema) or {}, path.child("items"))
        if kind not in ("atomic", "set", "map"):
            errors.append(field.not_supported(path.child(_LIST_TYPE), kind, ("atomic", "set", "map")))
    if keys and kind != "map":
        own, detail = path.child(_LIST_TYPE), f"must be map if {_LIST_KEYS} is non-empty"
        errors.append(field.required(own, detail) if kind is None else field.invalid(own, kind, detail))
    if kind != "map":
        return errors
    if not keys:
        detail = f"must not be empty if {_LIST_TYPE} is map"
        errors.append(field.required(path.child(_LIST_KEYS), detail))
    if items is None:
        errors.append(field.required(path.child("items"), f"must have a schema if {_LIST_TYPE} is map"))
    elif not isinstance(items, Mapping):
        shown = internal_text("apiextensions.JSONSchemaPropsOrArray", items)
        detail = f"must only have a single schema if {_LIST_TYPE} is map"
        errors.append(field.invalid(path.child("items"), shown, detail))
    else:
        errors += _validate_keys(items, keys, path)
    return errors


def _validate_set_items(items: Schema, path: Path) -> ErrorList:
    """Items of a set are compared as a whole."""
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind = items.get(_LIST_TYPE)
    if items.get("type") == "array" and kind not in (None, "atomic"):
        return [field.invalid(path.child(_LIST_TYPE), kind, detail)]
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        return [field.invalid(path.child(_MAP_TYPE), kind, detail)]
    return []


def _validate_keys(items: Schema, keys: list[str], path: Path) -> ErrorList:
    kind = items.get("type", "")
    if kind != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        return [field.invalid(path.child("items", "type"), kind, detail)]
    properties: Mapping[str, Any] = items.get("properties") or {}
    errors: ErrorList = []
    for i, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            errors.append(field.invalid(path.child(_LIST_KEYS), keys, detail))
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            own = path.child("items", "properties").key(key).child("type")
            errors.append(field.invalid(own, kind, detail))
        if key in keys[:i]:
            errors.append(field.invalid(path.child(_LIST_KEYS), keys, "must not contain duplicate entries"))
    return errors


def _validate_list_items(schema: Schema, path: Path) -> ErrorList:
    """Items that are told apart by keys or values must have those."""
    items, kind = item_schema(schema), schema.get(_LIST_TYPE)
    if items is None or kind not in ("set", "map"):
        return []
    own = path.child("items")
    errors: ErrorList = []
    if items.get("nullable"):
        errors.append(field.forbidden(own.child("nullable"), f"cannot be nullable when {_LIST_TYPE} is {kind}"))
    properties = items.get("properties") or {}
    for key in (schema.get(_LIST_KEYS) or ()) if kind == "map" else ():
        part, place = properties.get(key), own.child("properties").key(key)
        if part is None:
            continue
        reason = f"this property is in {_LIST_KEYS}, so it"
        if key not in (items.get("required") or ()) and part.get("default") is None:
            detail = f"{reason} must have a default or be a required property"
            errors.append(field.required(place.child("default"), detail))
        if part.get("nullable"):
            errors.append(field.forbidden(place.child("nullable"), f"{reason} cannot be nullable"))
    return errors
