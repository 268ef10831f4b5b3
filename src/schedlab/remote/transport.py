"""Requests to one API server: TLS, credentials, retries, errors as `StatusError`.

A request that the server asked to be repeated (429, or 5xx with Retry-After) is repeated up to RETRIES_MAX times; a
connection that breaks is repeated for reads only, since a write may have been carried out.

Mirrors: staging/src/k8s.io/client-go/rest/{request,with_retry}.go, plugin/pkg/client/auth/exec (v1.36)
Differs: no client-side rate limit unless `qps` is given.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import orjson

from schedlab.apimachinery.errors import (
    StatusError,
    from_status,
    new_generic_server_response,
    new_service_unavailable,
    new_unauthorized,
)
from schedlab.apimachinery.time import TimeError, parse_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.remote.kubeconfig import Access, ExecCommand

RETRIES_MAX: Final = 10
#: So many requests are under way at once, watches apart: httpx looks at all connections, twice per request.
REQUESTS_MAX: Final = 16
_CONNECT_S: Final = 10.0
_REQUEST_S: Final = 34.0
#: Longest answer to a list or an object that is taken.
ANSWER_BYTES_MAX: Final = 512 * 1024 * 1024
_EXEC_S: Final = 60.0
_NOT_JSON: Final = 200


@dataclass(frozen=True, slots=True)
class Request:
    """One request: path with its leading slash, query, body as bytes."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None
    content_type: str = "application/json"


