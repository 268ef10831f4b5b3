"""Old events and old revisions go at their time, and only they."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.cluster.housekeeping import Compactor, EventExpiry, last_time_ns
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock
from schedlab.store import Backend, Compacted, DurabilityListener, MemoryBackend, Store

TTL_NS = 3600 * SECOND_NS


class Setting:
    """A store whose events expire."""

    def __init__(self, backend: Backend | None = None) -> None:
        self.clock = VirtualClock()
        self.store = Store(backend)

    def begin(self) -> None:
        EventExpiry(self.store, self.clock, TTL_NS)

    def put(self, name: str, resource: str = "events", **fields: object) -> None:
        metadata = {"name": name, "namespace": "d", "creationTimestamp": "2026-01-01T00:00:00Z"}
        body = {"kind": "Event", "apiVersion": "v1", "metadata": metadata, **fields}
        made = StoredObject.encode(resource, body, self.store.next_revision)
        current = self.store.get(resource, made.key)
        if current is None:
            self.store.create(made)
        else:
            self.store.update(made, current.revision)

    def names(self) -> list[str]:
        return [obj.name for obj in self.store.list("events")]

    def at(self, seconds: float) -> list[str]:
        """Let the clock show so many seconds; return the events that are left."""
        self.clock.advance_to(EPOCH_NS + int(seconds * SECOND_NS))
        return self.names()


def test_event_goes_an_hour_after_its_last_write() -> None:
    """A write gives it another hour; other kinds stay."""
    setting = Setting()
    setting.begin()
    setting.put("once")
    setting.put("pod", "pods")
    setting.at(1800)
    setting.put("twice")
    setting.at(3000)
    setting.put("twice", count=2)

    assert setting.at(3599) == ["once", "twice"]
    assert setting.at(3600) == ["twice"]
    assert setting.at(6599) == ["twice"]
    assert setting.at(6600) == []
    assert setting.store.count("pods") == 1


def test_event_that_was_there_counts_from_what_it_says() -> None:
    """After a restart nothing begins anew, and a time to come is none."""
    setting = Setting()
    setting.put("old", lastTimestamp="2026-01-01T00:10:00Z")
    setting.put("series", series={"lastObservedTime": "2026-01-01T00:20:00.000000Z"})
    setting.put("future", eventTime="2030-01-01T00:00:00.000000Z")
    setting.put("odd", lastTimestamp="yesterday")
    setting.at(1800)
    setting.begin()

    assert setting.at(3600) == ["future", "old", "series"]
    assert setting.at(4200) == ["future", "series"]
    assert setting.at(4800) == ["future"]
    assert setting.at(5400) == []


def test_many_events_go_in_turns() -> None:
    """All that are due go, in slices between which others get their turn."""
    setting = Setting()
    setting.begin()
    for number in range(1000):
        setting.put(f"e{number}")

    assert len(setting.at(3600)) == 1000 - 128
    assert setting.at(3601) == []


class Failing(MemoryBackend):
    """Fails the first deletion."""

    def __init__(self) -> None:
        self.failing = True

    def attach(self, listener: DurabilityListener) -> None:
        self.listener = listener

    def append(self, event: WatchEvent) -> None:
        if event.type != "DELETED" or not self.failing:
            self.listener.durable(event.revision)


def test_deletion_that_was_taken_back_is_tried_again() -> None:
    backend = Failing()
    setting = Setting(backend)
    setting.begin()
    setting.put("e")
    assert setting.at(3600) == []
    backend.listener.failed(OSError("full"))
    assert setting.names() == ["e"]
    backend.failing = False

    assert setting.at(3609) == ["e"]
    assert setting.at(3610) == []


@pytest.mark.parametrize("fields", [{}, {"lastTimestamp": None}, {"series": None}])
def test_event_without_times_is_as_old_as_the_object(fields: dict[str, Any]) -> None:
    setting = Setting()
    setting.put("e", **fields)

    assert last_time_ns(setting.store.list("events")[0]) == EPOCH_NS


def test_compactor_keeps_one_interval_at_least() -> None:
    """A revision can be watched from until it was old at two looks."""
    setting = Setting()
    for _ in range(10):
        setting.put("e")
    Compactor(setting.store, setting.clock, 300 * SECOND_NS)
    first = setting.store.revision
    setting.at(299)
    setting.put("e")
    setting.at(300)
    assert setting.store.compacted_revision == first
    setting.put("e")
    setting.store.watch("events", first, lambda event: None).stop()
    setting.at(600)

    assert setting.store.compacted_revision == first + 1
    with pytest.raises(Compacted):
        setting.store.watch("events", first, lambda event: None)
