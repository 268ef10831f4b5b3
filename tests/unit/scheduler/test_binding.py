"""Binding cycles: permit, pre_bind, bind, and the way back."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from schedlab.apimachinery.errors import new_internal_error
from schedlab.client.effects import CallOutcome, Effect, WriteEffect
from schedlab.client.protocol import Write
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.events import EventResource
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.record import BindingRecord
from schedlab.scheduler.framework.status import SKIP, Code, Status, error, unschedulable
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of

WAIT = Status(Code.WAIT)
UNSUPPORTED = (
    'PreBindPreFlight W returned "Unschedulable", which is unsupported. '
    "It is supposed to return Success, Skip, or Error status"
)


def cluster(*plugins: FakePlugin, binder: bool = True, **more: Any) -> FakeCluster:
    names = [name for name in BASIC_PLUGINS if binder or name != "DefaultBinder"]
    config = more.pop("config", {})
    made = FakeCluster(
        configuration(profile(*names, *(plugin.name for plugin in plugins)), **config),
        registry=registry_of(*plugins),
        **more,
    )
    made.add(make_node("a").capacity(cpu="4", memory="8Gi", pods="110"))
    return made


def last(made: FakeCluster) -> BindingRecord:
    return made.observer.bindings[-1]


def is_undone(made: FakeCluster, name: str = "p") -> bool:
    """Whether nothing of the pod's binding is left."""
    scheduler = made.scheduler
    return (
        not made.pod(name).spec.node_name
        and not scheduler.cache.assumed_pods()
        and scheduler.cache.table.requested[0, 0] == 0
        and not scheduler.bindings
        and not scheduler.on_the_way.waiting
        and not scheduler.on_the_way.in_pre_bind
    )


def binding_of(name: str) -> Callable[[Effect], bool]:
    return lambda effect: (
        isinstance(effect, WriteEffect) and effect.write.subresource == "binding" and effect.write.name == name
    )


class TestBind:
    def test_bound_pod_leaves_no_trace_but_its_record(self) -> None:
        made = cluster()
        assert made.schedule(make_pod("p").req(cpu="1")) == ["a"]

        scheduler = made.scheduler
        assert not scheduler.bindings
        assert not scheduler.cache.assumed_pods()
        assert not scheduler.queue.contents().in_flight
        assert last(made).bind == {"DefaultBinder": None}
        assert (last(made).node, last(made).attempt, last(made).error) == ("a", 1, "")
        assert made.metrics.schedule_attempts.values == {("scheduled", "default-scheduler"): 1}
        assert [write.resource for write in made.writes] == ["pods", "events.events.k8s.io"]

    def test_other_pods_are_scheduled_while_one_is_being_bound(self) -> None:
        made = cluster()
        made.held = binding_of("p")
        made.schedule(make_pod("p").req(cpu="2"))

        assert made.schedule(make_pod("q").req(cpu="1"), make_pod("r").req(cpu="3")) == ["a", ""]
        assert made.nodes_of("p") == [""]

        made.held = lambda _: False
        made.finish(made.pending.pop())
        assert made.nodes_of("p") == ["a"]

    def test_refused_binding_is_undone_and_tried_again_after_a_backoff(self) -> None:
        made = cluster()
        made.refuse = lambda write: new_internal_error("down") if write.subresource == "binding" else None
        made.schedule(make_pod("p").req(cpu="1"))

        message = 'running Bind plugin "DefaultBinder": Internal error occurred: down'
        assert is_undone(made)
        assert made.condition("p").reason == "SchedulerError"
        assert made.condition("p").message == message
        assert (last(made).error, last(made).failure_reason) == (message, "SchedulerError")
        assert made.scheduler.queue.contents().error_backoff == ("default/p",)

        made.refuse = lambda _: None
        made.advance(5)
        assert made.nodes_of("p") == ["a"]

    def test_room_of_an_undone_binding_wakes_other_pods(self) -> None:
        made = cluster()
        made.held = binding_of("p")
        made.schedule(make_pod("p").req(cpu="3"), make_pod("q").req(cpu="3"))
        assert made.nodes_of("q") == [""]

        made.held = lambda _: False
        effect = made.pending.pop()
        assert isinstance(effect, WriteEffect)
        made.refuse = lambda write: new_internal_error("down") if write.name == "p" else None
        made.finish(effect)
        made.run()

        assert made.nodes_of("p", "q") == ["", "a"]

    def test_plugin_may_leave_the_pod_to_the_next_one(self) -> None:
        bound: list[str] = []
        made = cluster(
            FakePlugin("No", bind=lambda *_: SKIP),
            FakePlugin("Yes", bind=lambda _state, pod, _node: bound.append(pod.name)),
            binder=False,
        )
        made.schedule(make_pod("p"))

        assert bound == ["p"]
        assert last(made).bind == {"No": SKIP, "Yes": None}
        assert made.notes() == ["Successfully assigned default/p to a"]

    def test_plugin_may_reject(self) -> None:
        made = cluster(FakePlugin("No", bind=lambda *_: unschedulable("not mine")), binder=False)
        made.schedule(make_pod("p"))

        assert is_undone(made)
        assert (made.condition("p").reason, made.condition("p").message) == ("Unschedulable", "not mine")

    def test_post_bind_hears_of_success_only(self) -> None:
        heard: list[str] = []
        made = cluster(FakePlugin("Ear", post_bind=lambda _state, pod, node: heard.append(f"{pod.name} on {node}")))
        made.schedule(make_pod("p"))
        made.refuse = lambda write: new_internal_error("down") if write.subresource == "binding" else None
        made.schedule(make_pod("q"))

        assert heard == ["p on a"]

    def test_deleted_pod_is_given_up(self) -> None:
        made = cluster()
        made.held = binding_of("p")
        made.schedule(make_pod("p").req(cpu="3"))

        made.remove("pods", "p")
        assert made.scheduler.cache.table.requested[0, 0] == 0

        made.held = lambda _: False
        made.finish(made.pending.pop())
        assert not made.scheduler.bindings
        assert not made.scheduler.queue.contents().in_flight


