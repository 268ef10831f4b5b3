"""A cluster of two nodes under the virtual clock, with short ways to write and to look."""

from __future__ import annotations

from typing import Any

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.stage_loading import load_stages
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.stages.definition import STAGES
from schedlab.store.backend import MemoryBackend, Snapshot

Object = dict[str, Any]


class Kept(MemoryBackend):
    """Objects that an earlier process has left."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def load(self) -> Snapshot | None:
        return self._snapshot


class Lab:
    """A cluster of two nodes under the virtual clock."""

    def __init__(self, *references: str, **settings_of_cluster: Any) -> None:
        self.clock = VirtualClock()
        self._settings = ClusterSettings(**{"nodes": 2, "stages": load_stages(references), **settings_of_cluster})
        self._begin(Cluster(self.clock, SeededRandom(1), self._settings))

    def _begin(self, cluster: Cluster) -> None:
        self.cluster, self.registry = cluster, cluster.registry
        cluster.start()
        self._driver = BatchDriver(cluster.engine, self.clock)
        self.run(0)

    def restart(self) -> None:
        """Go on with what is stored in a new process, at the same time."""
        store = self.cluster.store
        kept = [obj for resource in store.resources() for obj in store.list(resource)]
        self.clock = VirtualClock(self.clock.now_ns())
        self._begin(Cluster(self.clock, SeededRandom(1), self._settings, backend=Kept(Snapshot(store.revision, kept))))

    def run(self, seconds: float) -> None:
        self._driver.run_for(int(seconds * SECOND_NS))

    def stage(self, name: str, kind: str = "Pod", **spec: Any) -> None:
        body = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}}
        spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": {}, **spec}
        self.registry.apply(STAGES, name, {**body, "spec": spec})

    def create(self, resource: str, name: str, **obj: Any) -> None:
        labels = obj.pop("labels", {})
        annotations = obj.pop("annotations", {})
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        namespace = "default" if self.registry.resource(resource).namespaced else ""
        self.registry.create(resource, self.registry.decode(resource, {"metadata": metadata, **obj}), namespace)

    def pod(self, name: str, labels: dict[str, str] | None = None, **obj: Any) -> None:
        spec = {"containers": [{"name": "c", "image": "i"}], **obj.pop("spec", {})}
        self.create("pods", name, labels=labels or {}, spec=spec, **obj)

    def get(self, resource: str, name: str) -> Object:
        namespace = "default" if self.registry.resource(resource).namespaced else ""
        return self.registry.get(resource, name, namespace).raw

    def phase(self, name: str) -> str:
        return str(self.get("pods", name)["status"]["phase"])

    def pods(self) -> list[str]:
        return [pod.name for pod in self.registry.list("pods").items]

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        found = self.get(STAGES, name).get("status", {}).get("conditions", ())
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}

    def events(self, kind: str, name: str) -> list[str]:
        found = (event.raw for event in self.registry.list("events").items)
        return [
            each["reason"]
            for each in found
            if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == (kind, name)
        ]

    def node_conditions(self, name: str) -> dict[str, str]:
        return {each["type"]: each["status"] for each in self.get("nodes", name)["status"]["conditions"]}

    def told(self, name: str) -> list[tuple[str, str, int]]:
        """Return reason, message and count of a pod's events that its kubelet sent, in order."""
        found = [event.raw for event in self.registry.list("events").items]
        mine = [
            each
            for each in found
            if each["involvedObject"]["name"] == name and each.get("source", {}).get("component") == "kubelet"
        ]
        mine.sort(key=lambda each: int(each["metadata"]["name"].rpartition(".")[2], 16))
        return [(each["reason"], each["message"], each["count"]) for each in mine]
