"""Paths lead to values inside of documents, which are copied where they change."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.sweeps.paths import Named, parse_path, with_value

DOCUMENT = {"a": [{"name": "x", "n": 1}, {"name": "y"}], "labels": {"k.io/z": "1"}}


def test_path_is_read_as_steps() -> None:
    assert parse_path("a[0].b[k.io/z].c") == ("a", 0, "b", Named("k.io/z"), "c")


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a[", "a[]", "[0]", "a]b", "a..b"])
def test_text_that_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(SchedlabError, match="is no path"):
        parse_path(text)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a[0].n", {**DOCUMENT, "a": [{"name": "x", "n": 9}, {"name": "y"}]}),
        ("a[y].n", {**DOCUMENT, "a": [{"name": "x", "n": 1}, {"name": "y", "n": 9}]}),
        ("labels[k.io/z]", {**DOCUMENT, "labels": {"k.io/z": 9}}),
        ("new", {**DOCUMENT, "new": 9}),
    ],
)
def test_value_is_put_at_its_place(path: str, found: dict[str, Any]) -> None:
    before = repr(DOCUMENT)

    assert with_value(DOCUMENT, parse_path(path), 9) == found
    assert repr(DOCUMENT) == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("b.c", "there is no b"),
        ("a.n", "n is asked of a list"),
        ("a[2]", r"there is no item \[2\]"),
        ("a[z].n", "there is no item called z"),
        ("labels[0]", "asked of a mapping"),
        ("a[0].n.m", "holds nothing"),
    ],
)
def test_place_that_is_not_there_is_told(path: str, message: str) -> None:
    with pytest.raises(SchedlabError, match=message):
        with_value(DOCUMENT, parse_path(path), 9)


def test_documents_grow_where_they_may() -> None:
    assert with_value({}, parse_path("b.c[d].e"), 9, grows=True, adds=True) == {"b": {"c": [{"name": "d", "e": 9}]}}
