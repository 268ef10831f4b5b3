"""Events about objects, as a component sends them: similar ones are joined, and nobody is flooded.

    record ──► ten different messages in ten minutes? ──► "(combined from similar events): …"
           ──► the same event as before? ──► count it up by a patch
           ──► more than 25 about one object, refilled one in five minutes? ──► dropped

Mirrors: staging/src/k8s.io/client-go/tools/record/{event,events_cache}.go (v1.36).
Differs: two events about an object in one nanosecond get names that follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from schedlab.api.object import StoredObject
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import SECOND_NS, Clock

EVENTS: Final = "events"
_ENTRIES_MAX: Final = 4096
_DIFFERENT_MAX: Final = 10
_SIMILAR_WITHIN_NS: Final = 600 * SECOND_NS
_BURST: Final = 25
_REFILL_NS: Final = 300 * SECOND_NS
_NAME_LENGTH_MAX: Final = 253
_COMBINED: Final = "(combined from similar events): "

Key = tuple[str, ...]
T = TypeVar("T")


class Kind(Protocol):
    """What objects of a kind say of themselves."""

    @property
    def api_version(self) -> str: ...

    @property
    def kind(self) -> str: ...


class _Recent(Generic[T]):
    """What was used lately, up to a number of entries."""

    def __init__(self) -> None:
        self._entries: dict[Key, T] = {}

    def get(self, key: Key) -> T | None:
        return self._entries.get(key)

    def put(self, key: Key, value: T) -> None:
        self._entries.pop(key, None)
        self._entries[key] = value
        if len(self._entries) > _ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]


@dataclass(slots=True)
class _Similar:
    messages: dict[str, None]
    last_ns: int


@dataclass(slots=True)
class _Seen:
    name: str
    first: str
    count: int


@dataclass(slots=True)
class _Tokens:
    left: float
    since_ns: int


@dataclass(frozen=True, slots=True)
class Sent:
    """An event on its way, to be created if the one that it counts up is gone; `key` is what it is counted under."""

    key: Key
    body: dict[str, Any]
    is_patch: bool


class EventStamps:
    """Times in nanoseconds for names of events; no two are the same.

    With an offset they differ from those of other components, too, on a clock that stands still while they work.
    """

    def __init__(self, clock: Clock, offset_ns: int = 0) -> None:
        self._clock = clock
        self._offset_ns = offset_ns
        self._last_ns = 0

    def next_ns(self) -> int:
        """Return the time, or the next free one after it."""
        self._last_ns = max(self._clock.now_ns() + self._offset_ns, self._last_ns + 1)
        return self._last_ns


class EventRecorder:
    """The events of one component, on one host if it has one; what is to be written is fetched by `drain`."""

    def __init__(self, component: str, clock: Clock, stamps: EventStamps, host: str = "") -> None:
        self._component = component
        self._host = host
        self._clock = clock
        self._stamps = stamps
        self._similar: _Recent[_Similar] = _Recent()
        self._seen: _Recent[_Seen] = _Recent()
        self._tokens: _Recent[_Tokens] = _Recent()
        self._outbox: list[tuple[Sent, Write]] = []

    def normal(self, kind: Kind, about: StoredObject, reason: str, message: str, field_path: str = "") -> None:
        """Tell of something that went as it should, with the object or a part of it."""
        self.record(kind, about, "Normal", reason, message, field_path)

    def warning(self, kind: Kind, about: StoredObject, reason: str, message: str, field_path: str = "") -> None:
        """Tell of something that went wrong, with the object or a part of it."""
        self.record(kind, about, "Warning", reason, message, field_path)

    def drain(self) -> list[tuple[Sent, Write]]:
        """Return what is to be written since the last time."""
        sent, self._outbox = self._outbox, []
        return sent

    def answered(self, sent: Sent, outcome: Outcome) -> None:
        """Take the answer to a write: an event that was to be counted up but is gone is made anew.

        One whose name another component has taken in the same nanosecond gets another name.
        """
        reason = "" if outcome.error is None else outcome.error.reason
        if sent.is_patch and reason == "NotFound":
            self._create(sent.key, sent.body)
        elif not sent.is_patch and reason == "AlreadyExists":
            name = _event_name(sent.body["involvedObject"]["name"], self._stamps.next_ns())
            known = self._seen.get(sent.key)
            if known is not None:
                self._seen.put(sent.key, _Seen(name, known.first, known.count))
            self._create(sent.key, {**sent.body, "metadata": {**sent.body["metadata"], "name": name}})

    def record(
        self, kind: Kind, about: StoredObject, type_: str, reason: str, message: str, field_path: str = ""
    ) -> None:
        """Tell of something, `Normal` or `Warning`."""
        now_ns = self._clock.now_ns()
        source = (kind.kind, about.namespace, about.name, about.uid, type_)
        key, message = self._aggregate((*source, reason, field_path), message, now_ns)
        now = format_time(now_ns)
        known = self._seen.get(key)
        if known is None:
            known = _Seen(_event_name(about.name, self._stamps.next_ns()), now, 0)
        seen = _Seen(known.name, known.first, known.count + 1)
        self._seen.put(key, seen)
        if not self._allowed(source, now_ns):
            return
        body = self._body(kind, about, seen, now, type_, reason, message, field_path)
        if seen.count == 1:
            self._create(key, body)
        else:
            patch = {"count": seen.count, "lastTimestamp": now, "message": message}
            namespace = body["metadata"]["namespace"]
            write = Write("patch", EVENTS, namespace, seen.name, patch, patch_type="strategic")
            self._outbox.append((Sent(key, body, is_patch=True), write))

    def _aggregate(self, key: Key, message: str, now_ns: int) -> tuple[Key, str]:
        """Return under which key the event is counted, and its message."""
        similar = self._similar.get(key)
        if similar is None or now_ns - similar.last_ns > _SIMILAR_WITHIN_NS:
            similar = _Similar({}, now_ns)
        similar.messages[message] = None
        similar.last_ns = now_ns
        self._similar.put(key, similar)
        if len(similar.messages) < _DIFFERENT_MAX:
            return (*key, message), message
        similar.messages.popitem()
        return key, _COMBINED + message

    def _allowed(self, source: Key, now_ns: int) -> bool:
        tokens = self._tokens.get(source) or _Tokens(_BURST, now_ns)
        tokens.left = min(_BURST, tokens.left + (now_ns - tokens.since_ns) / _REFILL_NS)
        tokens.since_ns = now_ns
        self._tokens.put(source, tokens)
        if tokens.left < 1:
            return False
        tokens.left -= 1
        return True

    def _create(self, key: Key, body: dict[str, Any]) -> None:
        metadata = body["metadata"]
        write = Write("create", EVENTS, metadata["namespace"], metadata["name"], body)
        self._outbox.append((Sent(key, body, is_patch=False), write))

    def _body(
        self,
        kind: Kind,
        about: StoredObject,
        seen: _Seen,
        now: str,
        type_: str,
        reason: str,
        message: str,
        field_path: str,
    ) -> dict[str, Any]:
        involved = {
            "kind": kind.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "apiVersion": kind.api_version,
            "resourceVersion": str(about.revision),
            "fieldPath": field_path,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": seen.name, "namespace": about.namespace or "default"},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "reason": reason,
            "message": message,
            "source": {"component": self._component, "host": self._host}
            if self._host
            else {"component": self._component},
            "firstTimestamp": seen.first,
            "lastTimestamp": now,
            "count": seen.count,
            "type": type_,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }


def _event_name(about: str, stamp_ns: int) -> str:
    suffix = f".{stamp_ns:x}"
    return about[: _NAME_LENGTH_MAX - len(suffix)] + suffix
