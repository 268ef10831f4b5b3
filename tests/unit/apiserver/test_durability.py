"""Nothing is told to a client that a crash could take back."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from schedlab.api.object import WatchEvent
from schedlab.apiserver.app import APIServer
from schedlab.apiserver.authentication import Authenticator
from schedlab.cluster.wall_clock import WallClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import DurabilityListener, MemoryBackend, Store
from tests.support.api_server import ADMIN, TOKEN
from tests.support.asgi import Call, Response, answer

PATH = "/api/v1/namespaces/default/configmaps"
HEADERS = {"host": "x", "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
NEW = orjson.dumps({"metadata": {"name": "new"}})
CALLS = {
    "create": Call("POST", PATH, "", HEADERS, NEW),
    "get": Call("GET", f"{PATH}/a", "", HEADERS),
    "list": Call("GET", PATH, "", HEADERS),
    "update": Call("PUT", f"{PATH}/a", "", HEADERS, orjson.dumps({"metadata": {"name": "a"}, "data": {"k": "w"}})),
    "patch": Call(
        "PATCH", f"{PATH}/a", "", {**HEADERS, "content-type": "application/merge-patch+json"}, b'{"data":null}'
    ),
    "delete": Call("DELETE", f"{PATH}/a", "", HEADERS),
    "delete all": Call("DELETE", PATH, "", HEADERS),
    "watch": Call("GET", PATH, "watch=1", HEADERS),
    "watch list": Call("GET", PATH, "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", HEADERS),
    "watch from now on": Call(
        "GET", PATH, "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", HEADERS
    ),
}


class SlowDisk(MemoryBackend):
    """Keeps changes waiting once it is told to."""

    def __init__(self) -> None:
        self.slow = False
        self.newest = 0

    def attach(self, listener: DurabilityListener) -> None:
        self.listener = listener

    def append(self, event: WatchEvent) -> None:
        self.newest = event.revision
        if not self.slow:
            self.listener.durable(event.revision)


class Bench:
    """A server with a config map that is not safe yet."""

    def __init__(self) -> None:
        self.disk = SlowDisk()
        clock = WallClock()
        self.registry = Registry(Store(self.disk), clock, SeededRandom(1))
        bootstrap(self.registry)
        self.app = APIServer(self.registry, clock, Authenticator({TOKEN: ADMIN}))
        self.disk.slow = True
        obj = {"metadata": {"name": "a"}, "data": {"k": "v"}}
        self.registry.create("configmaps", self.registry.decode("configmaps", obj), "default")

    async def begin(self, call: Call) -> asyncio.Task[Response]:
        """Send a request and let the server do what it can."""
        task = asyncio.create_task(answer(self.app, call))
        await asyncio.sleep(0.02)
        return task


def _flushed(call: Call) -> tuple[bool, Response]:
    """Whether there was an answer before the disk was done, and the answer."""

    async def main() -> tuple[bool, Response]:
        bench = Bench()
        task = await bench.begin(call)
        early = task.done()
        bench.disk.listener.durable(bench.disk.newest)
        await asyncio.sleep(0.02)
        bench.app.stop()
        return early, await asyncio.wait_for(task, 5)

    return asyncio.run(main())


def _lost(call: Call) -> tuple[Response, Response]:
    """The answer when the disk has failed, and a list after that."""

    async def main() -> tuple[Response, Response]:
        bench = Bench()
        task = await bench.begin(call)
        bench.disk.listener.failed(OSError("the disk is full"))
        bench.disk.slow = False
        await asyncio.sleep(0.02)
        found = await answer(bench.app, CALLS["list"])
        bench.app.stop()
        return await asyncio.wait_for(task, 5), found

    return asyncio.run(main())


@pytest.mark.parametrize("name", CALLS)
def test_answer_waits_for_the_disk(name: str) -> None:
    early, response = _flushed(CALLS[name])

    assert not early
    assert response.status in {200, 201}


@pytest.mark.parametrize("name", CALLS)
def test_lost_change_is_an_error_for_all_who_would_have_seen_it(name: str) -> None:
    """Writers and readers are told; afterwards everything is as it was before."""
    response, found = _lost(CALLS[name])

    told: Any = response.lines[-1]["object"] if name.startswith("watch") else response.json
    assert told["reason"] == "InternalError"
    assert told["message"] == "Internal error occurred: the change could not be kept: the disk is full"
    assert "ADDED" not in [line.get("type") for line in response.lines]
    assert found.json["items"] == []
