"""What changes in the cluster do to the scheduler's cache and queue, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.client.protocol import WatchEvent
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.dra.devices import Devices
from schedlab.scheduler.event_handlers import WAKING_RESOURCES, EventHandlers
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from schedlab.scheduler.framework.pod_groups import PodGroups
from schedlab.scheduler.framework.types import PodInfo
from tests.unit.scheduler.queue.builders import NODE_ADD, PROFILE, Bench, FakePlugin, make_bench, make_pod

RESULT = "kube-scheduler-simulator.sigs.k8s.io/filter-result"


def every_event() -> list[ClusterEvent]:
    kinds = [EventResource.POD, EventResource.NODE, *WAKING_RESOURCES.values()]
    return [ClusterEvent(kind, ActionType.ALL) for kind in kinds]


@dataclass
class World:
    """Event handlers over a real cache and queue; `waiter` waits in the pool and hears every event."""

    bench: Bench
    cache: SchedulerCache
    handlers: EventHandlers
    rejected: list[str]
    waits_in_permit: bool = False
    revision: int = 0

    def stored(self, resource: str, name: str, parts: Mapping[str, Any] | None = None) -> StoredObject:
        self.revision += 1
        parts = dict(parts or {})
        metadata = {"name": name, "uid": f"uid-{name}", **parts.pop("metadata", {})}
        if resource == "pods":
            metadata.setdefault("namespace", "default")
            parts["spec"] = {"schedulerName": PROFILE, **parts.get("spec", {})}
        return StoredObject.encode(
            resource, {"kind": "K", "apiVersion": "v1", "metadata": metadata, **parts}, self.revision
        )

    def add(self, resource: str, name: str, parts: Mapping[str, Any] | None = None) -> StoredObject:
        new = self.stored(resource, name, parts)
        self.handlers.handle(WatchEvent("ADDED", new))
        return new

    def update(self, old: StoredObject, parts: Mapping[str, Any] | None = None) -> StoredObject:
        new = self.stored(old.resource, old.name, parts)
        self.handlers.handle(WatchEvent("MODIFIED", new, old))
        return new

    def delete(self, old: StoredObject) -> None:
        self.revision += 1
        self.handlers.handle(WatchEvent("DELETED", old.with_revision(self.revision), old))

    def heard(self) -> list[str]:
        """The events that the waiting pod was asked about since the last call."""
        labels = [verdict.label for verdict in self.bench.verdicts if verdict.pod.name == "waiter"]
        self.bench.verdicts.clear()
        self.bench.queue.validate()
        return labels

    def reject(self, pod: PodInfo) -> bool:
        self.rejected.append(pod.name)
        return self.waits_in_permit


def make_world(gates: Mapping[str, bool] | None = None, events: Sequence[ClusterEvent] | None = None) -> World:
    plugin = FakePlugin("Ears", every_event() if events is None else events, lambda *_: 0)  # type: ignore[arg-type]
    bench = make_bench(plugin, gates=gates, verdicts=True)
    bench.queue.add(make_pod("waiter", priority=-1))
    bench.fail("Ears")
    cache = SchedulerCache()
    features = FeatureGates.default().with_overrides(gates or {})
    world = World(bench, cache, None, [])  # type: ignore[arg-type]
    world.handlers = EventHandlers(
        cache, bench.queue, Devices(features), PodGroups(cache), bench.queue._env.profiles, features, world.reject
    )
    return world


def names(world: World) -> list[str]:
    return [pod.name for pod in world.cache.pods()]


ON_NODE = {"spec": {"nodeName": "n1"}}


class TestNodes:
    def test_node_is_cached_before_pods_wake(self) -> None:
        world = make_world()
        node = world.add("nodes", "n1")
        assert world.cache.node_count == 1
        assert world.heard() == ["NodeAdd"]

        node = world.update(node, {"metadata": {"labels": {"a": "b"}}, "status": {"allocatable": {"cpu": "1"}}})
        assert world.heard() == ["NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"]
        info = world.cache.node_info("n1")
        assert info is not None
        assert info.allocatable.milli_cpu == 1000

        world.delete(node)
        assert world.cache.node_count == 0
        assert world.heard() == ["NodeDelete"]

    def test_heartbeat_wakes_nobody(self) -> None:
        world = make_world()
        node = world.add("nodes", "n1", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        world.heard()
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:10Z"}
        world.update(node, {"status": {"conditions": [beat]}})

        assert world.heard() == []


class TestPendingPods:
    def test_pod_is_queued_changed_and_forgotten(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        assert world.bench.places() == {"active": ["p"], "unschedulable": ["waiter"]}

        pod = world.update(pod, {"metadata": {"labels": {"a": "b"}}})
        queued = world.bench.queue.find("default/p")
        assert queued is not None
        assert queued.pod.labels == {"a": "b"}
        assert queued.pod.stored is pod

        world.delete(pod)
        assert world.bench.places() == {"unschedulable": ["waiter"]}
        assert world.heard() == []

    def test_pod_of_another_scheduler_counts_once_it_is_bound(self) -> None:
        world = make_world()
        world.delete(world.add("pods", "q", {"spec": {"schedulerName": "another"}}))
        pod = world.add("pods", "p", {"spec": {"schedulerName": "another"}})
        pod = world.update(pod, {"spec": {"schedulerName": "another"}, "metadata": {"labels": {"a": "b"}}})
        assert world.bench.places() == {"unschedulable": ["waiter"]}

        pod = world.update(pod, {"spec": {"schedulerName": "another", "nodeName": "n1"}})
        assert names(world) == ["p"]
        world.delete(pod)
        assert names(world) == []
        assert world.heard() == ["AssignedPodAdd", "AssignedPodDelete"]

    def test_unchanged_revision_is_no_update(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        world.bench.queue.delete(make_pod("p"))
        world.handlers.handle(WatchEvent("MODIFIED", pod, pod))

        assert world.bench.places() == {"unschedulable": ["waiter"]}

    def test_pod_that_is_over_is_gone(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        pod = world.update(pod, {"status": {"phase": "Failed"}})
        assert world.bench.places() == {"unschedulable": ["waiter"]}

        pod = world.update(pod, {"status": {"phase": "Failed", "reason": "x"}})
        world.delete(pod)
        world.add("pods", "q", {"status": {"phase": "Succeeded"}})
        assert world.bench.places() == {"unschedulable": ["waiter"]}

    def test_another_pod_of_the_same_name_replaces_the_old_one(self) -> None:
        world = make_world()
        pod = world.add("pods", "p", ON_NODE)
        world.update(pod, {"metadata": {"uid": "another"}})

        assert names(world) == []
        assert world.heard() == ["AssignedPodAdd", "AssignedPodDelete"]
        queued = world.bench.queue.find("default/p")
        assert queued is not None
        assert queued.pod.uid == "another"

    def test_new_pod_wakes_members_of_its_gang(self) -> None:
        world = make_world({"GenericWorkload": True, "GangScheduling": True})
        world.add("pods", "p")

        assert world.heard() == ["UnschedulablePodAdd"]


class TestNominations:
    NOMINATED: Mapping[str, Any] = {"status": {"nominatedNodeName": "n1"}}

    @pytest.mark.parametrize(("status", "labels"), [({}, ["AssignedPodDelete"]), ({"nominatedNodeName": "n1"}, [])])
    def test_nomination_that_is_taken_back_wakes_pods_of_no_higher_priority(
        self, status: Mapping[str, Any], labels: list[str]
    ) -> None:
        world = make_world()
        world.bench.queue.add(make_pod("above", priority=9))
        world.bench.fail("Ears")
        pod = world.add("pods", "p", self.NOMINATED)
        world.update(pod, {"status": status, "metadata": {"labels": {"a": "b"}}})

        assert [v.pod.name for v in world.bench.verdicts] == ["waiter"] * len(labels)
        assert world.heard() == labels

    def test_nominated_pod_that_is_deleted_wakes_them_too(self) -> None:
        world = make_world()
        world.delete(world.add("pods", "p", self.NOMINATED))

        assert world.heard() == ["AssignedPodDelete"]


class TestAssignedPods:
    def test_pod_is_cached_before_others_wake(self) -> None:
        world = make_world()
        pod = world.add("pods", "p", ON_NODE)
        assert names(world) == ["p"]
        assert world.heard() == ["AssignedPodAdd"]

        pod = world.update(pod, {**ON_NODE, "metadata": {"labels": {"a": "b"}}})
        known = world.cache.pod("uid-p")
        assert known is not None
        assert known.labels == {"a": "b"}
        assert world.heard() == ["AssignedPodUpdatePodLabel"]

        pod = world.update(pod, {**ON_NODE, "metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}})
        assert world.heard() == ["AssignedPodUpdate"]

        world.update(pod, {**ON_NODE, "status": {"phase": "Succeeded"}})
        assert names(world) == []
        assert world.heard() == ["AssignedPodDelete"]

    def test_binding_by_somebody_else_takes_the_pod_out_of_the_queue(self) -> None:
        world = make_world()
        world.update(world.add("pods", "p"), ON_NODE)

        assert names(world) == ["p"]
        assert world.bench.places() == {"unschedulable": ["waiter"]}
        assert world.heard() == ["AssignedPodAdd"]

    def test_own_binding_ends_the_assumption(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        world.cache.assume_pod(PodInfo(pod.view, pod), "n1")
        world.update(pod, ON_NODE)

        assert not world.cache.is_assumed("uid-p")
        assert names(world) == ["p"]

    def test_writing_results_changes_nothing(self) -> None:
        """Not even the order of the pods on the node."""
        world = make_world()
        pods = [world.add("pods", name, ON_NODE) for name in ("p", "q")]
        world.heard()
        noted = world.update(pods[0], {**ON_NODE, "metadata": {"annotations": {RESULT: "{}"}}})

        assert names(world) == ["p", "q"]
        assert world.heard() == []

        world.update(noted, {**ON_NODE, "metadata": {"annotations": {RESULT: "{}"}, "labels": {"a": "b"}}})
        assert world.heard() == ["AssignedPodUpdatePodLabel"]


class TestAssumedPods:
    @pytest.mark.parametrize("waits", [True, False], ids=["in permit", "binding"])
    def test_deletion_frees_what_the_pod_holds(self, waits: bool) -> None:  # noqa: FBT001
        """A pod in permit is turned down, and gives back what it holds by itself."""
        world = make_world()
        world.waits_in_permit = waits
        pod = world.add("pods", "p")
        world.bench.queue.pop()
        world.cache.assume_pod(PodInfo(pod.view, pod), "n1")
        world.update(pod, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})

        assert world.rejected == ["p"]
        assert world.cache.is_assumed("uid-p") is waits
        assert world.heard() == ["AssignedPodDelete"]

    def test_disappearance_frees_it_too(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        world.bench.queue.pop()
        world.cache.assume_pod(PodInfo(pod.view, pod), "n1")
        world.delete(pod)

        assert names(world) == []
        assert world.heard() == ["AssignedPodDelete"]

    def test_other_changes_are_left_to_the_binding(self) -> None:
        world = make_world()
        pod = world.add("pods", "p")
        world.bench.queue.pop()
        world.cache.assume_pod(PodInfo(pod.view, pod), "n1")
        world.update(pod, {"metadata": {"labels": {"a": "b"}}})

        assert world.cache.is_assumed("uid-p")
        assert world.bench.queue.find("default/p") is None


class TestOtherObjects:
    @pytest.mark.parametrize(("resource", "kind"), [(r, k.value) for r, k in WAKING_RESOURCES.items()])
    def test_change_wakes_pods(self, resource: str, kind: str) -> None:
        world = make_world({"GenericWorkload": True})
        thing = world.update(world.add(resource, "x"), {"metadata": {"labels": {"a": "b"}}})
        world.delete(thing)

        assert world.heard() == [f"{kind}Add", f"{kind}Update", f"{kind}Delete"]

    def test_only_what_plugins_want_to_hear_of_is_watched(self) -> None:
        claims = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        world = make_world(events=[NODE_ADD, claims])
        world.delete(world.add("persistentvolumeclaims", "x"))

        assert world.handlers.resources() == ("pods", "nodes", "persistentvolumeclaims")
        assert world.heard() == ["PersistentVolumeClaimAdd"]

    def test_pod_groups_are_watched_only_while_their_feature_is_on(self) -> None:
        for gate in (False, True):
            resources = make_world({"GenericWorkload": gate}).handlers.resources()

            assert ("podgroups.scheduling.k8s.io" in resources) is gate


def test_events_are_held_back_while_a_cycle_waits() -> None:
    world = make_world()
    world.handlers.hold()
    world.add("nodes", "n1")
    world.add("pods", "p", ON_NODE)
    assert world.cache.node_count == 0
    assert [event.object.name for event in world.handlers.held] == ["n1", "p"]
    assert world.heard() == []

    world.handlers.release()
    assert world.heard() == ["NodeAdd", "AssignedPodAdd"]
    assert world.handlers.held == ()
    assert names(world) == ["p"]
