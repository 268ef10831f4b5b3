"""The loads: each starts a server, uses it and says what came out."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from bench.api import objects
from bench.api.client import ask, request, watch
from bench.api.in_process import Life
from bench.api.server import Server, running

Figures = dict[str, Any]
Load = Callable[[int], Coroutine[Any, Any, Figures]]

_CONNECTIONS = 16
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def creates(scale: int) -> Figures:
    """Pods of one template, kept in memory."""
    return await _creates(objects.basic_pods, 4000 * scale, durable=False)


async def durable_creates(scale: int) -> Figures:
    """Pods of one template, each safe on the disk before it is acknowledged."""
    return await _creates(objects.basic_pods, 4000 * scale, durable=True)


async def distinct_creates(scale: int) -> Figures:
    """Pods that differ in everything, kept in memory."""
    return await _creates(objects.distinct_pods, 4000 * scale, durable=False)


async def writes(scale: int) -> Figures:
    """The writes of a pod's life in process, for equal pods and for pods that differ."""
    found: Figures = {}
    for name, make in (("equal", objects.basic_pods), ("distinct", objects.distinct_pods)):
        life = Life(make)
        life.run("warm", 300)
        found[name] = life.run("pod", 3000 * scale)
    return found


async def _creates(make: Callable[[str, int], Iterable[Any]], count: int, *, durable: bool) -> Figures:
    with running(durable=durable) as server:
        await _prepare(server)
        await _create(server, make("warm", 500))
        return await _measured(server, [request(server, "POST", objects.PODS, pod) for pod in make("pod", count)], 201)


async def nodes(scale: int) -> Figures:
    """Nodes as `kubectl apply` makes them: looked for, then created."""
    with running() as server:
        asked = [objects.node(number) for number in range(5000 * scale)]
        looked = [request(server, "GET", f"{objects.NODES}/{node['metadata']['name']}") for node in asked]
        first = await _measured(server, looked, 404)
        then = await _measured(server, [request(server, "POST", objects.NODES, node) for node in asked], 201)
        return {**then, "seconds": round(first["seconds"] + then["seconds"], 2), "lookMicroseconds": _cost(first)}


async def lists(scale: int) -> Figures:
    """Lists of 5,000 pods, as objects and as a Table."""
    with running() as server:
        await _prepare(server)
        await _create(server, objects.distinct_pods("pod", 5000))
        whole = await _list(server, "application/json", 10 * scale)
        table = await _list(server, _TABLE, 10 * scale)
        return {"pods": 5000, **{f"list{k}": v for k, v in whole.items()}, **{f"table{k}": v for k, v in table.items()}}


async def _list(server: Server, accept: str, times: int) -> Figures:
    asked = request(server, "GET", objects.PODS, accept=accept)
    await ask(server, [asked])
    before_s, spent_s, sizes = server.cpu_s(), [], []
    for _ in range(times):
        started_s = time.perf_counter()
        bodies = await ask(server, [asked])
        spent_s.append(time.perf_counter() - started_s)
        sizes.append(len(bodies[0]))
    cpu_s = (server.cpu_s() - before_s) / times
    return {
        "Milliseconds": round(statistics.median(spent_s) * 1e3, 1),
        "ServerMilliseconds": round(cpu_s * 1e3, 1),
        "Bytes": sizes[0],
    }


async def watches(_scale: int) -> Figures:
    """Watchers of every change: 1,000 events that have happened, then 1,000 as they happen."""
    watchers, events = 100, 1000
    with running() as server:
        await _prepare(server)
        await _create(server, objects.basic_pods("past", events))
        cpu_s, started_s = server.cpu_s(), time.perf_counter()
        # The state of 1,000 pods is sent as 1,000 events.
        opened = await watch(server, f"{objects.PODS}?watch=1&resourceVersion=0", events, watchers)
        await asyncio.gather(*(watcher.reached for watcher in opened))
        past_s, past_cpu_s = time.perf_counter() - started_s, server.cpu_s() - cpu_s
        revision = await _revision(server)
        opened = await watch(server, f"{objects.PODS}?watch=1&resourceVersion={revision}", events, watchers)
        cpu_s, started_s = server.cpu_s(), time.perf_counter()
        await _create(server, objects.basic_pods("now", events))
        created_s = time.perf_counter() - started_s
        await asyncio.gather(*(watcher.reached for watcher in opened))
        return {
            "watchers": watchers,
            "events": events,
            "pastSeconds": round(past_s, 3),
            "pastServerSeconds": round(past_cpu_s, 3),
            "liveSeconds": round(time.perf_counter() - started_s, 3),
            "liveCreateSeconds": round(created_s, 3),
            "liveServerSeconds": round(server.cpu_s() - cpu_s, 3),
        }


async def memory(scale: int) -> Figures:
    """What 100,000 pods and 5,000 nodes take."""
    with running() as server:
        await _prepare(server)
        empty = server.memory_bytes()
        await _create(server, (objects.node(number) for number in range(5000 * scale)), objects.NODES)
        with_nodes = server.memory_bytes()
        await _create(server, objects.distinct_pods("pod", 100_000 * scale))
        full = server.memory_bytes()
        return {
            "emptyMiB": empty >> 20,
            "memoryMiB": full >> 20,
            "bytesPerNode": (with_nodes - empty) // (5000 * scale),
            "bytesPerPod": (full - with_nodes) // (100_000 * scale),
        }


async def pauses(scale: int) -> Figures:
    """How long a small request waits at most while 50,000 pods are there and more come."""
    with running() as server:
        await _prepare(server)
        await _create(server, objects.basic_pods("pod", 50_000))
        waits_s: list[float] = []
        ended = asyncio.Event()

        async def probe() -> None:
            asked = request(server, "GET", "/api/v1/namespaces/default/serviceaccounts/default")
            while not ended.is_set():
                started_s = time.perf_counter()
                await ask(server, [asked] * 20)
                waits_s.append(time.perf_counter() - started_s)

        probing = asyncio.ensure_future(probe())
        await _create(server, objects.distinct_pods("more", 10_000 * scale), connections=4)
        ended.set()
        await probing
        return {"pods": 50_000, "probes": len(waits_s), "longestMilliseconds": round(max(waits_s) * 1e3, 1)}


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
