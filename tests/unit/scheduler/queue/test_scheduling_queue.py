"""The scheduling queue: where pods go, and when they are tried again."""

from collections.abc import Sequence

import pytest

from schedlab.scheduler.framework.events import QueueingHint
from schedlab.scheduler.framework.interface import NominatingInfo
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.cluster_events import UNSCHEDULED_POD_UPDATE
from schedlab.scheduler.queue.hints import Strategy
from tests.unit.scheduler.queue.builders import (
    NODE_ADD,
    NODE_LABEL,
    POD_DELETE,
    Bench,
    FakePlugin,
    Gate,
    make_bench,
    make_pod,
)

RESULT = "kube-scheduler-simulator.sigs.k8s.io/selected-node"


def skip(pod: PodInfo, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def waiting(bench: Bench, *plugins: str, pending: Sequence[str] = (), backoff_over: bool = True) -> PodInfo:
    """A pod that was turned down, and whose backoff is over unless said otherwise."""
    pod = make_pod("p")
    bench.queue.add(pod)
    bench.fail(*plugins, pending=pending)
    if backoff_over:
        bench.advance(3)
    bench.moves.take()
    return pod


class TestPop:
    def test_pods_leave_by_the_sort_key(self) -> None:
        bench = make_bench()
        for name, priority in (("a", 0), ("b", 5), ("c", 5)):
            bench.queue.add(make_pod(name, priority=priority))
        popped = [bench.queue.pop() for _ in range(4)]

        assert [queued and queued.pod.name for queued in popped] == ["b", "c", "a", None]
        assert bench.places() == {"inFlight": ["a", "b", "c"]}
        assert not bench.queue.has_ready()

    def test_pod_backing_off_is_popped_when_nothing_is_active(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        waiting(bench, "Fit", backoff_over=False)
        bench.queue.move_all(NODE_ADD, None, None)
        assert bench.places() == {"backoff": ["p"]}
        bench.queue.add(make_pod("q"))

        first, second = bench.queue.pop(), bench.queue.pop()

        assert [queued and queued.pod.name for queued in (first, second)] == ["q", "p"]
        assert second is not None
        assert second.attempts == 2
        assert bench.moves.take()[-1] == ("p", "inFlight", "PopFromBackoffQ")

    def test_pod_after_an_error_is_not_popped_early(self) -> None:
        bench = make_bench()
        bench.queue.add(make_pod("p"))
        bench.fail()

        assert bench.places() == {"errorBackoff": ["p"]}
        assert not bench.queue.has_ready()
        assert bench.queue.pop() is None

    def test_nothing_is_popped_early_while_the_gate_is_off(self) -> None:
        bench = make_bench(FakePlugin("Fit"), gates={"SchedulerPopFromBackoffQ": False})
        waiting(bench, "Fit", backoff_over=False)
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.places() == {"backoff": ["p"]}
        assert not bench.queue.has_ready()
        assert bench.queue.pop() is None

    def test_second_entry_of_a_pod_in_flight_is_dropped(self) -> None:
        bench = make_bench()
        bench.queue.add(make_pod("p"))
        bench.queue.pop()
        bench.queue.add(make_pod("p"))

        assert bench.queue.pop() is None
        assert bench.places() == {"inFlight": ["p"]}

    def test_specific_pod_is_taken_from_wherever_it_is(self) -> None:
        bench = make_bench(FakePlugin("Fit"), Gate("Gate", closed_for={"gated"}))
        pod = waiting(bench, "Fit")
        bench.queue.add(make_pod("gated"))
        bench.queue.add(make_pod("other", priority=9))

        popped = bench.queue.pop_specific(pod)

        assert popped is not None
        assert popped.pod is pod
        assert bench.queue.pop_specific(make_pod("gated")) is None
        assert bench.queue.pop_specific(make_pod("unknown")) is None
        assert bench.places() == {"active": ["other"], "gated": ["gated"], "inFlight": ["p"]}


class TestFailedAttempt:
    def test_rejected_pod_waits_for_an_event(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        bench.queue.add(make_pod("p"))
        queued = bench.fail("Fit")

        assert bench.places() == {"unschedulable": ["p"]}
        assert (queued.unschedulable_count, queued.consecutive_errors_count) == (1, 0)
        assert bench.moves.take() == [
            ("p", "active", "UnschedulablePodAdd"),
            ("p", "inFlight", "Pop"),
            ("p", "unschedulable", "ScheduleAttemptFailure"),
        ]

    def test_errors_are_counted_until_the_next_rejection(self) -> None:
        bench = make_bench()
        bench.queue.add(make_pod("p"))
        counts = []
        for plugins in ((), (), ("Fit",)):
            queued = bench.fail(*plugins)
            counts.append((queued.unschedulable_count, queued.consecutive_errors_count))
            bench.advance(20)
            bench.queue.flush_backoff_completed()

        assert counts == [(0, 1), (0, 2), (1, 0)]

    def test_event_during_the_attempt_sends_the_pod_to_backoff(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        bench.queue.add(make_pod("p"))
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.move_all(NODE_ADD, None, None)
        queued.set_rejectors(["Fit"])
        bench.queue.add_unschedulable(queued)

        assert bench.places() == {"backoff": ["p"]}

    def test_event_before_the_attempt_does_not_count(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        bench.queue.add(make_pod("p"))
        bench.queue.move_all(NODE_ADD, None, None)
        bench.fail("Fit")

        assert bench.places() == {"unschedulable": ["p"]}

    def test_event_for_other_plugins_does_not_count(self) -> None:
        bench = make_bench(FakePlugin("Fit", (NODE_LABEL,)), FakePlugin("Other"))
        bench.queue.add(make_pod("p"))
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.move_all(NODE_ADD, None, None)
        queued.set_rejectors(["Fit"])
        bench.queue.add_unschedulable(queued)

        assert bench.places() == {"unschedulable": ["p"]}

    def test_pending_plugin_sends_the_pod_on_at_once(self) -> None:
        bench = make_bench(FakePlugin("Fit"), FakePlugin("Waits"))
        bench.queue.add(make_pod("p"))
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.move_all(NODE_ADD, None, None)
        queued.set_rejectors(["Fit"], ["Waits"])
        bench.queue.add_unschedulable(queued)

        assert bench.places() == {"active": ["p"]}

    def test_pod_that_is_here_already_is_not_put_back(self) -> None:
        bench = make_bench()
        bench.queue.add(make_pod("p"))
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.add(make_pod("p", uid="another"))

        assert not bench.queue.add_unschedulable(queued)
        assert bench.places() == {"active": ["p"]}
        bench.queue.validate()

    def test_member_of_a_pod_group_is_retried_by_backoff_alone(self) -> None:
        for gate, place in ((False, "unschedulable"), (True, "backoff")):
            bench = make_bench(FakePlugin("Fit"), gates={"GenericWorkload": gate})
            bench.queue.add(make_pod("p", group="g"))
            bench.fail("Fit")

            assert bench.places() == {place: ["p"]}


class TestEvents:
    def test_pod_goes_to_backoff_or_is_active_when_that_is_over(self) -> None:
        for backoff_over, place in ((False, "backoff"), (True, "active")):
            bench = make_bench(FakePlugin("Fit"))
            waiting(bench, "Fit", backoff_over=backoff_over)
            bench.queue.move_all(NODE_ADD, None, None)

            assert bench.moves.take() == [("p", place, "NodeAdd")]
            bench.queue.validate()

    def test_only_plugins_that_turned_the_pod_down_are_asked(self) -> None:
        bench = make_bench(FakePlugin("Fit", (NODE_LABEL,)), FakePlugin("Other"))
        waiting(bench, "Fit")
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.places() == {"unschedulable": ["p"]}

    def test_hint_may_keep_the_pod_waiting(self) -> None:
        bench = make_bench(FakePlugin("Fit", answer=skip))
        waiting(bench, "Fit")
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.places() == {"unschedulable": ["p"]}

    def test_hint_gets_the_pod_and_both_states_of_the_object(self) -> None:
        asked = []

        def hint(pod: PodInfo, old: object, new: object) -> QueueingHint:
            asked.append((pod.name, old, new))
            return QueueingHint.QUEUE

        bench = make_bench(FakePlugin("Fit", answer=hint))
        waiting(bench, "Fit")
        bench.queue.move_all(NODE_ADD, "old", "new")

        assert asked == [("p", "old", "new")]

    def test_pending_plugin_skips_backoff(self) -> None:
        bench = make_bench(FakePlugin("Waits"))
        waiting(bench, pending=["Waits"], backoff_over=False)
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.places() == {"active": ["p"]}

    def test_pre_check_leaves_pods_out(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        waiting(bench, "Fit")
        bench.queue.move_all(NODE_ADD, None, None, lambda pod: pod.name != "p")

        assert bench.places() == {"unschedulable": ["p"]}

    def test_verdict_of_every_pod_and_hint_is_told_when_wanted(self) -> None:
        """Pods that no hint speaks of are skipped, and say so."""
        bench = make_bench(
            FakePlugin("Fit"), FakePlugin("Taint", answer=skip), FakePlugin("Other", (NODE_LABEL,)), verdicts=True
        )
        for name, plugins in (("p", ("Fit", "Taint")), ("q", ("Other",))):
            bench.queue.add(make_pod(name))
            bench.fail(*plugins)
        bench.advance(3)
        bench.queue.move_all(NODE_ADD, None, None)

        assert [(v.pod.name, v.label, v.strategy, len(v.answers)) for v in bench.verdicts] == [
            ("p", "NodeAdd", Strategy.AFTER_BACKOFF, 2),
            ("q", "NodeAdd", Strategy.SKIP, 0),
        ]
        assert [(a.plugin, a.hint) for a in bench.verdicts[0].answers] == [("Fit", "Queue"), ("Taint", "QueueSkip")]

    def test_observer_gets_the_answers_behind_a_move(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        waiting(bench, "Fit")
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.moves.seen[-1].hints == (("NodeAdd", "Fit", "Queue", ""),)
        assert bench.moves.seen[-1].event == NODE_ADD


class TestGates:
    def test_new_pod_is_gated_until_the_gates_event(self) -> None:
        gate = Gate("Gate", closed_for={"p"})
        bench = make_bench(gate, FakePlugin("Fit", (NODE_LABEL, POD_DELETE)))
        bench.queue.add(make_pod("p"))
        assert bench.places() == {"gated": ["p"]}
        assert bench.moves.seen[0].gate == ("Gate", "Gate is closed")

        bench.queue.move_all(NODE_ADD, None, None)
        assert bench.places() == {"gated": ["p"]}
        gate.closed_for.clear()
        bench.queue.move_all(POD_DELETE, None, None)
        assert bench.places() == {"gated": ["p"]}
        bench.queue.move_all(NODE_ADD, None, None)
        assert bench.places() == {"active": ["p"]}
        bench.queue.validate()

    def test_gating_plugin_is_asked_first(self) -> None:
        asked = []

        class Asked(Gate):
            def pre_enqueue(self, pod: PodInfo) -> None:
                asked.append(self.name)

        bench = make_bench(Asked("A"), Gate("B", closed_for={"p"}), Asked("C"))
        bench.queue.add(make_pod("p"))
        assert asked == ["A"]
        bench.queue.move_all(NODE_ADD, None, None)
        assert asked == ["A"]

    def test_pod_may_be_gated_again_on_its_way_back(self) -> None:
        gate = Gate("Gate")
        bench = make_bench(gate, FakePlugin("Fit"))
        waiting(bench, "Fit", backoff_over=False)
        gate.closed_for.add("p")
        bench.queue.move_all(NODE_ADD, None, None)

        assert bench.places() == {"gated": ["p"]}
        assert bench.moves.take() == [("p", "gated", "NodeAdd")]
        bench.queue.validate()

    def test_pod_that_is_active_already_is_not_gated(self) -> None:
        gate = Gate("Gate")
        bench = make_bench(gate)
        bench.queue.add(make_pod("p"))
        gate.closed_for.add("p")
        bench.queue.add(make_pod("p"))
        bench.queue.validate()

        assert bench.places() == {"active": ["p"]}

    @pytest.mark.parametrize(("pops_early", "place"), [(True, "active"), (False, "gated")])
    def test_gates_count_before_backoff_or_after_it(self, pops_early: bool, place: str) -> None:  # noqa: FBT001
        """Pods that may be popped during backoff have been asked about before; others are asked when it is over."""
        gate = Gate("Gate")
        bench = make_bench(gate, FakePlugin("Fit"), gates={"SchedulerPopFromBackoffQ": pops_early})
        waiting(bench, "Fit", backoff_over=False)
        bench.queue.move_all(NODE_ADD, None, None)
        gate.closed_for.add("p")
        bench.advance(3)
        bench.queue.flush_backoff_completed()

        assert bench.places() == {place: ["p"]}


class TestUpdate:
    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
    def test_waiting_pod_is_replaced_where_it_is(self, place: str) -> None:
        bench = make_bench(FakePlugin("Fit"))
        if place == "active":
            bench.queue.add(make_pod("p"))
        else:
            waiting(bench, "Fit", backoff_over=False)
        if place == "backoff":
            bench.queue.move_all(NODE_ADD, None, None)
        new = make_pod("p", revision=2, annotations={"a": "b"})
        bench.queue.update(make_pod("p"), new)
        bench.queue.validate()

        queued = bench.queue.find("default/p")
        assert queued is not None
        assert queued.pod is new
        assert bench.places() == {place: ["p"]}

    def test_update_of_what_it_was_turned_down_for_gives_another_try(self) -> None:
        bench = make_bench(FakePlugin("Fit", (UNSCHEDULED_POD_UPDATE,)))
        pod = waiting(bench, "Fit")
        bench.queue.update(pod, make_pod("p", cpu="1"))

        assert bench.moves.take() == [("p", "active", "UnschedulablePodUpdate")]

    def test_update_in_flight_is_remembered(self) -> None:
        bench = make_bench(FakePlugin("Fit", (UNSCHEDULED_POD_UPDATE,)))
        pod = make_pod("p")
        bench.queue.add(pod)
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.update(pod, make_pod("p", labels={"a": "b"}))
        queued.set_rejectors(["Fit"])
        bench.queue.add_unschedulable(queued)

        assert bench.places() == {"backoff": ["p"]}

    def test_unknown_pod_is_taken_in(self) -> None:
        bench = make_bench()
        bench.queue.update(make_pod("p"), make_pod("p", labels={"a": "b"}))

        assert bench.moves.take() == [("p", "active", "UnschedulablePodUpdate")]

    def test_writing_results_wakes_nobody(self) -> None:
        bench = make_bench(FakePlugin("Fit", (UNSCHEDULED_POD_UPDATE,)), verdicts=True)
        pod = waiting(bench, "Fit")
        noted = make_pod("p", revision=2, annotations={RESULT: "n1"})
        bench.queue.update(pod, noted)
        bench.queue.update(make_pod("gone"), make_pod("gone", annotations={RESULT: "n1"}))

        queued = bench.queue.find("default/p")
        assert queued is not None
        assert queued.pod is noted
        assert bench.places() == {"unschedulable": ["p"]}
        assert bench.verdicts == []

    def test_writing_results_during_the_attempt_is_not_remembered(self) -> None:
        bench = make_bench(FakePlugin("Fit", (UNSCHEDULED_POD_UPDATE,)))
        pod = make_pod("p")
        bench.queue.add(pod)
        queued = bench.queue.pop()
        assert queued is not None
        bench.queue.update(pod, make_pod("p", annotations={RESULT: "n1"}))
        queued.set_rejectors(["Fit"])
        bench.queue.add_unschedulable(queued)

        assert bench.places() == {"unschedulable": ["p"]}

    def test_gates_that_are_gone_let_the_pod_in_without_backoff(self) -> None:
        gate = Gate("Gate", (UNSCHEDULED_POD_UPDATE,), {"p"})
        bench = make_bench(gate)
        old, new = make_pod("p", gates=["a"]), make_pod("p")
        bench.queue.add(old)
        gate.closed_for.clear()
        bench.queue.update(old, new)

        assert bench.places() == {"active": ["p"]}
        assert bench.moves.take()[-1] == ("p", "active", "UnschedulablePodUpdatePodSchedulingGatesEliminated")


class TestDelete:
    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
    def test_pod_is_forgotten_wherever_it_waits(self, place: str) -> None:
        bench = make_bench(FakePlugin("Fit"))
        if place == "active":
            bench.queue.add(make_pod("p"))
        else:
            waiting(bench, "Fit", backoff_over=False)
        if place == "backoff":
            bench.queue.move_all(NODE_ADD, None, None)
        bench.queue.delete(make_pod("p"))
        bench.queue.validate()

        assert bench.places() == {}
        assert bench.moves.take()[-1] == ("p", "gone", "Delete")

    def test_pod_in_flight_stays_so_until_it_is_done(self) -> None:
        bench = make_bench()
        bench.queue.add(make_pod("p"))
        bench.queue.pop()
        bench.queue.delete(make_pod("p"))
        assert bench.places() == {"inFlight": ["p"]}

        bench.queue.done("uid-p")
        bench.queue.done("uid-p")
        assert bench.places() == {}


class TestActivate:
    def test_waiting_pods_are_active_at_once(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        pod = waiting(bench, "Fit", backoff_over=False)
        bench.queue.activate([pod, make_pod("unknown")])

        assert bench.moves.take() == [("p", "active", "ForceActivate")]

    def test_pod_backing_off_is_active_at_once(self) -> None:
        bench = make_bench()
        pod = make_pod("p")
        bench.queue.add(pod)
        bench.fail()
        bench.queue.activate([pod])

        assert bench.places() == {"active": ["p"]}
        bench.queue.validate()

    def test_pod_in_flight_is_retried_when_it_comes_back(self) -> None:
        """Another one in flight is not."""
        bench = make_bench(FakePlugin("Fit"))
        pods = [make_pod("p"), make_pod("q")]
        for pod in pods:
            bench.queue.add(pod)
        popped = [bench.queue.pop(), bench.queue.pop()]
        bench.queue.activate(pods[:1])
        for queued in popped:
            assert queued is not None
            queued.set_rejectors(["Fit"])
            bench.queue.add_unschedulable(queued)

        assert bench.places() == {"backoff": ["p"], "unschedulable": ["q"]}


class TestNominations:
    def test_pod_with_a_nomination_is_known_when_it_comes(self) -> None:
        bench = make_bench(Gate("Gate", closed_for={"gated"}))
        for name in ("p", "gated"):
            bench.queue.add(make_pod(name, nominated="n1"))

        assert [pod.name for pod in bench.queue.nominator.pods_for_node("n1")] == ["p"]

    def test_nomination_follows_updates_and_goes_with_the_pod(self) -> None:
        bench = make_bench(FakePlugin("Fit"))
        pod = waiting(bench, "Fit")
        bench.queue.nominator.add(pod, NominatingInfo("n1"))
        new = make_pod("p", labels={"a": "b"})
        bench.queue.update(pod, new)
        assert bench.queue.nominator.pods_for_node("n1") == (new,)

        bench.queue.delete(new)
        assert bench.queue.nominator.pods_for_node("n1") == ()


def test_copy_goes_its_own_way() -> None:
    """With the same pods, counts, events in flight and rhythm."""
    bench = make_bench(FakePlugin("Fit"), Gate("Gate", closed_for={"gated"}))
    bench.queue.start()
    waiting(bench, "Fit")
    for name in ("active", "gated", "flying"):
        bench.queue.add(make_pod(name, priority=len(name), nominated="n1"))
    assert bench.queue.pop_specific(make_pod("flying")) is not None
    bench.queue.move_all(NODE_ADD, None, None)
    before = bench.queue.contents()

    other = bench.queue.copy(bench.queue._env)
    for pod in ("p", "active", "gated"):
        bench.queue.delete(make_pod(pod))
    bench.queue.done("uid-flying")
    other.validate()
    bench.queue.validate()

    assert other.contents() == before
    assert bench.places() == {}
    assert len(other.nominator.pods_for_node("n1")) == 2
    popped = [other.pop(), other.pop()]
    assert [queued and queued.attempts for queued in popped] == [1, 2]
