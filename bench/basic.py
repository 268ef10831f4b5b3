"""How fast pods are scheduled in batch: kube-scheduler's SchedulingBasic load, everything recorded.

    python -m bench.basic [NODES [INITIAL [MEASURED]]]       default 5000 1000 2000

Creates the nodes and the initial pods, then the measured pods, and divides their number by the time until the last of
them is bound. Prints one line of JSON. Run it alone on a quiet machine and quote the median of several runs.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from schedlab import __version__
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom

POD: dict[str, Any] = {
    "metadata": {"namespace": "default"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {
                    "requests": {"cpu": "100m", "memory": "500Mi"},
                    "limits": {"cpu": "100m", "memory": "500Mi"},
                },
            }
        ]
    },
}


def _create_pods(cluster: Cluster, prefix: str, count: int) -> None:
    registry = cluster.registry
    for number in range(count):
        pod = {**POD, "metadata": {**POD["metadata"], "name": f"{prefix}-{number}"}}
        registry.create("pods", registry.decode("pods", pod), "default")


def run(nodes: int, initial: int, measured: int) -> dict[str, Any]:
    """Run the load once and return its figures."""
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(1), ClusterSettings(nodes=nodes, full=False))
    driver = BatchDriver(cluster.engine, clock)
    started = time.perf_counter()
    cluster.start()
    driver.settle()
    ready = time.perf_counter()
    _create_pods(cluster, "initial", initial)
    driver.settle()
    before = time.perf_counter()
    _create_pods(cluster, "measured", measured)
    created = time.perf_counter()
    driver.settle()
    done = time.perf_counter()
    bound = sum(bool(pod.spec.node_name) for pod in cluster.informers.lister("pods").list())
    if bound != initial + measured:
        raise SystemExit(f"only {bound} of {initial + measured} pods were bound")
    return {
        "workload": "SchedulingBasic",
        "version": __version__,
        "nodes": nodes,
        "initial": initial,
        "measured": measured,
        "podsPerSecond": round(measured / (done - before), 1),
        "createMicroseconds": round((created - before) / measured * 1e6, 1),
        "scheduleMicroseconds": round((done - created) / measured * 1e6, 1),
        "nodesSeconds": round(ready - started, 2),
        "recordedBytesPerPod": cluster.log.size_bytes // (initial + measured),
        "memoryMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[1:]]
    sys.stdout.write(json.dumps(run(*(sizes + [5000, 1000, 2000][len(sizes) :]))) + "\n")
