"""Objects and lists as the bytes of an answer: whole, as metadata only, or as a Table.

Stored bytes are spliced: a list of objects is a join, whatever the kind. Only Tables look at fields.

    whole      {"kind":"PodList","apiVersion":"v1","metadata":{…},"items":[ item, item … ]}
    metadata   {"kind":"PartialObjectMetadataList", …,"items":[{"kind":"PartialObjectMetadata", …,"metadata":{…}} … ]}
    Table      {"kind":"Table", …,"columnDefinitions":[…],"rows":[{"cells":[…],"object":…} … ]}

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import orjson

from schedlab.api.object import StoredObject, header
from schedlab.registry.request import ObjectList

#: Makes the bytes of one object in some form.
ObjectEncoder: TypeAlias = Callable[[StoredObject], bytes]

#: So many items are encoded before other requests get their turn.
ITEMS_PER_CHUNK: Final = 1000

_PARTIAL: Final = "PartialObjectMetadata"


class TablePrinter(Protocol):
    """The columns of a kind and the cells of its objects."""

    @property
    def columns(self) -> Sequence[dict[str, Any]]:
        """The column definitions as the wire has them."""

    def cells(self, obj: StoredObject) -> Sequence[Any]:
        """The cells of one object, one per column."""


def whole(obj: StoredObject) -> bytes:
    """Encode the object itself."""
    return obj.json()


def partial_encoder(api_version: str) -> ObjectEncoder:
    """Return the encoder of PartialObjectMetadata in a version of meta.k8s.io."""
    head = b'{%b"metadata":' % header(_PARTIAL, api_version)

    def encode(obj: StoredObject) -> bytes:
        return b"%b%b}" % (head, obj.metadata_json())

    return encode


def list_metadata(objects: ObjectList) -> bytes:
    """Encode the metadata of a list."""
    found: dict[str, Any] = {"resourceVersion": str(objects.revision)}
    if objects.continue_token:
        found["continue"] = objects.continue_token
    if objects.remaining is not None:
        found["remainingItemCount"] = objects.remaining
    return orjson.dumps(found)


def whole_list(objects: ObjectList, list_kind: str, api_version: str) -> Iterator[bytes]:
    """Encode a list of objects, in pieces."""
    head = b'{%b"metadata":%b,"items":[' % (header(list_kind, api_version), list_metadata(objects))
    return _pieces(head, objects.items, StoredObject.item_json, b"]}")


def partial_list(objects: ObjectList, api_version: str) -> Iterator[bytes]:
    """Encode the metadata of objects as a list, in pieces; none at all is null, as a nil slice in Go."""
    head = b'{%b"metadata":%b,"items":' % (header(f"{_PARTIAL}List", api_version), list_metadata(objects))
    if not objects.items:
        return iter((head + b"null}",))
    return _pieces(head + b"[", objects.items, partial_encoder(api_version), b"]}")


class TableEncoder:
    """Encodes objects and lists as Tables; `include` says how much of an object stands beside its cells."""

    def __init__(self, printer: TablePrinter, api_version: str, include: str) -> None:
        self._printer = printer
        self._header = header("Table", api_version)
        self._columns = orjson.dumps(list(printer.columns))
        self._object = _row_object(api_version, include)

    def list(self, objects: ObjectList) -> Iterator[bytes]:
        """Encode a list, in pieces."""
        head = b'{%b"metadata":%b,"columnDefinitions":%b,"rows":[' % (
            self._header,
            list_metadata(objects),
            self._columns,
        )
        return _pieces(head, objects.items, self._row, b"]}")

    def one(self, obj: StoredObject, *, with_columns: bool = True) -> bytes:
        """Encode one object; a watch sends the columns with its first event only."""
        return b'{%b"metadata":{"resourceVersion":"%d"},"columnDefinitions":%b,"rows":[%b]}' % (
            self._header,
            obj.revision,
            self._columns if with_columns else b"null",
            self._row(obj),
        )

    def _row(self, obj: StoredObject) -> bytes:
        return b'{"cells":%b,"object":%b}' % (orjson.dumps(self._printer.cells(obj)), self._object(obj))


def _row_object(api_version: str, include: str) -> ObjectEncoder:
    if include == "Object":
        return whole
    if include == "None":
        return lambda _: b"null"
    return partial_encoder(api_version)


def _pieces(head: bytes, items: Sequence[StoredObject], encode: ObjectEncoder, tail: bytes) -> Iterator[bytes]:
    """Yield a JSON list so that no piece has more than ITEMS_PER_CHUNK items."""
    if len(items) <= ITEMS_PER_CHUNK:
        yield b"%b%b%b" % (head, b",".join(map(encode, items)), tail)
        return
    for start in range(0, len(items), ITEMS_PER_CHUNK):
        lead = head if start == 0 else b","
        yield lead + b",".join(map(encode, items[start : start + ITEMS_PER_CHUNK]))
    yield tail
