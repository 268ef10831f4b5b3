"""Reading objects: get, list in pages, watch.

Mirrors: staging/src/k8s.io/apiserver/pkg/storage (continue.go, selection_predicate.go, etcd3), cacher (filtering of
watches) (v1.36)
Differs: nothing is cached; the store is in memory.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery import strict
from schedlab.apimachinery.errors import (
    BadRequest,
    Expired,
    new_bad_request,
    new_expired,
    new_too_large_resource_version,
)
from schedlab.apimachinery.schema import Field, Scalar, Struct
from schedlab.registry.core import Core
from schedlab.registry.request import ListOptions, ObjectList
from schedlab.registry.resource import Resource
from schedlab.store import Compacted, StoreWatch

_CONTINUE_VERSION: Final = "meta.k8s.io/v1"
_LIST_EXPIRED: Final = "The resourceVersion for the provided list is too old."
_WATCH_EXPIRED: Final = "The resourceVersion for the provided watch is too old."
_CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9_-]")
#: In a token: go on with the newest state.
_NEWEST: Final = -1


class Reader:
    """Gets, lists and watches objects."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(self, resource: Resource, namespace: str, options: ListOptions) -> ObjectList:
        """List objects in key order; raises Expired, Timeout for a revision to come, BadRequest."""
        store = self._core.store
        after, revision = "", None
        if options.continue_token:
            after, revision = decode_continue(options.continue_token, resource.prefix(namespace))
            revision = None if revision == _NEWEST else revision
        elif options.exact:
            revision = options.revision
        if not options.continue_token and options.revision > store.revision:
            raise new_too_large_resource_version(options.revision, store.revision, 1)
        prefix = self._prefix(resource, namespace, options)
        if not options.limit and revision is None and options.selects_all and not after:
            found = store.list(resource.storage, prefix)
            return ObjectList(self._present(resource, found), store.revision)
        return self._pages(resource, prefix, namespace, options, after, revision)

    def _prefix(self, resource: Resource, namespace: str, options: ListOptions) -> str:
        """Narrow the keys by what the field selector requires."""
        if resource.namespaced and not namespace:
            namespace = options.fields.required_value("metadata.namespace") or ""
        return resource.prefix(namespace)

    def _present(self, resource: Resource, items: Sequence[StoredObject]) -> Sequence[StoredObject]:
        """Show stored versions as the resource shows them."""
        return items if resource.strategy.conversion is None else [resource.present(item) for item in items]

    def _pages(
        self,
        resource: Resource,
        prefix: str,
        namespace: str,
        options: ListOptions,
        after: str,
        revision: int | None,
    ) -> ObjectList:
        """Take pages until enough objects match."""
        matches = matcher(resource, options)
        found: list[StoredObject] = []
        while True:
            missing = options.limit - len(found) if options.limit else 0
            try:
                page = self._core.store.page(
                    resource.storage,
                    prefix,
                    after=after,
                    limit=missing,
                    revision=revision,
                    from_history=options.from_history,
                )
            except Compacted:
                raise self._expired(options, after, resource.prefix(namespace)) from None
            items = self._present(resource, page.items)
            found += items if matches is None else [item for item in items if matches(item)]
            revision = page.revision
            if not page.remaining:
                return ObjectList(found, page.revision)
            after = page.items[-1].key
            if len(found) == options.limit:
                token = encode_continue(after, resource.prefix(namespace), page.revision)
                return ObjectList(found, page.revision, token, page.remaining if options.selects_all else None)

    def _expired(self, options: ListOptions, after: str, prefix: str) -> Expired:
        if not options.continue_token:
            return new_expired(_LIST_EXPIRED)
        error = new_expired(_CONTINUE_EXPIRED)
        error.status["metadata"] = {"continue": encode_continue(after, prefix, _NEWEST)}
        return error

    def watch(
        self,
        resource: Resource,
        namespace: str,
        options: ListOptions,
        since: int,
        handler: Callable[[WatchEvent], None],
    ) -> StoreWatch:
        """Hand over what changes after a revision, as seen through the selectors; raises Expired."""
        matches = matcher(resource, options)
        deliver = handler if matches is None else _selecting(matches, handler)
        if resource.strategy.conversion is not None:
            deliver = _presenting(resource, deliver)
        try:
            return self._core.store.watch(resource.storage, since, deliver, self._prefix(resource, namespace, options))
        except Compacted:
            raise new_expired(_WATCH_EXPIRED) from None


