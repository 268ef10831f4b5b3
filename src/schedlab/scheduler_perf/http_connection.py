"""One HTTP/1.1 connection of a client that loads an API server: small, so that it measures the server and not itself."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Final

import orjson

from schedlab.kernel.errors import SchedlabError

_STREAM_LIMIT: Final = 1 << 20


class Connection:
    """A connection that is kept open: requests take turns, or it serves one watch."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, token: str) -> None:
        self._reader, self._writer = reader, writer
        self._turn = asyncio.Lock()
        self._common = f"Host: {host}\r\nAuthorization: Bearer {token}\r\nUser-Agent: scheduler-perf\r\n"

    @classmethod
    async def open(cls, host: str, port: int, context: ssl.SSLContext, token: str) -> Connection:
        """Connect."""
        reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=_STREAM_LIMIT)
        return cls(reader, writer, f"{host}:{port}", token)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "application/json",
        *,
        gone_is_fine: bool = False,
    ) -> bytes:
        """Send a request and return the body of its answer; raises SchedlabError when it is refused."""
        async with self._turn:
            status, answer = await self._exchange(method, path, body, content_type)
        if status >= 400 and not (gone_is_fine and status == 404):
            raise SchedlabError(f"{method} {path}: {_message(answer) or status}")
        return answer

    async def _exchange(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        self._send(method, path, body, content_type)
        status, headers = await self._head()
        if headers.get("transfer-encoding") == "chunked":
            return status, b"".join([chunk async for chunk in self._chunks()])
        return status, await self._reader.readexactly(int(headers.get("content-length", 0)))

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of an answer that does not end."""
        self._send("GET", path, b"", "application/json")
        status, _ = await self._head()
        rest = b""
        async for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            if status != 200:
                raise SchedlabError(f"GET {path}: {_message(chunk) or status}")
            for line in lines:
                yield line

    def _send(self, method: str, path: str, body: bytes, content_type: str) -> None:
        head = f"{method} {path} HTTP/1.1\r\n{self._common}"
        if body:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)

    async def _head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(first.split(" ", 2)[1]), headers

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)

    async def close(self) -> None:
        """Drop the connection and see it gone."""
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _message(body: bytes) -> str:
    try:
        return str(orjson.loads(body).get("message", ""))
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")
