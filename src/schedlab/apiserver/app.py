"""The API server as an ASGI application: what happens to every request, in this order.

    Host and Origin ─► who asks ─► whom they speak for ─► may they ─► route ─► handler ─► answer ─► counted
         403             401            403                  403       404, 405 …

Mirrors: DefaultBuildHandlerChain in staging/src/k8s.io/apiserver/pkg/server/config.go (v1.36)
Differs: no priority and fairness: requests take so little time that none has to queue; the headers that tell of it are
sent all the same.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec

from schedlab.apimachinery.errors import Forbidden, StatusError, new_bad_request, new_forbidden, new_internal_error
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.resources import Resources
from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.apiserver import authorization, resource_metrics
from schedlab.apiserver.answers import (
    Answer,
    Receive,
    Scope,
    Send,
    accepts_gzip,
    compress,
    compress_pieces,
    error_answer,
)
from schedlab.apiserver.audit import AuditEvent, AuditLog
from schedlab.apiserver.authentication import Authenticator, read_impersonation
from schedlab.apiserver.authorization import Authorizer, MastersFirst
from schedlab.apiserver.components import COMPONENTS, ComponentHandlers
from schedlab.apiserver.discovery import Discovery
from schedlab.apiserver.durability import storage_works
from schedlab.apiserver.endpoints import Endpoints
from schedlab.apiserver.escalation import EscalationCheck
from schedlab.apiserver.health import Health
from schedlab.apiserver.metrics import ServerMetrics
from schedlab.apiserver.negotiation import PLAIN
from schedlab.apiserver.node_authorizer import NodeFirst
from schedlab.apiserver.rbac import Access, RBACAuthorizer
from schedlab.apiserver.reading import ReadHandlers
from schedlab.apiserver.request import ClientGone, Request
from schedlab.apiserver.request_info import RequestInfo
from schedlab.apiserver.resource_metrics import ResourceMetricsHandlers
from schedlab.apiserver.results import Pieces
from schedlab.apiserver.reviews import REVIEWS, ReviewHandlers, unstored
from schedlab.apiserver.routing import Route, Router
from schedlab.apiserver.service_accounts import ServiceAccountTokens
from schedlab.apiserver.subresources import BINDINGS, SubresourceHandlers
from schedlab.apiserver.token_requests import TokenHandlers
from schedlab.apiserver.warnings import warning_headers
from schedlab.apiserver.watching import WatchStream
from schedlab.apiserver.writing import WriteHandlers
from schedlab.client.node_servers import LogSource, NodeServer
from schedlab.client.resource_metrics import ResourceMetrics
from schedlab.kernel.clock import Clock
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.registry import Registry

_log = logging.getLogger("schedlab.apiserver")

Result: TypeAlias = Answer | Pieces | WatchStream
Handler: TypeAlias = Callable[[Route, Request], Awaitable[Result]]

#: What kube-apiserver tells of the flow that served a request; here it is always the same one.
_FLOW_HEADERS: Final = (
    (b"x-kubernetes-pf-flowschema-uid", b"5fe5fa4a-7f0e-4ae1-9d19-0b1a7d3c7c01"),
    (b"x-kubernetes-pf-prioritylevel-uid", b"7a8f3a45-95bb-43a1-a4d6-0f3a0d9b7c02"),
)
_NO_STORE: Final = (b"cache-control", b"no-cache, private")
_NO_SNIFF: Final = (b"x-content-type-options", b"nosniff")
#: Resources whose use is warned of, whatever the verb.
_DEPRECATED: Final = {
    COMPONENTS: "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
_UNSTORED: Final = tuple(unstored(name) for name in (*REVIEWS, BINDINGS, COMPONENTS))
_BODILESS: Final = frozenset((204, 304))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is reached and by whom.

    `hosts` are the names it may be called by; None is any name. `origins` are web sites whose pages may call it.
    """

    address: str = "127.0.0.1:3131"
    hosts: frozenset[str] | None = None
    origins: frozenset[str] = frozenset()


class _Special(Protocol):
    """Handlers of some routes that are not like the others."""

    def find(self, route: Route, /) -> Handler | None:
        """Return the handler of a route, None if it is not one of these."""


