"""Watch streams deliver every line in order, cut off who does not read, and end when they are told to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import orjson
import pytest

from schedlab.api.object import StoredObject
from schedlab.apiserver import watching
from schedlab.apiserver.answers import Message
from schedlab.apiserver.encoding import whole
from schedlab.apiserver.watching import EventCache, WatchStream, event_line


class Client:
    """The other end of a stream; `blocked` makes it stop reading."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.blocked = asyncio.Event()
        self.blocked.set()
        self._gone = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.blocked.wait()
        self.messages.append(message)

    async def receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        self._gone.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    @property
    def is_complete(self) -> bool:
        return bool(self.messages) and self.messages[-1].get("more_body") is False


def run(scenario: Callable[[WatchStream, Client], Awaitable[None]], abort: Callable[[], None] | None = None) -> Client:
    """Run a stream and a scenario beside it until the stream ends."""

    async def main() -> Client:
        client = Client()
        stream = WatchStream(asyncio.get_running_loop(), abort)
        running = asyncio.create_task(stream.run([(b"content-type", b"application/json")], client.receive, client.send))
        await scenario(stream, client)
        await asyncio.wait_for(running, 5)
        return client

    return asyncio.run(main())


async def turns(count: int = 5) -> None:
    """Let the stream do what it can."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_first_lines_precede_pushed_ones() -> None:
    """The present state is sent before what happens meanwhile; the end completes the answer."""

    async def scenario(stream: WatchStream, _client: Client) -> None:
        stream.begin_with(iter([b"1\n", b"2\n"]))
        stream.push(b"3\n")
        await turns()
        stream.push(b"4\n")
        stream.end(b"5\n")

    client = run(scenario)

    assert client.messages[0]["status"] == 200
    assert client.body == b"1\n2\n3\n4\n5\n"
    assert client.is_complete


def test_lines_that_are_there_make_one_chunk() -> None:
    """Many events of one moment cost one send."""

    async def scenario(stream: WatchStream, _client: Client) -> None:
        await turns()
        for number in range(100):
            stream.push(b"%d\n" % number)
        await turns()
        stream.end()

    client = run(scenario)

    assert len(client.messages) == 3
    assert client.body.count(b"\n") == 100


def test_long_first_lines_come_in_chunks() -> None:
    """A big state is encoded while it is sent, chunk by chunk."""
    made: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(40):
            made.append(number)
            yield b"x" * 100_000

    async def scenario(stream: WatchStream, client: Client) -> None:
        stream.begin_with(lines())
        await turns(2)
        client.blocked.clear()
        seen = len(made)
        await turns(20)
        assert len(made) <= seen + 3
        client.blocked.set()
        stream.end()

    assert len(run(scenario).body) == 4_000_000


def test_slow_reader_is_cut_off_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full buffer is dropped, the subscription ends, and the client is told to try again."""
    monkeypatch.setattr(watching, "PENDING_BYTES_MAX", 1000)
    ends: list[str] = []

    async def scenario(stream: WatchStream, client: Client) -> None:
        stream.on_end = lambda: ends.append("end")
        await turns()
        client.blocked.clear()
        for _ in range(20):
            stream.push(b"x" * 99 + b"\n")
        assert stream.ended
        client.blocked.set()

    client = run(scenario)

    last = orjson.loads(client.body.splitlines()[-1])
    assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 429, "TooManyRequests")
    assert ends == ["end"]
    assert client.is_complete


def test_reader_that_never_comes_back_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the connection is aborted, so that nothing of it stays."""
    monkeypatch.setattr(watching, "PENDING_BYTES_MAX", 10)
    monkeypatch.setattr(watching, "ABORT_DELAY_S", 0.01)
    aborted: list[bool] = []

    async def scenario(stream: WatchStream, client: Client) -> None:
        await turns()
        client.blocked.clear()
        stream.push(b"x" * 100)
        await asyncio.sleep(0.05)
        assert aborted == [True]
        client.leave()
        client.blocked.set()

    run(scenario, lambda: aborted.append(True))


def test_client_that_leaves_ends_the_stream() -> None:
    """Nothing is sent to nobody, and the subscription ends."""
    ends: list[str] = []

    async def scenario(stream: WatchStream, client: Client) -> None:
        stream.on_end = lambda: ends.append("end")
        await turns()
        client.leave()
        await turns()
        stream.push(b"late\n")

    client = run(scenario)

    assert client.body == b""
    assert ends == ["end"]


def test_timeout_and_repetition() -> None:
    """A stream ends at its time; what is repeated stops with it."""

    async def scenario(stream: WatchStream, _client: Client) -> None:
        stream.repeat(0.01, lambda: stream.push(b"again\n"))
        stream.end_at(0.035)

    client = run(scenario)

    assert client.body.count(b"again\n") in (2, 3)
    assert client.is_complete


def test_events_are_encoded_once_per_form() -> None:
    """Streams of one form share the bytes; another form or type of event has its own."""
    obj = StoredObject.encode("pods", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}, 7)
    calls: list[Any] = []

    def encode(one: StoredObject) -> bytes:
        calls.append(one)
        return whole(one)

    cache = EventCache()
    shared = cache.of("whole")
    first = shared.line("ADDED", obj, encode)

    assert cache.of("whole").line("ADDED", obj, encode) is first
    assert first == event_line("ADDED", obj.json())
    shared.line("MODIFIED", obj, encode)
    assert shared.line("ADDED", obj, encode) is first
    cache.of("another").line("ADDED", obj, encode)
    assert len(calls) == 3


def test_cache_of_events_is_bounded() -> None:
    """Old lines make room for new ones."""
    shared = EventCache().of("whole")
    for number in range(10_000):
        obj = StoredObject.encode("pods", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}, number)
        shared.line("ADDED", obj, whole)

    assert len(shared._lines) <= 1024