class Transport:
    """Connections to one API server under a user agent; `close` ends them.

    Credentials that cannot be had raise SchedlabError as long as the server has not answered once: somebody has to mend
    that. Later they are an Unauthorized like any other, which the next try may not meet.
    """

    def __init__(self, access: Access, user_agent: str) -> None:
        self.access = access
        self._client = _client(access, user_agent)
        self._turn = asyncio.Semaphore(REQUESTS_MAX)
        #: Whether the server has answered once, so that the credentials can be had.
        self.has_answered = False
        self._extensions = {"sni_hostname": access.tls_server_name} if access.tls_server_name else {}

    @property
    def headers(self) -> httpx.Headers:
        """What every request carries, besides its credentials."""
        return self._client.headers

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def send(self, request: Request) -> Any:
        """Return the decoded answer; raises StatusError, also for a server that cannot be reached."""
        async with self._turn:
            answer, content = await self._send(request)
        if answer.status_code >= 400:
            raise status_error(answer.status_code, content, answer.headers, request.method)
        try:
            return orjson.loads(content) if content else None
        except orjson.JSONDecodeError as error:
            raise new_service_unavailable(
                f"{self.access.server}{request.path} did not answer with JSON but with {content[:_NOT_JSON]!r}"
            ) from error

    async def _send(self, request: Request) -> tuple[httpx.Response, bytes]:
        delay_s = 0.05
        for attempt in range(RETRIES_MAX + 1):
            try:
                answer = await self._client.send(self._built(request), stream=True)
                content = await self._content(answer)
            except SchedlabError as error:
                raise self._without_credentials(error) from error
            except (httpx.HTTPError, ssl.SSLError, OSError) as error:
                if request.method != "GET" or attempt == 2:
                    raise unreachable(self.access, error) from error
                await asyncio.sleep(delay_s)
                delay_s *= 4
                continue
            self.has_answered = True
            wait_s = _retry_after_s(answer)
            if wait_s is None or attempt == RETRIES_MAX:
                return answer, content
            await asyncio.sleep(wait_s)
        raise AssertionError("the last attempt returns")

    def _without_credentials(self, error: SchedlabError) -> Exception:
        return new_unauthorized(error.message) if self.has_answered else error

    async def _content(self, answer: httpx.Response) -> bytes:
        # A response that keeps its content stays until the garbage collector comes, so it is not asked to.
        parts: list[bytes] = []
        size = 0
        async for part in answer.aiter_bytes():
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise new_service_unavailable(f"{self.access.server} answers with more than {ANSWER_BYTES_MAX} bytes")
            parts.append(part)
        return b"".join(parts)

    def _built(self, request: Request) -> httpx.Request:
        headers = {"Content-Type": request.content_type} if request.body is not None else None
        return self._client.build_request(
            request.method,
            request.path,
            params=dict(request.query) or None,
            content=request.body,
            headers=headers,
            extensions=dict(self._extensions) or None,
        )

    @asynccontextmanager
    async def stream(self, request: Request, idle_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch: lines as they come; raises StatusError. A silence of `idle_s` ends it as a broken connection."""
        built = self._built(request)
        built.extensions["timeout"] = httpx.Timeout(_CONNECT_S, read=idle_s).as_dict()
        try:
            answer = await self._client.send(built, stream=True)
        except SchedlabError as error:
            raise self._without_credentials(error) from error
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise unreachable(self.access, error) from error
        try:
            if answer.status_code >= 400:
                content = await answer.aread()
                raise status_error(answer.status_code, content, answer.headers, request.method)
            yield _lines(answer, self.access)
        finally:
            await answer.aclose()


def _client(access: Access, user_agent: str) -> httpx.AsyncClient:
    tls = _tls(access)
    try:
        return httpx.AsyncClient(
            base_url=access.server,
            verify=tls,
            auth=_authentication(access),
            headers={"User-Agent": user_agent, "Accept": "application/json"},
            timeout=httpx.Timeout(_REQUEST_S, connect=_CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=90),
            proxy=access.proxy_url or None,
            trust_env=not access.proxy_url,
        )
    except (httpx.InvalidURL, ValueError, ImportError) as error:
        raise SchedlabError(
            f"the server or its proxy cannot be spoken to: {error}",
            location=access.location,
            hint="server and proxy-url (or HTTPS_PROXY) are addresses like https://host:port; SOCKS is not spoken",
        ) from error


async def _lines(answer: httpx.Response, access: Access) -> AsyncIterator[bytes]:
    rest: list[bytes] = []
    try:
        async for chunk in answer.aiter_bytes():
            *whole, last = chunk.split(b"\n")
            for line in whole:
                yield b"".join((*rest, line)) if rest else line
                rest.clear()
            if last:
                rest.append(last)
    except (httpx.HTTPError, OSError) as error:
        raise unreachable(access, error) from error


def status_error(code: int, content: bytes, headers: Mapping[str, str], method: str) -> StatusError:
    """Return what an answer with an error's code says."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return from_status(status)
    text = content.decode(errors="replace").strip()
    after = headers.get("Retry-After", "")
    return new_generic_server_response(
        code, method, server_message=text, retry_after_s=int(after) if after.isdigit() else 0, unexpected=True
    )


def unreachable(access: Access, error: Exception) -> StatusError:
    """Return the error of a server that does not answer."""
    cause = str(error) or type(error).__name__
    return new_service_unavailable(f"{access.server} cannot be reached: {cause}")


def _retry_after_s(answer: httpx.Response) -> float | None:
    """Return how long the server asks to wait, None if it does not ask for another try."""
    if answer.status_code != 429 and answer.status_code < 500:
        return None
    after: str = answer.headers.get("Retry-After", "")
    return float(after) if after.isdigit() else None


# --- TLS --------------------------------------------------------------------------------------------------------------


def _tls(access: Access) -> ssl.SSLContext | bool:
    if not access.server.startswith("https:"):
        return True
    try:
        context = ssl.create_default_context(cadata=access.ca.decode() if access.ca else None)
        if access.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.client_certificate:
            _load_pair(context, access.client_certificate, access.client_key)
    except (ssl.SSLError, ValueError) as error:
        raise SchedlabError(
            f"a certificate or key cannot be used: {error}", location=access.location, hint="write the kubeconfig anew"
        ) from error
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # ssl reads certificates from files only.
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        file = Path(folder) / "client.pem"
        file.touch(mode=0o600)
        file.write_bytes(certificate + b"\n" + key)
        context.load_cert_chain(file)


# --- Credentials ------------------------------------------------------------------------------------------------------


def _authentication(access: Access) -> httpx.Auth | None:
    if access.token_file is not None:
        return _TokenFile(access.token_file)
    if access.token:
        return _Token(access.token)
    if access.exec is not None:
        return _Exec(access.exec, access.location)
    if access.username:
        return httpx.BasicAuth(access.username, access.password)
    return None


class _Token(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers["Authorization"] = self._header
        yield request


class _TokenFile(httpx.Auth):
    """A token that somebody renews in its file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._token = ""

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        known = self._token or self._read()
        request.headers["Authorization"] = f"Bearer {known}"
        answer = yield request
        if answer.status_code == 401 and self._read() != known:
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _read(self) -> str:
        try:
            self._token = self._file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SchedlabError(
                f"the token cannot be read: {error.strerror}", location=str(self._file), hint="mend the path"
            ) from error
        return self._token


class _Exec(httpx.Auth):
    """A token that a program prints; asked for again when it has run out or is refused."""

    def __init__(self, command: ExecCommand, location: str) -> None:
        self._command = command
        self._location = location
        self._token = ""
        self._expires_s = float("inf")
        self._running = asyncio.Lock()

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        known = await self._valid()
        request.headers["Authorization"] = f"Bearer {known}"
        answer = yield request
        if answer.status_code == 401:
            request.headers["Authorization"] = f"Bearer {await self._valid(but=known)}"
            yield request

    async def _valid(self, but: str | None = None) -> str:
        async with self._running:
            if not self._token or self._token == but or time.time() >= self._expires_s:
                await self._renew()
            return self._token

    async def _renew(self) -> None:
        command = self._command
        asked = {"apiVersion": command.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environment = {**os.environ, **command.env, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
        try:
            process = await asyncio.create_subprocess_exec(
                command.command,
                *command.args,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            printed, said = await asyncio.wait_for(process.communicate(), _EXEC_S)
        except (OSError, TimeoutError) as error:
            raise self._failed(f"does not run: {str(error) or 'it took too long'}") from error
        if process.returncode:
            raise self._failed(f"ended with {process.returncode}: {said.decode(errors='replace').strip()}")
        self._take(printed)

    def _take(self, printed: bytes) -> None:
        try:
            status = json.loads(printed)["status"]
            self._token = status["token"]
            expires = status.get("expirationTimestamp")
            self._expires_s = parse_time(expires) / SECOND_NS if expires else float("inf")
        except (ValueError, KeyError, TypeError, TimeError) as error:
            raise self._failed(f"printed no ExecCredential with a token: {error}") from error

    def _failed(self, what: str) -> SchedlabError:
        hint = self._command.install_hint.strip() or "run it by hand to see what it says"
        return SchedlabError(
            f"the credential program {self._command.command} {what}", location=self._location, hint=hint
        )