class APIServer:
    """The ASGI application.

    Without a `signing_key`, tokens of service accounts are good until the process ends. Without `metrics`, the metrics
    API is not served.
    """

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        authenticator: Authenticator,
        settings: Settings | None = None,
        *,
        authorizer: Authorizer | None = None,
        logs: LogSource | None = None,
        nodes: NodeServer | None = None,
        metrics: ResourceMetrics | None = None,
        signing_key: ec.EllipticCurvePrivateKey | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        self._settings = Settings() if settings is None else settings
        self._clock = clock
        self._audit = audit
        accounts = ServiceAccountTokens(registry, clock, signing_key)
        self._authenticator = authenticator.knowing(accounts.authenticate)
        access = Access(registry)
        self._authorizer: Authorizer = (
            MastersFirst(NodeFirst(registry, RBACAuthorizer(access))) if authorizer is None else authorizer
        )
        registry.admit(EscalationCheck(access, self._authorizer).plugin())
        self._reading = ReadHandlers(registry)
        writing = WriteHandlers(registry, self._reading)
        self._subresources = SubresourceHandlers(registry, logs, nodes)
        self._special: Sequence[_Special] = (
            self._subresources,
            ReviewHandlers(self._authenticator, self._authorizer, clock),
            TokenHandlers(registry, accounts, clock),
            ComponentHandlers(registry, self._reading),
            *([] if metrics is None else [ResourceMetricsHandlers(registry, self._reading, metrics)]),
        )
        measured = () if metrics is None else resource_metrics.RESOURCES
        self._handlers: dict[str, Handler] = {
            "get": self._reading.get,
            "list": self._reading.list_or_watch,
            "create": writing.create,
            "update": writing.update,
            "patch": writing.patch,
            "delete": writing.delete,
            "deletecollection": writing.delete_collection,
        }
        self._metrics = ServerMetrics()
        self._stopping = False
        health = Health(lambda: self._stopping, lambda: storage_works(registry))

        def serve() -> None:
            """Look anew at which resources there are."""
            served = [*registry.served, *_UNSTORED, *measured]
            self._router = Router(served)
            discovery = Discovery(Resources(resource.type for resource in served), self._settings.address)
            custom = {one.type: one.openapi for one in served if isinstance(one, CustomResource)}
            custom |= {one.type: resource_metrics.SCHEMAS[one.type] for one in measured}
            self._endpoints = Endpoints(discovery, health, self._metrics, accounts, custom)
            self._reading.end_stale()

        serve()
        registry.on_resources(serve)

    def check(self, authorization_header: bytes | None, peer: Mapping[str, Any] | None, verb: str, path: str) -> None:
        """Let a request to another server of this cluster pass; raises Unauthorized, Forbidden."""
        user = self._authenticator.authenticate(authorization_header, peer)
        info = RequestInfo(path=path, verb=verb)
        verdict = self._authorizer.authorize(user, info)
        if not verdict.allowed:
            raise authorization.forbidden(user, info, verdict.reason)

    # --- stopping ----------------------------------------------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """End all watches and report not to be ready; requests in flight are finished."""
        self._stopping = True
        for stream in (*self._reading.streams, *self._subresources.streams):
            stream.end()

    # --- requests ----------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        audit_id = _audit_id(scope)
        try:
            request = Request(scope, receive, self._clock)
        except ValueError as error:
            await _send(send, error_answer(new_bad_request(str(error)), PLAIN), [audit_id, _NO_STORE], scope["method"])
            return
        event = None if self._audit is None else self._audit.begin(request, audit_id[1].decode("latin-1"))
        headers = [audit_id, _NO_STORE]
        started_s = perf_counter()
        route, result = await self._result(request, headers, event)
        if result is None:
            return
        size, status = 0, result.status if isinstance(result, Answer) else 200
        try:
            if isinstance(result, WatchStream):
                assert route is not None, "only resources are watched"
                if event is not None:
                    event.log("ResponseStarted", 200)
                await self._stream(request, route, result, headers, send)
            else:
                size = await self._reply(request, result, headers, send)
        finally:
            if event is not None:
                event.log("ResponseComplete", status, request.status)
        if route is not None:
            self._metrics.answered(request, route, status, size, perf_counter() - started_s)

    async def _result(
        self, request: Request, headers: list[tuple[bytes, bytes]], event: AuditEvent | None
    ) -> tuple[Route | None, Result | None]:
        """Make the answer, of whatever kind; None when nobody waits for it any more."""
        route = None
        kind = self._metrics.started(request)
        try:
            self._check_site(request)
            if request.method == "OPTIONS" and b"origin" in request.headers and self._settings.origins:
                return None, Answer(204, content_type=b"")
            route = self._admit(request, headers, event)
            result = await (self._endpoints.answer(request) if route is None else self._handle(route, request))
        except StatusError as error:
            return route, self._refusal(request, error)
        except ClientGone:
            return None, None
        except Exception:  # noqa: BLE001 - a bug of ours must not end the connection without a word; it is logged with its story
            _log.exception("%s %s failed", request.method, request.path)
            return route, error_answer(_internal_error(), request.error_form())
        finally:
            self._metrics.ended(kind)
        return route, result

    def _admit(self, request: Request, headers: list[tuple[bytes, bytes]], event: AuditEvent | None) -> Route | None:
        """Say who asks, whether they may and where that leads: None is for paths outside the resources."""
        _check_timeout(request)
        self._authenticate(request)
        headers += _FLOW_HEADERS
        info = request.info
        verdict = self._authorizer.authorize(request.user, info)
        if event is not None:
            event.decided(verdict)
        if not verdict.allowed:
            headers.append(_NO_SNIFF)
            raise authorization.forbidden(request.user, info, verdict.reason)
        return self._router.find(request) if info.is_resource else None

    async def _handle(self, route: Route, request: Request) -> Result:
        if route.type.full_name in _DEPRECATED:
            request.warnings.append(_DEPRECATED[route.type.full_name])
        if isinstance(route.resource, CustomResource) and route.resource.deprecation:
            request.warnings.append(route.resource.deprecation)
        for special in self._special:
            handler = special.find(route)
            if handler is not None:
                return await handler(route, request)
        return await self._handlers[route.verb](route, request)

    def _check_site(self, request: Request) -> None:
        """Keep out pages of other sites, and names of this machine that somebody else's DNS has made up."""
        hosts = self._settings.hosts
        if hosts is not None and urlsplit(f"//{request.header(b'host')}").hostname not in hosts:
            raise _forbidden_site(f"the server is not called {request.header(b'host')!r}")
        origin = request.headers.get(b"origin")
        if origin is None or origin.decode("latin-1") in self._settings.origins:
            return
        if urlsplit(origin.decode("latin-1")).netloc != request.header(b"host"):
            raise _forbidden_site(f"pages of {origin.decode('latin-1')!r} may not use this server")

    def _authenticate(self, request: Request) -> None:
        """Say who asks, and whom they speak for."""
        request.user = self._authenticator.authenticate(request.headers.get(b"authorization"), request.peer)
        impersonation = read_impersonation(request.scope["headers"])
        if impersonation is None:
            return
        for resource, group, name, namespace, subresource in impersonation.targets:
            wanted = RequestInfo(request.path, "impersonate", True, group, "", namespace, resource, subresource, name)
            verdict = self._authorizer.authorize(request.user, wanted)
            if not verdict.allowed:
                raise authorization.forbidden(request.user, wanted, verdict.reason)
        request.impersonator, request.user = request.user, impersonation.user

    def _refusal(self, request: Request, error: StatusError) -> Answer:
        request.status = error.status
        answer = error_answer(error, request.error_form())
        if error.code == 413:
            # The rest of the body is not read, so that nothing can follow it on this connection.
            answer.headers.append((b"connection", b"close"))
        return answer

    # --- answers -----------------------------------------------------------------------------------------------------

    async def _reply(
        self, request: Request, result: Answer | Pieces, headers: list[tuple[bytes, bytes]], send: Send
    ) -> int:
        """Send a whole answer; returns how long its body is."""
        headers += warning_headers(request.warnings)
        headers += self._cross_origin(request)
        if isinstance(result, Pieces):
            return await _send_pieces(request, result, headers, send)
        if accepts_gzip(request.headers.get(b"accept-encoding")):
            await compress(result)
        await _send(send, result, headers, request.method)
        return len(result.body)

    async def _stream(
        self, request: Request, route: Route, stream: WatchStream, headers: list[tuple[bytes, bytes]], send: Send
    ) -> None:
        headers += warning_headers(request.warnings)
        headers += self._cross_origin(request)
        headers.append((b"content-type", stream.content_type))
        self._metrics.watching(request, route, 1)
        stream.on_sent = self._metrics.events_of(route)
        try:
            await stream.run(headers, request.receive, send)
        finally:
            self._metrics.watching(request, route, -1)

    def _cross_origin(self, request: Request) -> list[tuple[bytes, bytes]]:
        """Tell browsers that a page of another site may read the answer, when it may."""
        origin = request.headers.get(b"origin")
        if origin is None or origin.decode("latin-1") not in self._settings.origins:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-credentials", b"true"),
            (b"access-control-allow-methods", b"POST, GET, OPTIONS, PUT, DELETE, PATCH"),
            (
                b"access-control-allow-headers",
                b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With",
            ),
            (b"access-control-expose-headers", b"Date, Warning"),
        ]


