"""The loads: each starts a server, uses it and says what came out."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from bench.api import objects
from bench.api.client import Session, ask, request, watch
from bench.api.in_process import Life
from bench.api.server import Server, running

Figures = dict[str, Any]
Load = Callable[[], Coroutine[Any, Any, Figures]]

_CONNECTIONS = 16
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def creates() -> Figures:
    """Pods of one template, kept in memory."""
    return await _creates(objects.basic_pods, 4000, durable=False)


async def durable_creates() -> Figures:
    """Pods of one template, each safe on the disk before it is acknowledged."""
    return await _creates(objects.basic_pods, 4000, durable=True)


async def distinct_creates() -> Figures:
    """Pods that differ in everything, kept in memory."""
    return await _creates(objects.distinct_pods, 4000, durable=False)


async def writes() -> Figures:
    """The writes of a pod's life in process, for equal pods and for pods that differ."""
    found: Figures = {}
    for name, make in (("equal", objects.basic_pods), ("distinct", objects.distinct_pods)):
        life = Life(make)
        life.run("warm", 300)
        found[name] = life.run("pod", 3000)
    return found


async def _creates(make: Callable[[str, int], Iterable[Any]], count: int, *, durable: bool) -> Figures:
    with running(durable=durable) as server:
        await _prepare(server)
        await _create(server, make("warm", 500))
        return await _measured(server, [request(server, "POST", objects.PODS, pod) for pod in make("pod", count)], 201)


async def nodes() -> Figures:
    """Nodes as `kubectl apply` makes them: looked for, then created."""
    with running() as server:
        asked = [objects.node(number) for number in range(5000)]
        looked = [request(server, "GET", f"{objects.NODES}/{node['metadata']['name']}") for node in asked]
        first = await _measured(server, looked, 404)
        then = await _measured(server, [request(server, "POST", objects.NODES, node) for node in asked], 201)
        return {**then, "seconds": round(first["seconds"] + then["seconds"], 2), "lookMicroseconds": _cost(first)}


async def lists() -> Figures:
    """Lists of 5,000 pods, as objects and as a Table."""
    with running() as server:
        await _prepare(server)
        await _create(server, objects.basic_pods("pod", 5000))
        found: Figures = {"pods": 5000}
        for name, accept in (("list", "application/json"), ("table", _TABLE)):
            found |= {f"{name}{key}": value for key, value in (await _list(server, accept, 20)).items()}
        return found


async def _list(server: Server, accept: str, times: int) -> Figures:
    asked = request(server, "GET", objects.PODS, accept=accept)
    session = await Session.open(server)
    _, size = await session.ask(asked)
    cpu_s = server.cpu_s()
    spent_s = [(await session.ask(asked))[0] for _ in range(times)]
    cpu_s = (server.cpu_s() - cpu_s) / times
    session.close()
    return {
        "Milliseconds": round(statistics.median(spent_s) * 1e3, 1),
        "BestMilliseconds": round(min(spent_s) * 1e3, 1),
        "ServerMilliseconds": round(cpu_s * 1e3, 1),
        "Bytes": size,
    }


async def watches() -> Figures:
    """Watchers of every change: the state of 1,000 pods, sent as events, then 1,000 changes as they happen."""
    watchers, events = 100, 1000
    with running() as server:
        await _prepare(server)
        await _create(server, objects.basic_pods("past", events))
        cpu_s, started_s = server.cpu_s(), time.perf_counter()
        opened = await watch(server, f"{objects.PODS}?watch=1&resourceVersion=0", events, watchers)
        await asyncio.gather(*(watcher.reached for watcher in opened))
        found = {"watchers": watchers, "events": events}
        found |= {f"state{key}": value for key, value in _told(server, cpu_s, started_s).items()}
        # What the changes cost without anybody watching.
        cpu_s, started_s = server.cpu_s(), time.perf_counter()
        await _create(server, objects.basic_pods("unseen", events))
        found |= {f"unseen{key}": value for key, value in _told(server, cpu_s, started_s).items()}
        revision = await _revision(server)
        opened = await watch(server, f"{objects.PODS}?watch=1&resourceVersion={revision}", events, watchers)
        cpu_s, started_s = server.cpu_s(), time.perf_counter()
        await _create(server, objects.basic_pods("seen", events))
        await asyncio.gather(*(watcher.reached for watcher in opened))
        return found | {f"seen{key}": value for key, value in _told(server, cpu_s, started_s).items()}


