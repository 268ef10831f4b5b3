"""Lists are encoded in pieces, between which others have their turn."""

from __future__ import annotations

import orjson
import pytest

from schedlab.api.object import StoredObject
from schedlab.apiserver.encoding import ITEMS_PER_PIECE, SHOWN_PER_PIECE, partial_list, whole_list
from schedlab.registry.request import ObjectList


def pods(count: int) -> ObjectList:
    bare = {"kind": "Pod", "apiVersion": "v1"}
    names = [f"p{number}" for number in range(count)]
    items = [StoredObject.encode("pods", {**bare, "metadata": {"name": name}}, 7) for name in names]
    return ObjectList(items, 7)


def annotated(stored: StoredObject) -> StoredObject:
    return stored.with_annotations({"a": "b"}, dropped="x")


@pytest.mark.parametrize("count", [0, 1, SHOWN_PER_PIECE, SHOWN_PER_PIECE + 1, 4 * SHOWN_PER_PIECE])
def test_what_is_derived_for_each_item_makes_pieces_small(count: int) -> None:
    stored, shown = whole_list(pods(count), "PodList", "v1"), whole_list(pods(count), "PodList", "v1", annotated)
    pieces = list(shown)

    items = orjson.loads(b"".join(pieces))["items"]
    assert [item["metadata"]["annotations"] for item in items] == [{"a": "b"}] * count
    assert len(orjson.loads(b"".join(stored))["items"]) == count
    assert max(piece.count(b'"annotations"') for piece in pieces) <= SHOWN_PER_PIECE


def test_metadata_comes_in_small_pieces_too() -> None:
    pieces = list(partial_list(pods(60), "meta.k8s.io/v1", annotated))

    assert len(orjson.loads(b"".join(pieces))["items"]) == 60
    assert max(piece.count(b'"annotations"') for piece in pieces) == SHOWN_PER_PIECE


def test_what_is_only_stored_comes_in_few_pieces() -> None:
    assert len(list(whole_list(pods(ITEMS_PER_PIECE), "PodList", "v1"))) == 1
