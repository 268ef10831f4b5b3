"""Carries out calls that leave a live cluster (HTTP extenders) in threads, so that the event loop never waits for them.

Mirrors: the HTTP client of pkg/scheduler/extender.go (v1.36): without a CA an HTTPS server is trusted unseen.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import ssl
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from schedlab.client.effects import CallEffect, CallOutcome, Part
from schedlab.cluster.driver import Engine
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config.types import ExtenderTLSConfig

_THREADS: Final = 16


class HTTPCaller:
    """A `driver.Caller` on the running event loop; `on_answer` is called when an outcome was handed over."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="extender")
        self.on_answer = _nothing

    def call(self, effect: CallEffect, part: Part, engine: Engine) -> None:
        """Begin the call; the engine gets the outcome on the loop."""
        loop = asyncio.get_running_loop()

        def finished(outcome: CallOutcome) -> None:
            engine.answer(part, effect, outcome)
            self.on_answer()

        def work() -> None:
            outcome = post(effect)
            if not loop.is_closed():
                loop.call_soon_threadsafe(finished, outcome)

        self._pool.submit(work)

    def close(self) -> None:
        """Start no further call."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _nothing() -> None:
    """Stand in until a driver asks to be woken."""


def post(effect: CallEffect) -> CallOutcome:
    """POST the body and read the whole answer; an error of the transport is an outcome, not an exception."""
    url = urlsplit(effect.url)
    connection: http.client.HTTPConnection | None = None
    try:
        timeout = effect.timeout_ns / SECOND_NS
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(url.netloc, timeout=timeout, context=_context(effect.tls))
        else:
            connection = http.client.HTTPConnection(url.netloc, timeout=timeout)
        path = f"{url.path}?{url.query}" if url.query else url.path
        connection.request("POST", path, effect.body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return CallOutcome(answer.status, answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        return CallOutcome(error=str(error) or type(error).__name__)
    finally:
        if connection is not None:
            connection.close()


def _context(tls: ExtenderTLSConfig | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority = None if tls is None else _pem(tls.ca_data)
    if authority is not None:
        context.load_verify_locations(cadata=authority)
    elif tls is not None and tls.ca_file:
        context.load_verify_locations(tls.ca_file)
    if tls is None or tls.insecure or (authority is None and not tls.ca_file):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls is not None:
        _load_client_certificate(context, tls)
    return context


def _pem(data: str | None) -> str | None:
    return base64.b64decode(data).decode() if data else None


def _load_client_certificate(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    if tls.cert_file:
        context.load_cert_chain(tls.cert_file, tls.key_file or None)
        return
    certificate, key = _pem(tls.cert_data), _pem(tls.key_data)
    if certificate is None or key is None:
        return
    # ssl reads certificates from files only.
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        file = Path(folder) / "client.pem"
        file.write_text(f"{certificate}\n{key}")
        context.load_cert_chain(file)
