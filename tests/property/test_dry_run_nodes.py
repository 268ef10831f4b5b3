"""The dry run of many nodes at once finds what the dry run of each node finds, whatever is on them."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.selectors import from_map
from schedlab.kernel.clock import EPOCH_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config import load
from schedlab.scheduler.framework.interface import CycleState, NominatingInfo
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.scheduler.framework.preemption.dry_run import Preemptor, select_victims
from schedlab.scheduler.framework.preemption.dry_run_nodes import _local_filters, dry_run_nodes
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.scheduler import Scheduler
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, configuration, profile
from tests.unit.scheduler.plugins.little_cluster import FakeListers, LittleCluster, make_node, make_pod

GPU = "example.com/gpu"
NAMES = ("n0", "n1", "n2", "n3")
# Before the present, the present, and after it.
STARTS = (
    None,
    None,
    *(f"2025-12-31T00:00:{second:02}Z" for second in range(20)),
    "2026-01-01T00:00:00Z",
    *(f"2026-01-01T00:00:{second:02}Z" for second in range(5, 10)),
)
APPS: tuple[dict[str, str], ...] = ({"app": "a"}, {"app": "b"}, {})


def amounts(dice: Random) -> dict[str, str]:
    """What a pod asks for; seldom more than a node has left."""
    drawn = {"cpu": dice.choice(("0", "250m", "500m", "1"))}
    if dice.random() < 0.3:
        drawn["memory"] = dice.choice(("512Mi", "1Gi"))
    if dice.random() < 0.2:
        drawn[GPU] = "1"
    return drawn


def draw_pod(dice: Random, name: str, priority: int, node: str = "") -> PodInfo:
    start = dice.choice(STARTS)
    port = dice.choice((80, 81)) if dice.random() < 0.1 else 0
    return make_pod(
        name,
        dice.choice(APPS),
        node=node,
        status={} if start is None else {"startTime": start},
        schedulerName="default-scheduler",
        priority=priority,
        containers=[
            {"name": "c", "resources": {"requests": amounts(dice)}, "ports": [{"hostPort": port}] if port else []}
        ],
    )


def fill(scheduler: Scheduler, dice: Random) -> None:
    """Nodes with pods on them, some with more than insertion sort takes; perhaps a nominated pod."""
    for name in NAMES:
        allocatable = {"cpu": dice.choice(("2", "4")), "memory": "4Gi", "pods": dice.choice(("4", "15", "40"))}
        if dice.random() < 0.7:
            allocatable[GPU] = "2"
        taints = [{"key": "t", "effect": "NoSchedule"}] if dice.random() < 0.1 else []
        scheduler.cache.set_node(make_node(name, allocatable=allocatable, taints=taints))
        for number in range(dice.choice((0, 3, 6, 14, 20))):
            priority = dice.choice((0, 0, 1, 1, 2, 9))
            scheduler.cache.add_pod(draw_pod(dice, f"{name}-{number}", priority, name))
    scheduler.cache.refresh()
    if dice.random() < 0.3:
        rival = draw_pod(dice, "rival", dice.choice((1, 8)))
        scheduler.pods.put(rival.pod)  # type: ignore[attr-defined]
        scheduler.queue.add(rival)
        scheduler.queue.nominator.add(rival, NominatingInfo(dice.choice(NAMES)))


def draw_budgets(dice: Random) -> Budgets:
    apps = [dice.choice("ab") for _ in range(dice.choice((0, 1, 2)))]
    return Budgets(Budget("default", from_map({"app": app}), dice.randrange(3), {}) for app in apps)


def make_scheduler() -> Scheduler:
    features = FeatureGates.default()
    config = load(configuration(profile(*BASIC_PLUGINS, "DefaultPreemption")), features)
    return Scheduler(
        config, clock=VirtualClock(EPOCH_NS), random=SeededRandom(1), listers=FakeListers(), features=features
    )


@given(st.integers(0, 2**32))
def test_equal_to_one_by_one(seed: int) -> None:
    """Victims, their order, broken budgets and statuses are the same.

    The clusters are drawn by plain dice: what hypothesis finds simple leaves little to preempt.
    """
    dice = Random(seed)
    scheduler = make_scheduler()
    fill(scheduler, dice)
    handle = scheduler.profiles["default-scheduler"]
    for turn in range(3):
        state, pod = CycleState(), draw_pod(dice, f"wanting-{turn}", dice.choice((1, 5, 5)))
        assert handle.run_pre_filter(state, pod).status is None
        preemptor = Preemptor(pod, state, draw_budgets(dice), scheduler.clock.now_ns())
        infos = scheduler.cache.table.infos

        together = list(dry_run_nodes(handle, preemptor, infos))

        assert together == [select_victims(handle, preemptor, info) for info in infos]


@given(st.integers(0, 2**32))
def test_preemptors_that_were_made_alike(seed: int) -> None:
    """What is kept of a node from one preemptor to the next is what is found out anew, whatever has happened there."""
    dice = Random(seed)
    scheduler = make_scheduler()
    fill(scheduler, dice)
    handle = scheduler.profiles["default-scheduler"]
    pod = draw_pod(dice, "wanting", dice.choice((1, 5)))
    for turn in range(5):
        for number in range(dice.choice((0, 0, 1, 3))):
            change_something(scheduler, dice, f"new-{turn}-{number}")
        state = CycleState()
        assert handle.run_pre_filter(state, pod).status is None
        preemptor = Preemptor(pod, state, draw_budgets(dice) if turn == 2 else Budgets(), scheduler.clock.now_ns())
        infos = scheduler.cache.table.infos

        together = list(dry_run_nodes(handle, preemptor, infos))

        assert together == [select_victims(handle, preemptor, info) for info in infos]


def change_something(scheduler: Scheduler, dice: Random, name: str) -> None:
    """Let a pod come, start or go, a node change, a nomination be made, or time pass."""
    cache, clock = scheduler.cache, scheduler.clock
    node = dice.choice(NAMES)
    pods = cache.table.infos[cache.table.row_of[node]].pods
    kind = dice.choice(("come", "start", "go", "node", "nominate", "time"))
    if kind == "come":
        cache.add_pod(draw_pod(dice, name, dice.choice((0, 1, 2, 9)), node))
    elif kind == "start" and pods:
        old = dice.choice(pods).pod
        start = dice.choice(STARTS)
        cache.update_pod(PodInfo(replace(old, status=replace(old.status, start_time=start))))
    elif kind == "go" and pods:
        cache.remove_pod(dice.choice(pods))
    elif kind == "node":
        cache.set_node(make_node(node, allocatable={"cpu": dice.choice(("2", "4")), "memory": "4Gi", "pods": "20"}))
    elif kind == "nominate":
        rival = draw_pod(dice, name, dice.choice((1, 8)))
        scheduler.pods.put(rival.pod)  # type: ignore[attr-defined]
        scheduler.queue.add(rival)
        scheduler.queue.nominator.add(rival, NominatingInfo(node))
    elif kind == "time":
        assert isinstance(clock, VirtualClock)
        clock.advance_to(clock.now_ns() + 3_000_000_000)
    cache.refresh()


def test_filters_of_pods_without_terms_look_at_sums_only() -> None:
    """With all of its own plugins the scheduler tries many nodes at once, unless a filter looks at pods."""
    cluster = LittleCluster([make_node("n1", {"zone": "a"})])
    features = FeatureGates.default()
    config = load(configuration(profile(*BASIC_PLUGINS, "PodTopologySpread", "InterPodAffinity")), features)
    scheduler = Scheduler(
        config, clock=cluster.clock, random=cluster.random, listers=cluster.listers, features=features
    )
    scheduler.cache.set_node(make_node("n1", {"zone": "a"}))
    scheduler.cache.refresh()
    handle = scheduler.profiles["default-scheduler"]
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    found = []
    for pod in (make_pod("plain"), make_pod("spread", topologySpreadConstraints=[spread])):
        state = CycleState()
        handle.run_pre_filter(state, pod)
        found.append(_local_filters(handle, Preemptor(pod, state, Budgets(), 0)) is not None)

    assert found == [True, False]
