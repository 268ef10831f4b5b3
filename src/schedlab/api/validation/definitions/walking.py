"""The schemas within a schema of a CustomResourceDefinition.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (SchemaHas) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE: Final = ("not", "additionalProperties", "additionalItems")


def subschemas(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and all schemas in it."""
    yield schema
    items = schema.get("items")
    parts: list[Any] = list(items) if isinstance(items, list) else [items]
    for key in _LISTS:
        parts += schema.get(key) or ()
    parts += [schema.get(key) for key in _SINGLE]
    for key in _MAPS:
        parts += (schema.get(key) or {}).values()
    for part in parts:
        if isinstance(part, Mapping):
            yield from subschemas(part)


def item_schema(schema: Schema) -> Schema | None:
    """Return the schema that all items of a list have."""
    items = schema.get("items")
    return items if isinstance(items, Mapping) else None


def value_schema(schema: Schema) -> Schema | None:
    """Return the schema that all values of a map have."""
    values = schema.get("additionalProperties")
    return values if isinstance(values, Mapping) else None
