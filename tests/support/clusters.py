"""Clusters in process on a virtual clock, for tests of what works on a whole one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schedlab.client.inprocess import InProcessClient
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom


class Lab:
    """A cluster that is driven by hand."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, SeededRandom(seed), ClusterSettings(**settings))
        self.registry = self.cluster.registry
        self.driver = BatchDriver(self.cluster.engine, self.clock)
        self.cluster.start()
        self.driver.settle()

    def run(self, seconds: float = 5) -> None:
        """Let time pass."""
        self.driver.run_for(int(seconds * SECOND_NS))

    def create(self, resource: str, obj: Mapping[str, Any], namespace: str = "") -> None:
        """Create an object as a user would."""
        self.registry.create(resource, self.registry.decode(resource, obj), namespace)

    def create_pod(self, name: str, **spec: Any) -> None:
        """Create a pod in the default namespace."""
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]
        self.create("pods", {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}, "default")

    def nodes_of_pods(self) -> dict[str, str]:
        """Return where each pod is, by its name."""
        return {pod.name: pod.view.spec.node_name for pod in self.registry.list("pods").items}

    def names(self, resource: str) -> list[str]:
        """Return the names of all objects."""
        return [obj.name for obj in self.registry.list(resource).items]


class PromptClient(InProcessClient):
    """A client of the source whose lists are there at once (syncer.FollowedClient)."""

    on_synced: Callable[[], None]

    def lacking(self) -> tuple[str, ...]:
        return ()
