"""Objects and lists as the bytes of an answer: whole, or as metadata only.

Stored bytes are spliced: a list of objects is a join, whatever the kind.

    whole      {"kind":"PodList","apiVersion":"v1","metadata":{…},"items":[ item, item … ]}
    metadata   {"kind":"PartialObjectMetadataList", …,"items":[{"kind":"PartialObjectMetadata", …,"metadata":{…}} … ]}

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import orjson

from schedlab.api.object import StoredObject, header, join_items
from schedlab.registry.request import ObjectList

#: Makes the bytes of one object in some form.
ObjectEncoder: TypeAlias = Callable[[StoredObject], bytes]
#: Derives what is not stored (registry.resource.Overlay).
Show: TypeAlias = Callable[[StoredObject], StoredObject]

#: So many items are encoded before other requests get their turn; of those that something is derived for, fewer.
ITEMS_PER_PIECE: Final = 500
SHOWN_PER_PIECE: Final = 25

_PARTIAL: Final = "PartialObjectMetadata"


def whole(obj: StoredObject) -> bytes:
    """Encode the object itself."""
    return obj.json()


def partial_encoder(api_version: str) -> ObjectEncoder:
    """Return the encoder of PartialObjectMetadata in a version of meta.k8s.io."""
    head = b'{%b"metadata":' % header(_PARTIAL, api_version)

    def encode(obj: StoredObject) -> bytes:
        return b"%b%b}" % (head, obj.metadata_json())

    return encode


def shown(encode: ObjectEncoder, show: Show | None) -> ObjectEncoder:
    """Return the encoder of objects as readers see them."""
    return encode if show is None else lambda obj: encode(show(obj))


def list_metadata(objects: ObjectList) -> bytes:
    """Encode the metadata of a list."""
    found: dict[str, Any] = {"resourceVersion": str(objects.revision)}
    if objects.continue_token:
        found["continue"] = objects.continue_token
    if objects.remaining is not None:
        found["remainingItemCount"] = objects.remaining
    return orjson.dumps(found)


def whole_list(objects: ObjectList, list_kind: str, api_version: str, show: Show | None = None) -> Iterator[bytes]:
    """Encode a list of objects, in pieces."""
    head = b'{%b"metadata":%b,"items":[' % (header(list_kind, api_version), list_metadata(objects))
    if show is None:
        return _cut(head, objects.items, join_items, b"]}")
    return pieces(head, objects.items, shown(StoredObject.item_json, show), b"]}", items_per_piece(show))


def custom_list(objects: ObjectList, list_kind: str, api_version: str, show: Show | None = None) -> Iterator[bytes]:
    """Encode a list of custom objects, each of which says what it is."""
    metadata = {"continue": objects.continue_token, **orjson.loads(list_metadata(objects))}
    head = b'{%b"metadata":%b,"items":[' % (header(list_kind, api_version), orjson.dumps(metadata))
    return pieces(head, objects.items, shown(whole, show), b"]}", items_per_piece(show))


def partial_list(objects: ObjectList, api_version: str, show: Show | None = None) -> Iterator[bytes]:
    """Encode the metadata of objects as a list, in pieces; none at all is null, as a nil slice in Go."""
    head = b'{%b"metadata":%b,"items":' % (header(f"{_PARTIAL}List", api_version), list_metadata(objects))
    if not objects.items:
        return iter((head + b"null}",))
    encode = shown(partial_encoder(api_version), show)
    return pieces(head + b"[", objects.items, encode, b"]}", items_per_piece(show))


def items_per_piece(show: Show | None) -> int:
    """Return of how many items a piece of a list is made."""
    return ITEMS_PER_PIECE if show is None else SHOWN_PER_PIECE


def pieces(
    head: bytes, items: Sequence[StoredObject], encode: ObjectEncoder, tail: bytes, at_once: int
) -> Iterator[bytes]:
    """Yield a JSON list so that no piece has more than so many items."""
    return _cut(head, items, lambda part: b",".join(map(encode, part)), tail, at_once)


def _cut(
    head: bytes,
    items: Sequence[StoredObject],
    join: Callable[[Sequence[StoredObject]], bytes],
    tail: bytes,
    at_once: int = ITEMS_PER_PIECE,
) -> Iterator[bytes]:
    if len(items) <= at_once:
        yield b"%b%b%b" % (head, join(items), tail)
        return
    for start in range(0, len(items), at_once):
        yield (b"," if start else head) + join(items[start : start + at_once])
    yield tail
