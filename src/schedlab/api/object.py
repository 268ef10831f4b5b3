"""One stored version of an object: immutable JSON in segments, a typed view and a dict, both made when asked for.

    {"kind":…,"apiVersion":…,"metadata":{"resourceVersion":"7",  metadata  ,"managedFields":  …  }  body
     └──────── header ─────┘                                    └ segment ┘                  └ ┘   └ segment, from its
                                                                                     comma or closing brace on

The segments are encoded once. A get, a list item (which carries no kind) and a watch event splice the same bytes, and
a new revision of an unchanged object shares all of them.

Mirrors: the role of runtime.Object plus its cached encoding, staging/src/k8s.io/apimachinery/pkg/runtime (v1.36)
Differs: resourceVersion comes first in metadata; the order of JSON members has no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
import orjson
from msgspec.structs import replace

from schedlab.api.views.catalog import view_of
from schedlab.api.views.meta import ObjectMeta, View

#: A whole object as a dict with the wire's own keys. The values are JSON's.
Object: TypeAlias = dict[str, Any]

#: Resource, namespace, name and uid.
Identity: TypeAlias = tuple[str, str, str, str]

#: Header, metadata, managedFields and body, as drawn above.
Segments: TypeAlias = tuple[bytes, bytes, bytes, bytes]

_METADATA: Final = b'"metadata":{'
_MANAGED_FIELDS: Final = b',"managedFields":'
_ITEM_START: Final = b'{"metadata":{"resourceVersion":"'
_NULL: Final = b":null"
_TYPE_KEYS: Final = frozenset(("kind", "apiVersion", "metadata"))

# Pods of one manager and one second carry the same managedFields, so a few recent ones are worth sharing.
_SHARED_MAX: Final = 1024
_shared: dict[bytes, bytes] = {}
_decoded_fields: dict[bytes, list[Object]] = {}
_headers: dict[tuple[str, str], bytes] = {}
_decoders: dict[str, msgspec.json.Decoder[View]] = {}
_decode_metadata: Final = msgspec.json.Decoder(ObjectMeta).decode
#: Views of objects seen lately, by resource and body: those made of one template differ in their metadata only.
_views: dict[tuple[str, bytes], Any] = {}


class StoredObject(msgspec.Struct, eq=False, gc=False):
    """One version of one object; every attribute is fixed once it is made.

    Nothing in it can lead back to it, so the garbage collector need not look at it: there are hundreds of thousands.
    """

    resource: str
    namespace: str
    name: str
    uid: str
    revision: int
    _header: bytes
    _metadata: bytes
    _managed_fields: bytes
    _body: bytes
    _view: Any = None
    _raw: Object | None = None

    @classmethod
    def encode(cls, resource: str, obj: Mapping[str, Any], revision: int) -> StoredObject:
        """Encode a whole object, which must name its kind and apiVersion; a resourceVersion in it is ignored."""
        metadata = dict(obj["metadata"])
        metadata.pop("resourceVersion", None)
        managed_fields = metadata.pop("managedFields", None)
        body = orjson.dumps({key: value for key, value in obj.items() if key not in _TYPE_KEYS})
        segments = (
            header(obj["kind"], obj["apiVersion"]),
            # A leading comma in place of the brace, so that every segment can follow another one.
            b"," + orjson.dumps(metadata)[1:-1] if metadata else b"",
            _encoded(managed_fields) if managed_fields else b"",
            b"}" if body == b"{}" else b"," + body[1:],
        )
        identity = (resource, metadata.get("namespace", ""), metadata.get("name", ""), metadata.get("uid", ""))
        return cls(*identity, revision, *segments)

    @classmethod
    def decode(cls, resource: str, encoded: bytes, revision: int) -> StoredObject:
        """Make a version from the JSON of a whole object, as another store wrote it."""
        return cls.encode(resource, orjson.loads(encoded), revision)

    def with_revision(self, revision: int) -> StoredObject:
        """Return the same content under another revision: what a DELETED event carries."""
        view = self._view
        if view is not None:
            version = str(revision) if revision else ""
            view = replace(view, metadata=replace(view.metadata, resource_version=version))
        return self.replaced(revision, self._metadata, self._body, view)

    def replaced(self, revision: int, metadata: bytes, body: bytes, view: Any = None) -> StoredObject:
        """Return the next version of the object, with segments that its own are replaced by, and its view if it is known."""
        return StoredObject(
            self.resource,
            self.namespace,
            self.name,
            self.uid,
            revision,
            self._header,
            metadata,
            self._managed_fields,
            body,
            view,
        )

    def converted(self, resource: str, convert: Callable[[Object], Object]) -> StoredObject:
        """Return the object in another form, in which metadata is the same; `convert` sees none."""
        made = convert(orjson.loads(b"{%b%b" % (self._header[:-1], self._body)))
        start = header(made.pop("kind"), made.pop("apiVersion"))
        segments = (start, self._metadata, self._managed_fields, b"," + orjson.dumps(made)[1:] if made else b"}")
        return StoredObject(resource, self.namespace, self.name, self.uid, self.revision, *segments)

    def with_body(self, change: Callable[[bytes], bytes]) -> StoredObject:
        """Return the object with what is neither type nor metadata changed, as encoded JSON without the first brace."""
        return self.replaced(self.revision, self._metadata, change(self._body))

    def with_annotations(self, added: Mapping[str, str], dropped: str) -> StoredObject:
        """Return the object with more annotations, without those of its own whose key starts with `dropped`."""
        metadata = self._metadata
        own = self.view.metadata.annotations
        if own:
            decoded = orjson.loads(b"{%b}" % metadata[1:])
            decoded["annotations"] = {**{key: own[key] for key in own if not key.startswith(dropped)}, **added}
            metadata = b"," + orjson.dumps(decoded)[1:-1]
        else:
            metadata = b'%b,"annotations":%b' % (metadata, orjson.dumps(added))
        return self.replaced(self.revision, metadata, self._body)

    @property
    def key(self) -> str:
        """The place in its resource's key space: `namespace/name`, or the name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def identity(self) -> Identity:
        """Resource, namespace, name and uid."""
        return self.resource, self.namespace, self.name, self.uid

    @property
    def segments(self) -> Segments:
        """Header, metadata, managedFields and body, as this module draws them."""
        return self._header, self._metadata, self._managed_fields, self._body

    @property
    def body(self) -> bytes:
        """What is neither type nor metadata, encoded; to be compared only."""
        return self._body

    @property
    def view(self) -> Any:
        """The typed view of the kind."""
        if self._view is None:
            self._view = self._decode_view()
        return self._view

    def _decode_view(self) -> View:
        known = _views.get((self.resource, self._body))
        if known is not None:
            try:
                metadata = _decode_metadata(b"%b}" % self._start()[len(_METADATA) - 1 :])
                found: View = replace(known, metadata=metadata)
            except msgspec.ValidationError:
                pass  # nulls in it are for the long way
            else:
                return found
        if len(_views) >= _SHARED_MAX:
            _views.clear()
        made = _decode_view(self.resource, b"{%b}%b" % (self._start(), self._body))
        _views[self.resource, self._body] = made
        return made

    @property
    def raw(self) -> Object:
        """The whole object as a dict that is kept and shared: never change it."""
        if self._raw is None:
            self._raw = self.thaw()
        return self._raw

    @property
    def labels(self) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.view.metadata.labels
        return labels

    def thaw(self) -> Object:
        """Return a new dict of the whole object that belongs to the caller, but for managedFields: never change those."""
        thawed: Object = orjson.loads(self.bare_json())
        if self._managed_fields:
            thawed["metadata"]["managedFields"] = _decoded(self._managed_fields)
        return thawed

    def json(self) -> bytes:
        """Encode the whole object."""
        return b"{%b%b" % (self._header, self.item_json()[1:])

    def bare_json(self) -> bytes:
        """Encode the object without its managedFields."""
        return b"{%b%b}%b" % (self._header, self._start(), self._body)

    def item_json(self) -> bytes:
        """Encode the object as an item of a list: without kind and apiVersion."""
        return b"".join(self.item_parts())

    def item_parts(self) -> tuple[bytes, ...]:
        """Return the bytes of `item_json` in parts, of which all but the revision are shared."""
        if not self.revision:
            start: tuple[bytes, ...] = (b"{", _METADATA, self._metadata[1:])
        else:
            start = (_ITEM_START, b"%d" % self.revision, b'"', self._metadata)
        if not self._managed_fields:
            return (*start, b"}", self._body)
        return (*start, _MANAGED_FIELDS, self._managed_fields, b"}", self._body)

    def metadata_json(self) -> bytes:
        """Encode the metadata alone, as the value of its member."""
        start = self._start()[len(_METADATA) - 1 :]
        if not self._managed_fields:
            return start + b"}"
        return b"%b%b%b}" % (start, _MANAGED_FIELDS, self._managed_fields)

    def _start(self) -> bytes:
        """Metadata up to where managedFields can follow; what was never stored has no version."""
        if not self.revision:
            return _METADATA + self._metadata[1:]
        return b'%b"resourceVersion":"%d"%b' % (_METADATA, self.revision, self._metadata)

    def forget(self) -> None:
        """Drop the decoded forms to save memory; they are made again when asked for."""
        self._view = None
        self._raw = None

    def same_content(self, other: StoredObject) -> bool:
        """Whether both versions differ in nothing but the revision."""
        return (
            self._body == other._body
            and self._metadata == other._metadata
            and self._managed_fields == other._managed_fields
            and self._header == other._header
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredObject, (*self.identity, self.revision, *self.segments)

    def __repr__(self) -> str:
        return f"StoredObject({self.resource} {self.key} at {self.revision})"


EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change; for DELETED `object` is the last state at the revision of the deletion.

    `previous` is the state before the change, None for ADDED.
    """

    type: EventType
    object: StoredObject
    previous: StoredObject | None = None

    @property
    def revision(self) -> int:
        return self.object.revision


def join_items(objects: Sequence[StoredObject]) -> bytes:
    """Join what `item_json` encodes with commas, in one step."""
    parts: list[bytes] = []
    for obj in objects:
        parts.append(b",")
        parts += obj.item_parts()
    return b"".join(parts[1:])


def header(kind: str, api_version: str) -> bytes:
    """Return the members that say what an object is, each followed by a comma."""
    known = _headers.get((kind, api_version))
    if known is None:
        known = orjson.dumps({"kind": kind, "apiVersion": api_version})[1:-1] + b","
        _headers[kind, api_version] = known
    return known


def _decode_view(resource: str, encoded: bytes) -> View:
    """Decode a view; null is taken for absent where the view has no null."""
    decoder = _decoder(resource)
    try:
        return decoder.decode(encoded)
    except msgspec.ValidationError:
        if _NULL not in encoded:
            raise
        return decoder.decode(orjson.dumps(_without_nulls(orjson.loads(encoded))))


def _without_nulls(value: Any) -> Any:
    """Drop members that are null: Go writes some empty lists so, to which views have no null."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(element) for element in value]
    return value


def _decoder(resource: str) -> msgspec.json.Decoder[View]:
    decoder = _decoders.get(resource)
    if decoder is None:
        decoder = _decoders[resource] = msgspec.json.Decoder(view_of(resource))
    return decoder


def _decoded(managed_fields: bytes) -> list[Object]:
    """Decode managedFields; those seen lately are shared, so that what was found out about them can be, too."""
    found = _decoded_fields.get(managed_fields)
    if found is None:
        if len(_decoded_fields) >= _SHARED_MAX:
            _decoded_fields.clear()
        found = _decoded_fields[managed_fields] = orjson.loads(managed_fields)
    return found


def _encoded(managed_fields: list[Object]) -> bytes:
    """Encode managedFields; equal ones share their bytes, and what they decode to."""
    encoded = orjson.dumps(managed_fields)
    found = _shared.get(encoded)
    if found is None:
        if len(_shared) >= _SHARED_MAX:
            _shared.clear()
            _decoded_fields.clear()
        # A copy: what the encoder returns holds on to the room that it might have needed.
        found = _shared[encoded] = bytes(memoryview(encoded))
        _decoded_fields[encoded] = managed_fields
    return found
