"""Objects, metadata and Tables are spliced from stored bytes and the cells of printers."""

from typing import Any

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery.table import DEFAULT
from schedlab.apiserver.encoding import partial_encoder, partial_list, whole_list
from schedlab.apiserver.tables import TableEncoder
from schedlab.kernel.clock import VirtualClock
from schedlab.registry.request import ObjectList


def make(name: str, revision: int = 7) -> StoredObject:
    metadata = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{"manager": "m"}]}
    return StoredObject.encode(
        "pods", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"x": 1}}, revision
    )


def load(pieces: Any) -> Any:
    return orjson.loads(b"".join(pieces))


METADATA = {
    "name": "a",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "m"}],
    "resourceVersion": "7",
}


def test_lists_of_objects() -> None:
    """Items carry no kind; paging is told in the metadata of the list."""
    listed = load(whole_list(ObjectList([make("a")], 9, "token", 3), "PodList", "v1"))

    assert listed == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "9", "continue": "token", "remainingItemCount": 3},
        "items": [{"metadata": METADATA, "spec": {"x": 1}}],
    }
    assert load(whole_list(ObjectList([], 9), "PodList", "v1"))["items"] == []


def test_big_lists_come_in_pieces() -> None:
    """However many items there are, no piece has more than a few hundred."""
    pieces = list(whole_list(ObjectList([make(f"p{number}") for number in range(1200)], 9), "PodList", "v1"))

    assert len(pieces) == 4
    assert [item["metadata"]["name"] for item in load(pieces)["items"]] == [f"p{number}" for number in range(1200)]


def test_partial_metadata() -> None:
    """Metadata alone has its own kind; a list of nothing is null."""
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA}

    assert orjson.loads(partial_encoder("meta.k8s.io/v1")(make("a"))) == partial
    assert load(partial_list(ObjectList([make("a")], 9), "meta.k8s.io/v1"))["items"] == [partial]
    assert load(partial_list(ObjectList([], 9), "meta.k8s.io/v1"))["items"] is None


def test_tables() -> None:
    """A row has the cells, and beside them as much of the object as was asked for."""
    objects = ObjectList([make("a")], 9)
    tables = {
        include: load(TableEncoder(DEFAULT, VirtualClock(), "meta.k8s.io/v1", include).list(objects))
        for include in ("Metadata", "Object", "None")
    }

    assert [column["name"] for column in tables["None"]["columnDefinitions"]] == ["Name", "Created At"]
    assert tables["None"]["rows"] == [{"cells": ["a", "2026-01-01T00:00:00Z"], "object": None}]
    assert tables["Metadata"]["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert tables["Object"]["rows"][0]["object"]["kind"] == "Pod"


def test_tables_of_events_have_columns_once() -> None:
    """A watch tells the columns with its first event only; the version is that of the object."""
    encoder = TableEncoder(DEFAULT, VirtualClock(), "meta.k8s.io/v1", "None")

    first, later = orjson.loads(encoder.one(make("a"))), orjson.loads(encoder.one(make("a"), with_columns=False))
    assert len(first["columnDefinitions"]) == 2
    assert later["columnDefinitions"] is None
    assert later["metadata"] == {"resourceVersion": "7"}
