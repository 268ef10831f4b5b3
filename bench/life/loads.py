"""The loads; each returns its figures. Wall time depends on what else runs, processor time of the server less so."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from bench.api.client import ask, request
from bench.api.server import Server, running
from schedlab.cluster.cluster import Cluster, ClusterSettings, new_node
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom

NODES: Final = 5_000
REPLICAS: Final = 10_000
DAY_NODES: Final = 1_000
DAY_JOBS: Final = 20_000
_CONNECTIONS: Final = 8
_POLL_S: Final = 1.0
_WAIT_S_MAX: Final = 600.0
_IDLE_S: Final = 30.0
_SETTLED_S: Final = 15.0
_DEPLOYMENT: Final = "/apis/apps/v1/namespaces/default/deployments"

Figures = dict[str, Any]
Load = Callable[[int], Coroutine[Any, Any, Figures]]


class Stopwatch:
    """Wall time, and processor time of a server, since it was made."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._wall_s, self._cpu_s = time.monotonic(), server.cpu_s()

    def figures(self) -> Figures:
        """Return both."""
        return {
            "seconds": round(time.monotonic() - self._wall_s, 1),
            "cpuSeconds": round(self._server.cpu_s() - self._cpu_s, 1),
        }


async def nodes(scale: int = 1) -> Figures:
    """5,000 nodes are created over HTTP and become Ready."""
    count = NODES // scale
    with running("up") as server:
        watch = Stopwatch(server)
        made = (request(server, "POST", "/api/v1/nodes", new_node(number)) for number in range(count))
        await ask(server, made, _CONNECTIONS, 201)
        created = watch.figures()
        await until(lambda: are_ready(server, count))
        return {"nodes": count, "created": created, "ready": watch.figures()}


async def deployment(scale: int = 1) -> Figures:
    """A Deployment of 10,000 replicas on 5,000 nodes is created, scheduled with records, and Running."""
    replicas = REPLICAS // scale
    with running("up", "--nodes", str(NODES // scale)) as server:
        await until(lambda: are_ready(server, NODES // scale))
        watch = Stopwatch(server)
        await ask(server, [request(server, "POST", _DEPLOYMENT, _web(replicas))], 1, 201)

        async def is_ready() -> bool:
            (body,) = await ask(server, [request(server, "GET", f"{_DEPLOYMENT}/web")])
            return bool(json.loads(body)["status"].get("readyReplicas", 0) == replicas)

        await until(is_ready)
        return {"replicas": replicas, **watch.figures(), "memoryMiB": server.memory_bytes() >> 20}


async def idle(scale: int = 1) -> Figures:
    """5,000 nodes with nothing to do: the share of a core that this takes."""
    with running("up", "--nodes", str(NODES // scale)) as server:
        await until(lambda: are_ready(server, NODES // scale))
        # Memory is laid out anew some ten seconds after it has grown: that belongs to the start.
        await until(lambda: is_quiet(server, _SETTLED_S))
        watch = Stopwatch(server)
        await asyncio.sleep(_IDLE_S)
        figures = watch.figures()
        return {"nodes": NODES // scale, **figures, "percentOfCore": round(100 * figures["cpuSeconds"] / _IDLE_S, 2)}


async def day(scale: int = 1) -> Figures:
    """A day of 1,000 nodes with 20,000 short jobs on the virtual clock; a tenth of it has a tenth of the jobs."""
    jobs = DAY_JOBS // scale
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(1), ClusterSettings(nodes=DAY_NODES))
    driver = BatchDriver(cluster.engine, clock)
    cluster.start()
    driver.settle()
    calm_garbage_collector()  # as every process that holds a cluster does
    started_s, started_cpu_s, begin_ns = time.monotonic(), time.process_time(), clock.now_ns()
    length_ns = 86_400 * SECOND_NS // scale
    for number in range(jobs):
        driver.run_until(begin_ns + length_ns * number // jobs)
        cluster.registry.create("jobs.batch", cluster.registry.decode("jobs.batch", _job(number)), "default")
    driver.run_until(begin_ns + length_ns)
    wall_s, cpu_s = time.monotonic() - started_s, time.process_time() - started_cpu_s
    return {
        "nodes": DAY_NODES,
        "jobs": jobs,
        "seconds": round(wall_s, 1),
        "cpuSeconds": round(cpu_s, 1),
        "cpuMillisecondsPerJob": round(cpu_s / jobs * 1000, 2),
        "revisions": cluster.registry.revision,
    }


#: What is aimed at on two cores, at full size.
GOALS: Final = {"nodes": "20 s", "deployment": "30 s", "idle": "2 % of a core", "day": "120 s"}
LOADS: Final[dict[str, Load]] = {
    "nodes": nodes,
    "deployment": deployment,
    "idle": idle,
    "day": day,
}


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline_s = time.monotonic() + _WAIT_S_MAX
    while not await condition():
        if time.monotonic() > deadline_s:
            raise SystemExit(f"nothing came of it for {_WAIT_S_MAX:.0f} seconds")
        await asyncio.sleep(_POLL_S)


async def is_quiet(server: Server, seconds: float = 3) -> bool:
    """Whether the server has done next to nothing for some seconds."""
    before_s = server.cpu_s()
    await asyncio.sleep(seconds)
    return server.cpu_s() - before_s < 0.05


async def are_ready(server: Server, count: int) -> bool:
    """Whether all nodes are Ready; the last one tells when it is worth to look at all."""
    last = new_node(count - 1)["metadata"]["name"]
    (body,) = await ask(server, [request(server, "GET", f"/api/v1/nodes/{last}")])
    if not _is_ready(json.loads(body)):
        return False
    (body,) = await ask(server, [request(server, "GET", "/api/v1/nodes")])
    return sum(map(_is_ready, json.loads(body)["items"])) == count


def _is_ready(node: Figures) -> bool:
    conditions = node["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _web(replicas: int) -> Figures:
    container = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def _job(number: int) -> Figures:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "metadata": {"name": f"job-{number}", "namespace": "default"},
        "spec": {"ttlSecondsAfterFinished": 600, "template": {"spec": spec}},
    }
