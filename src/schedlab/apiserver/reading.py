"""Handlers that read: get, list, watch.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{get,watch}.go, storage/cacher (v1.36)
Differs: a list is always the newest state or exactly the one that was asked for.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery import field_selectors, selectors
from schedlab.apimachinery.errors import (
    StatusError,
    new_bad_request,
    new_too_large_resource_version,
    new_unknown,
)
from schedlab.apimachinery.field_selectors import FieldRequirement, FieldSelector
from schedlab.apimachinery.selectors import SelectorError
from schedlab.apiserver import results
from schedlab.apiserver.answers import Answer
from schedlab.apiserver.durability import settle
from schedlab.apiserver.encoding import ObjectEncoder
from schedlab.apiserver.negotiation import Form, stream_form
from schedlab.apiserver.options import ListQuery, read_include_object, read_list_query, read_revision
from schedlab.apiserver.request import CONNECTION, FROM_HISTORY, Request
from schedlab.apiserver.results import Pieces
from schedlab.apiserver.routing import Route
from schedlab.apiserver.watching import EventCache, FormLines, WatchStream, error_line, event_line
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.reads import decode_continue
from schedlab.registry.registry import Registry
from schedlab.registry.request import ListOptions
from schedlab.registry.resource import Resource

#: A watch without timeoutSeconds ends after this long, or up to twice as long.
WATCH_S_MIN: Final = 1800.0
BOOKMARK_PERIOD_S: Final = 60.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class ReadHandlers:
    """Answers requests that change nothing."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._events = EventCache()
        #: The running watches and what they watch, so that they can be ended.
        self.streams: dict[WatchStream, Resource] = {}

    def end_stale(self) -> None:
        """End the watches of custom resources that are served no more, or otherwise than when they began."""
        served = {id(resource) for resource in self._registry.served}
        for stream, resource in tuple(self.streams.items()):
            if isinstance(resource, CustomResource) and id(resource) not in served:
                stream.end()

    # --- get ---------------------------------------------------------------------------------------------------------

    async def get(self, route: Route, request: Request) -> Answer:
        """Answer with one object, or with the same object for a subresource that is a part of it."""
        form = request.output_form()
        self._check_known_revision(request)
        info = request.info
        subresource = "" if route.sub is None else route.sub.name
        obj = self._registry.get(route.resource.name, info.name, info.namespace, subresource)
        await settle(self._registry, obj.revision)
        return results.one(request, route, obj, form)

    def _check_known_revision(self, request: Request) -> None:
        """Refuse to answer from a state that does not exist yet."""
        if "resourceVersion" in request.query:
            try:
                wanted = read_revision(request.query["resourceVersion"][0])
            except ValueError as error:
                raise new_unknown(str(error)) from None
            if wanted > self._registry.revision:
                raise new_too_large_resource_version(wanted, self._registry.revision, 1)

    # --- list --------------------------------------------------------------------------------------------------------

    async def list_or_watch(self, route: Route, request: Request) -> Answer | Pieces | WatchStream:
        """Answer with a list, or begin a watch when the query asks for one."""
        form = request.output_form()
        query = read_list_query(request.query, watch=True if route.is_watch else None)
        selection = self.selection(route.resource, request, query)
        if query.watch:
            return await self._watch(route, request, query, selection)
        found = self._registry.list(route.resource.name, _namespace(request), selection)
        await settle(self._registry, found.revision)
        return results.several(request, route, found, form)

    def selection(self, resource: Resource, request: Request, query: ListQuery) -> ListOptions:
        """Say which objects a list, a watch or a deletion of a collection is about; raises BadRequest."""
        try:
            labels = selectors.parse(query.label_selector)
            fields = field_selectors.parse(query.field_selector, resource.strategy.field_labels)
        except SelectorError as error:
            raise new_bad_request(str(error)) from None
        if request.info.name:
            fields = _only_named(fields, request.info.name)
        if query.watch:
            return ListOptions(labels=labels, fields=fields)
        from_history = FROM_HISTORY in request.scope
        return _with_revision(query, ListOptions(labels=labels, fields=fields, from_history=from_history))

    # --- watch -------------------------------------------------------------------------------------------------------

    async def _watch(self, route: Route, request: Request, query: ListQuery, selection: ListOptions) -> WatchStream:
        try:
            since = read_revision(query.resource_version)
        except ValueError as error:
            raise new_unknown(str(error)) from None
        form = stream_form(request.accept)
        include = read_include_object(request.query) if form.transform == "Table" else ""
        connection = request.scope.get(CONNECTION)
        stream = WatchStream(asyncio.get_running_loop(), None if connection is None else connection.abort)
        timeout_s = query.timeout_s or WATCH_S_MIN * (1 + random.random())  # noqa: S311 - spreads reconnections
        shared = self._events.of((form, include))
        watch = _Watch(self._registry, shared, stream, route, _lines(request, route, form))
        self.streams[stream] = route.resource

        def ended() -> None:
            watch.stop()
            self.streams.pop(stream, None)

        stream.on_end = ended
        try:
            begun_at = watch.begin(_namespace(request), selection, query, since)
            # The state that a watch begins with may hold changes that are not safe yet.
            await settle(self._registry, min(begun_at, self._registry.revision))
        except StatusError as error:
            stream.begin_with(iter(()))
            stream.end(error_line(error.status))
        else:
            stream.end_at(timeout_s)
        return stream


def _namespace(request: Request) -> str:
    info = request.info
    return "" if info.resource == "namespaces" else info.namespace


