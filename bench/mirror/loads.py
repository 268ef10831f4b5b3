"""The loads; each returns its figures. The cluster that is brought in is a second `schedlab up`, reached over HTTPS."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.api import objects
from bench.api.client import Session, ask, request
from bench.api.server import Server, running
from bench.life.loads import Figures, Load, Stopwatch, is_quiet, until
from schedlab.mirror.minimize import Minimizer
from schedlab.remote.kubeconfig import load_access
from schedlab.remote.transport import Request, Transport

NODES: Final = 5_000
PODS: Final = 100_000
TEMPLATES: Final = 5_000
CHANGES_PER_S: Final = 200
MINIMIZED_NODES: Final = 1_000
_SYNC_S: Final = 30
_CONNECTIONS: Final = 16
_LABEL: Final = "example.com/turn"
_MERGE: Final = "application/merge-patch+json"


async def import_(scale: int = 1) -> Figures:
    """5,000 nodes and 100,000 pods of 5,000 templates that run on them are imported by `schedlab import`."""
    nodes, pods = NODES // scale, PODS // scale
    with running("up", "--no-scheduler") as there:
        await _fill(there, nodes, pods)
        source_s = there.cpu_s()
        with running("up") as here:
            watch = Stopwatch(here)
            printed = await _schedlab(here, "import", "--kubeconfig", str(_kubeconfig(there)))
            figures = watch.figures()
            await until(lambda: is_quiet(here))
            lines = [line.split() for line in printed.splitlines()]
            taken = {words[0]: int(words[1]) for words in lines if words[2:] == ["taken"]}
            return {
                "nodes": taken["nodes"],
                "pods": taken["pods"],
                **figures,
                "sourceCpuSeconds": round(there.cpu_s() - source_s, 1),
                "untilQuiet": watch.figures(),
                "memoryMiB": here.memory_bytes() >> 20,
                "peakMemoryMiB": here.peak_memory_bytes() >> 20,
            }


async def sync(scale: int = 1) -> Figures:
    """A cluster of 5,000 nodes and 100,000 pods is followed while 200 pods or nodes a second are created, changed or
    deleted there for 30 seconds.
    """
    nodes, pods = NODES // scale, PODS // scale
    with running("up", "--no-scheduler") as there, running("up") as here:
        await _fill(there, nodes, pods)
        watch = Stopwatch(here)
        await _schedlab(here, "sync", "--kubeconfig", str(_kubeconfig(there)))
        await until(lambda: _has_pods(here, pods))
        await until(lambda: is_quiet(here))
        begun = {**watch.figures(), "memoryMiB": here.memory_bytes() >> 20}
        watch = Stopwatch(here)
        seen = _Seen()
        following = asyncio.ensure_future(seen.follow(here))
        await seen.begun.wait()
        sent_s = await _change(there, nodes, CHANGES_PER_S * _SYNC_S)
        await asyncio.wait_for(seen.all_of(sent_s), 120)
        following.cancel()
        lags_s = sorted(seen.at_s[change] - at_s for change, at_s in sent_s.items())
        return {
            "nodes": nodes,
            "pods": pods,
            "begun": begun,
            "changes": len(lags_s),
            "perSecond": round(len(lags_s) / (max(sent_s.values()) - min(sent_s.values()))),
            **watch.figures(),
            "medianLagSeconds": round(statistics.median(lags_s), 3),
            "99thLagSeconds": round(lags_s[len(lags_s) * 99 // 100], 3),
            "longestLagSeconds": round(lags_s[-1], 3),
        }


async def minimize(scale: int = 1) -> Figures:
    """1,000 nodes with 10,000 pods are reduced to what one pod's decision needs."""
    nodes = MINIMIZED_NODES // scale
    found: Figures = {"nodes": nodes, "pods": 10 * nodes}
    for name, spec in _wanted().items():
        cluster = [*_cluster(nodes), {**objects.basic_pod("looked-at"), "spec": spec}]
        wall_s, cpu_s = time.monotonic(), time.process_time()
        minimizer = Minimizer(cluster, ("default", "looked-at"))
        small = minimizer.run()
        found[name] = {
            "objects": len(small),
            "tries": minimizer.tries,
            "seconds": round(time.monotonic() - wall_s, 1),
            "cpuSeconds": round(time.process_time() - cpu_s, 1),
        }
    return found


LOADS: Final[dict[str, Load]] = {"import": import_, "sync": sync, "minimize": minimize}
GOALS: Final = {"import": "60 s, 2048 MiB", "sync": "1 s behind", "minimize": "60 s for each"}


# --- Clusters --------------------------------------------------------------------------------------------------------


async def _fill(server: Server, nodes: int, pods: int) -> None:
    """Make nodes and pods on them, and wait until all of them run."""
    await ask(server, (request(server, "POST", objects.NODES, objects.node(n)) for n in range(nodes)), 4, 201)
    await until(lambda: is_quiet(server))
    await ask(server, (request(server, "POST", objects.PODS, pod) for pod in _placed(nodes, pods)), _CONNECTIONS, 201)
    await until(lambda: is_quiet(server))


