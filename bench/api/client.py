"""A client that costs little: prepared requests over a few kept connections, answers counted but not decoded."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httptools

from bench.api.server import Server


def request(
    server: Server,
    method: str,
    path: str,
    body: Any = None,
    accept: str = "application/json",
    content_type: str = "application/json",
) -> bytes:
    """Write a request with all that it needs."""
    content = (
        b"" if body is None else body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    )
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Accept: {accept}\r\nUser-Agent: bench/1\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class _Connection(asyncio.Protocol):
    """One connection: asks, waits for the whole answer, asks again."""

    def __init__(self, requests: Iterator[bytes], answered: Callable[[int, bytes], None]) -> None:
        self._requests = requests
        self._answered = answered
        self._parts: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self._transport: asyncio.WriteTransport = transport
        self._next()

    def _next(self) -> None:
        following = next(self._requests, None)
        if following is None:
            self._transport.close()
            if not self.finished.done():
                self.finished.set_result(None)
        else:
            self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        """Read on in the answer."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Keep a part of the answer."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Count the answer and go on."""
        self._answered(self._parser.get_status_code(), b"".join(self._parts))
        self._parts.clear()
        self._parser = httptools.HttpResponseParser(self)
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell of a connection that the server has ended."""
        if not self.finished.done():
            self.finished.set_exception(error or ConnectionError("the server closed a connection"))


async def ask(server: Server, requests: Iterable[bytes], connections: int = 1, expected: int = 200) -> list[bytes]:
    """Send all requests, over several connections at once; returns the bodies as they came."""
    bodies: list[bytes] = []

    def answered(status: int, body: bytes) -> None:
        if status != expected:
            raise SystemExit(f"the server answered {status}: {body.decode(errors='replace')}")
        bodies.append(body)

    loop = asyncio.get_running_loop()
    shared = iter(requests)
    made = [
        loop.create_connection(lambda: _Connection(shared, answered), server.host, server.port, ssl=server.tls)
        for _ in range(connections)
    ]
    for _, connection in await asyncio.gather(*made):
        await connection.finished
    return bodies


class Session(asyncio.Protocol):
    """One connection on which requests are asked one after the other, and timed."""

    @classmethod
    async def open(cls, server: Server) -> Session:
        """Connect; the handshake is over when this returns."""
        loop = asyncio.get_running_loop()
        _, session = await loop.create_connection(cls, server.host, server.port, ssl=server.tls)
        return session

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport: asyncio.WriteTransport = transport

    async def ask(self, asked: bytes) -> tuple[float, int]:
        """Return the seconds until the answer was there, and its size."""
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._size = 0
        started_s = time.perf_counter()
        self._transport.write(asked)
        await self._answered
        return time.perf_counter() - started_s, self._size

    def data_received(self, data: bytes) -> None:
        """Read on in the answer."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Count a part of the answer."""
        self._size += len(body)

    def on_message_complete(self) -> None:
        """Tell who waits."""
        if self._parser.get_status_code() >= 400:
            raise SystemExit(f"the server answered {self._parser.get_status_code()}")
        self._answered.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Tell who waits for an answer that will not come."""
        if not self._answered.done():
            self._answered.set_exception(error or ConnectionError("the server closed a connection"))

    def close(self) -> None:
        """Ask nothing more."""
        self._transport.close()


class Watcher(asyncio.Protocol):
    """One watch: counts the lines that come, `reached` when there are as many as were asked for."""

    def __init__(self, opening: bytes, lines: int) -> None:
        self._opening = opening
        self._missing = lines
        self._parser = httptools.HttpResponseParser(self)
        self.reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        #: The server has begun to answer.
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Ask for the watch."""
        self._transport: asyncio.WriteTransport = transport
        transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        """Read on in the stream."""
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        """Note that the watch has begun."""
        assert self._parser.get_status_code() == 200, "a watch is answered with 200"
        self.opened.set_result(None)

    def on_body(self, body: bytes) -> None:
        """Count the events in a part of the stream."""
        self._missing -= body.count(b"\n")
        if self._missing <= 0 and not self.reached.done():
            self.reached.set_result(None)
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell of a stream that ended too early."""
        if not self.reached.done():
            self.reached.set_exception(error or ConnectionError("a watch ended early"))


async def watch(server: Server, path: str, lines: int, watchers: int) -> list[Watcher]:
    """Open watches and return them when the server answers all of them."""
    loop = asyncio.get_running_loop()
    opening = request(server, "GET", path)
    made = [
        loop.create_connection(lambda: Watcher(opening, lines), server.host, server.port, ssl=server.tls)
        for _ in range(watchers)
    ]
    opened = [watcher for _, watcher in await asyncio.gather(*made)]
    await asyncio.gather(*(watcher.opened for watcher in opened))
    return opened
