"""Watch streams: one JSON event per line, in chunks, until the client, the clock or the server ends it.

    first events ─┐
                  ├─► one chunk of what is there ─► send ─► wait for more
    new events ───┘

First events (the present state, or changes that happened since the requested revision) are encoded while they are
sent, so that a slow reader costs no memory. New events are encoded when they happen, once for all streams of the same
form, and wait in the stream's buffer; a stream whose buffer is full is cut off with an error and never slows down
others.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go (v1.36)
Differs: upstream drops a slow watcher without a word; here it is told to try again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import Status, new_too_many_requests
from schedlab.apiserver.answers import Headers, Message, Receive, Send
from schedlab.apiserver.encoding import ObjectEncoder

#: A stream that has so much unsent is cut off.
PENDING_BYTES_MAX: Final = 8 * 1024 * 1024
#: At most so much is joined into one chunk, so that other streams get their turn.
CHUNK_BYTES_MAX: Final = 256 * 1024
#: How long a stream that was cut off may take to read its last words before the connection is dropped.
ABORT_DELAY_S: Final = 10.0

_CACHE_ENTRIES_MAX: Final = 1024


def event_line(kind: str, encoded: bytes) -> bytes:
    """Encode one event of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded)


def error_line(status: Status) -> bytes:
    """Encode the event that tells of an error; nothing follows it."""
    return event_line("ERROR", orjson.dumps(status))


