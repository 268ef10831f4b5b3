"""Fields that are dropped while their feature is off, unless the stored object has them.

Mirrors: the dropDisabledFields functions in pkg/registry (v1.36)
Differs: the fields of a feature are a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from schedlab.api.object import Object
from schedlab.apimachinery.features import FeatureGates

#: Names of fields from an object downwards; `*` stands for every element of a list and every value of a map.
FieldPath: TypeAlias = tuple[str, ...]
#: Feature gates (all of them must be on) to the fields that belong to them.
GatedFields: TypeAlias = Mapping[tuple[str, ...], Sequence[FieldPath]]


def drop_gated(new: Object, old: Mapping[str, Any], fields: GatedFields, features: FeatureGates) -> None:
    """Drop what is off; `old` is what is stored, empty for a new object."""
    for gates, paths in fields.items():
        if all(map(features.enabled, gates)) or any(_is_used(old, path) for path in paths):
            continue
        for path in paths:
            for holder in _holders(new, path):
                holder.pop(path[-1], None)


def _is_used(value: Mapping[str, Any], path: FieldPath) -> bool:
    return any(holder.get(path[-1]) not in (None, [], {}) for holder in _holders(value, path))


def _holders(value: Any, path: FieldPath) -> Iterator[Any]:
    """Yield every object that can have the last field of a path."""
    if len(path) == 1:
        yield value
    elif path[0] == "*":
        for element in value.values() if isinstance(value, dict) else value:
            yield from _holders(element, path[1:])
    elif value.get(path[0]):
        yield from _holders(value[path[0]], path[1:])
