"""Objects that are nearly right, of every kind and by every verb, are no failure of the server's own, either.

They are made after the types of the kinds: the fields that there are, with values that mostly fit.
"""

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Type
from tests.property.test_requests import FAILURE, JSON, PATCHES, no_failures, send, served

__all__ = ["no_failures"]

_DEPTH_MAX: Final = 7
#: What texts of the API look like, good and bad.
_TEXTS: Final = (
    "a", "b", "x", "default", "", "A", "a/b", "example.com/a", "-1", "0", "1Gi", "500m", "10.0.0.1", "::1", "10.0.0.0/8",
    "10%", "*", "get", "Pod", "v1", "apps/v1", "self.a == 1", "object", "array", "string", "map", "Namespaced", "Cluster",
    "In", "Exists", "NotIn", "Equal", "Always", "Never", "NoSchedule", "TCP", "ClusterIP", "None", "2026-01-01T00:00:00Z",
    "MTIz", "@every 1h", "* * * * *", "é", "\x00", "a" * 300, "{}", "$(A)", ".spec.a", "{.a[*].b}", "widgets.example.com",
)  # fmt: skip
_NUMBERS: Final = (0, 1, -1, 2, 100, 65536, 2**31, 2**63, -(2**63), 1.5)
_ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    "x",
    7,
    [],
    {},
    [None],
    {"a": None},
    [[]],
    [{"$patch": "delete"}],
    {"$patch": "replace"},
)


@st.composite
def _object(draw: st.DrawFn, type_: Struct, depth: int) -> dict[str, Any]:
    names = sorted(type_.fields)
    chosen = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
    for name in type_.required:
        if name in type_.fields and draw(st.integers(0, 9)):
            chosen.append(name)
    if "spec" in names and depth == 0:
        chosen.append("spec")
    return {name: draw(_value(type_.fields[name].type, depth + 1)) for name in dict.fromkeys(chosen)}


def _value(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    if depth > _DEPTH_MAX:
        return st.sampled_from(_ODD)
    fitting: st.SearchStrategy[Any]
    if isinstance(type_, Struct):
        fitting = _object(type_, depth) if type_.fields else st.just({})
    elif isinstance(type_, List):
        fitting = st.lists(st.deferred(lambda: _value(type_.element, depth + 1)), max_size=2)
    elif isinstance(type_, Map):
        inner = st.deferred(lambda: _value(type_.element, depth + 1))
        fitting = st.dictionaries(st.sampled_from(_TEXTS), inner, max_size=2)
    elif isinstance(type_, Scalar):
        if type_.kind == "boolean":
            fitting = st.booleans()
        elif type_.kind in ("integer", "number"):
            fitting = st.sampled_from(_NUMBERS)
        elif type_.kind in ("int-or-string", "quantity"):
            fitting = st.sampled_from(_NUMBERS + _TEXTS)
        else:
            fitting = st.sampled_from(_TEXTS)
    else:
        fitting = st.sampled_from((*_ODD, {"type": "object"}, "1"))
    # One in many does not fit.
    return st.integers(0, 19).flatmap(lambda chance: fitting if chance else st.sampled_from(_ODD))


@given(st.data())
def test_objects_of_every_kind_are_answered(data: st.DataObject) -> None:
    """Created, and then replaced or patched, where they are and where they are not."""
    registry = served()[1]
    kinds = [resource for resource in registry.served if resource.type.is_stored and resource.schema.fields]
    resource = data.draw(st.sampled_from(kinds))
    kind = resource.type
    parent = f"{kind.path}/namespaces/default/{kind.resource}" if kind.namespaced else f"{kind.path}/{kind.resource}"
    name = data.draw(st.sampled_from(("x", "y", "widgets.example.com")))

    def made() -> dict[str, Any]:
        drawn = data.draw(_object(resource.schema, 0))
        if data.draw(st.integers(0, 9)):
            drawn |= {"apiVersion": kind.api_version, "kind": kind.kind}
            metadata = drawn.get("metadata")
            drawn["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "name": name}
        return drawn

    assert FAILURE not in send("POST", parent, json.dumps(made()).encode()).body
    method, content_type = data.draw(st.sampled_from([("PUT", JSON), *(("PATCH", each) for each in PATCHES)]))
    subresource = data.draw(st.sampled_from(("", "", *(f"/{sub.name}" for sub in kind.subresources))))
    query = "fieldManager=me&force=true" if content_type == PATCHES[3] else ""
    body: Any = made()
    if content_type == PATCHES[0]:
        operations = ("add", "replace", "remove", "test", "copy", "move")
        paths = ("/spec", "/metadata/labels", "/metadata/finalizers/0", "/status", "", "/-", "/spec/a~1b")
        body = [
            {"op": data.draw(st.sampled_from(operations)), "path": data.draw(st.sampled_from(paths)), "value": value}
            for value in list(body.values())[:2]
        ]
    text = json.dumps(body).encode()
    assert FAILURE not in send(method, f"{parent}/{name}{subresource}", text, content_type, query).body
