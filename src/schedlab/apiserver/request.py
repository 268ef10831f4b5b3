"""One HTTP request as the handlers see it: what ASGI hands over, read once.

Mirrors: the parts of net/http.Request that kube-apiserver's handlers use. Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.errors import RequestEntityTooLarge, Status, new_request_entity_too_large
from schedlab.apimachinery.negotiate import wants_pretty
from schedlab.apiserver.answers import Receive, Scope
from schedlab.apiserver.authentication import ANONYMOUS_USER, UserInfo
from schedlab.apiserver.negotiation import Form, error_form, fixed_form, output_form
from schedlab.apiserver.request_info import Query, RequestInfo, parse_query, read_request_info
from schedlab.kernel.clock import Clock

#: Larger bodies are refused, as kube-apiserver does by default.
BODY_BYTES_MAX: Final = 3 * 1024 * 1024
#: Where our HTTP protocol class puts the TLS peer and the way to drop the connection.
CONNECTION: Final = "schedlab.connection"
#: Where a program of the same process says that lists of one revision may be older than what is compacted.
FROM_HISTORY: Final = "schedlab.fromHistory"


class ClientGone(Exception):
    """The client went away before its request was complete."""


class Request:
    """A request; `user` and `warnings` are filled on its way."""

    __slots__ = (
        "_receive",
        "clock",
        "headers",
        "impersonator",
        "info",
        "method",
        "path",
        "query",
        "scope",
        "status",
        "user",
        "warnings",
    )

    def __init__(self, scope: Scope, receive: Receive, clock: Clock) -> None:
        self.scope = scope
        #: The time of the cluster, for ages.
        self.clock = clock
        self._receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        # Of a header that is repeated the first one counts, as with Go's Header.Get.
        self.headers: Mapping[bytes, bytes] = dict(reversed(scope["headers"]))
        self.query: Query = parse_query(scope["query_string"])
        self.info: RequestInfo = read_request_info(self.method, self.path, self.query)
        self.user: UserInfo = ANONYMOUS_USER
        #: Who speaks for the user, when somebody does.
        self.impersonator: UserInfo | None = None
        #: What the request was refused with.
        self.status: Status | None = None
        self.warnings: list[str] = []

    def header(self, name: bytes) -> str:
        """Return the value of a header, empty when it is missing."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def accept(self) -> str:
        return self.header(b"accept")

    @property
    def content_type(self) -> str:
        return self.header(b"content-type")

    @property
    def user_agent(self) -> str:
        return self.header(b"user-agent")

    @property
    def peer(self) -> Mapping[str, Any] | None:
        """The client's certificate, as `ssl.getpeercert` returns it, when TLS has verified one."""
        connection = self.scope.get(CONNECTION)
        return None if connection is None else connection.peer

    def output_form(self) -> Form:
        """Return the form of a resource's answer; raises NotAcceptable."""
        return self._for_reader(output_form(self.accept))

    def fixed_form(self) -> Form:
        """Return the form of a document that has one type only; raises NotAcceptable."""
        return self._for_reader(fixed_form(self.accept))

    def error_form(self) -> Form:
        """Return the form of an error."""
        return self._for_reader(error_form(self.accept))

    def _for_reader(self, form: Form) -> Form:
        if form.pretty:
            return form
        pretty = self.query.get("pretty")
        if wants_pretty(pretty[0] if pretty else None, self.user_agent):
            return form.prettier()
        return form

    async def body(self) -> bytes:
        """Read the whole body; raises RequestEntityTooLarge, ClientGone."""
        announced = self.headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > BODY_BYTES_MAX:
            raise too_large()
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        content: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return _limited(content)
        parts = [content]
        size = len(content)
        while message.get("more_body"):
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > BODY_BYTES_MAX:
                raise too_large()
        return b"".join(parts)

    @property
    def receive(self) -> Receive:
        return self._receive


def _limited(content: bytes) -> bytes:
    if len(content) > BODY_BYTES_MAX:
        raise too_large()
    return content


def too_large() -> RequestEntityTooLarge:
    """The answer to a body over the limit."""
    return new_request_entity_too_large(f"limit is {BODY_BYTES_MAX}")