class FormLines:
    """The newest events encoded in one form, so that all streams of that form share their bytes.

    A change reaches all streams one after the other, so what is asked for is nearly always the newest line.
    """

    __slots__ = ("_lines", "_newest", "_newest_kind", "_newest_line")

    def __init__(self) -> None:
        # The object is kept with its bytes: as long as it lives, nobody else can have its id.
        self._lines: dict[tuple[int, str], tuple[StoredObject, bytes]] = {}
        self._newest: StoredObject | None = None
        self._newest_kind = ""
        self._newest_line = b""

    def line(self, kind: str, obj: StoredObject, encode: ObjectEncoder) -> bytes:
        """Return the line of an event; `encode` must make the same of an object each time."""
        if obj is self._newest and kind == self._newest_kind:
            return self._newest_line
        key = (id(obj), kind)
        found = self._lines.get(key)
        if found is None:
            if len(self._lines) >= _CACHE_ENTRIES_MAX:
                for old in list(self._lines)[: _CACHE_ENTRIES_MAX // 2]:
                    del self._lines[old]
            found = self._lines[key] = (obj, event_line(kind, encode(obj)))
        self._newest, self._newest_kind, self._newest_line = obj, kind, found[1]
        return found[1]


class EventCache:
    """One `FormLines` per form."""

    def __init__(self) -> None:
        self._forms: dict[Hashable, FormLines] = {}

    def of(self, form: Hashable) -> FormLines:
        """Return what is shared by the streams of a form."""
        return self._forms.setdefault(form, FormLines())


class WatchStream:
    """One running watch, from its head to its last chunk."""

    def __init__(self, loop: asyncio.AbstractEventLoop, abort: Callable[[], None] | None = None) -> None:
        self._loop = loop
        self._abort = abort
        self._first: Iterator[bytes] = iter(())
        self._pending: deque[bytes] = deque()
        self._pending_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._abandoned = False
        self._cut = False
        self._end_timer: asyncio.TimerHandle | None = None
        self._repeat_timer: asyncio.TimerHandle | None = None
        self._abort_timer: asyncio.TimerHandle | None = None
        self.content_type = b"application/json"
        #: Runs when the stream takes no more events: it stops the subscription.
        self.on_end: Callable[[], None] = _nothing
        #: Is told how many events each chunk carries.
        self.on_sent: Callable[[int], None] = _count_nothing

    # --- what is told to it ------------------------------------------------------------------------------------------

    def begin_with(self, lines: Iterator[bytes]) -> None:
        """Send these lines before everything that is pushed."""
        self._first = lines

    def push(self, line: bytes) -> None:
        """Queue a line; cuts the stream off when it has too much unsent."""
        if self._ended:
            return
        self._pending.append(line)
        self._pending_bytes += len(line)
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            waiter.set_result(None)
        if self._pending_bytes > PENDING_BYTES_MAX:
            self._cut_off()

    def end(self, last: bytes = b"") -> None:
        """Let the stream end after what is queued, and after one last line."""
        if self._ended:
            return
        if last:
            self._pending.append(last)
        self._ended = True
        for timer in (self._end_timer, self._repeat_timer):
            if timer is not None:
                timer.cancel()
        self.on_end()
        self._wake()

    def end_at(self, delay_s: float) -> None:
        """End the stream after a while."""
        self._end_timer = self._loop.call_later(delay_s, self.end)

    def repeat(self, period_s: float, action: Callable[[], None]) -> None:
        """Do something periodically until the stream ends."""

        def fire() -> None:
            if not self._ended:
                action()
                self._repeat_timer = self._loop.call_later(period_s, fire)

        self._repeat_timer = self._loop.call_later(period_s, fire)

    def abandon(self) -> None:
        """Forget what is unsent: nobody reads it any more."""
        self._abandoned = True
        self._pending.clear()
        self.end()
        self._wake()

    @property
    def ended(self) -> bool:
        return self._ended

    def _cut_off(self) -> None:
        self._cut = True
        self._pending.clear()
        self._pending_bytes = 0
        message = "the watch was closed because its client did not read fast enough; watch again"
        self.end(error_line(new_too_many_requests(message, 1).status))
        if self._abort is not None:
            self._abort_timer = self._loop.call_later(ABORT_DELAY_S, self._abort)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # --- sending -----------------------------------------------------------------------------------------------------

    async def run(self, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer the request with the stream, until it ends."""
        listener = self._loop.create_task(self._listen(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send_first(send)
            await self._send_pending(send)
            if not self._abandoned:
                await send(_body(b"", more=False))
        finally:
            self.abandon()
            if self._abort_timer is not None:
                self._abort_timer.cancel()
            listener.cancel()

    async def _listen(self, receive: Receive) -> None:
        """Wait for the client to go away; what it still sends is of no interest."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.abandon()

    async def _send_first(self, send: Send) -> None:
        chunk: list[bytes] = []
        size = 0
        for line in self._first:
            chunk.append(line)
            size += len(line)
            if size >= CHUNK_BYTES_MAX:
                self.on_sent(len(chunk))
                await send(_body(b"".join(chunk)))
                await asyncio.sleep(0)
                chunk, size = [], 0
                if self._abandoned or self._cut:
                    return
        if chunk:
            self.on_sent(len(chunk))
            await send(_body(b"".join(chunk)))

    async def _send_pending(self, send: Send) -> None:
        while not self._abandoned:
            if self._pending:
                await send(_body(self._take()))
                await asyncio.sleep(0)
            elif self._ended:
                return
            else:
                self._waiter = self._loop.create_future()
                await self._waiter

    def _take(self) -> bytes:
        """Take what fits into one chunk out of the buffer."""
        taken: list[bytes] = []
        size = 0
        while self._pending and (not taken or size < CHUNK_BYTES_MAX):
            line = self._pending.popleft()
            taken.append(line)
            size += len(line)
        self._pending_bytes -= size
        self.on_sent(len(taken))
        return taken[0] if len(taken) == 1 else b"".join(taken)


def _body(content: bytes, *, more: bool = True) -> Message:
    message: dict[str, Any] = {"type": "http.response.body", "body": content, "more_body": more}
    return message


def _nothing() -> None:
    """Stand in for an action that was not given."""


def _count_nothing(_events: int) -> None:
    """Stand in for a counter that was not given."""
