"""What every part of a cluster may ask of an API server, whether in process or over HTTP.

Reads of the core come from informers, but for those that no cache may answer (`read`). Writes are effects: a value names the request, the driver submits it, and the
answer comes back through a completion. In process the completion runs before `submit` returns; over HTTP, later.

Resources are named as kubectl names them: `pods`, `storageclasses.storage.k8s.io`.

Mirrors: the role of client-go (v1.36). Differs: no typed clients; a body is a dict with the wire's own keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from schedlab.api.object import EventType, StoredObject, WatchEvent
from schedlab.apimachinery.errors import StatusError

__all__ = [
    "Client",
    "Completion",
    "EventType",
    "Outcome",
    "PatchType",
    "Verb",
    "Watch",
    "WatchEvent",
    "Write",
]

Verb = Literal["create", "update", "patch", "delete"]
PatchType = Literal["json", "merge", "strategic", "apply"]


class Write(msgspec.Struct, frozen=True):
    """One write request.

    `subresource` is empty or the path below the object (`binding`, `status`, `eviction`). `options` are the query
    parameters of the request (`fieldManager`, `dryRun`, `force`); a delete's body is its DeleteOptions.
    Whoever does not look at the object in the answer says so by `wants_object`: it need not be made then. Whoever
    makes a body that is in canonical form (`Registry.decode`) and gives it away says so by `is_canonical`.
    """

    verb: Verb
    resource: str
    namespace: str
    name: str
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    subresource: str = ""
    patch_type: PatchType = "merge"
    options: Mapping[str, str] = {}
    wants_object: bool = True
    is_canonical: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """The answer to a write: the object as it is now, or the error; `object` is None for answers without one."""

    object: StoredObject | None = None
    error: StatusError | None = None


Completion = Callable[[Outcome], None]


class Watch(Protocol):
    """A running watch; events are pushed to its handler in revision order until `stop`."""

    def stop(self) -> None:
        """Deliver nothing more."""


class Client(Protocol):
    """An API server as its clients see it; `user_agent` and identity belong to the client."""

    def get(self, resource: str, name: str, namespace: str = "") -> StoredObject:
        """Return one object; raises StatusError (NotFound, Forbidden)."""

    def read(self, resource: str, name: str, namespace: str, done: Completion) -> None:
        """Ask the server itself for one object, past all caches; `done` gets the outcome, now or later, exactly once."""

    def list(self, resource: str, namespace: str = "") -> tuple[Sequence[StoredObject], int]:
        """Return all objects in key order and the revision of the list."""

    def watch(self, resource: str, since: int, handler: Callable[[WatchEvent], None]) -> Watch:
        """Push every change after revision `since` to `handler`; raises StatusError Expired when it is compacted."""

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Carry the write out; `done` gets the outcome, now or later, exactly once."""
