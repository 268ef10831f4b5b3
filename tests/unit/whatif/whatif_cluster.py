"""Small clusters for tests of what-if."""

from __future__ import annotations

from typing import Any

import orjson

from schedlab.api.object import StoredObject
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom

Json = dict[str, Any]


class Lab:
    """A cluster on a virtual clock with short ways to fill it."""

    def __init__(self, *, nodes: int = 0, seed: int = 1, **settings: Any) -> None:
        self.clock = VirtualClock()
        chosen = {"annotations": "off", "history": 100_000, "nodes": nodes, **settings}
        self.cluster = Cluster(self.clock, SeededRandom(seed), ClusterSettings(**chosen))
        self.cluster.start()
        self.driver = BatchDriver(self.cluster.engine, self.clock)
        self.settle()

    def settle(self, seconds: int = 3) -> None:
        """Let everything happen, with a little time for queues to come round."""
        self.driver.run_for(seconds * SECOND_NS)

    def create(self, resource: str, obj: Json, namespace: str = "") -> StoredObject:
        registry = self.cluster.registry
        return registry.create(resource, registry.decode(resource, obj), namespace)

    def patch(self, resource: str, name: str, patch: Json, namespace: str = "") -> None:
        self.cluster.registry.patch(resource, name, "merge", orjson.dumps(patch), namespace)

    def node(self, name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **extra: Any) -> None:
        """Add a node; `labels`, `taints` and `unschedulable` as in its manifest."""
        capacity = {"cpu": cpu, "memory": memory, "pods": pods, **extra.get("resources", {})}
        spec = {"taints": extra.get("taints", []), "unschedulable": extra.get("unschedulable", False)}
        labels = {"kubernetes.io/hostname": name, **extra.get("labels", {})}
        status = {"capacity": capacity, "allocatable": capacity}
        self.create("nodes", {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})

    def pod(self, name: str, *, cpu: str = "100m", labels: Json | None = None, **spec: Any) -> None:
        """Add a pod of one container; `requests` replaces what it asks for."""
        container = {"name": "c", "image": "i", "resources": {"requests": spec.pop("requests", {"cpu": cpu})}}
        container |= spec.pop("container", {})
        meta = {"name": name, "labels": labels or {}}
        self.create("pods", {"metadata": meta, "spec": {"containers": [container], **spec}}, "default")

    def priority(self, name: str, value: int, policy: str = "PreemptLowerPriority") -> None:
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        self.create("priorityclasses.scheduling.k8s.io", body)

    def node_of(self, name: str) -> str:
        """Return the node a pod is on, or nothing."""
        pod = self.cluster.informers.lister("pods").get(name, "default")
        return "" if pod is None else str(pod.spec.node_name)

    def digest(self) -> tuple[Any, ...]:
        """Return everything that a fork must not change."""
        store, scheduler = self.cluster.store, self.cluster.scheduler
        objects = [(resource, obj.json()) for resource in store.resources() for obj in store.list(resource)]
        attempts = [(story.uid, len(story.attempts)) for story in self.cluster.log.stories()]
        table = scheduler.cache.table
        return (
            store.revision,
            objects,
            attempts,
            scheduler.queue.contents(),
            scheduler.queue.nominator.all(),
            scheduler.next_start_node_index,
            table.requested.tolist(),
            [[pod.key for pod in info.pods] for info in table.infos],
            self.clock.now_ns(),
        )
