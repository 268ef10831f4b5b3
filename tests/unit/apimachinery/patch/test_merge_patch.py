"""JSON merge patch: the examples of RFC 7386, and nulls."""

from typing import Any

import pytest

from schedlab.apimachinery.patch import merge_patch


@pytest.mark.parametrize(
    ("document", "patch", "want"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "x"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}),
        ({"a": {"b": 1}}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
    ],
    ids=str,
)
def test_merging(document: dict[str, Any], patch: dict[str, Any], want: dict[str, Any]) -> None:
    assert want == merge_patch.apply(document, patch)
    assert want == merge_patch.merge(document, patch)


def test_the_document_stays_as_it_was() -> None:
    before = {"a": {"b": 1}}

    merge_patch.apply(before, {"a": {"b": 2, "c": 3}})
    merge_patch.merge(before, {"a": {"b": 2, "c": 3}})

    assert before == {"a": {"b": 1}}