def _only_named(fields: FieldSelector, name: str) -> FieldSelector:
    """Narrow a selection to the object that the path, or the selector itself, names."""
    if fields.is_empty:
        return FieldSelector((FieldRequirement("metadata.name", name),))
    if fields.required_value("metadata.name") != name:
        raise new_bad_request("fieldSelector metadata.name doesn't match requested name")
    return fields


def _with_revision(query: ListQuery, selection: ListOptions) -> ListOptions:
    """Add paging and the revision that a list asks for; raises BadRequest."""
    text, match, limit = query.resource_version, query.resource_version_match, max(query.limit, 0)
    if query.continue_token:
        # The registry knows what is wrong with a token, and that is said first.
        if text and text != "0":
            decode_continue(query.continue_token, "")
            raise new_bad_request("specifying resource version is not allowed when using continue")
        limit = 0 if text == "0" else limit
        return replace(selection, limit=limit, continue_token=query.continue_token)
    try:
        revision = read_revision(text)
    except ValueError as error:
        raise new_bad_request(f"invalid resource version: {error}") from None
    # Old clients page through the state of one revision without saying that they mean exactly that one.
    exact = revision > 0 and (match == "Exact" or (not match and limit > 0))
    # Any state at all is answered from what is at hand, and in one piece.
    limit = 0 if text == "0" else limit
    return replace(selection, limit=limit, revision=revision, exact=exact)


class _LineMaker:
    """Makes the lines of one stream; a form that is the same for all streams shares them."""

    def __init__(self, encode: ObjectEncoder, first: ObjectEncoder | None = None) -> None:
        self.encode = encode
        #: For the first event only, when it differs.
        self.first = first


def _lines(request: Request, route: Route, form: Form) -> _LineMaker | None:
    """Return what makes the lines of a watch; None for a form that no single object has."""
    if form.transform == "PartialObjectMetadataList":
        return None
    if form.transform == "Table":
        table = results.table(request, route, form)
        return _LineMaker(lambda obj: table.one(obj, with_columns=False), table.one)
    return _LineMaker(results.encoder(request, route, form))


class _Watch:
    """Feeds one stream from the registry."""

    def __init__(
        self,
        registry: Registry,
        shared: FormLines,
        stream: WatchStream,
        route: Route,
        lines: _LineMaker | None,
    ) -> None:
        self._registry = registry
        self._shared = shared
        self._stream = stream
        self._route = route
        self._lines = lines
        self._watch: Any = None
        self._early: list[WatchEvent] | None = []

    def stop(self) -> None:
        """Take no more events."""
        if self._watch is not None:
            self._watch.stop()

    def begin(self, namespace: str, selection: ListOptions, query: ListQuery, since: int) -> int:
        """Start as the query says: from the present state, from now on, or from a revision; returns that revision.

        Raises StatusError.
        """
        name = self._route.resource.name
        current = self._registry.revision
        sends_state = query.send_initial_events
        if sends_state and since > current:
            raise new_too_large_resource_version(since, current, 1)
        if sends_state is None:
            sends_state = since == 0
        objects: Sequence[StoredObject] = ()
        if sends_state:
            found = self._registry.list(name, namespace, selection)
            objects, since = found.items, found.revision
        elif since == 0:
            since = current
        # What has happened since is handed over before `watch` returns; it is encoded when it is sent.
        self._watch = self._registry.watch(name, since, self._take, namespace, selection)
        early, self._early = self._early or (), None
        ending = {INITIAL_EVENTS_END: "true"} if sends_state and query.allow_watch_bookmarks else None
        lines = self._first_lines(objects, early, since, ending)
        # The first line is made now: it may differ from those that follow, and new events may come before it is sent.
        first = next(lines, None)
        self._stream.begin_with(lines if first is None else itertools.chain((first,), lines))
        if query.allow_watch_bookmarks:
            self._stream.repeat(BOOKMARK_PERIOD_S, lambda: self._push(self._bookmark(self._registry.durable_revision)))
        return since

    def _first_lines(
        self,
        objects: Sequence[StoredObject],
        early: Sequence[WatchEvent],
        revision: int,
        ending: dict[str, str] | None,
    ) -> Iterator[bytes]:
        """Yield the present state with the bookmark that ends it, then what has happened since."""
        made = itertools.chain(
            (self._line("ADDED", obj) for obj in objects),
            () if ending is None else (self._bookmark(revision, ending),),
            (self._line(event.type, event.object) for event in early),
        )
        for line in made:
            if line is None:
                return
            yield line

    def _take(self, event: WatchEvent) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        line = self._line(event.type, event.object)
        if line is not None:
            self._stream.push(line)

    def _push(self, line: bytes | None) -> None:
        if line is not None:
            self._stream.push(line)

    def _line(self, kind: str, obj: StoredObject) -> bytes | None:
        """Encode an event; an object that does not have the form that was asked for ends the stream."""
        lines = self._lines
        if lines is None:
            self._stream.end()
            return None
        if lines.first is not None:
            first, lines.first = lines.first, None
            return event_line(kind, first(obj))
        return self._shared.line(kind, obj, lines.encode)

    def _bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> bytes | None:
        """Encode a bookmark: an object of the kind with nothing in it but the revision."""
        entry = self._route.resource
        metadata: dict[str, Any] = {"annotations": annotations} if annotations else {}
        empty = self._registry.decode(entry.name, {"metadata": metadata})
        return self._line("BOOKMARK", StoredObject.encode(entry.name, empty, revision))
