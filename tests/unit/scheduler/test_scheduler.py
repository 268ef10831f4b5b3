"""The scheduler as a part: what it listens to, what it tries, what it leaves alone."""

from dataclasses import replace
from typing import Any

import pytest

from schedlab.client.effects import WriteEffect
from schedlab.client.protocol import Write
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config import ConfigError
from schedlab.scheduler.framework.interface import CycleState, NominatingInfo, PluginEntry, PostFilterResult, Work
from schedlab.scheduler.framework.status import unschedulable
from schedlab.scheduler.scheduler import Origin, Scheduler
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of


def cluster(*plugins: FakePlugin, config: Any = None, **more: Any) -> FakeCluster:
    made = FakeCluster(
        config or configuration(profile(*BASIC_PLUGINS, *(plugin.name for plugin in plugins))),
        registry=registry_of(*plugins),
        **more,
    )
    made.add(*(make_node(name).capacity(cpu="4", memory="8Gi", pods="110") for name in ("a", "b")))
    return made


def test_pods_of_other_schedulers_are_left_alone() -> None:
    made = cluster()

    assert made.schedule(make_pod("p").scheduler_name("somebody-else")) == [""]
    assert not made.observer.cycles
    assert not made.writes


def test_every_profile_has_its_own_plugins() -> None:
    made = cluster(
        config=configuration(profile(*BASIC_PLUGINS, name="one"), profile("PrioritySort", "DefaultBinder", name="two"))
    )

    assert made.schedule(
        make_pod("p").scheduler_name("one").req(cpu="8"), make_pod("q").scheduler_name("two").req(cpu="8")
    ) == ["", "a"]
    assert [record.profile for record in made.observer.cycles] == ["one", "two"]


def test_pod_that_is_being_deleted_is_not_tried() -> None:
    made = cluster()
    made.schedule(make_pod("p").terminating())

    assert not made.observer.cycles
    assert made.notes() == ["skip schedule deleting pod: default/p"]
    assert not made.scheduler.queue.contents().in_flight


def test_given_pod_can_be_tried_out_of_turn() -> None:
    made = cluster()
    made.add(make_pod("first").priority(10), make_pod("second"))

    made.carry(made.scheduler.attempt(made.info("second")))

    assert made.nodes_of("first", "second") == ["", "a"]
    assert [record.pod.name for record in made.observer.cycles] == ["second"]


def test_pod_deleted_while_it_fails_is_not_put_back() -> None:
    """The pod is gone from the API when the failure is handled; the queue must not keep it."""
    made = cluster()
    made.add(make_pod("p").req(cpu="8"))
    stored = made.listers.lister("pods").objects.pop(("default", "p"))

    made.run()

    assert made.scheduler.queue.contents().unschedulable == ()
    assert stored.name == "p"


def test_failed_pod_goes_back_in_its_newest_state() -> None:
    made = cluster()

    def relabel(*_: object) -> tuple[None, None]:
        if not made.pod("p").metadata.labels:
            made.change("pods", "p", lambda raw: raw["metadata"].update(labels={"new": "label"}))
        return None, None

    made = cluster(FakePlugin("R", pre_filter=relabel, filter=lambda *_: None, events_to_register=list))
    made.schedule(make_pod("p").req(cpu="8"))

    queued = made.scheduler.queue.find("default/p")
    assert queued is not None
    assert queued.pod.labels == {"new": "label"}


@pytest.mark.parametrize("point", ["scheduling", "binding"])
def test_plugins_may_activate_other_pods(point: str) -> None:
    made = cluster()

    def ask(state: CycleState, pod: Any, *_: object) -> None:
        if pod.name == "p":
            state.pods_to_activate.append(made.info("waiter"))

    method = {"reserve": ask, "unreserve": ask} if point == "scheduling" else {"post_bind": ask}
    made = cluster(
        FakePlugin("A", **method),
        FakePlugin(
            "Never",
            filter=lambda _s, pod, _n: unschedulable("no") if pod.name == "waiter" else None,
            events_to_register=list,
        ),
    )
    made.schedule(make_pod("waiter"))
    assert len(made.observer.cycles) == 1

    made.schedule(make_pod("p"))
    assert [record.pod.name for record in made.observer.cycles] == ["waiter", "p", "waiter"]


