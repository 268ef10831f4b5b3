"""The `Client` protocol over HTTP: what is read comes from mirrors of the server, writes are answered later.

    client = RemoteClient(transport)
    informers = Informers(client)                       # each resource it is asked for is listed and then watched
    client.lacking()                                    # what was asked for and is not there yet

Mirrors: the role of client-go's REST client and shared informer factory (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import StatusError, new_not_found
from schedlab.apimachinery.resources import Resources, ResourceType, known_resources
from schedlab.client.protocol import Completion, Outcome, PatchType, Watch, Write
from schedlab.remote.rate_limit import RateLimit
from schedlab.remote.reflector import OnError, Reflector, stored
from schedlab.remote.transport import Request, Transport

_PATCH_TYPES: Final[Mapping[PatchType, str]] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_METHODS: Final = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}


def _nothing() -> None:
    """Stand in for a callback that nobody has set."""


@dataclass(frozen=True, slots=True)
class _Following:
    """A watch on a mirror (client.protocol.Watch)."""

    end: Callable[[], None]

    def stop(self) -> None:
        self.end()


class RemoteClient:
    """Speaks to one API server from a running event loop; see protocol.Client.

    rate_limit holds requests back, but for lists and watches. A `tolerant` one goes on without what it may not list and
    what cannot be read (reflector.Reflector). Callbacks, to be set by whoever needs them: on_answer after
    an answer was handed over, on_event after a change was, on_synced when nothing is lacking any more, on_error(resource,
    verb, error) for every list and watch that fails (they are tried again).
    """

    def __init__(
        self,
        transport: Transport,
        *,
        resources: Resources | None = None,
        rate_limit: RateLimit | None = None,
        tolerant: bool = False,
    ) -> None:
        self._transport = transport
        self._tolerant = tolerant
        self._errors: dict[str, str] = {}
        self._resources = known_resources() if resources is None else resources
        self._rate_limit = rate_limit
        self._reflectors: dict[str, Reflector] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_answer: Callable[[], None] = _nothing
        self.on_event: Callable[[], None] = _nothing
        self.on_synced: Callable[[], None] = _nothing
        self.on_error: OnError = lambda *_: None

    def lacking(self) -> tuple[str, ...]:
        """Return the resources that were asked for and are not there yet."""
        return tuple(name for name, reflector in self._reflectors.items() if not reflector.is_synced)

    def errors(self) -> Mapping[str, str]:
        """Return what stands in the way of resources now, by resource."""
        return dict(self._errors)

    @property
    def failure(self) -> asyncio.Future[None]:
        """Gets the exception of a task that ended by a mistake of ours, or of credentials that cannot be had."""
        return self._failure

    async def close(self) -> None:
        """End watches and requests; what was not answered stays unanswered."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._transport.close()

    # --- Reading ---

    def get(self, resource: str, name: str, namespace: str = "") -> StoredObject:
        """Return one object of the mirror; raises StatusError."""
        for obj in self._reflector(resource).objects():
            if (obj.namespace, obj.name) == (namespace, name):
                return obj
        raise new_not_found(self._kind(resource).group_resource, name)

    def list(self, resource: str, namespace: str = "") -> tuple[Sequence[StoredObject], int]:
        """Return what the mirror has by now, and its revision."""
        reflector = self._reflector(resource)
        found = reflector.objects()
        return [obj for obj in found if not namespace or obj.namespace == namespace], reflector.revision

    def watch(self, resource: str, since: int, handler: Callable[[WatchEvent], None]) -> Watch:  # noqa: ARG002 - the mirror starts from what `list` returned
        """Push every change of the mirror from now on."""

        def told(event: WatchEvent) -> None:
            handler(event)
            self.on_event()

        return _Following(self._reflector(resource).follow(told))

    def read(self, resource: str, name: str, namespace: str, done: Completion) -> None:
        """Ask the server for one object; `done` gets it later."""
        kind = self._kind(resource)
        self._begin(self._answer(Request("GET", _path(kind, namespace, name), {}), kind, done))

    def _reflector(self, resource: str) -> Reflector:
        found = self._reflectors.get(resource)
        if found is None:
            found = self._reflectors[resource] = Reflector(
                self._transport,
                self._kind(resource),
                on_list=partial(self._listed, resource),
                on_error=self._failed,
                tolerant=self._tolerant,
            )
            self._begin(found.run())
        return found

    def _failed(self, resource: str, verb: str, error: StatusError) -> None:
        self._errors[resource] = error.message
        self.on_error(resource, verb, error)

    def _listed(self, resource: str) -> None:
        self._errors.pop(resource, None)
        self.on_event()
        if not self.lacking():
            self.on_synced()
            self.on_event()

    def _kind(self, resource: str) -> ResourceType:
        return self._resources.named(resource)

    # --- Writing ---

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Send the write; `done` gets the answer later."""
        kind = self._kind(write.resource)
        self._begin(self._answer(_request(kind, write), kind, done, write))

    async def _answer(
        self, request: Request, kind: ResourceType, done: Completion | None, write: Write | None = None
    ) -> None:
        if self._rate_limit is not None:
            await self._rate_limit.wait()
        try:
            outcome = Outcome(_object(kind, write, await self._transport.send(request)))
        except StatusError as error:
            outcome = Outcome(error=error)
        if done is not None:
            done(outcome)
            self.on_answer()

    # --- Tasks ---

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and not self._failure.done():
            self._failure.set_exception(error)


def _object(kind: ResourceType, write: Write | None, answer: Any) -> StoredObject | None:
    """Return the object that an answer holds; bindings, evictions and deletions answer with a Status."""
    if not isinstance(answer, dict) or answer.get("kind") != kind.kind:
        return None
    if write is not None and write.subresource in ("binding", "eviction"):
        return None
    return stored(kind, answer)


def _request(kind: ResourceType, write: Write) -> Request:
    creates_object = write.verb == "create" and not write.subresource
    path = _path(kind, write.namespace, "" if creates_object else write.name, write.subresource)
    body: Any = write.body
    if isinstance(body, Mapping) and write.verb in ("create", "update") and not write.subresource:
        body = {**body, "kind": kind.kind, "apiVersion": kind.api_version}
    content_type = _PATCH_TYPES[write.patch_type] if write.verb == "patch" else "application/json"
    encoded = None if body is None else orjson.dumps(body)
    return Request(_METHODS[write.verb], path, write.options, encoded, content_type)


def _path(kind: ResourceType, namespace: str, name: str, subresource: str = "") -> str:
    parts = [kind.path]
    if kind.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(kind.resource)
    parts += [part for part in (name, subresource) if part]
    return "/".join(parts)