class TestExtenderBind:
    def bound_by(self, outcome: CallOutcome, *, ignorable: bool = False) -> FakeCluster:
        extender = {"urlPrefix": "http://x", "bindVerb": "bind", "weight": 1, "ignorable": ignorable}
        made = cluster(calls=lambda *_: outcome, config={"extenders": [extender]})
        made.schedule(make_pod("p").uid("u"))
        return made

    def test_extender_binds_instead_of_the_plugins(self) -> None:
        made = self.bound_by(CallOutcome(200, b"{}"))

        body = {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "a"}
        assert made.asked == [("http://x/bind", body)]
        assert last(made).bind == {}
        assert last(made).extender_calls[0].verb == "bind"
        assert made.notes("Scheduled") == ["Successfully assigned default/p to a"]

    @pytest.mark.parametrize(
        ("outcome", "message"),
        [
            (CallOutcome(200, orjson.dumps({"Error": "cannot"})), "cannot"),
            (CallOutcome(404), "failed bind with extender at URL http://x/bind, code 404"),
        ],
    )
    def test_failure_undoes_the_binding(self, outcome: CallOutcome, message: str) -> None:
        made = self.bound_by(outcome)

        assert is_undone(made)
        assert (made.condition("p").reason, made.condition("p").message) == ("SchedulerError", message)

    def test_failure_of_an_ignorable_extender_is_passed_over(self) -> None:
        made = self.bound_by(CallOutcome(500), ignorable=True)

        assert made.nodes_of("p") == ["a"]
        assert last(made).bind == {"DefaultBinder": None}


