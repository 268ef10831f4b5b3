"""Batches: what gathers goes together, what a failed batch was followed by goes with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.backends import GroupWriter, WriteRefusedError
from schedlab.backends.group_writer import Compaction
from tests.unit.backends.folders import Mailbox


class Disk:
    """Writes batches when it is let, or fails them."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.errors: list[Exception] = []
        self.gate = threading.Semaphore(0)
        self.waiting = threading.Semaphore(0)

    def write(self, batch: Sequence[WatchEvent] | Compaction) -> None:
        self.waiting.release()
        assert self.gate.acquire(timeout=10)
        if self.errors:
            raise self.errors.pop()
        if isinstance(batch, Compaction):
            self.batches.append([-batch.floor])
        else:
            self.batches.append([event.revision for event in batch])


class Bench:
    """A writer, its disk, and what its listener was told."""

    def __init__(self) -> None:
        self.disk, self.mailbox = Disk(), Mailbox()
        self.told: list[object] = []
        self.writer = GroupWriter(
            self.disk.write, self.mailbox.post, lambda error: self.told.append(f"broken: {error}")
        )
        self.writer.start(self)

    def durable(self, revision: int) -> None:
        self.told.append(revision)

    def failed(self, error: Exception) -> None:
        self.told.append(str(error))

    def put(self, *revisions: int) -> None:
        for revision in revisions:
            self.writer.put(WatchEvent("ADDED", StoredObject("pods", "d", "a", "u", revision, b"", b"", b"", b"}")))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.disk.gate.release(100)
    made.writer.close()


def test_what_comes_while_the_disk_works_is_one_batch(bench: Bench) -> None:
    bench.put(2)
    bench.disk.waiting.acquire()
    bench.put(3, 4)
    bench.writer.put(Compaction(1))
    bench.put(5)
    bench.disk.gate.release(4)
    for _ in range(3):
        bench.mailbox.run()

    assert bench.disk.batches == [[2], [3, 4], [-1], [5]]
    assert bench.told == [2, 4, 5]


def test_refused_batch_takes_what_was_built_on_it(bench: Bench) -> None:
    """What is queued when the store hears of the failure is gone; what comes after that is written."""
    bench.disk.errors.append(WriteRefusedError("full"))
    bench.put(2)
    bench.disk.waiting.acquire()
    bench.disk.gate.release()
    bench.put(3)
    bench.mailbox.run()
    bench.put(2)
    bench.disk.gate.release()
    bench.mailbox.run()

    assert bench.told == ["full", 2]
    assert bench.disk.batches == [[2]]


def test_unknown_failure_ends_the_writing(bench: Bench) -> None:
    bench.disk.errors.append(OSError("fsync"))
    bench.put(2)
    bench.disk.gate.release()
    bench.mailbox.run()
    bench.put(2)
    bench.mailbox.run()

    assert bench.told == ["fsync", "broken: fsync", "fsync"]
    assert bench.disk.batches == []


def test_close_writes_what_is_queued(bench: Bench) -> None:
    bench.put(2, 3)
    bench.disk.gate.release(10)
    bench.writer.close()

    assert [revision for batch in bench.disk.batches for revision in batch] == [2, 3]
