"""Paths lead to values, or nowhere."""

from typing import Any

import pytest

from schedlab.registry.custom.json_path import JSONPathError, parse, to_text

OBJECT = {
    "spec": {"a": 1, "l": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "m": {"k.k": True}},
    "status": {"conditions": [{"type": "Ready", "status": "False"}]},
}
PATHS: list[tuple[str, list[Any]]] = [
    (".spec.a", [1]),
    ("$.spec.a", [1]),
    (".spec.none.deeper", []),
    (".spec.l[0].n", ["x"]),
    (".spec.l[-1].n", ["y"]),
    (".spec.l[7].n", []),
    (".spec.l[*].n", ["x", "y"]),
    (".spec.l[0:1].n", ["x"]),
    (".spec.m['k.k']", [True]),
    (r".spec.m.k\.k", [True]),
    ('.status.conditions[?(@.type=="Ready")].status', ["False"]),
    (".spec.l[?(@.v>1)].n", ["y"]),
    (".spec.l[?(@.v)].n", ["x", "y"]),
]


@pytest.mark.parametrize(("path", "wanted"), PATHS)
def test_paths(path: str, wanted: list[Any]) -> None:
    assert parse(path).find(OBJECT) == wanted


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[]", ".a[?(@.b==x)]"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(JSONPathError):
        parse(path)


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (1, "1"), (1.5, "1.5"), (True, "true"), ({"b": 1, "a": [2]}, '{"a":[2],"b":1}')]
)
def test_texts(value: Any, text: str) -> None:
    assert to_text(value) == text
