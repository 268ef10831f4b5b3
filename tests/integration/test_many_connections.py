"""Clients that do nothing, or do it slowly, take nothing from the others."""

import asyncio
import contextlib
import resource
import socket
import sys
import time
from collections.abc import Callable

import pytest

from schedlab.apiserver import watching
from schedlab.apiserver.request import BODY_BYTES_MAX
from schedlab.apiserver.server import RunningServer
from schedlab.cluster.memory import memory_bytes
from tests.support.api_server import TOKEN, make_app

IDLE = 10_000
FILES = IDLE + 500
#: The other ends are in a process of their own: one process may not be allowed to have both.
CLIENTS = """
import resource, socket, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, int(sys.argv[3])), hard))
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
print("ready", flush=True)
sys.stdin.read()
"""
HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def exchange(port: int, request: bytes) -> tuple[int, float]:
    """Send a request on a connection of its own; returns the status and how long it took."""
    started_s = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    return int(line.split()[1]), time.perf_counter() - started_s


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n".encode()


async def served() -> tuple[RunningServer, int]:
    app, _ = make_app()
    listener = socket.create_server(("127.0.0.1", 0))
    server = RunningServer(app, listener)
    await server.start()
    return server, listener.getsockname()[1]


def test_body_that_comes_byte_by_byte_holds_up_nobody() -> None:
    """Others are answered while one client takes its time, and it is answered in the end."""

    async def scenario() -> None:
        server, port = await served()
        body = b'{"metadata":{"name":"slow"}}'
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode())
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            status, took_s = await exchange(port, get("/version"))
            assert (status, took_s < 1.0) == (200, True)
        assert (await asyncio.wait_for(reader.readline(), 10)).startswith(b"HTTP/1.1 201")
        writer.close()
        await server.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in chunks"])
def test_body_over_the_limit_is_refused(*, announced: bool) -> None:
    """3 MiB are read, whether the length was said before or not."""

    async def scenario() -> None:
        server, port = await served()
        size = BODY_BYTES_MAX + 1
        kind = f"Content-Length: {size}" if announced else "Transfer-Encoding: chunked"
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\n{kind}\r\n\r\n".encode()
        body = b" " * size if announced else b"%x\r\n%b\r\n0\r\n\r\n" % (size, b" " * size)
        assert (await exchange(port, head + body))[0] == 413
        assert (await exchange(port, get("/version")))[0] == 200
        await server.stop()

    asyncio.run(scenario())


async def until(true: Callable[[], bool]) -> None:
    """Wait for what nobody tells of."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


class Watcher:
    """A watch over TCP, read by hand: a socket that takes little at once, so that the server notices who does not read."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self._socket.connect(("127.0.0.1", port))
        self._socket.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n".encode())

    def read_to_the_end(self) -> bytes:
        """Read until the server closes the connection."""
        self._socket.settimeout(20)
        found = []
        with contextlib.suppress(ConnectionResetError):
            while piece := self._socket.recv(1 << 20):
                found.append(piece)
        return b"".join(found)

    def close(self) -> None:
        self._socket.close()


def test_watchers_that_stop_reading_are_cut_off_and_hold_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others see every change at once, memory stays bounded, and whoever reads again is told to come back."""
    monkeypatch.setattr(watching, "ABORT_DELAY_S", 4.0)
    count, size = 400, 100_000

    async def scenario() -> None:
        app, registry = make_app()
        listener = socket.create_server(("127.0.0.1", 0))
        server = RunningServer(app, listener)
        await server.start()
        port = listener.getsockname()[1]
        loop = asyncio.get_running_loop()
        late, gone = [await loop.run_in_executor(None, Watcher, port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        writer.write(get(f"{CONFIG_MAPS}?watch=true"))
        while (await reader.readline()) != b"\r\n":
            pass
        await until(lambda: len(app._reading.streams) == 3)
        before = memory_bytes()
        for number in range(count):
            body = {"metadata": {"name": f"c{number}"}, "data": {"v": "x" * size}}
            registry.create("configmaps", registry.decode("configmaps", body), "default")
            seen = b""
            while not seen.endswith(b"\n\r\n") or f'"c{number}"'.encode() not in seen[:2000]:
                seen = await asyncio.wait_for(reader.readuntil(b"\n\r\n"), 10)
        # What is stored is there in any case; each of the two could have 8 MiB unsent, and a copy on its way.
        assert memory_bytes() - before < count * size * 2 + 64 * 1024 * 1024
        said = await loop.run_in_executor(None, late.read_to_the_end)
        assert b'"type":"ERROR"' in said
        assert b'"code":429' in said
        await until(lambda: len(app._reading.streams) == 1)
        gone.close()
        late.close()
        assert (await exchange(port, get("/version")))[0] == 200
        writer.close()
        await server.stop()

    asyncio.run(scenario())


@pytest.mark.long
def test_idle_connections_cost_nobody_anything() -> None:
    """Ten thousand connections without a request, and one more client is answered at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.fail(f"this user may open {hard} files, {FILES} are needed: raise the limit, ulimit -Hn {FILES}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))

    async def scenario() -> None:
        server, port = await served()
        numbers = (str(port), str(IDLE), str(FILES))
        clients = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENTS, *numbers, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert clients.stdin is not None
        assert clients.stdout is not None
        assert await asyncio.wait_for(clients.stdout.readline(), 120) == b"ready\n"
        times_s = []
        for _ in range(50):
            status, took_s = await exchange(port, get(CONFIG_MAPS))
            assert status == 200
            times_s.append(took_s)
        assert sorted(times_s)[len(times_s) // 2] < 0.1
        clients.stdin.close()
        await clients.wait()
        await server.stop()

    try:
        asyncio.run(scenario())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
