"""A server answers over TLS, knows its clients by certificate, and stops without cutting anybody off."""

import asyncio
import http.client
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from schedlab.apiserver.certificates import Certificates, ensure_certificates
from schedlab.apiserver.server import GatheringTransport, RunningServer
from schedlab.registry import Registry
from tests.support.api_server import TOKEN, make_app

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Running:
    """A server on a port, and what is needed to reach it."""

    server: RunningServer
    registry: Registry
    port: int
    certificates: Certificates | None

    def connect(self, *, certificate: bool = False) -> http.client.HTTPConnection:
        if self.certificates is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        context = ssl.create_default_context(cafile=self.certificates.ca.certificate)
        if certificate:
            context.load_cert_chain(self.certificates.admin.certificate, self.certificates.admin.key)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """GET as the administrator."""
        return await asyncio.to_thread(self._get, path, headers)

    def _get(self, path: str, headers: dict[str, str]) -> tuple[int, Any]:
        connection = self.connect()
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}", **headers})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, orjson.loads(body) if body[:1] == b"{" else body


def run(scenario: Callable[[Running], Awaitable[None]], folder: Path | None = None) -> None:
    """Run a scenario against a server, with TLS when a folder for certificates is given."""

    async def main() -> None:
        app, registry = make_app()
        listener = socket.create_server(("127.0.0.1", 0))
        certificates = None if folder is None else ensure_certificates(folder, datetime.now(tz=UTC))
        running = Running(RunningServer(app, listener, certificates), registry, listener.getsockname()[1], certificates)
        await running.server.start()
        try:
            await scenario(running)
        finally:
            await running.server.stop()

    asyncio.run(main())


def test_tls_with_tokens_and_certificates(tmp_path: Path) -> None:
    """The serving certificate is trusted by the CA alone; a client certificate says who its owner is."""

    async def scenario(running: Running) -> None:
        assert (await running.get("/version"))[0] == 200

        def whoami() -> Any:
            connection = running.connect(certificate=True)
            connection.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body="{}")
            answered: Any = orjson.loads(connection.getresponse().read())
            connection.close()
            return answered

        assert (await asyncio.to_thread(whoami))["status"]["userInfo"] == {
            "username": "admin",
            "groups": ["system:masters", "system:authenticated"],
        }

    run(scenario, tmp_path)


def test_plain_http() -> None:
    """Without certificates the server speaks HTTP."""

    async def scenario(running: Running) -> None:
        assert (await running.get("/healthz")) == (200, b"ok")

    run(scenario)


def exchange(port: int, request: bytes) -> bytes:
    """Send bytes and read until the other side has nothing more to say for a moment."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(request)
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except TimeoutError:
            pass
        return received


def test_unknown_methods_are_answered_as_requests() -> None:
    """A method that the parser does not know is not allowed; a line that is no request is bad."""

    async def scenario(running: Running) -> None:
        head = f"Host: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        brew = await asyncio.to_thread(exchange, running.port, b"BREW /api/v1/pods HTTP/1.1\r\n" + head)
        post = b"POST /api/v1/nodes/x/status HTTP/1.1\r\nContent-Length: 2\r\n" + head + b"{}"
        joined = await asyncio.to_thread(exchange, running.port, post + b"BREW /api/v1/pods HTTP/1.1\r\n" + head)
        nonsense = await asyncio.to_thread(exchange, running.port, b"\x00\x01nonsense\r\n\r\n")

        assert brew.startswith(b"HTTP/1.1 405 ")
        assert b"the server does not allow this method on the requested resource" in brew
        assert joined.count(b"HTTP/1.1 405 ") == 2
        assert nonsense.startswith(b"HTTP/1.1 400 ")

    run(scenario)


def test_head_has_no_body() -> None:
    """HEAD is a method that no resource has, and its answer has no body."""

    async def scenario(running: Running) -> None:
        head = f"HEAD {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        received = await asyncio.to_thread(exchange, running.port, head.encode())

        assert received.startswith(b"HTTP/1.1 405 ")
        assert received.endswith(b"\r\n\r\n")

    run(scenario)


def test_stop_ends_watches_completely(tmp_path: Path) -> None:
    """A client sees the regular end of its watch, not a broken connection."""

    async def scenario(running: Running) -> None:
        def watch() -> list[str]:
            connection = running.connect()
            connection.request("GET", f"{CONFIG_MAPS}?watch=1", headers={"Authorization": f"Bearer {TOKEN}"})
            events = [orjson.loads(line)["type"] for line in connection.getresponse().read().splitlines()]
            connection.close()
            return events

        watching = asyncio.create_task(asyncio.to_thread(watch))
        await asyncio.sleep(0.3)
        registry = running.registry
        registry.create("configmaps", registry.decode("configmaps", {"metadata": {"name": "c"}}), "default")
        await asyncio.sleep(0.1)
        await running.server.stop()

        assert await asyncio.wait_for(watching, 5) == ["ADDED"]

    run(scenario, tmp_path)


def test_stop_does_not_wait_for_idle_connections(tmp_path: Path) -> None:
    """A client that keeps a connection without using it holds nobody up."""

    async def scenario(running: Running) -> None:
        connection = running.connect()

        def keep() -> None:
            connection.request("GET", "/healthz")
            connection.getresponse().read()

        await asyncio.to_thread(keep)
        begin = asyncio.get_running_loop().time()
        await running.server.stop()

        assert asyncio.get_running_loop().time() - begin < 5
        connection.close()

    run(scenario, tmp_path)


class Line:
    """A transport that notes what happens to it."""

    def __init__(self) -> None:
        self.sent: list[list[bytes] | str] = []

    def writelines(self, parts: list[bytes]) -> None:
        self.sent.append(list(parts))

    def write(self, part: bytes) -> None:
        self.sent.append([part])

    def close(self) -> None:
        self.sent.append("close")

    def abort(self) -> None:
        self.sent.append("abort")

    def is_closing(self) -> bool:
        return bool({"close", "abort"} & {each for each in self.sent if isinstance(each, str)})


def test_head_leaves_with_its_body() -> None:
    """A head that nothing follows at once leaves in the next turn; what is no head does not wait."""

    async def scenario() -> None:
        line: Any = Line()
        transport = GatheringTransport(line, asyncio.get_running_loop())
        transport.write(b"HTTP/1.1 200 OK")
        assert line.sent == []
        transport.write(b"body")
        transport.write(b"more")
        assert line.sent == [[b"HTTP/1.1 200 OK", b"body"], [b"more"]]
        transport.write(b"HTTP/1.1 204 No Content")
        await asyncio.sleep(0)

        assert line.sent[2:] == [[b"HTTP/1.1 204 No Content"]]

    asyncio.run(scenario())


def test_closing_sends_the_head_that_waits_and_aborting_drops_it() -> None:
    async def scenario() -> None:
        for end, sent in (("close", [[b"HTTP/1.1 200 OK"], "close"]), ("abort", ["abort"])):
            line: Any = Line()
            transport = GatheringTransport(line, asyncio.get_running_loop())
            transport.write(b"HTTP/1.1 200 OK")
            getattr(transport, end)()
            await asyncio.sleep(0)

            assert line.sent == sent

    asyncio.run(scenario())
