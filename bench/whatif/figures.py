"""What is measured on a full cluster."""

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

from bench.whatif.loads import LOADS, Load, filled, pod_name
from schedlab import __version__
from schedlab.cluster.cluster import Cluster
from schedlab.scheduler_perf.machine import calibrate
from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.forks import fork
from schedlab.whatif.help import what_would_help
from schedlab.whatif.pending import pending
from schedlab.whatif.state import records_of, state_at
from schedlab.whatif.trial import Trial
from schedlab.whatif.workers import Workers

_RUNS = 3


def seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(_RUNS):
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


def searches(cluster: Cluster, load: Load) -> dict[str, float]:
    """Return how long each question takes whose pod waits; in a small cluster some find a node."""
    lister, found = cluster.informers.lister("pods"), {}
    for question in load.waiting:
        name = pod_name(question)
        pod = lister.get(name, "default")
        if pod is not None and not pod.spec.node_name:
            found[question] = seconds(partial(what_would_help, cluster, "default", name))
    return found


def measure(load: Load, nodes: int, pods: int) -> dict[str, Any]:
    """Fill a cluster and ask everything."""
    cluster = filled(load, nodes, pods)
    gc.collect()
    gc.freeze()
    gc.disable()
    record = records_of(cluster, "default", "large")[-1]
    return {
        "calibration": calibrate(),
        "workerWallS": uvloop.run(asked(cluster)),
        "trialS": seconds(lambda: Trial.of(cluster)),
        "cacheCopyS": seconds(lambda: cluster.scheduler.cache.copy(with_columns=False)),
        "stateAtS": seconds(lambda: state_at(cluster, record)),
        "forkS": seconds(lambda: fork(cluster)),
        "pendingS": seconds(lambda: pending(cluster)),
        "whyNotFullS": seconds(lambda: why_not_full(cluster)),
        "whatWouldHelpS": searches(cluster, load),
        "memoryMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def print_figures(name: str, nodes: int, pods: int) -> None:
    """Measure a load and print what it is and took as a line of JSON."""
    line = {"load": name, "version": __version__, "nodes": nodes, "pods": pods, **measure(LOADS[name], nodes, pods)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
