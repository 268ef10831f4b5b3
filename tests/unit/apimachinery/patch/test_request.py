"""PATCH requests: the three kinds of patch from body to object, and how bad ones are refused."""

import json
from typing import Any

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.errors import BadRequest, Invalid, RequestEntityTooLarge, StatusError
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.patch import request
from schedlab.apimachinery.patch.request import PatchType
from schedlab.apimachinery.strict import Directive

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
LIVE = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "data": {"a": "1"},
    "metadata": {"resourceVersion": "7", "namespace": "d", "name": "x", "labels": {"l": "<1>"}},
}


def patch(kind: PatchType, body: Any, directive: Directive = "Warn") -> request.Patched:
    text = body if isinstance(body, str) else json.dumps(body)
    return request.apply(LIVE, kind, text.encode(), CONFIG_MAP, schema.schema_for(*CONFIG_MAP), directive)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("json", [{"op": "add", "path": "/data/b", "value": "2"}]),
        ("merge", {"data": {"b": "2"}}),
        ("strategic", {"data": {"b": "2"}}),
    ],
)
def test_each_kind_of_patch_changes_the_object(kind: PatchType, body: Any) -> None:
    got = patch(kind, body)

    assert got.object == {**LIVE, "data": {"a": "1", "b": "2"}}
    assert got.warnings == ()
    assert LIVE["data"] == {"a": "1"}


@pytest.mark.parametrize("body", ["null", "[]"])
def test_a_json_patch_without_operations_changes_nothing(body: str) -> None:
    assert patch("json", body).object == LIVE


@pytest.mark.parametrize(
    ("kind", "body", "warnings"),
    [
        ("json", [{"op": "add", "path": "/bogus", "value": 1}], ('unknown field "bogus"',)),
        (
            "json",
            [{"op": "add", "path": "/data/x", "value": "1", "extra": 2}],
            ('json patch unknown field "[0].extra"',),
        ),
        ("merge", {"bogus": 1}, ('unknown field "bogus"',)),
        ("merge", '{"data":{"a":"2","a":"3"}}', ('duplicate field "data.a"',)),
        (
            "strategic",
            {"bogus": 1, "metadata": {"also": 1}},
            ('unknown field "bogus"', 'unknown field "metadata.also"'),
        ),
        ("strategic", '{"data":{"a":"2","a":"3"}}', ('duplicate field "data.a"',)),
    ],
)
def test_unknown_and_repeated_fields_warn_or_are_ignored(kind: PatchType, body: Any, warnings: tuple[str, ...]) -> None:
    assert warnings == patch(kind, body).warnings
    assert patch(kind, body, "Ignore").warnings == ()
    assert "bogus" not in patch(kind, body).object


@pytest.mark.parametrize(
    ("kind", "body", "shown", "problem"),
    [
        (
            "merge",
            {"bogus": 1},
            (
                '{"apiVersion":"v1","bogus":1,"data":{"a":"1"},"kind":"ConfigMap","metadata":{"name":"x","namespace":"d",'
                '"resourceVersion":"7","labels":{"l":"\\u003c1\\u003e"}}}'
            ),
            'strict decoding error: unknown field "bogus"',
        ),
        (
            "json",
            [{"op": "add", "path": "/metadata/also", "value": 1.0}],
            (
                '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"also":1.0,"labels":'
                '{"l":"\\u003c1\\u003e"},"name":"x","namespace":"d","resourceVersion":"7"}}'
            ),
            'strict decoding error: unknown field "metadata.also"',
        ),
        (
            "strategic",
            {"bogus": 1, "data": {"c": "1"}},
            "map[bogus:1 data:map[c:1]]",
            'strict decoding error: unknown field "bogus"',
        ),
    ],
)
def test_strict_refuses_and_shows_the_patched_object_as_go_writes_it(
    kind: PatchType, body: Any, shown: str, problem: str
) -> None:
    with pytest.raises(Invalid) as caught:
        patch(kind, body, "Strict")

    (cause,) = caught.value.causes
    assert caught.value.message.startswith(' "" is invalid: patch: Invalid value: "')
    assert cause["field"] == "patch"
    assert cause["message"] == f"Invalid value: {json.dumps(shown)}: {problem}"


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            "json",
            {"op": "add"},
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        ("json", "not json", "error decoding patch: invalid character 'o' in literal null (expecting 'u')"),
        (
            "json",
            [{"op": 1}],
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        ("merge", "null", "Invalid JSON Patch"),
        (
            "merge",
            "[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        ("merge", "{", "error decoding patch: unexpected end of JSON input"),
        ("strategic", "{", "unexpected end of JSON input"),
        ("strategic", "[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_bodies_that_are_no_patches_are_bad_requests(kind: PatchType, body: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        patch(kind, body)

    assert message == caught.value.message


def test_bodies_that_are_no_patches_are_bad_requests_without_field_validation_too() -> None:
    with pytest.raises(BadRequest, match=r"Go value of type jsonpatch\.Patch"):
        patch("json", {}, "Ignore")
    with pytest.raises(BadRequest, match="Invalid JSON Patch"):
        patch("merge", "{", "Ignore")


def test_a_json_patch_that_cannot_be_applied_is_refused_without_a_reason() -> None:
    with pytest.raises(StatusError) as caught:
        patch("json", [{"op": "remove", "path": "/nothing"}])

    assert caught.value.code == 422
    assert caught.value.message == "the server rejected our request due to an error in our request"
    assert caught.value.status["details"] == {}


def test_too_many_operations_are_refused() -> None:
    with pytest.raises(RequestEntityTooLarge) as caught:
        patch("json", [{"op": "add", "path": "/data/a", "value": "1"}] * 10_001)

    assert caught.value.message.endswith("The allowed maximum operations in a JSON patch is 10000, got 10001")


@pytest.mark.parametrize(
    ("kind", "body", "problem"),
    [
        (
            "merge",
            {"data": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        ("merge", {"kind": "Secret", "data": None}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (
            "merge",
            {"apiVersion": "v2"},
            'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        ("strategic", {"data": {"a": 1}}, "cannot convert int64 to string"),
    ],
)
def test_results_that_do_not_fit_the_type_are_invalid(kind: PatchType, body: Any, problem: str) -> None:
    with pytest.raises(Invalid) as caught:
        patch(kind, body)

    assert caught.value.message.endswith(f": {problem}")


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"containers": [{"name": "a", "image": "new"}]}},
        {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
        {"spec": {"containers": [{"$patch": "delete", "name": "a"}]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/y"]}},
        {"metadata": {"labels": {"$patch": "replace", "c": "d"}}},
        {"metadata": {"labels": {"$retainKeys": ["a"], "a": "3"}}},
    ],
    ids=str,
)
def test_a_strategic_patch_leaves_the_stored_object_alone(body: dict[str, Any]) -> None:
    containers = [{"name": name, "image": "i", "resources": {}} for name in "ab"]
    live = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "labels": {"a": "1", "b": "2"}, "finalizers": ["x/y", "x/z"]},
        "spec": {"containers": containers, "nodeSelector": {"k": "v"}},
        "status": {"phase": "Running"},
    }
    pod = GroupVersionKind("", "v1", "Pod")
    before = json.dumps(live)

    got = request.apply(live, "strategic", json.dumps(body).encode(), pod, schema.schema_for(*pod))

    assert json.dumps(live) == before
    assert got.object != live
    assert got.object["spec"]["nodeSelector"] is live["spec"]["nodeSelector"]  # type: ignore[index]
