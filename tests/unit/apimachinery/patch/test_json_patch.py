"""JSON patch: the operations, and the habits of the library that kube-apiserver uses."""

from typing import Any

import pytest

from schedlab.apimachinery.json_reader import FloatLiteral
from schedlab.apimachinery.patch import json_patch
from schedlab.apimachinery.patch.document import PatchError

DOCUMENT = {"a": {"b": 1, "c/d": 2, "e~f": 3}, "list": [1, 2, 3], "null": None}


def op(kind: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **rest}


@pytest.mark.parametrize(
    ("operation", "path", "want"),
    [
        (op("add", "/a/x", value=9), ("a", "x"), 9),
        (op("add", "/a/b", value=9), ("a", "b"), 9),
        (op("add", "/a/x"), ("a", "x"), None),
        (op("add", "/list/1", value=9), ("list",), [1, 9, 2, 3]),
        (op("add", "/list/-", value=9), ("list",), [1, 2, 3, 9]),
        (op("add", "/list/3", value=9), ("list",), [1, 2, 3, 9]),
        (op("add", "/list/-1", value=9), ("list",), [1, 2, 3, 9]),
        (op("replace", "/a/c~1d", value=9), ("a", "c/d"), 9),
        (op("replace", "/a/e~0f", value=9), ("a", "e~f"), 9),
        (op("replace", "/a/new", value=9), ("a", "new"), 9),
        (op("replace", "/list/-1", value=9), ("list",), [1, 2, 9]),
        (op("replace", "", value={"z": 1}), (), {"z": 1}),
        (op("remove", "/list/0"), ("list",), [2, 3]),
        (op("remove", "/list/-3"), ("list",), [2, 3]),
        (op("copy", "/copied", **{"from": "/a"}), ("copied",), DOCUMENT["a"]),
        (op("move", "/moved", **{"from": "/list"}), ("moved",), [1, 2, 3]),
        (op("test", "/a/b", value=1), ("a", "b"), 1),
        (op("test", "/missing", value=None), ("null",), None),
        (op("test", "/list", value=[1, 2, 3]), ("list",), [1, 2, 3]),
    ],
    ids=str,
)
def test_operations(operation: dict[str, Any], path: tuple[str, ...], want: Any) -> None:
    got = json_patch.apply(DOCUMENT, [operation])
    for name in path:
        got = got[name]

    assert want == got


def test_what_precedes_the_first_slash_of_a_path_is_ignored() -> None:
    assert json_patch.apply({"x": 1}, [op("add", "data/y", value=2)]) == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "operation",
    [
        op("bogus", "/a/b"),
        {"path": "/a/b"},
        {"op": "add", "value": 1},
        op("add", "", value=1),
        op("add", "/nowhere/x", value=1),
        op("add", "/list/4", value=1),
        op("add", "/list/-5", value=1),
        op("add", "/list/x", value=1),
        op("add", "/a/b/c", value=1),
        op("remove", "/a/x"),
        op("remove", "/list/3"),
        op("replace", "/list/5", value=1),
        op("replace", "/list/1_0", value=1),
        op("move", "/x", **{"from": "/missing"}),
        op("copy", "/x"),
        op("test", "/a/b", value=2),
        op("test", "/a/b", value=FloatLiteral("1.0")),
        op("test", "/a/b", value=True),
        op("test", "/a/b"),
        op("test", "/missing", value=1),
        None,
    ],
    ids=str,
)
def test_operations_that_cannot_be_applied(operation: dict[str, Any] | None) -> None:
    with pytest.raises(PatchError):
        json_patch.apply(DOCUMENT, [operation])


def test_the_document_stays_as_it_was() -> None:
    before = {"a": {"b": [1]}}

    json_patch.apply(before, [op("add", "/a/b/-", value=2), op("add", "/a/c", value=3), op("remove", "/a/b/0")])

    assert before == {"a": {"b": [1]}}


def test_a_copy_is_independent_of_what_it_was_made_from() -> None:
    got = json_patch.apply({"a": {"b": [1]}}, [op("copy", "/c", **{"from": "/a"}), op("add", "/c/b/-", value=2)])

    assert got == {"a": {"b": [1]}, "c": {"b": [1, 2]}}


def test_operations_see_what_earlier_ones_did() -> None:
    got = json_patch.apply({}, [op("add", "/a", value={}), op("add", "/a/b", value=1), op("test", "/a/b", value=1)])

    assert got == {"a": {"b": 1}}