def test_background_work_may_send_events_and_wake_pods() -> None:
    handles: list[Any] = []

    def post_filter(*_: object) -> Any:
        work = Work(writes=(Write("delete", "pods", "default", "victim"),))
        return PostFilterResult(NominatingInfo("a")), None, work

    def resume(_state: object, pod: Any, *_: object) -> None:
        handles[0].record_event(pod, None, "Normal", "Preempted", "Preempting", "made room")

    plugin = FakePlugin("P", post_filter=post_filter, resume=resume, filter=lambda *_: None)
    entry = registry_of(plugin)["P"]

    def factory(args: Any, handle: Any) -> Any:
        handles.append(handle)
        return entry.factory(args, handle)

    made = FakeCluster(configuration(profile(*BASIC_PLUGINS, "P")), registry={"P": replace(entry, factory=factory)})
    made.add(make_node("a").capacity(cpu="4", pods="10"), make_pod("victim").node("a").req(cpu="4"))
    made.schedule(make_pod("p").req(cpu="1"))

    # Depth first: what follows from the deletion is sent before the pod's own failure.
    assert made.notes()[:2] == ["made room", "0/1 nodes are available: 1 Insufficient cpu."]
    assert made.nodes_of("p") == ["a"]


def test_events_have_names_of_their_own() -> None:
    made = cluster()
    made.schedule(*(make_pod("p", namespace) for namespace in ("default",)), make_pod("q"), make_pod("r"))

    names = [write.name for write in made.writes if write.resource == "events.events.k8s.io"]
    assert len(names) == len({name.rpartition(".")[2] for name in names}) == 3


def test_records_name_the_revision_they_rest_on() -> None:
    made = cluster()
    made.schedule(make_pod("p"))

    assert made.observer.cycles[0].revision == 3
    assert made.observer.cycles[0].node_names is made.scheduler.cache.table.names


def test_without_observer_nothing_is_recorded() -> None:
    made = cluster(observe=False)

    assert made.schedule(make_pod("p")) == ["a"]
    assert not made.observer.cycles


def test_plugins_hear_of_each_other() -> None:
    seen: list[Any] = []
    made = cluster(FakePlugin("A", filter=lambda *_: None))
    framework = made.scheduler.profiles["default-scheduler"]
    seen.append(framework.plugin("A"))

    assert seen[0] in framework.plugins
    assert framework.plugin("Nope") is None
    assert framework.waiting_pods() == ()
    assert framework.waiting_pod("u") is None
    assert framework.pod_in_pre_bind("u") is None


@pytest.mark.parametrize(
    ("profiles", "message"),
    [
        (
            [profile("PrioritySort")],
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
        ),
        ([profile("PrioritySort", "DefaultBinder", "Nope")], 'PreFilterPlugin "Nope" does not exist'),
    ],
)
def test_profile_that_cannot_be_made_is_refused(profiles: list[Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FakeCluster(configuration(*profiles))

    prefix = "initializing profiles: creating profile for scheduler name default-scheduler: "
    assert caught.value.message == prefix + message


def test_arguments_of_node_resources_fit_are_checked_when_the_plugin_is_made() -> None:
    args = {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 101}]}}
    bad = profile(*BASIC_PLUGINS, pluginConfig=[{"name": "NodeResourcesFit", "args": args}])

    with pytest.raises(ConfigError) as caught:
        FakeCluster(configuration(bad))

    assert caught.value.message == (
        "initializing profiles: creating profile for scheduler name default-scheduler: "
        'initializing plugin "NodeResourcesFit": scoringStrategy.resources[0].weight: Invalid value: 101: '
        "resource weight of cpu not in valid range (0, 100]"
    )


def test_resources_left_to_extenders_are_not_looked_at() -> None:
    extender = {
        "urlPrefix": "http://x",
        "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
    }
    made = cluster(config=configuration(profile(*BASIC_PLUGINS), extenders=[extender]))

    assert made.schedule(make_pod("p").req({"example.com/x": "1"})) != [""]


def test_equal_runs_make_equal_choices() -> None:
    def run() -> list[str]:
        made = cluster()
        return made.schedule(*(make_pod(f"p{index}").req(cpu="250m") for index in range(20)))

    assert run() == run()