def _placed(nodes: int, pods: int) -> Iterator[Figures]:
    """Yield pods of many templates, each with its node; they ask for little, so that all have room."""
    for number in range(pods):
        pod = objects.distinct_pod(f"pod-{number}", number % TEMPLATES)
        amounts = {"cpu": f"{1 + number % 100}m", "memory": f"{1 + number % 500}Mi"}
        pod["spec"]["containers"][0]["resources"]["requests"] = amounts
        pod["spec"]["nodeName"] = f"node-{number % nodes}"
        yield pod


async def _has_pods(server: Server, count: int) -> bool:
    (body,) = await ask(server, [request(server, "GET", f"{objects.PODS}?limit=1")])
    found = json.loads(body)
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount", 0)) >= count


def _kubeconfig(server: Server) -> Path:
    return server.folder / "default" / "kubeconfig"


async def _schedlab(server: Server, *arguments: str) -> str:
    """Run a command against a server and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schedlab", *arguments, "--name", "default"),
        env={**os.environ, "SCHEDLAB_HOME": str(server.folder)},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"schedlab {' '.join(arguments)} ended with {process.returncode}: {printed.decode()}")
    return printed.decode()


# --- Following -------------------------------------------------------------------------------------------------------

#: (what happened, to which object).
_Change = tuple[str, str]


async def _change(server: Server, nodes: int, count: int) -> dict[_Change, float]:
    """Make changes at an even pace: in turn a pod comes, a node gets another label, a pod goes; return when each was sent."""
    session = await Session.open(server)
    sent_s: dict[_Change, float] = {}
    started_s = time.monotonic()
    for number in range(count):
        await asyncio.sleep(started_s + number / CHANGES_PER_S - time.monotonic())
        change, asked = _nth_change(server, nodes, number)
        sent_s[change] = time.monotonic()
        await session.ask(asked)
    session.close()
    return sent_s


def _nth_change(server: Server, nodes: int, number: int) -> tuple[_Change, bytes]:
    turn, kind = divmod(number, 3)
    if kind == 0:
        return ("come", f"new-{turn}"), request(server, "POST", objects.PODS, objects.distinct_pod(f"new-{turn}", turn))
    if kind == 1:
        name = f"node-{turn % nodes}"
        body = {"metadata": {"labels": {_LABEL: str(turn)}}}
        return (str(turn), name), request(server, "PATCH", f"{objects.NODES}/{name}", body, content_type=_MERGE)
    return ("gone", f"new-{turn}"), request(server, "DELETE", f"{objects.PODS}/new-{turn}")


_WATCHED: Final = (objects.PODS, objects.NODES)


class _Seen:
    """When changes were there: at_s by what happened, in monotonic seconds."""

    def __init__(self) -> None:
        self.at_s: dict[_Change, float] = {}
        self._changed = asyncio.Event()
        #: Set when everything that happens from now on will be seen.
        self.begun = asyncio.Event()
        self._watched = 0

    async def follow(self, server: Server) -> None:
        """Watch pods and nodes until cancelled."""
        access = load_access(_kubeconfig(server))
        transport = Transport(access, "bench")
        await asyncio.gather(*(self._watch(transport, path) for path in _WATCHED))

    async def _watch(self, transport: Transport, path: str) -> None:
        revision = (await transport.send(Request("GET", path, {"limit": "1"})))["metadata"]["resourceVersion"]
        asked = Request("GET", path, {"watch": "true", "resourceVersion": revision})
        async with transport.stream(asked, 600) as lines:
            self._watched += 1
            if self._watched == len(_WATCHED):
                self.begun.set()
            async for line in lines:
                event = json.loads(line)
                metadata = event["object"]["metadata"]
                is_gone = event["type"] == "DELETED" or "deletionTimestamp" in metadata
                happened = "gone" if is_gone else "come" if event["type"] == "ADDED" else metadata["labels"].get(_LABEL)
                self.at_s.setdefault((str(happened), metadata["name"]), time.monotonic())
                self._changed.set()

    async def all_of(self, changes: Iterable[_Change]) -> None:
        """Wait until all of some changes were seen."""
        while not all(change in self.at_s for change in changes):
            self._changed.clear()
            await self._changed.wait()


# --- Minimising ------------------------------------------------------------------------------------------------------


def _cluster(nodes: int) -> list[Figures]:
    """Return nodes of three zones with ten pods on each that leave no room for 500m."""
    made: list[Figures] = [objects.node(number) for number in range(nodes)]
    for number in range(10 * nodes):
        spec = {**_container("370m"), "nodeName": f"node-{number % nodes}"}
        labels = {"app": f"app-{number % 50}"}
        metadata = {"name": f"pod-{number}", "namespace": "default", "labels": labels, "uid": f"pod-{number}"}
        made.append({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec})
    return made


def _container(cpu: str) -> Figures:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}


def _wanted() -> Mapping[str, Figures]:
    """Return specs of the pod that is looked at, by what becomes of it."""
    beside = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "app-7"}}}
    return {
        "placed": _container("100m"),
        "withoutRoom": _container("500m"),
        "withoutLabel": {**_container("100m"), "nodeSelector": {"disk": "ssd"}},
        "besideNobody": {
            **_container("100m"),
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}},
        },
    }
