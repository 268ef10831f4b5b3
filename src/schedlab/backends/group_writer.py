"""A thread that makes changes safe, many at a time.

    append ─► queue ─► (thread) write a batch, wait for the disk ─► (store's thread) durable
                                        │ refused
                                        └──► (store's thread) failed: what is queued goes, too

While a batch is on its way to the disk the next one gathers, so the disk is waited for once per batch and not once per
change. `post` runs a callable on the store's thread, later: `loop.call_soon_threadsafe`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from schedlab.api.object import WatchEvent
from schedlab.store import DurabilityListener

#: At most so many changes are told of at once, so that watchers of one batch do not hold up requests.
BATCH_MAX: Final = 1024

Post: TypeAlias = Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Asks for what is only needed before revision `floor` to be dropped."""

    floor: int


Job: TypeAlias = WatchEvent | Compaction
#: Makes changes safe, all or none of them, or compacts; raises WriteRefusedError when a later batch may succeed.
WriteBatch: TypeAlias = Callable[[Sequence[WatchEvent] | Compaction], None]
#: Says how many of the changes that wait, at least one, can be made safe together.
CountTogether: TypeAlias = Callable[[Sequence[WatchEvent]], int]


class WriteRefusedError(Exception):
    """The batch was not kept and nothing of it is left; those that follow may be."""


class GroupWriter:
    """Hands batches to `write` on a thread of its own.

    When `write` raises anything but WriteRefusedError, what is on the disk is not known any more: nothing is written
    from then on, and `on_broken` is told.
    """

    def __init__(
        self,
        write: WriteBatch,
        post: Post,
        on_broken: Callable[[Exception], None],
        *,
        together: CountTogether = len,
    ) -> None:
        self._write = write
        self._together = together
        self._post = post
        self._on_broken = on_broken
        self._listener: DurabilityListener | None = None
        self._changed = threading.Condition()
        self._queue: list[Job] = []
        #: A batch has failed and the store does not know yet, or never can go on.
        self._held = False
        self._broken: Exception | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="schedlab-writer", daemon=True)

    def start(self, listener: DurabilityListener) -> None:
        """Begin to write, and report to this listener."""
        self._listener = listener
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a change or a compaction."""
        if self._broken is not None:
            self._post(self._tell_failed)
            return
        with self._changed:
            self._queue.append(job)
            self._changed.notify()

    def close(self) -> None:
        """Write what is queued and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    # --- On the writer's thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._write(batch)
            except Exception as error:  # noqa: BLE001  # told to the store, or ends the process
                with self._changed:
                    self._held = True
                self._post(partial(self._failed, error))
            else:
                if not isinstance(batch, Compaction):
                    self._post(partial(self._durable, batch[-1].revision))

    def _next_batch(self) -> Sequence[WatchEvent] | Compaction:
        """Wait for changes or a compaction; no changes mean the end."""
        with self._changed:
            while self._held or not self._queue:
                if self._closing:
                    return ()
                self._changed.wait()
            first = self._queue[0]
            if isinstance(first, Compaction):
                del self._queue[0]
                return first
            batch: list[WatchEvent] = []
            for job in self._queue[:BATCH_MAX]:
                if isinstance(job, Compaction):
                    break
                batch.append(job)
            del batch[self._together(batch) :]
            del self._queue[: len(batch)]
            return batch

    # --- On the store's thread ---------------------------------------------------------------------------------------

    def _durable(self, revision: int) -> None:
        assert self._listener is not None
        self._listener.durable(revision)

    def _failed(self, error: Exception) -> None:
        refused = isinstance(error, WriteRefusedError)
        with self._changed:
            self._queue.clear()
            self._held = not refused
            self._changed.notify()
        if not refused:
            self._broken = error
        assert self._listener is not None
        self._listener.failed(error)
        if not refused:
            self._on_broken(error)

    def _tell_failed(self) -> None:
        assert self._listener is not None
        assert self._broken is not None
        self._listener.failed(self._broken)