def fork_of(made: FakeCluster) -> Scheduler:
    original = made.scheduler
    clock = VirtualClock(made.clock.now_ns())
    return Scheduler(
        original.config,
        clock=clock,
        random=SeededRandom(2),
        listers=made.listers,
        features=made.features,
        origin=Origin.of(original),
    )


class TestFork:
    def test_goes_on_where_the_original_stands(self) -> None:
        made = cluster()
        made.schedule(make_pod("bound").req(cpu="1"), make_pod("waits").req(cpu="8"))
        made.add(make_pod("next").req(cpu="3"))

        fork = fork_of(made)

        assert fork.queue.contents() == made.scheduler.queue.contents()
        assert fork.cache.table.requested[0].tolist() == [1000, 0]
        assert fork.next_start_node_index == made.scheduler.next_start_node_index

    def test_hears_of_what_the_original_has_not_taken_yet(self) -> None:
        made = cluster()
        made.scheduler.handlers.hold()
        made.add(make_node("late"))

        fork = fork_of(made)

        assert made.scheduler.cache.node_info("late") is None
        assert fork.cache.node_info("late") is not None

    def test_changes_nothing_of_the_original(self) -> None:
        made = cluster()
        made.add(make_pod("p").req(cpu="3"))
        fork = fork_of(made)

        fork.step()

        assert fork.cache.table.requested[0].tolist() == [3000, 0]
        made.scheduler.cache.refresh()
        assert made.scheduler.cache.table.requested[0].tolist() == [0, 0]
        assert made.scheduler.queue.contents().active == ("default/p",)

    def test_bindings_in_flight_start_anew(self) -> None:
        made = cluster()
        made.held = lambda effect: isinstance(effect, WriteEffect) and effect.write.subresource == "binding"
        made.schedule(make_pod("p").req(cpu="3"))

        fork = fork_of(made)

        assert not fork.cache.assumed_pods()
        assert fork.queue.contents().active == ("default/p",)
        assert made.scheduler.bindings

    def test_cycle_that_waits_for_an_extender_starts_anew(self) -> None:
        extender = {"urlPrefix": "http://x", "filterVerb": "filter"}
        made = cluster(config=configuration(profile(*BASIC_PLUGINS), extenders=[extender]))
        made.held = lambda effect: not isinstance(effect, WriteEffect)
        made.schedule(make_pod("p"))
        assert made.scheduler.queue.contents().in_flight == ("default/p",)

        assert fork_of(made).queue.contents().active == ("default/p",)

    def test_pod_that_is_bound_already_stays_so(self) -> None:
        made = cluster()
        made.schedule(make_pod("p").req(cpu="3"))
        cache = made.scheduler.cache
        bound = cache.pod(made.pod("p").metadata.uid)
        assert bound is not None
        cache.remove_pod(bound)
        cache.assume_pod(bound, "a")

        fork = fork_of(made)

        assert not fork.cache.assumed_pods()
        assert fork.cache.table.requested[0].tolist() == [3000, 0]


class TestArguments:
    def made_with(self, raw: Any, **entry: Any) -> list[Any]:
        got: list[Any] = []

        def factory(args: Any, _handle: Any) -> Any:
            got.append(args)
            return FakePlugin("Mine", filter=lambda *_: None)

        configured = [] if raw is None else [{"name": "Mine", "args": raw}]
        FakeCluster(
            configuration(profile(*BASIC_PLUGINS, "Mine", pluginConfig=configured)),
            registry={"Mine": PluginEntry("Mine", factory, **entry)},
        )
        return got

    def test_plugin_gets_its_mapping(self) -> None:
        assert self.made_with({"n": 1}) == [{"n": 1}]
        assert self.made_with(None) == [None]

    def test_plugin_may_decode_it(self) -> None:
        assert self.made_with({"n": 1}, args=lambda raw: raw["n"]) == [1]
        assert self.made_with(None, args=len) == [0]

    def test_wrong_values_are_refused_with_their_place(self) -> None:
        with pytest.raises(ConfigError, match=r"profiles\[0\].pluginConfig\[0\].args: invalid literal"):
            self.made_with({"n": "x"}, args=lambda raw: int(raw["n"]))
