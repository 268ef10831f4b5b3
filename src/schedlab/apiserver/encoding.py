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

#: So many items are encoded before other requests get their turn.
ITEMS_PER_PIECE: Final = 500

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
    return pieces(head, objects.items, shown(StoredObject.item_json, show), b"]}")


def custom_list(objects: ObjectList, list_kind: str, api_version: str, show: Show | None = None) -> Iterator[bytes]:
    """Encode a list of custom objects, each of which says what it is."""
    metadata = {"continue": objects.continue_token, **orjson.loads(list_metadata(objects))}
    head = b'{%b"metadata":%b,"items":[' % (header(list_kind, api_version), orjson.dumps(metadata))
    return pieces(head, objects.items, shown(whole, show), b"]}")


def partial_list(objects: ObjectList, api_version: str, show: Show | None = None) -> Iterator[bytes]:
    """Encode the metadata of objects as a list, in pieces; none at all is null, as a nil slice in Go."""
    head = b'{%b"metadata":%b,"items":' % (header(f"{_PARTIAL}List", api_version), list_metadata(objects))
    if not objects.items:
        return iter((head + b"null}",))
    return pieces(head + b"[", objects.items, shown(partial_encoder(api_version), show), b"]}")


def pieces(head: bytes, items: Sequence[StoredObject], encode: ObjectEncoder, tail: bytes) -> Iterator[bytes]:
    """Yield a JSON list so that no piece has more than ITEMS_PER_PIECE items."""
    return _cut(head, items, lambda part: b",".join(map(encode, part)), tail)


def _cut(
    head: bytes, items: Sequence[StoredObject], join: Callable[[Sequence[StoredObject]], bytes], tail: bytes
) -> Iterator[bytes]:
    if len(items) <= ITEMS_PER_PIECE:
        yield b"%b%b%b" % (head, join(items), tail)
        return
    for start in range(0, len(items), ITEMS_PER_PIECE):
        yield (b"," if start else head) + join(items[start : start + ITEMS_PER_PIECE])
    yield tail
