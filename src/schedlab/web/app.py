"""The simulator's own REST API and start page, one ASGI app on port 1212.

    GET /                                       start page; needs no token, shows nothing of the cluster
    GET /healthz                                `ok`
    GET /api/v1/status                          what the cluster holds and uses
    GET /api/v1/decisions/{namespace}/{pod}     one attempt explained; ?attempt=N

Everything under /api needs the administrator's bearer token. Requests whose Host is not this machine, or whose Origin
is another site, are refused before anything else is looked at.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from schedlab.decisions.explain import explain
from schedlab.decisions.log import DecisionLog
from schedlab.web.start_page import start_page

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
STATUS_PATH: Final = "/api/v1/status"
DECISIONS_PATH: Final = "/api/v1/decisions/"

# Shown in the reference and checked against it by a test.
REST_PATHS: Final = ("/", "/healthz", STATUS_PATH, "/api/v1/decisions/{namespace}/{pod}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=UTF-8"
    headers: tuple[tuple[bytes, bytes], ...] = ()


def _message(status: int, text: str) -> Answer:
    return Answer(status, orjson.dumps({"message": text}) + b"\n")


class SimulatorApp:
    """ASGI app; `hosts` are the names it may be called by, `status` tells how the cluster is."""

    def __init__(
        self,
        log: DecisionLog,
        token: str,
        hosts: frozenset[str] = LOOPBACK_NAMES,
        *,
        status: Callable[[], Mapping[str, Any]] = dict,
        untried: Callable[[str, str], str] | None = None,
    ) -> None:
        self._untried = untried
        self._status = status
        self._log = log
        self._token = token.encode()
        self._hosts = hosts

    def stop(self) -> None:
        """Nothing is streamed yet that would have to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Answer one request."""
        if scope["type"] != "http":
            return
        answer = self._answer(scope)
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"content-security-policy", b"default-src 'none'; style-src 'self'; frame-ancestors 'none'"),
            *answer.headers,
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})

    def _answer(self, scope: Scope) -> Answer:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._same_site(headers):
            return _message(403, "this address is not served here: Host and Origin must name this machine")
        path = scope["path"]
        if path not in {"/", "/healthz"} and not path.startswith("/api/"):
            return _message(404, "Not Found")
        if scope["method"] not in {"GET", "HEAD"}:
            return _message(405, "Method Not Allowed")
        if path == "/":
            return Answer(200, start_page(), "text/html; charset=UTF-8")
        if path == "/healthz":
            return Answer(200, b"ok", "text/plain; charset=UTF-8")
        if not self._authorized(headers):
            return _message(401, "a bearer token is needed; it is kept in the file `token` beside the kubeconfig")
        if path == STATUS_PATH:
            return Answer(200, orjson.dumps(self._status()) + b"\n")
        if path.startswith(DECISIONS_PATH):
            return self._decision(scope)
        return _message(404, "Not Found")

    def _same_site(self, headers: dict[str, str]) -> bool:
        if urlsplit(f"//{headers.get('host', '')}").hostname not in self._hosts:
            return False
        origin = headers.get("origin")
        return origin is None or urlsplit(origin).netloc == headers.get("host")

    def _authorized(self, headers: dict[str, str]) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)

    def _decision(self, scope: Scope) -> Answer:
        parts = [unquote(part) for part in scope["path"].removeprefix(DECISIONS_PATH).split("/")]
        if len(parts) != 2 or not all(parts):
            return _message(404, f"expected {DECISIONS_PATH}NAMESPACE/POD")
        wanted = parse_qs(scope["query_string"].decode("latin-1")).get("attempt", [""])[0]
        if wanted and not wanted.isdecimal():
            return _message(400, f"attempt: {wanted!r} is not a number")
        story = self._log.find(*parts)
        if story is None:
            recorded = f"no attempt to schedule pod {parts[0]}/{parts[1]} is recorded"
            return _message(404, recorded if self._untried is None else self._untried(parts[0], parts[1]))
        try:
            explanation = explain(story, int(wanted) if wanted else None)
        except LookupError as error:
            return _message(404, str(error.args[0]))
        return Answer(200, orjson.dumps(explanation) + b"\n")
