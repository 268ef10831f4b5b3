"""What a cluster throws away in the course of time: old events, and old revisions.

Mirrors: the lease that kube-apiserver puts on events (--event-ttl), pkg/registry/core/event; the compactor in
staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go (v1.36)
Differs: events go at their time, not up to a minute later; after a restart their time counts from what they say, not
anew.
"""

from __future__ import annotations

import heapq
from typing import Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.time import TimeError, parse_time
from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS, Clock, Timer
from schedlab.store import Store

EVENTS: Final = "events"
#: So many events go at once; requests get their turn before the next ones.
_AT_ONCE: Final = 128
#: When a deletion that could not be kept is tried again.
_RETRY_NS: Final = 10 * SECOND_NS


class EventExpiry:
    """Deletes every event some time after it was last written."""

    def __init__(self, store: Store, clock: Clock, ttl_ns: int) -> None:
        self._store = store
        self._clock = clock
        self._ttl_ns = ttl_ns
        self._due: dict[str, int] = {}
        #: (time, key); what differs from `_due` is out of date.
        self._heap: list[tuple[int, str]] = []
        self._timer: Timer | None = None
        self._timer_ns = 0
        now_ns = clock.now_ns()
        for obj in store.list(EVENTS):
            self._expire(obj.key, min(now_ns, last_time_ns(obj)) + ttl_ns)
        store.watch(EVENTS, store.revision, self._on_event)

    def _on_event(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._due.pop(event.object.key, None)
        else:
            self._expire(event.object.key, self._clock.now_ns() + self._ttl_ns)

    def _expire(self, key: str, when_ns: int) -> None:
        self._due[key] = when_ns
        heapq.heappush(self._heap, (when_ns, key))
        self._arm(when_ns)

    def _arm(self, when_ns: int) -> None:
        if self._timer is not None:
            if self._timer_ns <= when_ns:
                return
            self._timer.cancel()
        self._timer_ns = when_ns
        self._timer = self._clock.at(when_ns, self._fire)

    def _fire(self) -> None:
        self._timer = None
        now_ns = self._clock.now_ns()
        for _ in range(_AT_ONCE):
            if not self._heap or self._heap[0][0] > now_ns:
                break
            when_ns, key = heapq.heappop(self._heap)
            if self._due.get(key) == when_ns:
                self._delete(key, now_ns)
        if self._heap:
            self._arm(max(self._heap[0][0], now_ns + MILLISECOND_NS))

    def _delete(self, key: str, now_ns: int) -> None:
        current = self._store.get(EVENTS, key)
        if current is None:
            return  # its deletion is not safe yet
        # Forgotten when the deletion is heard of; until then it may be taken back.
        self._expire(key, now_ns + _RETRY_NS)
        self._store.delete(EVENTS, key, current.revision)


def last_time_ns(obj: StoredObject) -> int:
    """Return the latest moment that an event tells of, 0 if it tells of none."""
    raw = obj.thaw()  # not kept, unlike `raw`
    texts = (
        raw["metadata"].get("creationTimestamp"),
        raw.get("lastTimestamp"),
        raw.get("eventTime"),
        (raw.get("series") or {}).get("lastObservedTime"),
    )
    return max((_time_ns(text) for text in texts if text), default=0)


def _time_ns(text: str) -> int:
    try:
        return parse_time(text)
    except TimeError:
        return 0


class Compactor:
    """Lets lists and watches begin at no revision that was old when it last looked.

    So at least one interval, and at most two, of changes are kept.
    """

    def __init__(self, store: Store, clock: Clock, interval_ns: int) -> None:
        self._store = store
        self._clock = clock
        self._interval_ns = interval_ns
        self._seen = store.revision
        self._wait()

    def _wait(self) -> None:
        self._clock.at(self._clock.now_ns() + self._interval_ns, self._compact)

    def _compact(self) -> None:
        self._store.compact(self._seen)
        self._seen = self._store.revision
        self._wait()
