"""Requests as the handlers get them, for tests without a server."""

from collections.abc import Mapping

from schedlab.apiserver.answers import Message
from schedlab.apiserver.request import Request
from schedlab.kernel.clock import VirtualClock


def make_scope(method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None) -> dict[str, object]:
    """Make the scope of an HTTP request."""
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }


def make_request(
    method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Request:
    """Make a request whose body comes in pieces of three bytes."""
    pieces = [body[at : at + 3] for at in range(0, len(body), 3)] or [b""]

    async def receive() -> Message:
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    return Request(make_scope(method, path, query, headers), receive, VirtualClock())
