"""How long the loop of a live cluster is kept by single calls of the simulator's API.

    python -m bench.stalls [NODES [PODS]]               default 5000 50000, of which one in ten is mixed

Every callback of the loop is timed by the processor time of its thread, so that other programs do not count. Prints one
line of JSON: by call the longest callback and the time until the answer, in milliseconds, medians of the runs. Nothing should
be above 20.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.events import Handle
from collections.abc import Callable, MutableMapping
from statistics import median
from typing import Any
from unittest import mock

from bench.decisions import cluster_of, schedule
from schedlab import __version__
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.memory import memory_bytes, use_huge_pages
from schedlab.web.app import SimulatorApp
from schedlab.web.simulator import Simulator
from schedlab.whatif.workers import Workers

_RUNS = 3


class Watchdog:
    """Notes the longest callback."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    def around(self, run: Callable[[Handle], None]) -> Callable[[Handle], None]:
        """Return the same with a look at the clock before and after."""

        def timed(handle: Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest_s = max(self.longest_s, time.thread_time() - began)

        return timed


async def call(app: SimulatorApp, path: str, body: Any = None) -> int:
    """Make a call and return the size of its answer."""
    sent = []
    waiting: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}
    ]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    plain, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": plain,
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
    }
    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return sum(len(message.get("body", b"")) for message in sent)


def calls(pods: int) -> dict[str, list[tuple[str, Any]]]:
    """Return calls by what they are, several of each so that no moment is known from before."""
    middle = pods // 2
    return {
        "explain newest": [(f"/api/v1/decisions/default/p-{pods - 1 - n * 10}", None) for n in range(_RUNS)],
        "explain middle": [(f"/api/v1/decisions/default/p-{middle + n * 10}", None) for n in range(_RUNS)],
        "explain oldest": [(f"/api/v1/decisions/default/p-{n * 10}", None) for n in range(_RUNS)],
        "explain one node": [(f"/api/v1/decisions/default/p-{n * 10 + 50}?node=node-7", None) for n in range(_RUNS)],
        "explain all": [
            (f"/api/v1/decisions/default/p-{n * 10 + 90}?allPlugins&detailed=200", None) for n in range(_RUNS)
        ],
        "waiting pod": [("/api/v1/decisions/default/too-large", None)] * _RUNS,
        "decisions": [("/api/v1/decisions?limit=1000", None)] * _RUNS,
        "decisions, none found": [("/api/v1/decisions?pod=nobody", None)] * _RUNS,
        "table, none found": [("/api/v1/tables/scores?pod=nobody", None)] * _RUNS,
        "table of a pod": [(f"/api/v1/tables/verdicts?pod=p-{middle}", None)] * _RUNS,
        "moves": [(f"/api/v1/tables/moves?pod=p-{middle}", None)] * _RUNS,
        "status": [("/api/v1/status", None)] * _RUNS,
        "what would help": [("/api/v1/pods/default/too-large/what-would-help", None)] * _RUNS,
        "pending": [("/api/v1/pending", None)] * _RUNS,
        "why not full": [("/api/v1/why-not-full", None)] * _RUNS,
        "what if": [("/api/v1/what-if", {"changes": [{"cordon": "node-1"}], "forSeconds": 1})],
    }


async def measure(cluster: Cluster, pods: int) -> dict[str, Any]:
    """Make all calls, one after the other."""
    workers = Workers(lambda: cluster, timeout_s=600)
    simulator = Simulator(
        log=cluster.log, explainer=cluster.explainer, status=cluster.log.status, ask=workers.ask, trace=cluster.trace
    )
    app = SimulatorApp(simulator)
    use_huge_pages()
    found = {}
    for name, some in calls(pods).items():
        longest, answered = [], []
        for path, body in some:
            watchdog = Watchdog()
            # Nothing else tells how long callbacks take.
            with mock.patch.object(Handle, "_run", watchdog.around(Handle._run)):  # noqa: SLF001
                began = time.perf_counter()
                await call(app, path, body)
                answered.append(time.perf_counter() - began)
                await asyncio.sleep(0)
            longest.append(watchdog.longest_s)
        found[name] = {"longestMs": round(median(longest) * 1000, 1), "answerMs": round(median(answered) * 1000, 1)}
    return found


def main(arguments: list[str]) -> None:
    """Fill a cluster and make the calls."""
    nodes, pods = (int(text) for text in (*arguments, *("5000", "50000")[len(arguments) :]))
    cluster, driver = cluster_of(nodes, mixed=True, settings=ClusterSettings(history=20_000))
    schedule(cluster, driver, pods, mixed_every=10)
    wish = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}]}
    body = cluster.registry.decode("pods", {"metadata": {"name": "too-large"}, "spec": wish})
    cluster.registry.create("pods", body, "default")
    driver.settle()
    found = asyncio.run(measure(cluster, pods))
    figures = {
        "version": __version__,
        "nodes": nodes,
        "pods": pods,
        "residentMiB": memory_bytes() >> 20,
        "calls": found,
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
