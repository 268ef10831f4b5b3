"""Every view takes every object of its kind."""

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.api.views.catalog import VIEWS
from schedlab.apimachinery.resources import known_resources
from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Type, schema_for

DEPTH = 12
SCALARS = {
    "quantity": "1",
    "time": "2026-01-01T00:00:00Z",
    "micro-time": "2026-01-01T00:00:00.000000Z",
    "bytes": "YQ==",
}


def filled(type: Type, depth: int = 0) -> Any:
    """An object of a type in which every field has a value."""
    if isinstance(type, Struct):
        return {name: filled(field.type, depth + 1) for name, field in type.fields.items()} if depth < DEPTH else {}
    if isinstance(type, List):
        return [filled(type.element, depth + 1)]
    if isinstance(type, Map):
        return {"a": filled(type.element, depth + 1)}
    if isinstance(type, Scalar):
        return SCALARS.get(type.kind, {"integer": 1, "number": 1, "boolean": True}.get(type.kind, "a"))
    return {}


def sparse(type: Type, depth: int = 0) -> Any:
    """An object of a type as Go writes it when nothing in it was set, but for the lists and structs around it."""
    if isinstance(type, Struct) and depth < DEPTH:
        given = {
            name: sparse(field.type, depth + 1)
            for name, field in type.fields.items()
            if field.omit_empty and isinstance(field.type, List | Struct)
        }
        return {**type.empty(), **given}
    return [sparse(type.element, depth + 1)] if isinstance(type, List) else type.empty()


@pytest.mark.parametrize("make", [filled, sparse])
@pytest.mark.parametrize("resource", VIEWS)
def test_a_view_takes_all_fields_and_none_of_them(resource: str, make: Any) -> None:
    gvk = next(known.gvk for known in known_resources() if known.full_name == resource)
    obj = {**make(schema_for(*gvk)), "kind": gvk.kind, "apiVersion": gvk.api_version}
    obj["metadata"]["name"] = "a"
    assert StoredObject.encode(resource, obj, 1).view.metadata.name == "a"
