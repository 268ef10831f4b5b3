"""`python -m bench.whatif [NODES [PODS]]`: what forks and searches cost, one line of JSON; times are of the process."""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import uvloop

from schedlab import __version__
from schedlab.api.object import StoredObject
from schedlab.cluster.cluster import Cluster, ClusterSettings, new_node
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.store.backend import MemoryBackend, Snapshot
from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.forks import fork
from schedlab.whatif.help import what_would_help
from schedlab.whatif.pending import pending
from schedlab.whatif.state import records_of, state_at
from schedlab.whatif.trial import Trial
from schedlab.whatif.workers import Workers

_NODES, _PODS = 5_000, 50_000
_CREATED = "2026-01-01T00:00:00Z"
#: Pods that cannot be scheduled, each for other reasons.
_WAITING: dict[str, dict[str, Any]] = {
    "large": {"requests": {"cpu": "2500m"}},
    "two-resources": {"requests": {"cpu": "2500m", "memory": "60Gi"}},
    "too-large": {"requests": {"cpu": "100"}},
    "picky": {"requests": {"cpu": "500m"}, "nodeSelector": {"disk": "ssd"}},
    "picky-and-large": {"requests": {"cpu": "2"}, "nodeSelector": {"disk": "ssd"}},
}


class _Filled(MemoryBackend):
    """A back end that has kept a cluster."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot = snapshot

    def load(self) -> Snapshot:
        """See Backend."""
        return self._snapshot


def filled(nodes: int, pods: int) -> tuple[Cluster, BatchDriver]:
    """Return a running cluster of nodes of 16 CPU and pods of 1500m on them in turn."""
    objects: list[StoredObject] = []
    for number in range(nodes):
        node = new_node(number)
        node["metadata"] |= {"uid": f"n{number}", "creationTimestamp": _CREATED}
        size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        node["spec"] = {"unschedulable": True} if number % 50 == 0 else {}
        node["status"] = {"capacity": size, "allocatable": size}
        objects.append(StoredObject.encode("nodes", node, len(objects) + 2))
    for number in range(pods):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1500m", "memory": "2Gi"}}}
        meta = {"name": f"p{number}", "namespace": "default", "uid": f"p{number}", "creationTimestamp": _CREATED}
        spec = {"nodeName": f"node-{number % nodes}", "schedulerName": "default-scheduler", "containers": [container]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}
        objects.append(StoredObject.encode("pods", pod, len(objects) + 2))
    clock = VirtualClock()
    settings = ClusterSettings(annotations="off", history=20_000)
    backend = _Filled(Snapshot(len(objects) + 1, tuple(objects)))
    cluster = Cluster(clock, SeededRandom(1), settings, backend=backend)
    cluster.start()
    driver = BatchDriver(cluster.engine, clock)
    driver.run_for(60 * SECOND_NS)
    for name, wish in _WAITING.items():
        spec = {**wish, "containers": [{"name": "c", "image": "i", "resources": {"requests": wish["requests"]}}]}
        del spec["requests"]
        body = cluster.registry.decode("pods", {"metadata": {"name": name}, "spec": spec})
        cluster.registry.create("pods", body, "default")
    driver.run_for(2 * SECOND_NS)
    return cluster, driver


def seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return round(min(times), 4)


async def asked(cluster: Cluster) -> float:
    """Return how long a worker takes to answer, fork and all, in wall time."""
    workers = Workers(lambda: cluster)
    began = time.perf_counter()
    await workers.ask(lambda other: what_would_help(other, "default", "large").data())
    return round(time.perf_counter() - began, 4)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    nodes, pods = (int(argument) for argument in (arguments + [str(_NODES), str(_PODS)][len(arguments) :])[:2])
    cluster, _ = filled(nodes, pods)
    gc.collect()
    gc.freeze()
    gc.disable()
    record = records_of(cluster, "default", "large")[-1]
    figures = {
        "version": __version__,
        "nodes": nodes,
        "pods": pods,
        "workerWallS": uvloop.run(asked(cluster)),
        "trialS": seconds(lambda: Trial.of(cluster)),
        "cacheCopyS": seconds(lambda: cluster.scheduler.cache.copy(with_columns=False)),
        "stateAtS": seconds(lambda: state_at(cluster, record)),
        "forkS": seconds(lambda: fork(cluster)),
        "pendingS": seconds(lambda: pending(cluster)),
        "whyNotFullS": seconds(lambda: why_not_full(cluster)),
        "whatWouldHelpS": {name: seconds(partial(what_would_help, cluster, "default", name)) for name in _WAITING},
        "memoryMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
