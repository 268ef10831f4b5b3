"""Requests, answers, and the table of routes between them.

    ROUTES = (Route("GET", "/api/v1/decisions/{namespace}/{pod}", decision), ...)

    async def decision(simulator: Simulator, request: Request) -> Answer: ...

A handler gets what the simulator knows and the request, and returns an Answer or a Stream. Whatever it cannot do it
raises: a Refusal becomes a JSON error with that status, a SchedlabError status 400 with its place and hint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qs, unquote

import orjson

from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.steps import Steps
from schedlab.web.simulator import Simulator

T = TypeVar("T")
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON: Final = "application/json; charset=UTF-8"
#: A number has so many digits at most: SQLite and clocks take no greater ones.
_DIGITS_MAX: Final = 18
#: Requests with more than this are refused unless their handler allows it.
BODY_BYTES_MAX: Final = 16 * 1024 * 1024
_SEE: Final = "see docs/reference/rest.md"


class Refusal(Exception):
    """A request that cannot be answered as it stands: an HTTP status and a message."""

    def __init__(self, status: int, message: str, **more: object) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        #: Further fields of the JSON error.
        self.more = more


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    body: bytes
    content_type: str = JSON
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer whose body comes in pieces; it ends when the client leaves or the simulator stops."""

    chunks: AsyncIterator[bytes]
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def json_answer(value: object, status: int = 200) -> Answer:
    """Return a value as JSON."""
    return Answer(orjson.dumps(value) + b"\n", status=status)


def whole_number(name: str, text: str) -> int:
    """Return the number that a text is; `name` says what it is for where it is none."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _DIGITS_MAX:
        shown = text if len(text) <= _DIGITS_MAX else f"{text[:_DIGITS_MAX]}…"
        raise Refusal(400, f"{name}: {shown!r} is no whole number from 0 to {10**_DIGITS_MAX - 1}")
    return int(text)


@dataclass(slots=True)
class Request:
    """One HTTP request. `parameters` are the parts of the path that the route's template names."""

    method: str
    path: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    _receive: Receive = field(repr=False)

    def word(self, name: str, default: str = "") -> str:
        """Return a parameter of the query that may be given once."""
        values = self.query.get(name, ())
        if len(values) > 1:
            raise Refusal(400, f"{name} is given {len(values)} times; give it once")
        return values[0] if values else default

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a whole number of the query."""
        text = self.word(name)
        return whole_number(name, text) if text else default

    def flag(self, name: str) -> bool:
        """Return a yes or no of the query; the bare name means yes."""
        text = self.word(name, "false")
        if text not in ("", "true", "false"):
            raise Refusal(400, f"{name}: {text!r} is neither true nor false")
        return text != "false"

    async def body(self, bytes_max: int = BODY_BYTES_MAX) -> bytes:
        """Read the body."""
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ConnectionResetError("the client left before its request was complete")
            piece = message.get("body", b"")
            size += len(piece)
            if size > bytes_max:
                raise Refusal(413, f"the body is bigger than {bytes_max} bytes")
            pieces.append(piece)
            if not message.get("more_body"):
                return b"".join(pieces)

    async def gone(self) -> None:
        """Wait until the client has left; its body must have been read before, if there is one."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def json(self, bytes_max: int = BODY_BYTES_MAX) -> Any:
        """Read the body as JSON."""
        try:
            return orjson.loads(await self.body(bytes_max))
        except orjson.JSONDecodeError as error:
            raise Refusal(400, f"the body is not JSON: {error}") from error

    async def fields(self, required: Mapping[str, type], optional: Mapping[str, type]) -> Mapping[str, Any]:
        """Read a body with all of the required fields and any of the optional ones; lists are of objects."""
        body = await self.json()
        missing = next((name for name in required if not isinstance(body, dict) or name not in body), None)
        if missing is not None:
            raise SchedlabError(f"{missing} is not given", location=missing, hint=_SEE)
        if not isinstance(body, dict):
            raise SchedlabError(f"is {type(body).__name__}, not an object", location="the body", hint=_SEE)
        known = {**required, **optional}
        for key, value in body.items():
            if key not in known:
                raise SchedlabError("there is no such field", location=key, hint=f"there are: {', '.join(known)}")
            is_mixed = isinstance(value, list) and not all(isinstance(one, dict) for one in value)
            if type(value) is not known[key] or is_mixed:
                found, wanted = type(value).__name__, known[key].__name__
                raise SchedlabError(f"is {found}, not {wanted}", location=key, hint=_SEE)
        return body


async def paced(steps: Steps[T]) -> T:
    """Do work step by step; in between others have their turn."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


Handler: TypeAlias = Callable[[Simulator, Request], Awaitable[Answer | Stream]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path that somebody answers.

    `template` is a path whose parts may be `{name}`, which stands for one part that is not empty; a last part
    `{name...}` stands for all that is left. `needs_token` is false for what may be seen by everybody.
    """

    method: str
    template: str
    handler: Handler
    needs_token: bool = True

    def match(self, path: str) -> dict[str, str] | None:
        """Return the parameters of a path as it was sent; None when the route is another one."""
        names, parts = self.template.split("/"), path.split("/")
        rest = names[-1].endswith("...}")
        if len(parts) < len(names) if rest else len(parts) != len(names):
            return None
        if rest:
            parts = [*parts[: len(names) - 1], "/".join(parts[len(names) - 1 :])]
        found = {}
        for name, part in zip(names, parts, strict=True):
            if not name.startswith("{"):
                if unquote(part) != name:
                    return None
            elif part:
                found[name.strip("{.}")] = unquote(part)
            else:
                return None
        return found


def find(routes: Sequence[Route], method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Return the first route for a request and the parameters of its path; HEAD is answered by GET's."""
    method = "GET" if method == "HEAD" else method
    allowed: dict[str, None] = {}
    for route in routes:
        parameters = route.match(path)
        if parameters is None:
            continue
        if route.method == method:
            return route, parameters
        allowed[route.method] = None
    if allowed:
        raise Refusal(405, f"Method Not Allowed; allowed here: {', '.join(allowed)}")
    raise Refusal(404, "Not Found")


def request_of(scope: Scope, receive: Receive, headers: Mapping[str, str], parameters: Mapping[str, str]) -> Request:
    """Return the request of an ASGI scope."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return Request(scope["method"], scope["path"], headers, parameters, query, receive)