class TestPermit:
    def waiting(self, **waits_s: int) -> FakeCluster:
        made = cluster(
            *(
                FakePlugin(name, permit=lambda *_, seconds=seconds: (WAIT, seconds * SECOND_NS))
                for name, seconds in waits_s.items()
            )
        )
        made.schedule(make_pod("p").req(cpu="1"))
        return made

    def pod(self, made: FakeCluster) -> Any:
        return made.scheduler.on_the_way.waiting[made.pod("p").metadata.uid]

    def test_pod_waits_with_its_room_taken_and_its_node_announced(self) -> None:
        made = self.waiting(A=10)

        assert made.nodes_of("p") == [""]
        assert made.scheduler.cache.table.requested[0, 0] == 1000
        assert made.pod("p").status.nominated_node_name == "a"

        self.pod(made).allow("A")
        made.run()
        assert made.nodes_of("p") == ["a"]
        assert made.metrics.permit_wait_duration.count("Success") == 1

    def test_timeout_makes_the_pod_unschedulable(self) -> None:
        made = self.waiting(A=10, B=20)
        made.advance(10)

        message = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."
        assert made.condition("p").reason == "Unschedulable"
        assert made.condition("p").message == message
        assert made.observer.bindings[0].unschedulable_plugins == ("A",)
        assert made.pod("p").status.nominated_node_name == "" or made.scheduler.bindings

    def test_rejection_is_one_too(self) -> None:
        made = self.waiting(A=10)
        self.pod(made).reject("Other", "no")

        assert is_undone(made)
        made.carry(made.scheduler.step())
        assert made.observer.bindings[0].error == "0/1 nodes are available: 1 no."

    def test_preemption_is_an_error(self) -> None:
        made = self.waiting(A=10)
        self.pod(made).preempt("DefaultPreemption", "preempted")
        made.run()

        assert made.condition("p").reason == "SchedulerError"
        assert made.condition("p").message == "waiting on permit for pod: preempted"

    def test_deleted_pod_ends_its_wait(self) -> None:
        made = self.waiting(A=10)
        made.remove("pods", "p")
        made.run()

        assert not made.scheduler.bindings
        assert made.scheduler.cache.table.requested[0, 0] == 0

    def test_allowing_inside_another_cycle_takes_effect_after_it(self) -> None:
        made = self.waiting(A=10)
        waiting = self.pod(made)

        made.scheduler._in_cycle = True
        waiting.allow("A")
        assert made.scheduler.bindings
        made.scheduler._in_cycle = False
        made.scheduler._deferred.popleft()()
        made.run()

        assert made.nodes_of("p") == ["a"]


class Worker(FakePlugin):
    """A pre_bind plugin that writes and waits as it is told."""

    def __init__(self, name: str = "W", *, parallel: bool = False) -> None:
        super().__init__(name)
        self.results: list[Any] = []
        self.resumed: list[Any] = []
        if parallel:
            self.pre_bind_parallel = True

    def pre_bind_pre_flight(self, *_: object) -> Status | None:
        return None if self.results else SKIP

    def pre_bind(self, *_: object) -> Any:
        return self.results.pop(0)

    def resume(self, _state: object, _pod: object, _node: str, work: Work, outcomes: Any) -> Any:
        self.resumed.append([outcome.error for outcome in outcomes])
        result = self.results.pop(0)
        return work if result == "same" else result


WRITE = Write("patch", "pods", "default", "p", {"status": {}}, "status", "strategic")


