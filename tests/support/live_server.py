"""An API server in the loop of a test, reached over TCP, that can be stopped, started anew and made to misbehave."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

from schedlab.apiserver.app import APIServer, Settings
from schedlab.apiserver.server import Application, RunningServer
from schedlab.registry import Registry
from schedlab.remote.kubeconfig import Access
from tests.support.api_server import TOKEN, make_app

#: Answers a request in place of the server (True), or lets it through.
Misbehaviour = Callable[[Any, Any], Awaitable[bool]]


class Server:
    """An API server on a port of its own that can be stopped and started with another store."""

    def __init__(self) -> None:
        self._bound = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._bound.getsockname()[1]
        self._server: RunningServer | None = None
        self.registry: Registry
        self.misbehaviour: Misbehaviour | None = None

    @property
    def access(self) -> Access:
        return Access(f"http://127.0.0.1:{self.port}", token=TOKEN)

    async def start(self) -> None:
        """Serve an empty store on the same port as before."""
        app: APIServer
        app, self.registry = make_app(settings=Settings(f"127.0.0.1:{self.port}", frozenset(("127.0.0.1",))))
        if self._server is not None:
            self._bound = socket.create_server(("127.0.0.1", self.port))
        self._server = RunningServer(_Wrapped(app, self), self._bound)
        await self._server.start()

    async def stop(self) -> None:
        """Answer nobody any more."""
        assert self._server is not None
        await self._server.stop()


class _Wrapped:
    """The server behind its misbehaviour."""

    def __init__(self, app: Application, server: Server) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        misbehaviour = self._server.misbehaviour
        if misbehaviour is None or scope["type"] != "http" or not await misbehaviour(scope, send):
            await self._app(scope, receive, send)

    def stop(self) -> None:
        """End what is streamed."""
        self._app.stop()