async def _send(send: Send, answer: Answer, headers: list[tuple[bytes, bytes]], method: str) -> None:
    if answer.headers:
        if any(name == b"cache-control" for name, _ in answer.headers):
            headers = [header for header in headers if header != _NO_STORE]
        headers = [*headers, *answer.headers]
    if answer.content_type:
        headers.append((b"content-type", answer.content_type))
    if answer.status not in _BODILESS:
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body, "more_body": False})


async def _send_pieces(request: Request, pieces: Pieces, headers: list[tuple[bytes, bytes]], send: Send) -> int:
    headers.append((b"content-type", pieces.content_type))
    body = pieces.body
    size = 0
    if accepts_gzip(request.headers.get(b"accept-encoding")):
        headers += [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
        compressed = compress_pieces(body)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in compressed:
            size += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in body:
            size += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return size


def _check_timeout(request: Request) -> None:
    """Refuse a `timeout` that is no duration. Requests are answered at once, so that none has to be cut short."""
    texts = request.query.get("timeout")
    if texts and texts[0] and request.info.verb != "watch":
        try:
            parse_duration(texts[0])
        except TimeError as error:
            raise new_bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _audit_id(scope: Scope) -> tuple[bytes, bytes]:
    """Name the request as its client does, or else anew."""
    for name, value in scope["headers"]:
        if name == b"audit-id" and value:
            return name, value
    return b"audit-id", str(uuid.uuid4()).encode()


def _forbidden_site(reason: str) -> Forbidden:
    return new_forbidden(GroupResource("", ""), "", reason)


def _internal_error() -> StatusError:
    """The answer to a bug of ours; its story is in the log."""
    return new_internal_error("the server has failed to answer this request; its log says why")
