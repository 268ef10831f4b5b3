"""GangScheduling."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from schedlab.api.views.scheduling import GangSchedulingPolicy, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.pod_groups import PodGroups
from schedlab.scheduler.framework.status import Code, Status, error, unresolvable
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.gang_scheduling import ENTRY
from schedlab.testing.builders import PodBuilder, make_pod
from tests.unit.scheduler.fake_cluster import FakeLister
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

MINUTES_5 = 5 * 60 * 1_000_000_000
WAIT = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))
TOO_FEW = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")


def member(name: str, group: str = "g") -> PodBuilder:
    return make_pod(name).uid(name).set("spec.schedulingGroup", {"podGroupName": group})


class Waiting:
    """A pod that waits in permit."""

    def __init__(self) -> None:
        self.allowed: list[str] = []

    def allow(self, plugin: str) -> None:
        self.allowed.append(plugin)


class World:
    """The plugin with groups, pods and a cache; `count` is minCount of the group g, None for a basic one."""

    def __init__(self, count: int | None = 2) -> None:
        self.cache = SchedulerCache()
        self.activated: list[str] = []
        self.waiting: dict[str, Waiting] = {}
        gang = None if count is None else GangSchedulingPolicy(count)
        known = PodGroup(spec=PodGroupSpec(PodGroupSchedulingPolicy(gang)))
        lister = SimpleNamespace(get=lambda name, _namespace: known if name == "g" else None)
        self.groups = PodGroups(self.cache, cast("FakeLister", lister))
        handle: Any = SimpleNamespace(
            pod_groups=self.groups,
            activate=lambda pods: self.activated.extend(pod.name for pod in pods),
            waiting_pod=self.waiting.get,
        )
        self.plugin = ENTRY.factory(None, handle)

    def add(self, *names: str) -> list[PodInfo]:
        pods = [member(name).obj() for name in names]
        for pod in pods:
            self.groups.put(pod)
        return pods

    def permit(self, pod: PodInfo, *, trying: bool = False) -> tuple[Status | None, int]:
        """Assume the pod on a node and ask."""
        state = CycleState()
        state.in_pod_group_cycle = trying
        answer: tuple[Status | None, int] = self.plugin.permit(state, self.cache.assume_pod(pod, "n"), "n")
        return answer


def test_pods_without_a_group_are_nobodys_business() -> None:
    world = World()

    assert world.plugin.pre_enqueue(make_pod().obj()) is None
    assert world.permit(make_pod().obj()) == (None, 0)


def test_pods_wait_for_their_group_and_for_minCount() -> None:  # noqa: N802 - the field's name
    world = World(2)
    first, *_ = world.add("a")

    assert world.plugin.pre_enqueue(member("x", "other").obj()) == unresolvable(
        'waiting for pods\'s pod group "other" to appear in scheduling queue'
    )
    assert world.plugin.pre_enqueue(first) == TOO_FEW
    world.add("b")
    assert world.plugin.pre_enqueue(first) is None


def test_the_last_of_a_gang_lets_the_others_go() -> None:
    world = World(2)
    first, second = world.add("a", "b")

    assert world.permit(first) == (WAIT, MINUTES_5)
    assert world.activated == ["b"]
    world.waiting["a"] = Waiting()
    assert world.permit(second) == (None, 0)
    assert world.waiting["a"].allowed == ["GangScheduling"]


def test_trying_a_group_wakes_and_lets_go_nobody() -> None:
    world = World(2)
    first, second, _ = world.add("a", "b", "c")
    world.waiting["a"] = Waiting()

    assert world.permit(first, trying=True) == (WAIT, MINUTES_5)
    assert world.permit(second, trying=True) == (None, 0)
    assert world.activated == world.waiting["a"].allowed == []


def test_a_basic_group_holds_nobody_back() -> None:
    world = World(None)
    [pod] = world.add("a")

    assert world.plugin.pre_enqueue(pod) is None
    assert world.permit(pod) == (None, 0)


def test_a_group_that_went_meanwhile_is_an_error() -> None:
    text = 'failed to get podGroup default/gone: podgroup.scheduling.k8s.io "gone" not found'

    assert World().permit(member("x", "gone").obj()) == (error(text), 0)


def test_pods_that_are_gone_do_not_count() -> None:
    world = World(2)
    first, second = world.add("a", "b")
    world.groups.remove(second)

    assert world.plugin.pre_enqueue(first) == TOO_FEW
    world.groups.remove(first)
    assert world.groups.count("default/g") == 0


@pytest.mark.parametrize(("other", "hint"), [("g", "queue"), ("h", "skip")])
def test_only_its_own_group_wakes_a_pod(other: str, hint: str) -> None:
    bench, pod = PluginBench(ENTRY), member("a")
    added = member("b", other).view()
    group = PodGroup(metadata=added.metadata.__class__(name=other, namespace="default"))

    assert bench.hint(EventResource.POD, ActionType.ADD, pod, None, added) == hint
    assert bench.hint(EventResource.POD_GROUP, ActionType.ADD, pod, None, group) == hint
