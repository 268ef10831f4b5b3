"""What recording costs in bytes, and how long an explanation takes: the numbers of the decision log.

    python -m bench.decisions [NODES [PODS]]            default 5000 2000

Equal pods are those of one template; mixed ones differ in requests, priority, tolerations, affinity and spreading, on
nodes that differ in size, zone and taints, with every filter judging every node. Prints one line of JSON per load. Run
it alone on a quiet machine; bytes are exact.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.decisions.explain import PodQuestion
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom

_ZONES = 8
_AT_ONCE = 500


def _node(number: int, *, mixed: bool) -> dict[str, Any]:
    size = (4, 8, 16, 32)[number % 4] if mixed else 32
    amounts = {"cpu": str(size), "memory": f"{4 * size}Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": f"node-{number}",
        "topology.kubernetes.io/zone": f"zone-{number % _ZONES}",
        "disk": ("ssd", "hdd", "nvme")[number % 3],
    }
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if mixed and number % 7 == 0 else []
    taints += [{"key": "old", "effect": "PreferNoSchedule"}] if mixed and number % 5 == 0 else []
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": f"node-{number}", "labels": labels}, "spec": spec, "status": {"allocatable": amounts}}


def _pod(number: int, random: SeededRandom, *, mixed: bool) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "500Mi"}
    spec: dict[str, Any] = {}
    app = f"app-{random.below(40)}" if mixed else "app"
    if mixed:
        requests = {"cpu": f"{50 + random.below(400)}m", "memory": f"{64 + random.below(2000)}Mi"}
        selector = {"matchLabels": {"app": app}}
        if random.below(3) == 0:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if random.below(3) == 0:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 2,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")[random.below(2)],
                    "labelSelector": selector,
                }
            ]
        terms = [{"key": "disk", "operator": "In", "values": [("ssd", "hdd", "nvme")[random.below(3)]]}]
        preferred = [{"weight": 1 + random.below(100), "preference": {"matchExpressions": terms}}]
        affinity: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
        if random.below(3) == 0:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = affinity
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    metadata = {"name": f"p-{number}", "namespace": "default", "labels": {"app": app}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def scheduled(nodes: int, pods: int, *, mixed_every: int, settings: ClusterSettings) -> tuple[Cluster, BatchDriver]:
    """Return a cluster that has scheduled the pods p-0, p-1, …; one in `mixed_every` is mixed, none if 0."""
    clock, random = VirtualClock(), SeededRandom(7)
    cluster = Cluster(clock, SeededRandom(1), settings)
    driver = BatchDriver(cluster.engine, clock)
    cluster.start()
    registry = cluster.registry
    for number in range(nodes):
        registry.create("nodes", registry.decode("nodes", _node(number, mixed=bool(mixed_every))))
    driver.settle()
    for number in range(pods):
        mixed = bool(mixed_every) and number % mixed_every == 0
        registry.create("pods", registry.decode("pods", _pod(number, random, mixed=mixed)), "default")
        if number % _AT_ONCE == 0:
            driver.settle()
    driver.settle()
    calm_garbage_collector()
    return cluster, driver


def run(nodes: int, pods: int, *, mixed: bool) -> dict[str, Any]:
    """Schedule the pods and return what their records take."""
    cluster, _ = scheduled(nodes, pods, mixed_every=int(mixed), settings=ClusterSettings())
    attempts = [attempt for story in cluster.log.stories() for attempt in story.attempts]
    blocks = {id(attempt.packed.block): attempt.packed.block for attempt in attempts if attempt.packed.block.blob}
    packed = sum(id(attempt.packed.block) in blocks for attempt in attempts)
    return {
        "load": "mixed" if mixed else "equal",
        "nodes": nodes,
        "pods": pods,
        "attempts": len(attempts),
        "arraysBytesPerAttempt": sum(block.size_bytes for block in blocks.values()) // max(packed, 1),
        "countedBytesPerPod": cluster.log.size_bytes // pods,
        **{f"explain{when}Milliseconds": _explain_ms(cluster, numbers) for when, numbers in _asked(pods).items()},
    }


def _asked(pods: int) -> dict[str, range]:
    """Pods one beside the other, each asked about once, so that no moment is known from before."""
    return {"Newest": range(pods - 9, pods), "Middle": range(pods // 2, pods // 2 + 9), "Oldest": range(9)}


def _explain_ms(cluster: Cluster, numbers: range) -> float:
    """Return the median of the processor time."""
    times = []
    for number in numbers:
        began = time.process_time()
        cluster.explainer.explain("default", f"p-{number}", PodQuestion())
        times.append(time.process_time() - began)
    return round(sorted(times)[len(times) // 2] * 1000, 1)


def main(arguments: list[str]) -> None:
    """Run both loads."""
    nodes, pods = (int(text) for text in (*arguments, *("5000", "2000")[len(arguments) :]))
    for mixed in (False, True):
        sys.stdout.write(json.dumps(run(nodes, pods, mixed=mixed)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
