"""One resource of a remote API server, listed and then watched, as a mirror that is always whole.

    reflector = Reflector(transport, kind, on_list=…, on_error=…)
    task = loop.create_task(reflector.run())    # calls on_list whenever everything is there
    reflector.objects()                         everything, in key order
    reflector.follow(handler)                   every change from now on, in the server's order

A list comes in pages. After a broken connection, a compacted revision or any other mistake everything is listed again,
and followers hear the difference: a server that was restarted may have lost what it had.

Mirrors: staging/src/k8s.io/client-go/tools/cache/reflector.go (v1.36)
Differs: lists are paged lists, not WatchLists; a resource that the server does not serve has no objects and is looked
for again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import (
    Expired,
    Forbidden,
    Gone,
    NotFound,
    StatusError,
    from_status,
    new_service_unavailable,
)
from schedlab.apimachinery.resources import ResourceType
from schedlab.remote.transport import Request, Transport

PAGE: Final = 500
_BACKOFF_S: Final = 0.8
_BACKOFF_S_MAX: Final = 30.0
_WATCH_S: Final = 480
#: Servers send a bookmark about once a minute; more silence than this is a broken connection.
_SILENCE_S: Final = 150.0
_NOT_SERVED_S: Final = 30.0
#: Objects of one list that cannot be read, of which it is told.
_UNREAD_MAX: Final = 10

Handler = Callable[[WatchEvent], None]
OnError = Callable[[str, str, StatusError], None]


class Reflector:
    """The objects of one resource. selector is a label selector that the server applies.

    on_list() is called when everything was listed, on_error(resource, "list" or "watch", error) after every failure.
    A `tolerant` one goes on without what it cannot have: a resource that it may not list is looked for again later, like
    one that is not served, and an object that cannot be read is left out: on_error(resource, "read", error).
    """

    def __init__(
        self,
        transport: Transport,
        kind: ResourceType,
        *,
        on_list: Callable[[], None],
        on_error: OnError,
        selector: str = "",
        tolerant: bool = False,
    ) -> None:
        self.kind = kind
        self.revision = 0
        #: Whether everything was listed once.
        self.is_synced = False
        self._transport = transport
        self._on_list, self._on_error = on_list, on_error
        self._tolerant = tolerant
        self._selector = {"labelSelector": selector} if selector else {}
        self._path = f"{kind.path}/{kind.resource}"
        self._objects: dict[tuple[str, str], StoredObject] = {}
        self._handlers: tuple[Handler, ...] = ()

    def objects(self) -> Sequence[StoredObject]:
        """Return everything, in key order."""
        return [self._objects[key] for key in sorted(self._objects)]

    def follow(self, handler: Handler) -> Callable[[], None]:
        """Tell `handler` of every change from now on; returns what ends that."""
        self._handlers = (*self._handlers, handler)

        def stop() -> None:
            self._handlers = tuple(one for one in self._handlers if one is not handler)

        return stop

    async def run(self) -> None:
        """List and watch until cancelled."""
        backoff_s = _BACKOFF_S
        while True:
            doing = "list"
            try:
                await self._list()
                backoff_s = _BACKOFF_S
                doing = "watch"
                while True:
                    await self._watch()
            except (Expired, Gone):
                continue
            except NotFound:
                self._has_all()
                await asyncio.sleep(_NOT_SERVED_S)
            except Forbidden as error:
                if self._tolerant:
                    self._has_all()
                self._on_error(self.kind.full_name, doing, error)
                await asyncio.sleep(_NOT_SERVED_S)
            except StatusError as error:
                self._on_error(self.kind.full_name, doing, error)
                await asyncio.sleep(backoff_s)
                backoff_s = min(2 * backoff_s, _BACKOFF_S_MAX)

    # --- List ---

    async def _list(self) -> None:
        found: dict[tuple[str, str], StoredObject] = {}
        unread: list[StatusError] = []
        page, limit = "", PAGE
        while True:
            query = {"limit": str(limit), **self._selector, **({"continue": page} if page else {})}
            try:
                answer = await self._transport.send(Request("GET", self._path, query))
            except (Expired, Gone):
                if not page:
                    raise
                # The pages that are left were compacted: take everything at once.
                page, limit = "", 0
                found.clear()
                unread.clear()
                continue
            metadata = answer.get("metadata") or {}
            for item in answer.get("items") or ():
                obj = self._stored(item, unread)
                if obj is not None:
                    found[obj.namespace, obj.name] = obj
            page = metadata.get("continue") or ""
            if not page:
                break
        self._replace(found)
        self.revision = _revision(metadata)
        self._has_all()
        self._tell_of(unread)

    def _has_all(self) -> None:
        self.is_synced = True
        self._on_list()

    def _replace(self, found: Mapping[tuple[str, str], StoredObject]) -> None:
        for event in _differences(self._objects, found):
            self._tell(event)

    # --- Watch ---

    async def _watch(self) -> None:
        query = {
            "watch": "true",
            "resourceVersion": str(self.revision),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
            **self._selector,
        }
        async with self._transport.stream(Request("GET", self._path, query), _SILENCE_S) as lines:
            async for line in lines:
                if line:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = orjson.loads(line)
            type_, content = event["type"], event["object"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise new_service_unavailable(f"unable to decode an event from the watch stream: {error}") from error
        if type_ == "ERROR":
            raise from_status(content)
        if type_ == "BOOKMARK":
            self.revision = _revision(content.get("metadata") or {})
            return
        unread: list[StatusError] = []
        obj = self._stored(content, unread)
        if obj is None:
            self._tell_of(unread)
            return
        known = self._objects.get((obj.namespace, obj.name))
        self.revision = obj.revision
        if type_ == "DELETED":
            if known is not None:
                self._tell(WatchEvent("DELETED", obj, known))
        else:
            self._tell(WatchEvent("ADDED" if known is None else "MODIFIED", obj, known))

    def _tell(self, event: WatchEvent) -> None:
        key = event.object.namespace, event.object.name
        if event.type == "DELETED":
            del self._objects[key]
        else:
            self._objects[key] = event.object
        for handler in self._handlers:
            handler(event)

    def _tell_of(self, unread: Sequence[StatusError]) -> None:
        for error in unread[:_UNREAD_MAX]:
            self._on_error(self.kind.full_name, "read", error)

    def _stored(self, item: dict[str, Any], unread: list[StatusError]) -> StoredObject | None:
        """Return an object as it is kept; None, with the reason in `unread`, for one that is left out."""
        try:
            return stored(self.kind, item)
        except StatusError as error:
            if not self._tolerant:
                raise
            unread.append(error)
            return None


def stored(kind: ResourceType, item: dict[str, Any]) -> StoredObject:
    """Return an object as a server sent it, alone or as an item of a list; raises ServiceUnavailable for anything else."""
    try:
        metadata = item["metadata"]
        item["kind"], item["apiVersion"] = kind.kind, kind.api_version
        made = StoredObject.encode(kind.full_name, item, _revision(metadata))
    except (KeyError, TypeError, AttributeError) as error:
        raise new_service_unavailable(f"the server sent {kind.full_name} without metadata: {error!r}") from error
    try:
        made.view  # noqa: B018 - whoever uses it has to rely on it
    except msgspec.ValidationError as error:
        raise new_service_unavailable(f"the server sent {kind.full_name} that cannot be read: {error}") from error
    # A review is answered and forgotten: it has none.
    if kind.is_stored and not made.name:
        raise new_service_unavailable(f"the server sent {kind.full_name} without a name")
    return made


def _revision(metadata: Mapping[str, Any]) -> int:
    text = metadata.get("resourceVersion") or "0"
    try:
        return int(text)
    except ValueError as error:
        raise new_service_unavailable(f"the server sent the resourceVersion {text!r}") from error


def _differences(
    old: Mapping[tuple[str, str], StoredObject], new: Mapping[tuple[str, str], StoredObject]
) -> Iterator[WatchEvent]:
    """Yield what happened between two lists: what has gone first, so that nothing is held twice."""
    for key, was in list(old.items()):
        now = new.get(key)
        if now is None or now.uid != was.uid:
            yield WatchEvent("DELETED", was, was)
    for key, now in new.items():
        known = old.get(key)
        if known is None:
            yield WatchEvent("ADDED", now)
        elif known.revision != now.revision:
            yield WatchEvent("MODIFIED", now, known)
