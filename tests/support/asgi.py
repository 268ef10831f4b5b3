"""Calling an ASGI application without a server: one request at a time, or streams on a loop of their own.

`call` runs one request to its end. `Loop` keeps a loop in a thread, so that clients that know nothing of asyncio can
be given an application in place of a network.
"""

import asyncio
import queue
import threading
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import orjson

from schedlab.apiserver.answers import Message
from schedlab.apiserver.app import APIServer

ResultT = TypeVar("ResultT")
_WAIT_S = 30


@dataclass
class Response:
    """A whole answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the first value of a header."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        """The events of a watch."""
        return [orjson.loads(line) for line in self.body.splitlines()]


@dataclass
class Call:
    """One request."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def scope(self) -> dict[str, Any]:
        return {
            "type": "http",
            "method": self.method,
            "path": self.path,
            "query_string": self.query.encode(),
            "headers": [(key.lower().encode(), value.encode()) for key, value in self.headers.items()],
        }


async def answer(app: APIServer, call: Call) -> Response:
    """Run a request to its end."""
    sent: list[Message] = []
    asked = 0

    async def receive() -> Message:
        nonlocal asked
        asked += 1
        if asked > 1:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": call.body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(call.scope(), receive, send)
    head, *rest = sent
    headers = [(key.decode(), value.decode()) for key, value in head["headers"]]
    return Response(head["status"], headers, b"".join(message["body"] for message in rest))


@dataclass
class Stream:
    """An answer whose body is still coming."""

    status: int
    headers: list[tuple[str, str]]
    chunks: "queue.Queue[bytes | None]"
    leave: asyncio.Event

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self.chunks.get(timeout=_WAIT_S)) is not None:
            yield chunk


class Loop:
    """An event loop in a thread, for a `with` statement."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.run(self._cancel_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_rest(self) -> None:
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run a coroutine on the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_WAIT_S)

    def open(self, app: APIServer, call: Call) -> Stream:
        """Begin a request; returns when the head of its answer is there."""
        return self.run(self._open(app, call))

    def close(self, stream: Stream) -> None:
        """Go away before the answer is complete."""
        self._loop.call_soon_threadsafe(stream.leave.set)

    async def _open(self, app: APIServer, call: Call) -> Stream:
        head: asyncio.Future[Message] = self._loop.create_future()
        chunks: queue.Queue[bytes | None] = queue.Queue()
        leave = asyncio.Event()
        bodies = [call.body]

        async def receive() -> Message:
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.set_result(message)
                return
            if message["body"]:
                chunks.put(message["body"])
            if not message.get("more_body"):
                chunks.put(None)

        task = self._loop.create_task(app(call.scope(), receive, send))
        task.add_done_callback(lambda _task: chunks.put(None))
        message = await head
        headers = [(key.decode(), value.decode()) for key, value in message["headers"]]
        return Stream(message["status"], headers, chunks, leave)
