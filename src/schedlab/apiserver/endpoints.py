"""What is served besides resources: discovery, OpenAPI, version, health, metrics, the list of paths.

Mirrors: staging/src/k8s.io/apiserver/pkg/server/routes, server/routes/{index,version}.go, endpoints/discovery (v1.36)
Differs: no profiling, no flags and no log levels to look at.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson

from schedlab.apimachinery.gvk import GroupVersion
from schedlab.apimachinery.openapi import OpenAPI
from schedlab.apimachinery.resources import GROUP_ORDER, ResourceType
from schedlab.apimachinery.version import KUBERNETES_MAJOR, KUBERNETES_MINOR, KUBERNETES_VERSION
from schedlab.apiserver import openapi_v2
from schedlab.apiserver.answers import Answer, object_answer, page_not_found, text_answer
from schedlab.apiserver.authentication import ISSUER
from schedlab.apiserver.discovery import Discovery, aggregated_content_type, aggregated_version
from schedlab.apiserver.health import CHECKS, Health
from schedlab.apiserver.metrics import ServerMetrics
from schedlab.apiserver.negotiation import MEDIA_TYPES, check_route, discovery_target
from schedlab.apiserver.request import Request
from schedlab.apiserver.routing import method_not_allowed, not_found
from schedlab.apiserver.service_accounts import ServiceAccountTokens
from schedlab.kernel.metrics import CONTENT_TYPE as METRICS_TYPE

_VERSION: Final = {
    "major": KUBERNETES_MAJOR,
    "minor": KUBERNETES_MINOR,
    "emulationMajor": KUBERNETES_MAJOR,
    "emulationMinor": KUBERNETES_MINOR,
    "minCompatibilityMajor": KUBERNETES_MAJOR,
    "minCompatibilityMinor": str(int(KUBERNETES_MINOR) - 1),
    "gitVersion": KUBERNETES_VERSION,
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": f"{platform.system().lower()}/{platform.machine().replace('x86_64', 'amd64').replace('aarch64', 'arm64')}",
}
_CACHED: Final = ((b"cache-control", b"public, max-age=3600"),)
_KEYS: Final = "/openid/v1/jwks"
_DOCUMENTS: Final = "/openapi/v3/"


class Endpoints:
    """Answers requests for paths outside the resources."""

    def __init__(
        self,
        discovery: Discovery,
        health: Health,
        metrics: ServerMetrics,
        accounts: ServiceAccountTokens,
        custom: Mapping[ResourceType, Mapping[str, Any] | None],
    ) -> None:
        self._discovery = discovery
        self._health = health
        self._metrics = metrics
        self._accounts = accounts
        self._openapi = OpenAPI(discovery.resources, KUBERNETES_VERSION, custom)
        self._openapi_v2_message: bytes | None = None
        self._exact: Mapping[str, Callable[[Request], Awaitable[Answer]]] = {
            "/": self._index,
            "/api": self._core,
            "/apis": self._groups,
            "/version": self._version,
            "/metrics": self._metrics_text,
            "/.well-known/openid-configuration": self._issuer,
            _KEYS: self._public_keys,
            "/openapi/v2": self._openapi_v2,
            "/openapi/v3": self._openapi_index,
        }

    async def answer(self, request: Request) -> Answer:
        """Answer a path that is not one of a resource; raises StatusError."""
        path = request.path
        handler = self._exact.get(path.rstrip("/") or "/")
        # A trailing slash is nothing to go-restful, but a different path to everything else.
        if handler is not None and (path == "/" or not path.endswith("/") or path[1:-1] in ("api", "apis", "version")):
            return await handler(request)
        first = path.strip("/").partition("/")[0]
        if path.startswith("/api/") or first == "version":
            return self._versions_below(request)
        if path.startswith("/apis/"):
            return self._groups_below(request)
        if path.startswith(_DOCUMENTS):
            return await self._openapi_document(request)
        if first in CHECKS:
            return self._health_answer(request)
        return page_not_found()

    # --- discovery ---------------------------------------------------------------------------------------------------

    async def _core(self, request: Request) -> Answer:
        _check_get(request)
        return self._aggregated(request, core=True) or _document(request, self._discovery.core_versions())

    async def _groups(self, request: Request) -> Answer:
        _check_get(request)
        return self._aggregated(request, core=False) or _document(request, self._discovery.groups())

    def _aggregated(self, request: Request, *, core: bool) -> Answer | None:
        target = discovery_target(request.accept)
        version = None if target is None else aggregated_version(target.group, target.version, target.kind)
        if version is None:
            return None
        body, tag = self._discovery.aggregated(version, core=core)
        headers = [(b"etag", tag), (b"vary", b"Accept"), (b"cache-control", b"public")]
        if request.headers.get(b"if-none-match") == tag:
            return Answer(304, headers=headers, content_type=b"")
        return Answer(200, body, aggregated_content_type(version).encode(), headers)

    def _versions_below(self, request: Request) -> Answer:
        """Answer /api/VERSION."""
        prefix, *parts = request.path.strip("/").split("/")
        found = (
            self._discovery.resource_list(GroupVersion("", parts[0])) if prefix == "api" and len(parts) == 1 else None
        )
        if found is None:
            raise not_found()
        _check_get(request)
        return _document(request, found)

    def _groups_below(self, request: Request) -> Answer:
        """Answer /apis/GROUP and /apis/GROUP/VERSION."""
        _, group, *rest = request.path.strip("/").split("/")
        own = self._discovery.group(group)
        if own is None:
            return page_not_found()
        found = self._discovery.resource_list(GroupVersion(group, rest[0])) if len(rest) == 1 else None
        if rest and found is None:
            if group not in GROUP_ORDER:
                return page_not_found()
            raise not_found()
        _check_get(request)
        return _document(request, own if found is None else found)

    # --- OpenAPI -----------------------------------------------------------------------------------------------------

    async def _openapi_index(self, _request: Request) -> Answer:
        return Answer(200, self._openapi.index, b"text/plain; charset=utf-8")

    async def _openapi_document(self, request: Request) -> Answer:
        path = request.path.removeprefix(_DOCUMENTS)
        try:
            tag = self._openapi.etag(path)
        except KeyError:
            return Answer(404, content_type=b"")
        headers = [(b"etag", tag.encode()), (b"vary", b"Accept")]
        wanted = request.query.get("hash", ("",))[0]
        if wanted == tag.strip('"'):
            # The path with this hash will always have this content.
            headers += [(b"cache-control", b"public, immutable"), (b"expires", b"Thu, 31 Dec 2099 00:00:00 GMT")]
        elif wanted:
            location = f"{request.path}?hash={tag.strip(chr(34))}".encode()
            return Answer(301, headers=[(b"location", location)], content_type=b"")
        if request.headers.get(b"if-none-match") == tag.encode():
            return Answer(304, headers=headers, content_type=b"")
        # Making a document takes long enough to be felt by other requests.
        body = await asyncio.to_thread(self._openapi.v3, path)
        assert body is not None, f"{path} has a tag but no document"
        return Answer(200, body, headers=headers)

    async def _openapi_v2(self, request: Request) -> Answer:
        content_type, body = b"application/json", await asyncio.to_thread(lambda: self._openapi.v2)
        if openapi_v2.ACCEPT in request.accept:
            content_type = openapi_v2.MEDIA_TYPE
            if self._openapi_v2_message is None:
                self._openapi_v2_message = await asyncio.to_thread(openapi_v2.encode_document, body)
            body = self._openapi_v2_message
        tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'.encode()
        headers = [(b"etag", tag), (b"vary", b"Accept")]
        if request.headers.get(b"if-none-match") == tag:
            return Answer(304, headers=headers, content_type=b"")
        return Answer(200, body, content_type, headers)

    # --- the rest ----------------------------------------------------------------------------------------------------

    async def _version(self, request: Request) -> Answer:
        _check_get(request)
        return Answer(200, orjson.dumps(_VERSION, option=orjson.OPT_INDENT_2))

    async def _issuer(self, _request: Request) -> Answer:
        """Tell others how to check tokens of service accounts."""
        document = {
            "issuer": ISSUER,
            "jwks_uri": f"https://{self._discovery.address}{_KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
        return Answer(200, orjson.dumps(document), headers=list(_CACHED))

    async def _public_keys(self, _request: Request) -> Answer:
        return Answer(200, orjson.dumps(self._accounts.public_keys()), b"application/jwk-set+json", list(_CACHED))

    async def _metrics_text(self, _request: Request) -> Answer:
        return Answer(200, self._metrics.text().encode(), METRICS_TYPE.encode())

    def _health_answer(self, request: Request) -> Answer:
        found = self._health.answer(request.path, request.query)
        return page_not_found() if found is None else text_answer(found.text, found.status)

    async def _index(self, _request: Request) -> Answer:
        """List the paths, for people."""
        resources = self._discovery.resources
        paths = {
            "/.well-known/openid-configuration",
            "/api",
            "/apis",
            "/metrics",
            _KEYS,
            "/version",
            "/openapi/v2",
            "/openapi/v3",
        }
        for version in resources.group_versions():
            paths.add(f"/apis/{version.group}/{version.version}" if version.group else f"/api/{version.version}")
            if version.group:
                paths.add(f"/apis/{version.group}")
        for endpoint, checks in CHECKS.items():
            paths.update((f"/{endpoint}", *(f"/{endpoint}/{check}" for check in checks)))
        return Answer(200, orjson.dumps({"paths": sorted(paths)}, option=orjson.OPT_INDENT_2))


def _check_get(request: Request) -> None:
    if request.method != "GET":
        raise method_not_allowed()
    check_route(request.accept, MEDIA_TYPES)


def _document(request: Request, document: Mapping[str, object]) -> Answer:
    return object_answer(orjson.dumps(document), request.fixed_form())
