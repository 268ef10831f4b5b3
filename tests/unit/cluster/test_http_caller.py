"""Calls of HTTP extenders: posted as they are, every failure an outcome, TLS as configured."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from schedlab.apiserver.certificates import Certificates, ensure_certificates
from schedlab.client.effects import CallEffect, CallOutcome
from schedlab.client.protocol import Client
from schedlab.cluster.driver import Engine
from schedlab.cluster.http_caller import HTTPCaller, post
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config.types import ExtenderTLSConfig
from tests.unit.cluster.test_driver import _Client, _Part


@contextmanager
def _server(context: ssl.SSLContext | None = None, *, hang: bool = False) -> Iterator[int]:
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if hang:
                release.wait(5)
            self.send_response(200 if self.path == "/ext/filter?x=1" else 404)
            self.end_headers()
            self.wfile.write(body + self.headers["Content-Type"].encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keep test output clean."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                return  # the client gave up, as the test wants

    server = HTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        release.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _effect(port: int, *, scheme: str = "http", path: str = "ext/filter?x=1", **changes: object) -> CallEffect:
    timeout_ns = changes.pop("timeout_ns", 5 * SECOND_NS)
    assert isinstance(timeout_ns, int)
    return CallEffect("token", f"{scheme}://127.0.0.1:{port}/{path}", b"{}", timeout_ns, **changes)


def test_body_is_posted_and_the_answer_comes_back() -> None:
    with _server() as port:
        assert post(_effect(port)) == CallOutcome(200, b"{}application/json")


def test_other_status_is_an_outcome() -> None:
    with _server() as port:
        assert post(_effect(port, path="nothing")).status == 404


def test_refused_connection_is_an_outcome() -> None:
    with _server() as port:
        pass

    assert "refused" in post(_effect(port)).error.lower()


def test_timeout_is_an_outcome() -> None:
    with _server(hang=True) as port:
        assert "timed out" in post(_effect(port, timeout_ns=SECOND_NS // 10)).error


def test_url_that_is_none_is_an_outcome() -> None:
    assert post(CallEffect("t", "http://127.0.0.1:x/", b"", SECOND_NS)).error


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return ensure_certificates(tmp_path, datetime.now(tz=UTC))


def _context(certificates: Certificates, *, client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.serving.certificate, certificates.serving.key)
    if client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.ca.certificate)
    return context


def test_https_without_a_ca_is_trusted_unseen(certificates: Certificates) -> None:
    with _server(_context(certificates)) as port:
        assert post(_effect(port, scheme="https")).status == 200


def test_https_is_checked_against_the_ca(certificates: Certificates, tmp_path: Path) -> None:
    data = base64.b64encode(Path(certificates.ca.certificate).read_bytes()).decode()
    other = ensure_certificates(tmp_path / "other", datetime.now(tz=UTC))
    with _server(_context(certificates)) as port:
        good = post(_effect(port, scheme="https", tls=ExtenderTLSConfig(ca_data=data)))
        bad = post(_effect(port, scheme="https", tls=ExtenderTLSConfig(ca_file=str(other.ca.certificate))))

    assert good.status == 200
    assert "certificate verify failed" in bad.error


def test_client_certificate_is_sent(certificates: Certificates) -> None:
    pair = certificates.admin
    tls = ExtenderTLSConfig(
        cert_data=base64.b64encode(Path(pair.certificate).read_bytes()).decode(),
        key_data=base64.b64encode(Path(pair.key).read_bytes()).decode(),
    )
    with _server(_context(certificates, client=True)) as port:
        assert post(_effect(port, scheme="https", tls=tls)).status == 200
        assert post(_effect(port, scheme="https")).error


def test_outcome_reaches_the_part_on_the_loop() -> None:
    heard: list[object] = []

    class Caller(_Part):
        def complete(self, effect: object, outcome: object) -> tuple[()]:
            heard.append(outcome)
            return ()

    async def run(port: int) -> None:
        caller = HTTPCaller()
        engine = Engine(caller)
        client: Client = _Client()
        engine.add(Caller("a", [], [_effect(port)]), client)
        answered = asyncio.Event()
        caller.on_answer = answered.set
        while engine.step():
            pass
        await asyncio.wait_for(answered.wait(), 5)
        while engine.step():
            pass
        caller.close()

    with _server() as port:
        asyncio.run(run(port))

    assert heard == [CallOutcome(200, b"{}application/json")]
