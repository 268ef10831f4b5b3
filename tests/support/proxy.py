"""A wire between a client and a server that can be cut: bytes go through, TLS and all, until somebody says otherwise."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

_CHUNK = 65_536


class Wire:
    """Listens on a port of its own and passes everything on to `port`."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._bound = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._bound.getsockname()[1]
        self._open: list[socket.socket] = []
        self._is_closed = False
        #: How many connections there were.
        self.connections = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bound.close()
        self.cut()

    def cut(self) -> None:
        """Break all connections that there are."""
        connections, self._open = self._open, []
        for one in connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        """Break everything and let nobody in."""
        self._is_closed = True
        self.cut()

    def mend(self) -> None:
        """Let clients in again."""
        self._is_closed = False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._bound.accept()
            except OSError:
                return
            if self._is_closed:
                client.close()
                continue
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_CHUNK):
            target.sendall(piece)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