def matcher(resource: Resource, options: ListOptions) -> Callable[[StoredObject], bool] | None:
    """Return the test that the selectors make, None when they select everything."""
    if options.selects_all:
        return None
    labels, fields = options.labels, options.fields

    def matches(obj: StoredObject) -> bool:
        if not labels.is_empty and not labels.matches(obj.labels):
            return False
        return fields.is_empty or fields.matches(field_values(resource, obj))

    return matches


def field_values(resource: Resource, obj: StoredObject) -> Mapping[str, str]:
    """Return the selectable fields of an object as texts."""
    own = {"metadata.name": obj.name}
    if resource.namespaced:
        own["metadata.namespace"] = obj.namespace
    more = resource.strategy.field_values
    return own if more is None else {**own, **more(obj)}


def _selecting(
    matches: Callable[[StoredObject], bool], handler: Callable[[WatchEvent], None]
) -> Callable[[WatchEvent], None]:
    """Show changes as somebody sees them who sees only the objects that match."""

    def deliver(event: WatchEvent) -> None:
        before = event.previous is not None and matches(event.previous)
        now = event.type != "DELETED" and matches(event.object)
        if now:
            handler(event if before == (event.type == "MODIFIED") else WatchEvent("ADDED", event.object))
        elif before and event.previous is not None:
            gone = event.object if event.type == "DELETED" else event.previous.with_revision(event.revision)
            handler(WatchEvent("DELETED", gone, event.previous))

    return deliver


def _presenting(resource: Resource, handler: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
    """Show changes of stored versions as the resource shows them."""

    def deliver(event: WatchEvent) -> None:
        previous = None if event.previous is None else resource.present(event.previous)
        handler(WatchEvent(event.type, resource.present(event.object), previous))

    return deliver


def _token_type() -> Struct:
    token = Struct("storage.continueToken")
    text = Scalar("string", "string")
    types: Mapping[str, Scalar] = {"v": text, "rv": Scalar("integer", "int64", format="int64"), "start": text}
    token.fields = {name: Field(name, kind, {"o": 1}) for name, kind in types.items()}
    return token


_TOKEN: Final = _token_type()


def encode_continue(after: str, prefix: str, revision: int) -> str:
    """Make the token of the page that begins behind a key."""
    token = {"v": _CONTINUE_VERSION, "rv": revision, "start": f"{after.removeprefix(prefix)}\0"}
    return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def decode_continue(text: str, prefix: str) -> tuple[str, int]:
    """Return the key behind which the page begins and its revision; raises BadRequest."""
    illegal = _NOT_BASE64.search(text)
    if illegal or len(text) % 4 == 1:
        position = illegal.start() if illegal else len(text) - 1
        raise _bad_token(f"illegal base64 data at input byte {position}")
    try:
        decoded = strict.decode_text(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _TOKEN).value
    except strict.DecodeError as error:
        raise _bad_token(str(error)) from None
    version = decoded.get("v", "")
    if version != _CONTINUE_VERSION:
        raise _bad_token(f"server does not recognize this encoded version {version}")
    revision, start = decoded.get("rv", 0), decoded.get("start", "")
    if not revision:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {_CONTINUE_VERSION})")
    if not start:
        raise _bad_token(f"encoded start key empty (version {_CONTINUE_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(rooted) != rooted or rooted.startswith("//"):
        raise _bad_token(start)
    return prefix + rooted[1:].removesuffix("\0"), revision


def _bad_token(reason: str) -> BadRequest:
    return new_bad_request(f"invalid continue token: continue key is not valid: {reason}")
