"""Lets pages of named origins use a server: what browsers call CORS.

A request whose origin is allowed is handed on without its Origin, and its answer says that the page may read it. Others
are handed on as they are: the server behind refuses pages of other sites.

Mirrors: staging/src/k8s.io/apiserver/pkg/server/filters/cors.go (v1.36), echo's CORS middleware as
kube-scheduler-simulator sets it up
Differs: origins are compared, not matched by patterns.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from schedlab.apiserver.server import Application
from schedlab.kernel.errors import SchedlabError

_METHODS: Final = b"GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS"
_HEADERS: Final = (
    b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)


def check_origins(origins: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return origins as browsers send them; raises SchedlabError for what is none."""
    found = []
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise SchedlabError(
                f"{origin!r} is no origin", location=option, hint="write scheme, host and port: http://localhost:3000"
            )
        found.append(f"{parts.scheme}://{parts.netloc}".lower())
    return tuple(found)


class CrossOrigin:
    """An ASGI app around another one; `origins` are allowed, all of them when it is empty."""

    def __init__(self, app: Application, origins: tuple[str, ...]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    def stop(self) -> None:
        """End what is streamed."""
        self._app.stop()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None or (self._origins and origin.decode("latin-1").lower() not in self._origins):
            await self._app(scope, receive, send)
            return
        allowed = [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-credentials", b"true"),
            (b"vary", b"Origin"),
        ]
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            wanted = headers.get(b"access-control-request-headers", _HEADERS)
            allowed += [(b"access-control-allow-methods", _METHODS), (b"access-control-allow-headers", wanted)]
            await send({"type": "http.response.start", "status": 204, "headers": allowed})
            await send({"type": "http.response.body", "body": b""})
            return
        allowed.append((b"access-control-expose-headers", b"Date, Warning"))

        async def told(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *allowed]}
            await send(message)

        kept = [header for header in scope["headers"] if header[0] != b"origin"]
        await self._app({**scope, "headers": kept}, receive, told)