def _told(server: Server, cpu_s: float, started_s: float) -> Figures:
    spent_s = time.perf_counter() - started_s
    return {"Seconds": round(spent_s, 3), "ServerSeconds": round(server.cpu_s() - cpu_s, 3)}


async def memory() -> Figures:
    """What 100,000 pods and 5,000 nodes take."""
    with running() as server:
        await _prepare(server)
        empty = server.memory_bytes()
        await _create(server, (objects.node(number) for number in range(5000)), objects.NODES)
        with_nodes = server.memory_bytes()
        await _create(server, objects.distinct_pods("pod", 100_000))
        full = server.memory_bytes()
        return {
            "emptyMiB": empty >> 20,
            "memoryMiB": full >> 20,
            "bytesPerNode": (with_nodes - empty) // (5000),
            "bytesPerPod": (full - with_nodes) // (100_000),
        }


async def pauses() -> Figures:
    """How long a small request waits while 50,000 pods are there: alone, and while more are created."""
    with running() as server:
        await _prepare(server)
        await _create(server, objects.basic_pods("pod", 50_000))
        alone = await _waits(server, asyncio.sleep(10))
        busy = await _waits(server, _create(server, objects.distinct_pods("more", 10_000), connections=4))
        return {"pods": 50_000, "alone": alone, "whileCreating": busy}


async def _waits(server: Server, meanwhile: Coroutine[Any, Any, None]) -> Figures:
    """Ask for something small again and again while something goes on."""
    asked = request(server, "GET", "/api/v1/namespaces/default/serviceaccounts/default")
    session, working = await Session.open(server), asyncio.ensure_future(meanwhile)
    waits_s: list[float] = []
    while not working.done():
        waits_s.append((await session.ask(asked))[0])
        await asyncio.sleep(0.001)
    session.close()
    waits_s.sort()
    return {
        "requests": len(waits_s),
        "medianMilliseconds": round(statistics.median(waits_s) * 1e3, 2),
        "p99Milliseconds": round(waits_s[len(waits_s) * 99 // 100] * 1e3, 1),
        "longestMilliseconds": round(waits_s[-1] * 1e3, 1),
    }


async def _prepare(server: Server) -> None:
    """Make what pods need and no controller makes here."""
    await ask(server, [request(server, "POST", "/api/v1/namespaces/default/serviceaccounts", objects.ACCOUNT)], 1, 201)


async def _create(
    server: Server, made: Iterable[Any], path: str = objects.PODS, connections: int = _CONNECTIONS
) -> None:
    await ask(server, (request(server, "POST", path, one) for one in made), connections, 201)


async def _revision(server: Server) -> str:
    (body,) = await ask(server, [request(server, "GET", f"{objects.PODS}?limit=1")])
    found = body.partition(b'"resourceVersion":"')[2].partition(b'"')[0]
    return found.decode()


async def _measured(server: Server, requests: list[bytes], expected: int) -> Figures:
    """Send requests and say what they took."""
    cpu_s, own_s, started_s = server.cpu_s(), time.process_time(), time.perf_counter()
    await ask(server, requests, _CONNECTIONS, expected)
    seconds = time.perf_counter() - started_s
    count = len(requests)
    return {
        "requests": count,
        "connections": _CONNECTIONS,
        "seconds": round(seconds, 3),
        "perSecond": round(count / seconds),
        "serverMicroseconds": round((server.cpu_s() - cpu_s) / count * 1e6, 1),
        "clientMicroseconds": round((time.process_time() - own_s) / count * 1e6, 1),
    }


def _cost(figures: Figures) -> float:
    cost: float = figures["serverMicroseconds"]
    return cost


LOADS: dict[str, Load] = {
    "creates": creates,
    "creates-durable": durable_creates,
    "creates-distinct": distinct_creates,
    "writes": writes,
    "nodes": nodes,
    "lists": lists,
    "watches": watches,
    "memory": memory,
    "pauses": pauses,
}
