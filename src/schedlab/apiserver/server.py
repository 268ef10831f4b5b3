"""Running an API server on a bound socket, inside a loop that others share.

uvicorn does the HTTP; its protocol class is extended by what ASGI does not tell: the client's certificate, a way to
drop the connection of a client that stopped reading, and methods that its parser has never heard of.

Mirrors: staging/src/k8s.io/apiserver/pkg/server/{genericapiserver,secure_serving}.go (v1.36)
Differs: HTTP/1.1 only.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, Final, Protocol

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from schedlab.apiserver.answers import Receive, Scope, Send
from schedlab.apiserver.certificates import Certificates
from schedlab.apiserver.request import CONNECTION

#: Go clients keep idle connections for 90 seconds; whoever closes first must not be us.
KEEP_ALIVE_S: Final = 180
#: How long requests in flight may take when the server stops.
GRACE_S: Final = 10
#: How long a TLS handshake may take, and the goodbye of a client that is not listening.
TLS_S: Final = 10.0
TLS_END_S: Final = 1.0
BACKLOG: Final = 2048
POLL_S: Final = 0.02

_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= \S+ HTTP/1\.[01]\r\n)")
#: A method that the parser knows and no route has: it stands for all that the parser does not know.
_KNOWN_METHOD: Final = b"TRACE"
_PARSED_METHODS: Final = frozenset(b"GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT TRACE".split())


class Connection:
    """What a handler may want to know of a connection, or do to it."""

    __slots__ = ("_transport", "peer")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        #: The verified certificate of the client.
        self.peer: Mapping[str, Any] | None = None if tls is None else tls.getpeercert()

    def abort(self) -> None:
        """Drop the connection and what is not sent yet."""
        self._transport.abort()


_HEAD: Final = b"HTTP/1.1 "


class GatheringTransport:
    """A transport that sends the head of an answer together with what follows it in the same turn of the loop.

    Each write of its own is a packet, a system call and, with TLS, a record.
    """

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send at once, or soon if it is a head."""
        if data.startswith(_HEAD):
            self._parts.append(data)
            self._loop.call_soon(self._flush)
        elif self._parts:
            self._parts.append(data)
            self._flush()
        else:
            self._transport.write(data)

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.writelines(parts)

    def close(self) -> None:
        """Send what is written, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close and drop what is not sent."""
        self._parts.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing more from the client for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take from the client again."""
        self._transport.resume_reading()


class HTTPProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with the connection in each scope."""

    _connection: Connection
    _first_data: bytes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note who is at the other end."""
        gathering: Any = GatheringTransport(transport, self.loop)
        super().connection_made(gathering)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.access_log = False
        self._connection = Connection(transport)

    def _unsupported_upgrade_warning(self) -> None:
        """Stay silent: the answer says what cannot be done here, and no package would change that."""

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self._first_data = data
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin a scope."""
        super().on_message_begin()
        scope: Any = self.scope
        scope[CONNECTION] = self._connection

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser refuses; an unknown method is no malformed request and goes on to the application."""
        # What stands before it in the same piece, the body of the last request, the parser has had.
        lines = _REQUEST_LINE.finditer(self._first_data)
        method = next((line for line in lines if line[0] not in _PARSED_METHODS), None)
        # A parser that has come as far as the URL knew the method.
        if method is None or self.url:
            super().send_400_response(msg)
            return
        rest = self._first_data[method.end() :]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(_KNOWN_METHOD + rest)


class Application(Protocol):
    """An ASGI application that can be told to end what it streams."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def stop(self) -> None:
        """End all streams; requests in flight are finished."""


class RunningServer:
    """An API server that answers on a socket until it is stopped; without certificates it speaks plain HTTP.

    uvicorn's own Server is not used: it takes over signals, polls, and lets a client that does not say goodbye hold
    up the end.
    """

    def __init__(self, app: Application, sock: socket.socket, certificates: Certificates | None = None) -> None:
        self._app = app
        self._socket = sock
        self._config = uvicorn.Config(
            app,
            http=HTTPProtocol,
            ws="none",
            proxy_headers=False,
            lifespan="off",
            loop="none",
            log_config=None,
            **_tls_settings(certificates),
        )
        self._config.timeout_keep_alive = KEEP_ALIVE_S
        self._state = ServerState()
        self._listener: asyncio.Server | None = None
        self._clock: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Begin to answer; returns when connections are accepted."""
        loop = asyncio.get_running_loop()
        self._config.load()
        self._tick()
        tls: dict[str, Any] = {}
        if self._config.ssl is not None:
            tls = {"ssl": self._config.ssl, "ssl_handshake_timeout": TLS_S, "ssl_shutdown_timeout": TLS_END_S}
        self._listener = await loop.create_server(self._protocol, sock=self._socket, backlog=BACKLOG, **tls)

    def _protocol(self) -> HTTPProtocol:
        return HTTPProtocol(config=self._config, server_state=self._state, app_state={})

    def _tick(self) -> None:
        """Renew the Date header every second."""
        self._state.default_headers = [(b"date", formatdate(time.time(), usegmt=True).encode())]
        self._clock = asyncio.get_running_loop().call_later(1.0, self._tick)

    async def stop(self) -> None:
        """Accept nothing more, end the watches, finish what is in flight."""
        if self._listener is None:
            return
        self._listener.close()
        self._app.stop()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(GRACE_S):
                # uvicorn tells nobody when the last connection ends.
                while self._state.connections or self._state.tasks:  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            for connection in tuple(self._state.connections):
                connection.transport.abort()
            for task in tuple(self._state.tasks):
                task.cancel()
        if self._clock is not None:
            self._clock.cancel()


def _tls_settings(certificates: Certificates | None) -> dict[str, Any]:
    if certificates is None:
        return {}
    return {
        "ssl_certfile": certificates.serving.certificate,
        "ssl_keyfile": certificates.serving.key,
        "ssl_ca_certs": str(certificates.ca.certificate),
        "ssl_cert_reqs": ssl.CERT_OPTIONAL,
        "ssl_ciphers": "ECDHE+AESGCM:ECDHE+CHACHA20",
    }
