"""Runs the shop example under the virtual clock and prints a digest of everything that came out of it."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from schedlab.apimachinery.yaml import load_all
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.decisions.annotations import result_annotations
from schedlab.decisions.explain import PodQuestion, explain
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"
_RESOURCES = {
    "Namespace": "namespaces",
    "Node": "nodes",
    "Pod": "pods",
    "PriorityClass": "priorityclasses.scheduling.k8s.io",
}


def run_shop(seed: int) -> Cluster:
    """Apply the shop at once, run ten virtual seconds, then drop a database and run ten more."""
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(seed), ClusterSettings())
    cluster.start()
    driver = BatchDriver(cluster.engine, clock)
    registry = cluster.registry
    for file in sorted(SHOP.glob("*.yaml")):
        for manifest in load_all(file.read_text(encoding="utf-8")):
            assert isinstance(manifest, dict)
            resource = _RESOURCES[manifest["kind"]]
            namespace = manifest["metadata"].get("namespace", "")
            registry.create(resource, registry.decode(resource, manifest), namespace)
    driver.run_for(10 * SECOND_NS)
    registry.delete("pods", "db-0", "shop")
    driver.run_for(10 * SECOND_NS)
    return cluster


def digest(cluster: Cluster) -> str:
    """Hash every object with its revision, and what is told of every attempt, in order."""
    found = hashlib.sha256()
    for resource in cluster.store.resources():
        shown = cluster.registry.resource(resource).shown
        for obj in cluster.store.list(resource):
            found.update(shown(obj).json() + b"\n")
    for story in cluster.log.stories():
        for attempt in story.attempts:
            told = (
                explain(story, PodQuestion(attempt=attempt.number)),
                result_annotations(attempt.cycle(), attempt.binding),
            )
            found.update(json.dumps(told, sort_keys=True).encode())
    return found.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest(run_shop(int(sys.argv[1]))) + "\n")
