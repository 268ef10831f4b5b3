"""The simulator's own REST API and web UI as one ASGI app (port 1212); `routes` has the table of what it answers.

Everything but the files of the UI and the health check needs the administrator's bearer token or a session (`logins`).
Requests whose Host is not this machine, or whose Origin is another site, are refused before anything else is looked at.
What is below /k8s is handed on to the Kubernetes API, as the administrator's: a page may ask its own origin only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote, urlsplit

from schedlab.kernel.errors import SchedlabError
from schedlab.web.routes import ROUTES
from schedlab.web.routing import Answer, Receive, Refusal, Route, Scope, Send, Stream, find, json_answer, request_of
from schedlab.web.simulator import Simulator

#: Another ASGI app.
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
KUBERNETES: Final = "/k8s"
#: Of a request for the Kubernetes API, what is only meant for us.
_OURS: Final = frozenset((b"authorization", b"cookie", b"x-csrf-token"))
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'self'; frame-ancestors 'none'"),
)


class SimulatorApp:
    """ASGI app; `hosts` are the names it may be called by, `kubernetes` is what answers below /k8s."""

    def __init__(
        self,
        simulator: Simulator,
        hosts: frozenset[str] = LOOPBACK_NAMES,
        routes: Sequence[Route] = ROUTES,
        kubernetes: ASGIApp | None = None,
    ) -> None:
        self._simulator = simulator
        self._hosts = hosts
        self._routes = routes
        self._kubernetes = kubernetes
        self._streams: dict[asyncio.Task[None], None] = {}

    def stop(self) -> None:
        """End what is streamed."""
        for task in tuple(self._streams):
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            if self._kubernetes is not None and scope["path"].startswith(f"{KUBERNETES}/"):
                await self._kubernetes(self._handed_on(scope), receive, send)
                return
            answer = await self._answer(scope, receive)
        except Refusal as refusal:
            answer = json_answer({"message": refusal.message, **refusal.more}, refusal.status)
        except SchedlabError as error:
            answer = json_answer({"message": error.message, "location": error.location, "hint": error.hint}, 400)
        except ConnectionResetError:
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": _headers(answer)})
        if isinstance(answer, Answer):
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})
        elif scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._stream(answer, receive, send)

    def _handed_on(self, scope: Scope) -> Scope:
        """Return the request as the Kubernetes API is to see it."""
        self._check_access(self._headers(scope))
        kept = [header for header in scope["headers"] if header[0] not in _OURS]
        if self._simulator.logins is not None:
            kept.append((b"authorization", f"Bearer {self._simulator.logins.token}".encode()))
        raw = scope.get("raw_path", quote(scope["path"]).encode())
        return {
            **scope,
            "headers": kept,
            "path": scope["path"].removeprefix(KUBERNETES),
            "raw_path": raw.removeprefix(KUBERNETES.encode()),
        }

    def _headers(self, scope: Scope) -> dict[str, str]:
        """Return the headers of a request that may ask here."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._same_site(headers):
            raise Refusal(403, "this address is not served here: Host and Origin must name this machine")
        return headers

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | Stream:
        headers = self._headers(scope)
        # A part of a path may hold an encoded slash, which `path` no longer tells from the others.
        path = scope["raw_path"].decode("latin-1") if scope.get("raw_path") else quote(scope["path"])
        try:
            route, parameters = find(self._routes, scope["method"], path.partition("?")[0])
        except Refusal:
            if scope["path"].startswith("/api/"):
                self._check_access(headers)
            raise
        if route.needs_token:
            self._check_access(headers)
        return await route.handler(self._simulator, request_of(scope, receive, headers, parameters))

    def _same_site(self, headers: dict[str, str]) -> bool:
        if urlsplit(f"//{headers.get('host', '')}").hostname not in self._hosts:
            return False
        origin = headers.get("origin")
        return origin is None or urlsplit(origin).netloc == headers.get("host")

    def _check_access(self, headers: dict[str, str]) -> None:
        logins = self._simulator.logins
        if logins is not None and not logins.allows(headers):
            raise Refusal(
                401,
                "a bearer token or a session is needed",
                hint="the token is kept in the file `token` beside the kubeconfig; `schedlab ui` opens a session",
            )

    async def _stream(self, answer: Stream, receive: Receive, send: Send) -> None:
        """Send pieces until there are no more, the client leaves, or the simulator stops."""
        sending = asyncio.ensure_future(_send_pieces(answer, send))
        leaving = asyncio.ensure_future(_gone(receive))
        self._streams[sending] = None
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._streams[sending]
            leaving.cancel()
            sending.cancel()
        ended = await asyncio.gather(sending, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]
        if not leaving.done() or leaving.cancelled():
            await send({"type": "http.response.body", "body": b""})


async def _send_pieces(answer: Stream, send: Send) -> None:
    async for chunk in answer.chunks:
        if chunk:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(answer: Answer | Stream) -> list[tuple[bytes, bytes]]:
    length = [(b"content-length", str(len(answer.body)).encode())] if isinstance(answer, Answer) else []
    more = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    named = {name for name, _ in more}
    kept = [header for header in _HEADERS if header[0] not in named]
    return [(b"content-type", answer.content_type.encode()), *length, *kept, *more]
