"""What must hold in custom objects besides their schema: keys of lists are used once, embedded objects are objects.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{listtype,objectmeta}/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from schedlab.api.validation import meta
from schedlab.api.validation.definitions.walking import Schema, item_schema, value_schema
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gvk import parse_group_version
from schedlab.registry.custom.pruning import visit_embedded


def check_lists(value: Any, schema: Schema | None, path: str = "") -> ErrorList:
    """Find items of sets and keyed lists that are there twice."""
    errors: ErrorList = []
    if schema is None:
        return errors
    if isinstance(value, dict):
        values = value_schema(schema)
        known = schema.get("properties") or {}
        for key, item in value.items():
            if values is not None:
                errors += check_lists(item, values, f"{path}[{key}]")
            if key in known:
                errors += check_lists(item, known[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        kind = schema.get("x-kubernetes-list-type")
        if kind == "set":
            errors += [field.duplicate(f"{path}[{at}]", value[at]) for at in _repeated(value)]
        elif kind == "map":
            errors += _check_keys(value, schema.get("x-kubernetes-list-map-keys") or (), path)
        for position, item in enumerate(value):
            errors += check_lists(item, item_schema(schema), f"{path}[{position}]")
    return errors


def _check_keys(items: Sequence[Any], keys: Sequence[str], path: str) -> ErrorList:
    for position, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            return [field.invalid(f"{path}[{position}]", item, "must be an object for an array of list-type map")]
    found = [{key: item[key] for key in keys if key in item} if item else {} for item in items]
    return [field.duplicate(f"{path}[{position}]", found[position]) for position in _repeated(found)]


def _repeated(items: Sequence[Any]) -> list[int]:
    """Return where an item stands for the second time; what follows is not told."""
    counts: dict[bytes, int] = {}
    found = []
    for position, item in enumerate(items):
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            found.append(position)
    return found


def check_embedded(value: Any, schema: Schema) -> ErrorList:
    """Check type and metadata of the resources within an object."""
    errors: ErrorList = []
    visit_embedded(value, schema, lambda path, inner: errors.extend(_check_resource(inner, Path(path))))
    return errors


def _check_resource(obj: dict[str, Any], path: Path) -> ErrorList:
    errors = [field.required(path.child(key)) for key in ("apiVersion", "kind") if key not in obj]
    version, kind = obj.get("apiVersion", "v1"), obj.get("kind", "kind")
    if not isinstance(version, str):
        errors.append(field.invalid(path.child("apiVersion"), version, "must be a string"))
    elif not version:
        errors.append(field.invalid(path.child("apiVersion"), version, "must not be empty"))
    else:
        try:
            parse_group_version(version)
        except ValueError as error:
            errors.append(field.invalid(path.child("apiVersion"), version, str(error)))
    if not isinstance(kind, str):
        errors.append(field.invalid(path.child("kind"), kind, "must be a string"))
    elif not kind:
        errors.append(field.invalid(path.child("kind"), kind, "must not be empty"))
    elif wrong := names.check_dns1035_label(kind.lower()):
        words = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        errors.append(field.invalid(path.child("kind"), kind, words))
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        # A name is not asked for.
        named = {**metadata, "name": metadata.get("name") or "fakename"}
        namespaced = bool(metadata.get("namespace"))
        errors += meta.validate_generic(
            named, names.name_is_path_segment, namespaced=namespaced, path=path.child("metadata")
        )
    return errors
