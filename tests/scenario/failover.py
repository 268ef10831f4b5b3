"""Several copies of a scheduler with leader election on one cluster, of which the leader dies at any moment.

    story = Failover(seed); story.run()

Two candidates stand, whose clocks are up to an hour apart; pods arrive all the time, some with a volume that waits for its
first consumer, some with a device, so that bindings take several writes. After a random number of steps of the engine the leader is killed, and a
new candidate comes; at the end the second leader is asked to go. Checked all the way: at most one copy schedules.
Checked at the end: every pod is bound, once, no node is over its capacity, and no device belongs to two claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from schedlab.api.object import WatchEvent
from schedlab.apimachinery.errors import StatusError
from schedlab.client.inprocess import InProcessClient
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.scheduler_instance import InstanceSettings, Process, SchedulerInstance
from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS, Timer, VirtualClock
from schedlab.kernel.randomness import SeededRandom

PODS: Final = 24
NODES: Final = 4
LEASE_S: Final = 3
_CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaseDuration": f"{LEASE_S}s", "renewDeadline": "2s", "retryPeriod": "500ms"},
}


_CLASS: Final = {
    "metadata": {"name": "late"},
    "provisioner": "example.com/disks",
    "volumeBindingMode": "WaitForFirstConsumer",
}
_DISK: Final = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "late",
    "resources": {"requests": {"storage": "1Gi"}},
}
_DRIVER: Final = "gpu.example.com"
_GPU: Final = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
_SKEW_S: Final = 3600


class SkewedClock:
    """A clock that goes wrong by so many nanoseconds (kernel.clock.Clock)."""

    def __init__(self, clock: VirtualClock, by_ns: int) -> None:
        self._clock, self._by_ns = clock, by_ns

    def now_ns(self) -> int:
        return self._clock.now_ns() + self._by_ns

    def at(self, when_ns: int, callback: Callable[[], None], priority: int = 0) -> Timer:
        return self._clock.at(when_ns - self._by_ns, callback, priority)


class PromptClient(InProcessClient):
    """A client whose lists are there at once (scheduler_instance.MirroringClient)."""

    on_synced: Callable[[], None]
    on_error: Callable[[str, str, StatusError], None]

    def lacking(self) -> tuple[str, ...]:
        return ()


class Failover:
    """One seeded story; `takeover_ns` is how long nobody scheduled after the leader died."""

    def __init__(self, seed: int) -> None:
        self.random = SeededRandom(seed)
        self.clock = VirtualClock()
        settings = ClusterSettings(schedules=False, nodes=NODES)
        self.cluster = Cluster(self.clock, self.random.split("cluster"), settings)
        self.driver = BatchDriver(self.cluster.engine, self.clock)
        self.copies: list[SchedulerInstance] = []
        self.lines: list[str] = []
        self.bound: dict[str, list[str]] = {}
        self.takeover_ns = 0
        self.cluster.informers.on_change("pods", self._watch_pod)

    def run(self) -> None:
        """Live through the story; raises AssertionError when a rule is broken."""
        self.cluster.start()
        self.driver.run_for(SECOND_NS)
        self._furnish()
        self._candidate()
        self._candidate()
        for number in range(PODS):
            at_ns = self.clock.now_ns() + self.random.below(4_000) * MILLISECOND_NS
            self.clock.at(at_ns, partial(self._create, number))
        self._step(self.random.below(600))
        self._kill_leader()
        self._candidate()
        self._step_for(20 * SECOND_NS)
        self._retire_leader()
        self._step_for(20 * SECOND_NS)
        self._check_end()

    # --- What happens ---

    def _candidate(self) -> None:
        number = len(self.copies) + 1
        client = PromptClient(self.cluster.registry, "kube-scheduler")
        skew_ns = (self.random.below(2 * _SKEW_S) - _SKEW_S) * SECOND_NS
        clock = SkewedClock(self.clock, skew_ns)
        process = Process(
            clock, self.random.split(f"copy-{number}"), f"host-{number}", number, self.lines.append, lambda _: None
        )
        copy = SchedulerInstance(InstanceSettings(scheduler_config=_CONFIG), client, self.cluster.engine, process)
        self.copies.append(copy)
        copy.start()

    def _furnish(self) -> None:
        self._make("storageclasses.storage.k8s.io", _CLASS)
        selector = {"cel": {"expression": f"device.driver == '{_DRIVER}'"}}
        self._make("deviceclasses.resource.k8s.io", {"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}})
        for number in range(NODES):
            node = f"node-{number}"
            spec = {
                "driver": _DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
            }
            self._make("resourceslices.resource.k8s.io", {"metadata": {"name": node}, "spec": spec})

    def _make(self, resource: str, obj: dict[str, Any], namespace: str = "") -> None:
        registry = self.cluster.registry
        registry.create(resource, registry.decode(resource, obj), namespace)

    def _create(self, number: int) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
        name, spec = f"pod-{number}", dict[str, Any](containers=[container])
        if number % 3 == 1:
            self._make("persistentvolumeclaims", {"metadata": {"name": name}, "spec": _DISK}, "default")
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        if number % 3 == 2:
            self._make("resourceclaims.resource.k8s.io", {"metadata": {"name": name}, "spec": _GPU}, "default")
            spec["resourceClaims"] = [{"name": "g", "resourceClaimName": name}]
        self._make("pods", {"metadata": {"name": name}, "spec": spec}, "default")

    def _leader(self) -> SchedulerInstance | None:
        leaders = [copy for copy in self.copies if copy.is_active]
        assert len(leaders) <= 1, "two copies schedule at the same time"
        return leaders[0] if leaders else None

    def _kill_leader(self) -> None:
        while (leader := self._leader()) is None:
            self._one_step()
        leader.kill()
        died_ns = self.clock.now_ns()
        while self._leader() is None:
            self._one_step()
        self.takeover_ns = self.clock.now_ns() - died_ns

    def _retire_leader(self) -> None:
        leader = self._leader()
        assert leader is not None, "nobody leads long after the crash"
        leader.release()

    # --- Time ---

    def _step(self, count: int) -> None:
        for _ in range(count):
            self._one_step()

    def _step_for(self, duration_ns: int) -> None:
        end_ns = self.clock.now_ns() + duration_ns
        while self.clock.now_ns() < end_ns:
            self._one_step()

    def _one_step(self) -> None:
        """One step of the engine, or, when it rests, on to the next timer."""
        if not self.cluster.engine.step():
            due_ns = self.clock.next_ns()
            assert due_ns is not None
            self.clock.advance_to(due_ns)
        self._leader()

    # --- Rules ---

    def _watch_pod(self, event: WatchEvent) -> None:
        node = event.object.view.spec.node_name
        before = event.previous.view.spec.node_name if event.previous is not None else ""
        if node and not before:
            self.bound.setdefault(event.object.name, []).append(node)

    def _check_end(self) -> None:
        assert self._leader() is not None, "nobody leads after the leader has gone"
        pods = self.cluster.informers.lister("pods").list()
        assert len(pods) == PODS
        assert sorted(self.bound) == sorted(pod.metadata.name for pod in pods), "a pod was lost"
        assert all(len(nodes) == 1 for nodes in self.bound.values()), "a pod was bound twice"
        # 24 pods of half a CPU on 4 nodes of 4 CPU: 8 a node at the most.
        assert all(pod.status.phase == "Running" for pod in pods), "a node took more than it has"
        claims = self.cluster.registry.list("persistentvolumeclaims").items
        assert all(claim.raw["status"]["phase"] == "Bound" for claim in claims), "a volume was left out"
        devices = [_device(claim.raw) for claim in self.cluster.registry.list("resourceclaims.resource.k8s.io").items]
        assert len(set(devices)) == len(devices), "a device was given to two claims"


def _device(claim: dict[str, Any]) -> tuple[str, str]:
    (found,) = claim["status"]["allocation"]["devices"]["results"]
    return found["pool"], found["device"]
