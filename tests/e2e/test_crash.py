"""kill -9 at any moment takes back nothing that was acknowledged, and nothing that a watcher has seen.

Writers and a watcher work against `schedlab up`; the process is killed at a moment that a seed decides and started
again on the same folder or etcd, several times over. etcd itself is killed with every other kill. Each writer owns its objects, so it knows what must be there:
what was acknowledged last, or what the one request without an answer would have made of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.etcd import Etcd
from tests.support.processes import started

WRITERS = 8
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
UNREACHABLE = (httpx.TransportError, httpx.StreamError)


class Server:
    """A simulator process on a data folder, or on an etcd."""

    def __init__(self, folder: Path, etcd: Etcd | None) -> None:
        self.folder = folder
        self.etcd = etcd
        self._kept = ["--data-dir", str(folder / "data")] if etcd is None else ["--etcd-servers", etcd.url]
        self._kills = 0

    def kill(self, process: subprocess.Popen[str]) -> None:
        """End it as a crash would, and etcd with it every other time."""
        process.send_signal(signal.SIGKILL)
        self._kills += 1
        if self.etcd is not None and self._kills % 2:
            self.etcd.kill()
            self.etcd.start()

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        """Start it, wait until it answers, end it if it is still there."""
        command = [sys.executable, "-m", "schedlab", "up", "--port", "0", "--apiserver-port", "0", "--nodes", "2"]
        command += self._kept
        environment = {**os.environ, "SCHEDLAB_HOME": str(self.folder)}
        with started(command, environment) as process:
            yield process

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        home = self.folder / "default"
        context = ssl.create_default_context(cafile=str(home / "pki" / "ca.crt"))
        url = json.loads((home / "cluster.json").read_text())["apiserver"]
        headers = {"Authorization": f"Bearer {(home / 'token').read_text()}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, verify=context, timeout=20) as client:
            yield client


class Writer:
    """Creates, changes and deletes config maps of its own, one request after the other, and creates pods."""

    def __init__(self, number: int, seed: int) -> None:
        self.number = number
        self.random = random.Random(f"{seed}/{number}")
        #: What was acknowledged last: the value of a config map, None for a deleted one.
        self.acknowledged: dict[str, str | None] = {}
        self.pods: set[str] = set()
        #: The request without an answer: what it would make of which config map.
        self.in_doubt: tuple[str, str | None] | None = None
        self.newest = 0
        self.count = 0

    async def write(self, client: httpx.AsyncClient) -> None:
        """Write until the server is gone."""
        try:
            while True:
                await (self._pod(client) if self.random.random() < 0.2 else self._config_map(client))
        except UNREACHABLE:
            return

    async def _config_map(self, client: httpx.AsyncClient) -> None:
        name = f"w{self.number}-{self.random.randrange(6)}"
        self.count += 1
        there = self.acknowledged.get(name) is not None
        value = None if there and self.random.random() < 0.3 else f"{self.count}-" + "x" * self.random.randrange(4000)
        body = {"metadata": {"name": name}, "data": {"value": value}}
        self.in_doubt = (name, value)
        if value is None:
            answer = await client.delete(f"{CONFIG_MAPS}/{name}")
        elif there:
            answer = await client.put(f"{CONFIG_MAPS}/{name}", json=body)
        else:
            answer = await client.post(CONFIG_MAPS, json=body)
        assert answer.status_code in {200, 201}, answer.text
        self.acknowledged[name], self.in_doubt = value, None
        if value is not None:
            self.newest = int(answer.json()["metadata"]["resourceVersion"])

    async def _pod(self, client: httpx.AsyncClient) -> None:
        self.count += 1
        name = f"w{self.number}-{self.count}"
        spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}]}
        answer = await client.post(PODS, json={"metadata": {"name": name}, "spec": spec})
        assert answer.status_code == 201, answer.text
        self.pods.add(name)

    def check(self, found: dict[str, str], pods: set[str]) -> None:
        """Compare with what is there after a restart, and take it for granted from then on."""
        mine = {name: value for name, value in found.items() if name.startswith(f"w{self.number}-")}
        expected = {name: value for name, value in self.acknowledged.items() if value is not None}
        if mine != expected and self.in_doubt is not None:
            name, value = self.in_doubt
            self.acknowledged[name] = value
            expected = {name: value for name, value in self.acknowledged.items() if value is not None}
        assert mine == expected
        assert self.pods <= pods
        self.in_doubt = None


class Watcher:
    """Follows config maps over all restarts; must come to what a list shows."""

    def __init__(self) -> None:
        self.revision = 0
        self.objects: dict[str, str] = {}
        self.moved = asyncio.Event()

    async def watch(self, client: httpx.AsyncClient) -> None:
        """Watch until the server is gone."""
        query = {"watch": "true", "resourceVersion": str(self.revision)}
        try:
            async with client.stream("GET", CONFIG_MAPS, params=query) as answer:
                async for line in answer.aiter_lines():
                    self._take(json.loads(line))
        except UNREACHABLE:
            return

    def _take(self, event: dict[str, Any]) -> None:
        assert event["type"] in {"ADDED", "MODIFIED", "DELETED"}, event
        obj = event["object"]
        name, revision = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert revision > self.revision or not self.revision, "revisions grow"
        self.revision = revision
        self.moved.set()
        if event["type"] == "DELETED":
            del self.objects[name]
        else:
            assert (name in self.objects) == (event["type"] == "MODIFIED"), event
            self.objects[name] = (obj.get("data") or {}).get("value", "")


async def _list(client: httpx.AsyncClient, path: str) -> tuple[dict[str, Any], int]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return {item["metadata"]["name"]: item for item in body["items"]}, int(body["metadata"]["resourceVersion"])


async def _check(client: httpx.AsyncClient, writers: list[Writer], watcher: Watcher) -> None:
    """Compare what is there with what was acknowledged, and with what the watcher comes to."""
    found, revision = await _list(client, CONFIG_MAPS)
    pods, _ = await _list(client, PODS)
    values = {name: (obj.get("data") or {}).get("value", "") for name, obj in found.items()}
    for writer in writers:
        writer.check(values, set(pods))
    assert revision >= max(watcher.revision, *(writer.newest for writer in writers))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            while watcher.objects != values:
                await watcher.moved.wait()
                watcher.moved.clear()
    assert watcher.objects == values


async def _run(server: Server, writers: list[Writer], watcher: Watcher, kill_after_s: float | None) -> None:
    """Start the server and look after everything, then write until it is killed."""
    with server.running() as process:
        async with server.client() as client:
            if not watcher.revision:
                found, watcher.revision = await _list(client, CONFIG_MAPS)
                watcher.objects = {name: (obj.get("data") or {}).get("value", "") for name, obj in found.items()}
            tasks = [asyncio.create_task(watcher.watch(client))]
            await _check(client, writers, watcher)
            if kill_after_s is not None:
                tasks += [asyncio.create_task(writer.write(client)) for writer in writers]
                await asyncio.sleep(kill_after_s)
            server.kill(process)
            await asyncio.gather(*tasks)


async def _crash(folder: Path, seed: int, kills: int, etcd: Etcd | None = None) -> None:
    """Kill the server again and again."""
    chance = random.Random(seed)
    server, watcher = Server(folder, etcd), Watcher()
    writers = [Writer(number, seed) for number in range(WRITERS)]
    for _ in range(kills):
        await _run(server, writers, watcher, chance.uniform(0.02, 1.2))
    await _run(server, writers, watcher, None)
    assert sum(writer.count for writer in writers) > 10 * kills


def test_acknowledged_writes_survive_kills(tmp_path: Path) -> None:
    """Three kills, at moments that a seed decides."""
    asyncio.run(_crash(tmp_path, seed=1, kills=3))


def test_acknowledged_writes_in_etcd_survive_kills(tmp_path: Path) -> None:
    """As in a folder, also when etcd is killed at the same time."""
    with Etcd(tmp_path) as etcd:
        asyncio.run(_crash(tmp_path, seed=1, kills=3, etcd=etcd))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2, 6))
def test_acknowledged_writes_survive_many_kills(seed: int, tmp_path: Path) -> None:
    """Forty kills in all, on four folders."""
    asyncio.run(_crash(tmp_path, seed, kills=10))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2, 4))
def test_acknowledged_writes_in_etcd_survive_many_kills(seed: int, tmp_path: Path) -> None:
    """Twenty kills in all, on two etcds."""
    with Etcd(tmp_path) as etcd:
        asyncio.run(_crash(tmp_path, seed, kills=10, etcd=etcd))
