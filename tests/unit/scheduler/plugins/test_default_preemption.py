"""DefaultPreemption from a pod that fits nowhere to its victims' ends, in a scheduler whose writes are carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from schedlab.apimachinery.errors import StatusError, new_not_found
from schedlab.apimachinery.errors import new_conflict as conflict
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.effects import CallOutcome, Effect, WriteEffect
from schedlab.client.protocol import Write
from schedlab.scheduler.framework.events import EventResource, QueueingHint
from schedlab.scheduler.framework.interface import PluginEntry, Work
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.plugins.default_preemption import DefaultPreemption
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile

PLUGINS = (*BASIC_PLUGINS, "DefaultPreemption")
GATED = "waiting for the preemption for this pod to be finished"


def cluster(*nodes: str, cpu: str = "2", config: dict[str, Any] | None = None, **options: Any) -> FakeCluster:
    """Nodes of that size under a scheduler with preemption."""
    made = FakeCluster(configuration(profile(*PLUGINS)) if config is None else config, **options)
    made.add(*(node(name, cpu) for name in nodes))
    return made


def node(name: str, cpu: str = "2") -> NodeBuilder:
    return make_node().name(name).capacity(cpu=cpu, memory="8Gi", pods="110")


def placed(name: str, on: str, cpu: str = "2", priority: int = 1, start: str = "00:00:01") -> PodBuilder:
    pod = make_pod().name(name).req(cpu=cpu).node(on).priority(priority).phase("Running")
    return pod.start_time(f"2025-12-31T{start}Z")


def wanting(name: str = "p", cpu: str = "2", priority: int = 100) -> PodBuilder:
    return make_pod().name(name).req(cpu=cpu).priority(priority)


def patched(made: FakeCluster) -> list[str]:
    """The pods whose status was patched, in order."""
    return [write.name for write in made.writes if write.verb == "patch"]


def deleted(made: FakeCluster) -> list[str]:
    """The pods that were deleted, in order."""
    return [write.name for write in made.writes if write.verb == "delete"]


def budget(made: FakeCluster, allowed: int, **labels: str) -> None:
    made.put(
        "poddisruptionbudgets.policy",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed},
        },
    )


class TestVictims:
    """Who has to go."""

    def test_lower_priority_makes_room(self) -> None:
        """The victim is marked and deleted, the pod nominated; then it gets the room."""
        made = cluster("n1")
        made.add(placed("v", "n1"))
        made.add(wanting())
        made.carry(made.scheduler.step())

        assert deleted(made) == ["v"]
        mark = next(write for write in made.writes if write.name == "v")
        assert mark.subresource == "status"
        [condition] = mark.body["status"]["conditions"]  # type: ignore[index,call-overload]
        assert condition["type"] == "DisruptionTarget"
        assert condition["reason"] == "PreemptionByScheduler"
        assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
        assert made.pod("p").status.nominated_node_name == "n1"
        assert made.notes("Preempted") == ["Preempted by pod uid-default/p on node n1"]
        assert made.condition("p").message == "0/1 nodes are available: 1 Insufficient cpu."

        made.run()

        assert made.nodes_of("p") == ["n1"]

    def test_equal_priority_does_not(self) -> None:
        made = cluster("n1")
        made.add(placed("v", "n1", priority=100))

        assert made.schedule(wanting()) == [""]
        assert deleted(made) == []
        assert made.condition("p").message == (
            "0/1 nodes are available: 1 Insufficient cpu. "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )

    def test_as_few_as_possible_of_least_importance(self) -> None:
        """The more important are put back first, so the less important have to go."""
        made = cluster("n1", cpu="4")
        made.add(placed("low", "n1", "1", 1), placed("mid", "n1", "2", 5), placed("old", "n1", "1", 1, "00:00:00"))

        assert made.schedule(wanting(cpu="1")) == ["n1"]
        assert deleted(made) == ["low"]

    def test_most_important_victim_goes_first(self) -> None:
        made = cluster("n1")
        made.add(placed("a", "n1", "1", 1), placed("b", "n1", "1", 2))

        assert made.schedule(wanting()) == ["n1"]
        assert deleted(made) == ["b", "a"]

    def test_pods_that_would_break_a_budget_are_put_back_first(self) -> None:
        made = cluster("n1")
        made.add(placed("kept", "n1", "1", 1).label("app", "web"), placed("gone", "n1", "1", 9))
        budget(made, 0, app="web")

        assert made.schedule(wanting(cpu="1")) == ["n1"]
        assert deleted(made) == ["gone"]

    def test_budgets_are_broken_if_need_be(self) -> None:
        """Nodes where none is broken are better, even with more important victims."""
        made = cluster("n1", "n2")
        made.add(placed("web", "n1", "2", 1).label("app", "web"), placed("high", "n2", "2", 50))
        budget(made, 0, app="web")

        assert made.schedule(wanting("p1"), wanting("p2")) == ["n2", "n1"]
        assert deleted(made) == ["high", "web"]

    def test_nodes_beyond_help_are_left_alone(self) -> None:
        made = cluster("n1")
        made.add(placed("v", "n1"))

        assert made.schedule(wanting(cpu="3")) == [""]
        assert made.condition("p").message == (
            "0/1 nodes are available: 1 Insufficient cpu. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )

    def test_a_filter_may_still_refuse(self) -> None:
        """A node that does not fit even without its victims is no candidate; the message says why."""
        made = cluster("n1", "n2")
        made.add(placed("v1", "n1", "1"), placed("keeper", "n1", "1", 100), placed("v2", "n2", "2", 100))

        assert made.schedule(wanting()) == [""]
        assert made.condition("p").message.endswith(
            "preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod."
        )

    def test_host_ports_are_freed(self) -> None:
        made = cluster("n1")
        made.add(placed("v", "n1", "1").host_port(80))

        assert made.schedule(wanting(cpu="1").host_port(80)) == ["n1"]
        assert deleted(made) == ["v"]


class TestEligibility:
    """Who may preempt."""

    def test_never(self) -> None:
        made = cluster("n1")
        made.add(placed("v", "n1"))

        assert made.schedule(wanting().preemption_policy("Never")) == [""]
        assert made.condition("p").message.endswith("preemption: not eligible due to preemptionPolicy=Never.")

    @pytest.mark.parametrize(
        ("reason", "message"),
        [
            ("PreemptionByScheduler", "not eligible due to a terminating pod on the nominated node."),
            ("EvictionByEvictionAPI", "0/1 nodes are available: 1 Insufficient cpu."),
        ],
        ids=["its victims are still going", "others are going for another reason, and not enough of them"],
    )
    def test_waits_for_victims(self, reason: str, message: str) -> None:
        """While a victim on the nominated node is on its way out, there is no second preemption."""
        made = cluster("n1")
        made.add(
            placed("v", "n1", "1").terminating().condition("DisruptionTarget", reason=reason),
            placed("other", "n1", "1", 100),
        )

        assert made.schedule(wanting().nominated_node("n1")) == [""]
        assert made.condition("p").message.endswith(f"preemption: {message}")

    def test_node_is_gone(self) -> None:
        """A nomination to a node that is not there (any more) does not keep the pod from preempting."""
        made = cluster("n1")
        made.add(placed("v", "n1"))

        assert made.schedule(wanting().nominated_node("lost")) == ["n1"]

    def test_pod_is_gone(self) -> None:
        """A pod that was deleted meanwhile preempts nobody."""
        made = cluster("n1")
        made.add(placed("v", "n1"), wanting())
        del made.listers.lister("pods").objects["default", "p"]
        made.run()

        assert deleted(made) == []


class TestNomination:
    """What becomes of nominations."""

    def test_lower_ones_are_taken_back(self) -> None:
        """Pods of lower priority that were promised the node have to look for another place."""
        made = cluster("n1")
        made.add(placed("v", "n1"))
        made.held = lambda effect: isinstance(effect, WriteEffect) and effect.write.verb == "delete"
        made.schedule(wanting("low", priority=10))
        assert made.pod("low").status.nominated_node_name == "n1"
        made.pending.clear()
        made.held = lambda _: False
        made.schedule(wanting("high", priority=20))

        assert made.pod("low").status.nominated_node_name == ""
        assert made.nodes_of("high", "low") == ["n1", ""]

    def test_own_one_is_taken_back_when_there_is_no_hope(self) -> None:
        made = cluster("n1")
        made.add(placed("v", "n1", priority=100))

        assert made.schedule(wanting().nominated_node("n1")) == [""]
        assert made.pod("p").status.nominated_node_name == ""

    def test_terminating_victims_are_only_waited_for(self) -> None:
        """If all victims are on their way out already, nothing is deleted and lower nominations stay."""
        made = cluster("n1")
        made.add(placed("v", "n1").terminating(), wanting("low", priority=10).nominated_node("n1"))
        made.scheduler.queue.pop()
        made.schedule(wanting("high"))

        assert deleted(made) == []
        assert made.pod("high").status.nominated_node_name == "n1"
        assert made.pod("low").status.nominated_node_name == "n1"


def held_back(verb: str, name: str) -> Callable[[Effect], bool]:
    return lambda effect: isinstance(effect, WriteEffect) and (effect.write.verb, effect.write.name) == (verb, name)


def refusing(verb: str, name: str, error: StatusError) -> Callable[[Write], StatusError | None]:
    return lambda write: error if (write.verb, write.name) == (verb, name) else None


class TestEviction:
    """The background work."""

    def test_preemptor_waits_at_the_gate(self) -> None:
        """While victims are being evicted the pod cannot be queued; afterwards it can."""
        made = cluster("n1")
        made.add(placed("a", "n1", "1", 2), placed("b", "n1", "1", 1))
        made.held = held_back("delete", "a")
        made.schedule(wanting())
        plugin = made.scheduler.profiles["default-scheduler"].plugin("DefaultPreemption")
        assert isinstance(plugin, DefaultPreemption)

        assert plugin.pre_enqueue(made.info("p")) == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (GATED,))
        assert plugin.pre_enqueue(made.info("b")) is None

        made.held = lambda _: False
        made.finish(made.pending.pop())
        made.run()

        assert deleted(made) == ["a", "b"]
        assert made.nodes_of("p") == ["n1"]

    def test_deletion_of_the_last_victim_opens_the_gate(self) -> None:
        """Its deletion may be seen before the answer to the request is: the pod must not miss that event."""
        made = cluster("n1")
        made.add(placed("v", "n1"))
        made.held = held_back("delete", "v")
        made.schedule(wanting())
        plugin = made.scheduler.profiles["default-scheduler"].plugin("DefaultPreemption")
        assert isinstance(plugin, DefaultPreemption)
        assert plugin.pre_enqueue(made.info("p")) is not None

        made.change("pods", "v", lambda raw: raw["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"))
        assert plugin.pre_enqueue(made.info("p")) is None

        made.remove("pods", "v")
        assert plugin.pre_enqueue(made.info("p")) is None

    @pytest.mark.parametrize("verb", ["patch", "delete"])
    def test_victim_that_is_gone_already(self, verb: str) -> None:
        """It counts as evicted, without an event."""
        made = cluster("n1")
        made.add(placed("a", "n1", "1", 2), placed("b", "n1", "1", 1))
        made.refuse = refusing(verb, "a", new_not_found(GroupResource("", "pods"), "a"))
        made.schedule(wanting())

        assert made.notes("Preempted") == ["Preempted by pod uid-default/p on node n1"]
        assert "b" in deleted(made)

    @pytest.mark.parametrize(
        ("verb", "victim", "expected"),
        [
            pytest.param("patch", "a", [], id="a victim that cannot be marked is not deleted, the last one is spared"),
            pytest.param("delete", "a", ["a"], id="nor is the last one evicted when another could not be deleted"),
            pytest.param("delete", "b", ["a", "b"], id="the last one could not be deleted"),
        ],
    )
    def test_failure_brings_the_preemptor_back(self, verb: str, victim: str, expected: list[str]) -> None:
        """When an eviction fails the pod is tried again at once, since no event may come."""
        made = cluster("n1")
        made.add(placed("a", "n1", "1", 2), placed("b", "n1", "1", 1))
        made.refuse = refusing(verb, victim, conflict(GroupResource("", "pods"), victim, "changed"))
        made.add(wanting())
        made.carry(made.scheduler.step())

        assert deleted(made) == expected
        assert made.scheduler.queue.has_ready()

    def test_failure_to_take_a_nomination_back_is_survived(self) -> None:
        """The victims go all the same, and the pod is tried again."""
        made = cluster("n1")
        made.add(placed("v", "n1"), wanting("low", priority=10).nominated_node("n1"))
        made.refuse = refusing("patch", "low", conflict(GroupResource("", "pods"), "low", "changed"))
        made.run()

        assert deleted(made) == ["v"]

    def test_condition_that_is_there_is_not_patched(self) -> None:
        """A victim that carries the very condition is just deleted."""
        made = cluster("n1")
        made.add(placed("v", "n1"))
        text = "default-scheduler: preempting to accommodate a higher priority pod"
        mark = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": text,
            "lastTransitionTime": "2025-12-31T00:00:00Z",
        }
        made.change("pods", "v", lambda raw: raw["status"].update(conditions=[mark]))
        made.schedule(wanting())

        assert "v" not in patched(made)
        assert deleted(made) == ["v"]

    def test_without_the_gate_nothing_is_held_back(self) -> None:
        """With SchedulerAsyncPreemption off the pod may be queued at any time, and no deletion is listened to."""
        made = cluster("n1", gates={"SchedulerAsyncPreemption": False})
        made.add(placed("v", "n1"))
        made.held = held_back("delete", "v")
        made.schedule(wanting())
        plugin = made.scheduler.profiles["default-scheduler"].plugin("DefaultPreemption")
        assert isinstance(plugin, DefaultPreemption)

        assert plugin.pre_enqueue(made.info("p")) is None
        assert plugin.events_to_register() == ()


class Holder:
    """Holds every pod of low priority back in permit."""

    name = "Holder"

    def permit(self, _state: object, pod: Any, _node_name: str) -> tuple[Status | None, int]:
        return (Status(Code.WAIT), 10**12) if pod.priority < 100 else (None, 0)


class Preparer:
    """Never finishes its work before the binding of pods of low priority."""

    name = "Preparer"

    def pre_bind_pre_flight(self, _state: object, pod: Any, _node_name: str) -> Status | None:
        return None if pod.priority < 100 else Status(Code.SKIP)

    def pre_bind(self, _state: object, pod: Any, _node_name: str) -> Any:
        return Work(wait_for=(EventResource.PERSISTENT_VOLUME,)) if pod.priority < 100 else None

    def resume(self, _state: object, _pod: Any, _node_name: str, work: Any, _outcomes: Any) -> Any:
        return work


class TestPodsOnTheWay:
    """Victims that are not bound yet are called back instead of being deleted."""

    @pytest.mark.parametrize("plugin", [Holder, Preparer])
    def test_called_back(self, plugin: type[Any]) -> None:
        """The victim goes back to the queue; nothing is deleted."""
        entry = PluginEntry(plugin.name, lambda _args, _handle: plugin())
        made = cluster(
            "n1",
            config=configuration(profile(*PLUGINS, plugin.name)),
            registry={plugin.name: entry},
        )
        assert made.schedule(wanting("low", priority=1)) == [""]
        made.schedule(wanting("high"))

        assert made.notes("Preempted") == ["Preempted by pod uid-default/high on node n1 (in kube-scheduler memory)."]
        assert deleted(made) == []
        made.advance(20)
        assert made.nodes_of("high") == ["n1"]


class TestCandidates:
    """How many nodes are tried, and what is told of it."""

    @pytest.mark.parametrize(
        ("percentage", "absolute", "wanted"), [(10, 100, 6), (50, 1, 3), (1, 2, 2), (100, 1, 6), (0, 1, 1)]
    )
    def test_wanted(self, percentage: int, absolute: int, wanted: int) -> None:
        """The search ends at a share of the nodes, or at a number if that is more."""
        args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
        own = profile(*PLUGINS, pluginConfig=[{"name": "DefaultPreemption", "args": args}])
        made = cluster(*(f"n{number}" for number in range(6)), config=configuration(own))
        made.add(*(placed(f"v{number}", f"n{number}") for number in range(6)))
        made.schedule(wanting())
        record = made.observer.cycles[0].preemption
        assert record is not None

        assert record.max_candidates == wanted
        assert len(record.candidates) == wanted
        assert len(record.dry_run_order) == (6 if wanted < 6 else 0)

    def test_record(self) -> None:
        """The record holds candidates, those tried in vain, the equals, and the victims."""
        made = cluster("n1", "n2", "n3")
        made.add(placed("v1", "n1"), placed("v2", "n2"), placed("keeper", "n3", priority=100))
        made.schedule(wanting())
        cycle = made.observer.cycles[0]
        record = cycle.preemption
        assert record is not None

        assert sorted((one.node, one.victims, one.pdb_violations) for one in record.candidates) == [
            ("n1", ("default/v1",), 0),
            ("n2", ("default/v2",), 0),
        ]
        assert {name: status.reasons for name, status in record.not_candidates.items()} == {
            "n3": ("No preemption victims found for incoming pod",)
        }
        assert sorted(record.best) == ["n1", "n2"]
        assert [f"default/{name}" for name in deleted(made)] == list(cycle.victims)

    def test_no_record_without_observer(self) -> None:
        """Nothing is gathered for nobody."""
        made = cluster("n1", observe=False)
        made.add(placed("v", "n1"))

        assert made.schedule(wanting()) == ["n1"]


def extender(name: str = "x", **more: Any) -> dict[str, Any]:
    return {"urlPrefix": f"http://{name}.invalid", "preemptVerb": "preempt", "nodeCacheCapable": True, **more}


def answering(answers: dict[str, Any]) -> Callable[[str, Any], CallOutcome]:
    """Extenders by host: a list of nodes to keep, or the outcome."""

    def call(url: str, body: Any) -> CallOutcome:
        answer = answers[url.split("/")[2].split(".", maxsplit=1)[0]]
        if isinstance(answer, CallOutcome):
            return answer
        offered = body["NodeNameToMetaVictims"]
        kept = {node: offered[node] for node in answer}
        return CallOutcome(200, orjson.dumps({"NodeNameToMetaVictims": kept}))

    return call


class TestExtenders:
    """Extenders may object to candidates, one after the other."""

    @pytest.mark.parametrize(
        ("extenders", "answers", "bound", "message"),
        [
            pytest.param([extender()], {"x": ["n2"]}, "n2", "", id="one objects to a node"),
            pytest.param(
                [extender("x"), extender("y")], {"x": ["n1", "n2"], "y": ["n2"]}, "n2", "", id="the second objects"
            ),
            pytest.param(
                [extender()], {"x": []}, "", "preemption: no candidate node for preemption", id="to all of them"
            ),
            pytest.param(
                [extender()],
                {"x": CallOutcome(500)},
                "",
                "preemption: failed preempt with extender at URL http://x.invalid/preempt, code 500",
                id="it fails",
            ),
            pytest.param(
                [extender(ignorable=True)], {"x": CallOutcome(500)}, "n1", "", id="it fails but can be ignored"
            ),
        ],
    )
    def test_objections(self, extenders: list[Any], answers: dict[str, Any], bound: str, message: str) -> None:
        made = cluster(
            "n1", "n2", config=configuration(profile(*PLUGINS), extenders=extenders), calls=answering(answers)
        )
        made.add(placed("v1", "n1", priority=1), placed("v2", "n2", priority=2))

        assert made.schedule(wanting()) == [bound]
        assert message in made.condition("p").message

    @pytest.mark.parametrize(("ignorable", "bound"), [(True, "n1"), (False, "")])
    def test_node_without_victims(self, ignorable: bool, bound: str) -> None:  # noqa: FBT001 - a table
        """A node for which no victims are named is an error, or left out if the extender can be ignored."""

        def call(_url: str, body: Any) -> CallOutcome:
            kept = {**body["NodeNameToMetaVictims"], "n2": {"Pods": []}}
            return CallOutcome(200, orjson.dumps({"NodeNameToMetaVictims": kept}))

        config = configuration(profile(*PLUGINS), extenders=[extender(ignorable=ignorable)])
        made = cluster("n1", "n2", config=config, calls=call)
        made.add(placed("v1", "n1"), placed("v2", "n2"))

        assert made.schedule(wanting()) == [bound]
        if not ignorable:
            text = 'preemption: expected at least one victim pod on node "n2"'
            assert made.condition("p").message.endswith(text)

    def test_those_that_cannot_are_not_asked(self) -> None:
        """Without a preempt verb, or an interest in the pod, an extender is not asked."""
        others = [extender("x", preemptVerb=""), extender("y", managedResources=[{"name": "example.com/foo"}])]
        made = cluster("n1", config=configuration(profile(*PLUGINS), extenders=others), calls=answering({}))
        made.add(placed("v", "n1"))

        assert made.schedule(wanting()) == ["n1"]
        assert made.asked == []


def test_deletions_do_not_wake_rejected_pods() -> None:
    """The deletion of a pod only opens the gate; it says nothing about whether the pod fits now."""
    made = cluster("n1")
    plugin = made.scheduler.profiles["default-scheduler"].plugin("DefaultPreemption")
    assert isinstance(plugin, DefaultPreemption)
    [registered] = plugin.events_to_register()
    assert registered.hint is not None

    assert registered.hint(wanting().obj(), wanting("v").view(), None) is QueueingHint.SKIP
