"""What becomes of a custom object before it is checked: unknown fields and nulls go, metadata is typed, defaults come.

A schema is the `openAPIV3Schema` of a version, or a part of it, as the wire has it.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting,objectmeta} (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from schedlab.api.validation.definitions.walking import Schema, item_schema, value_schema

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
_TYPE_FIELDS: Final = ("apiVersion", "kind", "metadata")


def child_schema(schema: Schema | None, name: str) -> Schema | None:
    """Return the schema of a field, None when it has none."""
    if schema is None:
        return None
    own: Schema | None = (schema.get("properties") or {}).get(name)
    return own if own is not None else value_schema(schema)


def prune(value: Any, schema: Schema | None) -> list[str]:
    """Remove the fields of an object that its schema does not know; returns their paths."""
    dropped: list[str] = []
    _prune(value, schema or {}, "", dropped, is_root=True)
    return sorted(dropped)


def _prune(value: Any, schema: Schema | None, path: str, dropped: list[str], *, is_root: bool = False) -> None:
    if isinstance(value, dict):
        _prune_object(value, schema, path, dropped, is_root=is_root)
    elif isinstance(value, list):
        keeps_all = schema is not None and schema.get(PRESERVE)
        items = None if schema is None else item_schema(schema)
        # Below a schema that keeps everything, only what has a schema of its own is pruned.
        inner = {PRESERVE: True, **(items or {})} if keeps_all else items
        for position, item in enumerate(value):
            _prune(item, inner, f"{path}[{position}]", dropped)


def _prune_object(
    value: dict[str, Any], schema: Schema | None, path: str, dropped: list[str], *, is_root: bool
) -> None:
    keeps_all = schema is not None and bool(schema.get(PRESERVE))
    embedded = schema is not None and (is_root or bool(schema.get(EMBEDDED)))
    known: Mapping[str, Any] = (schema or {}).get("properties") or {}
    values = None if schema is None else value_schema(schema)
    for key in tuple(value):
        if embedded and key in _TYPE_FIELDS:
            continue
        place = f"{path}.{key}" if path else key
        if key in known:
            _prune(value[key], known[key], place, dropped)
        elif values is not None:
            _prune(value[key], values, place, dropped)
        elif not keeps_all and (schema is None or not schema.get("additionalProperties")):
            dropped.append(place)
            del value[key]


def drop_nulls(value: Any, schema: Schema | None) -> None:
    """Remove nulls where the schema neither allows them nor has a default to put in their place."""
    if isinstance(value, dict):
        for key in tuple(value):
            inner = child_schema(schema, key)
            if value[key] is None and inner is not None and not inner.get("nullable") and "default" not in inner:
                del value[key]
            else:
                drop_nulls(value[key], inner)
    elif isinstance(value, list):
        items = None if schema is None else item_schema(schema)
        for item in value:
            drop_nulls(item, items)


def fill_defaults(value: Any, schema: Schema | None) -> None:
    """Put defaults where there is nothing, or a null that is not allowed."""
    if schema is None:
        return
    if isinstance(value, dict):
        for key, inner in (schema.get("properties") or {}).items():
            if inner.get("default") is not None and (key not in value or _is_bad_null(value[key], inner)):
                value[key] = deepcopy(inner["default"])
        for key in value:
            inner = child_schema(schema, key)
            if _is_bad_null(value[key], inner) and inner is not None and key not in (schema.get("properties") or {}):
                value[key] = deepcopy(inner.get("default"))
            fill_defaults(value[key], inner)
    elif isinstance(value, list):
        items = item_schema(schema)
        for position, item in enumerate(value):
            if _is_bad_null(item, items) and items is not None:
                value[position] = deepcopy(items.get("default"))
            fill_defaults(value[position], items)


def _is_bad_null(value: Any, schema: Schema | None) -> bool:
    return value is None and schema is not None and not schema.get("nullable")


def visit_embedded(
    value: Any, schema: Schema | None, visit: Callable[[str, dict[str, Any]], None], path: str = ""
) -> None:
    """Call `visit` with path and value of each object within a value that is a whole resource of its own."""
    if schema is None:
        return
    if isinstance(value, dict):
        if path and schema.get(EMBEDDED):
            visit(path, value)
        for key in tuple(value):
            known = (schema.get("properties") or {}).get(key)
            if known is not None:
                visit_embedded(value[key], known, visit, f"{path}.{key}" if path else key)
            else:
                visit_embedded(value[key], value_schema(schema), visit, f"{path}[{key}]")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            visit_embedded(item, item_schema(schema), visit, f"{path}[{position}]")