class TestPreBind:
    def run(self, *results: Any) -> tuple[FakeCluster, Worker]:
        worker = Worker()
        worker.results = list(results)
        made = cluster(worker)
        made.schedule(make_pod("p").req(cpu="1"))
        return made, worker

    def test_plugins_without_work_are_left_out(self) -> None:
        made, _ = self.run()

        assert made.nodes_of("p") == ["a"]
        assert last(made).pre_bind == {}
        assert made.pod("p").status.nominated_node_name == ""

    def test_node_is_announced_while_there_is_work(self) -> None:
        made, _ = self.run(None)

        patches = [write.body for write in made.writes if write.verb == "patch"]
        assert patches == [{"status": {"nominatedNodeName": "a"}}]
        assert last(made).pre_bind == {"W": None}

    def test_writes_are_awaited(self) -> None:
        made, worker = self.run(Work(writes=(WRITE, WRITE)), Work(writes=(WRITE,)), None)

        assert worker.resumed == [[None, None], [None]]
        assert made.nodes_of("p") == ["a"]

    def test_events_are_awaited(self) -> None:
        made, worker = self.run(Work(wait_for=(EventResource.NODE,)), "same", None)
        assert made.nodes_of("p") == [""]
        assert made.metrics.schedule_attempts.values == {}

        made.add(make_pod("other").scheduler_name("somebody-else"))
        assert not worker.resumed
        made.change("nodes", "a", lambda raw: raw["metadata"].setdefault("labels", {}).update(x="1"))
        made.run()
        assert len(worker.resumed) == 1
        made.change("nodes", "a", lambda raw: raw["metadata"]["labels"].update(x="2"))
        made.run()
        assert made.nodes_of("p") == ["a"]

    def test_deadline_ends_the_wait(self) -> None:
        worker = Worker()
        made = cluster(worker)
        worker.results = [
            Work(wait_for=(EventResource.NODE,), deadline_ns=made.clock.now_ns() + 5 * SECOND_NS),
            error("too late"),
        ]
        made.schedule(make_pod("p").req(cpu="1"))
        made.advance(5)

        assert made.observer.bindings[0].error == 'running PreBind plugin "W": too late'

    @pytest.mark.parametrize(
        ("result", "reason", "message"),
        [
            (error("broken"), "SchedulerError", 'running PreBind plugin "W": broken'),
            (unschedulable("lost"), "Unschedulable", "lost"),
        ],
    )
    def test_failure_undoes_the_binding(self, result: Status, reason: str, message: str) -> None:
        made, _ = self.run(result)

        record = made.observer.bindings[0]
        assert (record.failure_reason, record.error) == (reason, message)
        assert record.pre_bind == {"W": result}
        assert made.scheduler.queue.contents().in_flight == ()

    def test_exception_is_an_error_of_the_plugin(self) -> None:
        made, _ = self.run(Work(writes=(WRITE,)))

        assert made.observer.bindings[0].error == 'running PreBind plugin "W": IndexError: pop from empty list'

    def test_preempted_pod_is_cancelled(self) -> None:
        made, _ = self.run(Work(wait_for=(EventResource.NODE,)))
        uid = made.pod("p").metadata.uid

        assert made.scheduler.on_the_way.in_pre_bind[uid].cancel("preempted by X")
        assert is_undone(made)
        assert made.observer.bindings[0].error == 'running PreBind plugin "W": preempted by X'

    def test_neighbours_may_work_side_by_side(self) -> None:
        first, second = Worker("A", parallel=True), Worker("B", parallel=True)
        first.results = [Work(wait_for=(EventResource.NODE,)), None]
        second.results = [None]
        made = cluster(first, second)
        made.schedule(make_pod("p"))

        assert not second.results
        made.change("nodes", "a", lambda raw: raw["metadata"].setdefault("labels", {}).update(x="1"))
        made.run()
        assert made.nodes_of("p") == ["a"]
        assert last(made).pre_bind == {"B": None, "A": None}

    def test_others_work_one_after_the_other(self) -> None:
        first, second = Worker("A"), Worker("B")
        first.results = [Work(wait_for=(EventResource.NODE,)), None]
        second.results = [None]
        made = cluster(first, second)
        made.schedule(make_pod("p"))

        assert second.results == [None]

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (error("broken"), 'running PreBindPreFlight "W": broken'),
            (
                unschedulable("no"),
                UNSUPPORTED,
            ),
        ],
    )
    def test_pre_flight_must_not_reject(self, status: Status, message: str) -> None:
        made = cluster(FakePlugin("W", pre_bind_pre_flight=lambda *_: status, pre_bind=lambda *_: None))
        made.schedule(make_pod("p"))

        assert made.observer.bindings[0].error == message

    def test_without_the_gate_every_plugin_is_asked(self) -> None:
        asked: list[str] = []
        plugin = FakePlugin("W", pre_bind_pre_flight=lambda *_: SKIP, pre_bind=lambda *_: asked.append("pre_bind"))
        made = cluster(plugin, gates={"NominatedNodeNameForExpectation": False})

        assert made.schedule(make_pod("p")) == ["a"]
        assert asked == ["pre_bind"]
