"""Long random lives of whole clusters, with everything that must hold checked on the way.

A life is a seed: nodes come, go, are cordoned, tainted and relabelled; pods with requests, ports, affinity, spread and
priorities come and go. All of it passes the registry, so the scheduler hears of it as it would in a live cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import orjson

from schedlab.api.rules.ports import conflicts
from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery.errors import NotFound
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo

Json = dict[str, Any]
ZONES = ("a", "b", "c")
APPS = ("web", "db", "cache")
CLASSES = {"low": 1, "high": 100, "top": 1000}


class Life:
    """One cluster and the dice that shape its life."""

    def __init__(self, seed: int, *, full: bool = False, history: int = 0) -> None:
        self.dice = SeededRandom(seed)
        self.clock = VirtualClock()
        settings = ClusterSettings(annotations="off", full=full, history=history)
        self.cluster = Cluster(self.clock, SeededRandom(seed + 1), settings)
        self.cluster.start()
        self.driver = BatchDriver(self.cluster.engine, self.clock)
        self.made = 0
        for name, value in CLASSES.items():
            self._create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": name}, "value": value})
        for _ in range(4):
            self.add_node()
        self.driver.settle()

    @property
    def attempts(self) -> int:
        return self.cluster.scheduler.scheduling_cycle

    def live(self, attempts: int, check_every: int = 40) -> None:
        """Go on until the scheduler has made that many attempts; check what must hold every few steps."""
        steps = 0
        while self.attempts < attempts:
            self._step()
            steps += 1
            if steps % check_every == 0:
                self.check()
        self.check()

    def _step(self) -> None:
        choice = self.dice.below(100)
        if choice < 60:
            for _ in range(1 + self.dice.below(4)):
                self.add_pod()
        elif choice < 80:
            self._delete_some("pods", "default")
        elif choice < 84 and len(self.nodes()) < 25:
            self.add_node()
        elif choice < 86 and len(self.nodes()) > 3:
            self._delete_some("nodes", "")
        elif choice < 95:
            self._change_node()
        self.driver.run_for(self.dice.below(3) * SECOND_NS)

    # --- changes ------------------------------------------------------------------------------------------------------

    def _pick(self, options: Iterable[Any]) -> Any:
        chosen = list(options)
        return chosen[self.dice.below(len(chosen))]

    def _create(self, resource: str, obj: Json, namespace: str = "") -> None:
        self.cluster.registry.create(resource, self.cluster.registry.decode(resource, obj), namespace)

    def add_node(self) -> None:
        """Add a node of a random size and place."""
        self.made += 1
        name = f"n{self.made}"
        labels = {"kubernetes.io/hostname": name}
        if self.dice.below(5):
            labels["topology.kubernetes.io/zone"] = self._pick(ZONES)
        taints = (
            [{"key": "t", "effect": self._pick(("NoSchedule", "PreferNoSchedule"))}] if self.dice.below(4) == 0 else []
        )
        capacity = {"cpu": self._pick(("2", "4", "8")), "memory": self._pick(("4Gi", "16Gi")), "pods": "12"}
        node = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {"capacity": capacity, "allocatable": capacity},
        }
        self._create("nodes", node)

    def add_pod(self) -> None:
        """Add a pod with random wishes."""
        self.made += 1
        app = self._pick(APPS)
        container: Json = {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": self._pick(("0", "100m", "500m", "1", "3")), "memory": "64Mi"}},
        }
        if self.dice.below(8) == 0:
            container["ports"] = [{"containerPort": 80, "hostPort": self._pick((80, 81))}]
        spec: Json = {"containers": [container]}
        if self.dice.below(3) == 0:
            spec["priorityClassName"] = self._pick(CLASSES)
        if self.dice.below(3) == 0:
            spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
        if self.dice.below(4) == 0:
            spec["affinity"] = self._affinity(app)
        if self.dice.below(4) == 0:
            spec["topologySpreadConstraints"] = [self._spread(app)]
        self._create("pods", {"metadata": {"name": f"p{self.made}", "labels": {"app": app}}, "spec": spec}, "default")

    def _affinity(self, app: str) -> Json:
        term = {
            "topologyKey": self._pick(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
            "labelSelector": {"matchLabels": {"app": self._pick((app, *APPS))}},
        }
        kind = self._pick(("podAffinity", "podAntiAffinity"))
        if self.dice.below(2):
            return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": term}]}}

    def _spread(self, app: str) -> Json:
        return {
            "maxSkew": 1 + self.dice.below(2),
            "topologyKey": self._pick(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
            "whenUnsatisfiable": self._pick(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
        }

    def _delete_some(self, resource: str, namespace: str) -> None:
        found = [obj.name for obj in self.cluster.registry.list(resource, namespace).items]
        for _ in range(min(len(found), 1 + self.dice.below(3))):
            # One may be picked twice, or be gone with its grace period already.
            with suppress(NotFound):
                self.cluster.registry.delete(resource, self._pick(found), namespace)

    def _change_node(self) -> None:
        name = self._pick(self.nodes()).metadata.name
        change = self._pick(
            (
                {"spec": {"unschedulable": bool(self.dice.below(2))}},
                {"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}] if self.dice.below(2) else []}},
                {"metadata": {"labels": {"topology.kubernetes.io/zone": self._pick(ZONES)}}},
            )
        )
        self.cluster.registry.patch("nodes", name, "merge", orjson.dumps(change))

    def nodes(self) -> list[Node]:
        return list(self.cluster.informers.lister("nodes").list())

    def pods(self) -> list[Pod]:
        return list(self.cluster.informers.lister("pods").list())

    # --- what must hold -----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check the queue, the node table, and that no node holds what it has no room for."""
        scheduler = self.cluster.scheduler
        scheduler.queue.validate()
        scheduler.cache.refresh()
        bound = [PodInfo(pod) for pod in self.pods() if pod.spec.node_name and pod.status.phase != "Failed"]
        self._check_table(scheduler.cache.table, bound)
        self._check_room(bound)
        assert not [pod.metadata.name for pod in self.pods() if pod.status.phase == "Failed"], "a kubelet refused a pod"

    def _check_table(self, table: NodeTable, bound: list[PodInfo]) -> None:
        nodes = {node.metadata.name: node for node in self.nodes()}
        assert sorted(table.names) == sorted(nodes)
        fresh = NodeTable()
        infos = []
        for name in table.names:
            info = NodeInfo(nodes[name])
            for pod in bound:
                if pod.pod.spec.node_name == name:
                    info.add_pod(pod)
            infos.append(info)
        fresh.reorder(infos)
        for attribute in ("non_zero_requested", "allowed_pods", "pod_count", "unschedulable"):
            kept, computed = getattr(table, attribute), getattr(fresh, attribute)
            assert np.array_equal(kept, computed), f"{attribute}: kept {kept}, recomputed {computed}"
        for index, resource in enumerate(fresh.resource_names):
            assert np.array_equal(table.requested[table.resource_index(resource)], fresh.requested[index]), resource

    def _check_room(self, bound: list[PodInfo]) -> None:
        for node in self.nodes():
            info = NodeInfo(node)
            here = [pod for pod in bound if pod.pod.spec.node_name == node.metadata.name]
            requested = sum(pod.request.milli_cpu for pod in here)
            assert requested <= info.allocatable.milli_cpu, f"{node.metadata.name} holds {requested}m of cpu"
            assert len(here) <= info.allocatable.allowed_pod_number
            ports = [port for pod in here for port in pod.host_ports]
            clash = [(a, b) for i, a in enumerate(ports) for b in ports[i + 1 :] if conflicts(a, b)]
            assert not clash, f"{node.metadata.name} has a port twice: {clash}"
