"""One scheduling cycle: which node a pod gets, and why not."""

from typing import Any

import numpy as np
import orjson
import pytest

from schedlab.client.effects import CallEffect, CallOutcome
from schedlab.client.protocol import Write
from schedlab.scheduler.framework.interface import NominatingInfo, PostFilterResult, PreFilterResult, Work
from schedlab.scheduler.framework.record import CycleRecord
from schedlab.scheduler.framework.status import SKIP, Code, Status, error, unresolvable, unschedulable
from schedlab.testing.builders import NodeBuilder, make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of, rejecting


def node(name: str, cpu: str = "4") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110")


def cluster(*plugins: FakePlugin, nodes: int = 3, basic: bool = True, **more: Any) -> FakeCluster:
    """Return a cluster whose profile runs the basic plugins (or only the bare minimum) and the given ones."""
    names = BASIC_PLUGINS if basic else ("PrioritySort", "DefaultBinder")
    config = more.pop("config", {})
    made = FakeCluster(
        configuration(profile(*names, *(plugin.name for plugin in plugins)), **config),
        registry=registry_of(*plugins),
        **more,
    )
    made.add(*(node(f"n{index}") for index in range(nodes)))
    return made


def last(made: FakeCluster) -> CycleRecord:
    return made.observer.cycles[-1]


def names_of(record: CycleRecord, rows: Any) -> list[str]:
    return [record.node_names[row] for row in rows.tolist()]


class TestChoice:
    def test_pod_goes_to_the_node_with_the_highest_total(self) -> None:
        made = cluster(nodes=0)
        made.add(node("small", cpu="2"), node("large", cpu="8"))

        assert made.schedule(make_pod("p").req(cpu="1")) == ["large"]
        assert made.notes("Scheduled") == ["Successfully assigned default/p to large"]

    def test_only_feasible_node_is_taken_without_scoring(self) -> None:
        made = cluster()

        assert made.schedule(make_pod("p").node_selector({"kubernetes.io/hostname": "none"})) == [""]
        made.add(node("x").label("kubernetes.io/hostname", "none"))
        made.advance(400)

        assert made.nodes_of("p") == ["x"]
        assert last(made).score is None
        assert not last(made).pre_score

    def test_without_scores_nodes_take_turns(self) -> None:
        made = cluster(rejecting("F", "n1"), basic=False)

        assert made.schedule(*(make_pod(f"p{index}") for index in range(4))) == ["n0", "n2", "n0", "n2"]

    def test_without_filters_and_scores_nodes_take_turns_unseen(self) -> None:
        made = cluster(basic=False)

        assert made.schedule(*(make_pod(f"p{index}") for index in range(4))) == ["n0", "n1", "n2", "n0"]
        assert last(made).filter is None

    def test_search_goes_on_where_the_last_one_ended(self) -> None:
        made = cluster(
            FakePlugin("S", score=lambda *_: (0, None)), FakePlugin("F", filter=lambda *_: None), nodes=150, basic=False
        )
        made.schedule(make_pod("p"), make_pod("q"))

        first, second = made.observer.cycles
        assert (first.start, first.next_start, second.start, second.next_start) == (0, 100, 100, 50)
        assert first.feasible is not None
        assert len(first.feasible) == 100
        assert first.filter is not None
        assert len(first.filter.visited) == 101

    def test_profile_may_set_its_own_percentage(self) -> None:
        made = FakeCluster(
            configuration(profile(*BASIC_PLUGINS, percentageOfNodesToScore=90), percentageOfNodesToScore=10)
        )
        made.add(*(node(f"n{index}") for index in range(200)))
        made.schedule(make_pod("p"))

        feasible = last(made).feasible
        assert feasible is not None
        assert len(feasible) == 180


class TestNoRoom:
    def test_condition_and_event_say_why(self) -> None:
        made = cluster()

        assert made.schedule(make_pod("p").req(cpu="8")) == [""]

        message = "0/3 nodes are available: 3 Insufficient cpu."
        condition = made.condition("p")
        assert (condition.status, condition.reason, condition.message) == ("False", "Unschedulable", message)
        assert made.notes() == [message]
        assert last(made).unschedulable_plugins == ("NodeResourcesFit",)
        assert made.metrics.schedule_attempts.values == {("unschedulable", "default-scheduler"): 1}

    def test_equal_condition_is_not_patched_again(self) -> None:
        made = cluster()
        made.schedule(make_pod("p").req(cpu="8"))
        patches = [write for write in made.writes if write.verb == "patch"]

        made.advance(400)

        assert len(made.observer.cycles) == 2
        assert [write for write in made.writes if write.verb == "patch"] == patches

    def test_no_nodes_at_all_is_an_error_for_the_queue_but_unschedulable_for_the_user(self) -> None:
        made = cluster(nodes=0)
        made.schedule(make_pod("p"))

        assert made.condition("p").message == "no nodes available to schedule pods"
        assert made.condition("p").reason == "Unschedulable"
        assert made.scheduler.queue.contents().error_backoff == ("default/p",)

    def test_error_of_a_filter_fails_the_pod(self) -> None:
        made = cluster(rejecting("F", "n1", status=error("broken")))
        made.schedule(make_pod("p"))

        assert made.condition("p").reason == "SchedulerError"
        assert made.condition("p").message == 'running "F" filter plugin: broken'
        assert last(made).result == "error"
        assert last(made).passed_filters is None

    def test_error_of_a_score_fails_the_pod(self) -> None:
        made = cluster(FakePlugin("S", score=lambda *_: (0, error("broken"))))
        made.schedule(make_pod("p"))

        assert made.condition("p").message == 'running Score plugins: plugin "S" failed with: broken'
        record = last(made).score
        assert record is not None
        assert not record.complete
        assert record.plugins[-1] == "S"

    def test_error_of_pre_score_fails_the_pod(self) -> None:
        made = cluster(FakePlugin("S", pre_score=lambda *_: error("broken"), score=lambda *_: (0, None)))
        made.schedule(make_pod("p"))

        assert made.condition("p").message == 'running PreScore plugin "S": broken'


class TestPreFilter:
    def pre_filter(self, name: str, nodes: tuple[str, ...] | None = None, status: Status | None = None) -> FakePlugin:
        result = None if nodes is None else PreFilterResult(nodes)
        return FakePlugin(name, pre_filter=lambda *_: (result, status), filter=lambda *_: None)

    def test_only_the_nodes_all_plugins_leave_are_visited(self) -> None:
        made = cluster(self.pre_filter("A", ("n2", "n1", "gone")), self.pre_filter("B", ("n1", "n2", "n0", "gone")))

        made.schedule(make_pod("p"))

        record = last(made)
        assert record.filter is not None
        assert names_of(record, record.filter.visited) == ["n2", "n1"]
        assert record.pre_filter_nodes == {"A": ("n2", "n1", "gone"), "B": ("n1", "n2", "n0", "gone")}
        assert record.pre_filter_result == ("n2", "n1", "gone")

    def test_nodes_left_out_count_in_the_message(self) -> None:
        made = cluster(self.pre_filter("A", ("n1",)), rejecting("F", "n1"))
        made.schedule(make_pod("p"))

        assert made.condition("p").message == (
            "0/3 nodes are available: 1 F says no, 2 node(s) didn't satisfy plugin(s) [A]."
        )
        assert sorted(last(made).unschedulable_plugins) == ["A", "F"]

    @pytest.mark.parametrize(
        ("plugins", "message"),
        [
            ([("A", ())], "node(s) didn't satisfy plugin A"),
            ([("B", ("n0",)), ("A", ("n1",))], "node(s) didn't satisfy plugin(s) [A B] simultaneously"),
        ],
    )
    def test_nobody_left(self, plugins: list[tuple[str, tuple[str, ...]]], message: str) -> None:
        made = cluster(*(self.pre_filter(name, nodes) for name, nodes in plugins))
        made.schedule(make_pod("p"))

        assert made.condition("p").message == f"0/3 nodes are available: {message}."
        assert sorted(last(made).unschedulable_plugins) == sorted(name for name, _ in plugins)
        assert last(made).filter is None

    def test_unresolvable_rejection_ends_the_phase(self) -> None:
        made = cluster(
            self.pre_filter("A", status=unresolvable("never")), self.pre_filter("B", status=unschedulable("later"))
        )
        made.schedule(make_pod("p"))

        assert made.condition("p").message == "0/3 nodes are available: never."
        assert list(last(made).pre_filter)[-1] == "A"
        assert last(made).unschedulable_plugins == ("A",)

    def test_unschedulable_rejection_lets_the_others_prepare(self) -> None:
        made = cluster(
            self.pre_filter("A", status=unschedulable("first")), self.pre_filter("B", status=unschedulable("second"))
        )
        made.schedule(make_pod("p"))

        assert made.condition("p").message == "0/3 nodes are available: second."
        assert last(made).unschedulable_plugins == ("B",)
        assert last(made).absent_nodes_status == Status(Code.UNSCHEDULABLE, ("second",), "B")

    def test_error_fails_the_pod(self) -> None:
        made = cluster(self.pre_filter("A", status=error("broken")))
        made.schedule(make_pod("p"))

        assert made.condition("p").reason == "SchedulerError"
        assert made.condition("p").message == 'running PreFilter plugin "A": broken'

    def test_skip_leaves_the_filter_out(self) -> None:
        made = cluster(
            FakePlugin("A", pre_filter=lambda *_: (None, SKIP), filter=lambda *_: unschedulable("never asked"))
        )

        assert made.schedule(make_pod("p")) != [""]


class TestNominatedNode:
    def test_is_tried_first_and_taken_if_it_fits(self) -> None:
        made = cluster()

        assert made.schedule(make_pod("p").nominated_node("n2")) == ["n2"]
        record = last(made)
        assert record.filter is not None
        assert names_of(record, record.filter.visited) == ["n2"]
        assert record.filter.nominated_first == 1
        assert record.passed_filters is None
        assert record.next_start == 0

    def test_is_looked_at_again_when_it_does_not_fit(self) -> None:
        made = cluster(rejecting("F", "n2"))

        assert made.schedule(make_pod("p").nominated_node("n2")) == ["n0"]
        record = last(made)
        assert record.filter is not None
        assert names_of(record, record.filter.visited) == ["n2", "n0", "n1", "n2"]
        assert record.filter.nominated_first == 1

    def test_error_there_is_no_error_of_the_pod(self) -> None:
        calls: list[str] = []

        def once(_state: object, _pod: object, info: Any) -> Status | None:
            calls.append(info.name)
            return error("hiccup") if len(calls) == 1 else None

        made = cluster(FakePlugin("F", filter=once))

        assert made.schedule(make_pod("p").nominated_node("n2")) != [""]

    def test_unknown_node_is_no_obstacle(self) -> None:
        assert cluster().schedule(make_pod("p").nominated_node("gone")) == ["n0"]

    def test_counts_where_other_nodes_are_looked_at_too(self) -> None:
        """A nominated node outside the pre-filter result still counts among the processed nodes."""
        restrict = FakePlugin("A", pre_filter=lambda *_: (PreFilterResult(("n0",)), None), filter=lambda *_: None)
        made = cluster(restrict, rejecting("F", "n2"))
        made.schedule(make_pod("p").nominated_node("n2"))

        assert last(made).next_start == 2


class TestPostFilter:
    def post_filter(self, name: str, *results: Any) -> FakePlugin:
        answers = list(results)
        return FakePlugin(name, post_filter=lambda *_: answers.pop(0))

    def fails(self, *plugins: FakePlugin) -> FakeCluster:
        made = cluster(*plugins)
        made.schedule(make_pod("p").req(cpu="8"))
        return made

    def test_first_success_nominates(self) -> None:
        made = self.fails(
            self.post_filter("A", (None, unschedulable("no use"), None)),
            self.post_filter("B", (PostFilterResult(NominatingInfo("n1")), None, None)),
            self.post_filter("C"),
        )

        assert made.pod("p").status.nominated_node_name == "n1"
        assert made.condition("p").message == "0/3 nodes are available: 3 Insufficient cpu."
        assert [pod.name for pod in made.scheduler.queue.nominator.pods_for_node("n1")] == ["p"]
        assert list(last(made).post_filter) == ["A", "B"]
        assert last(made).post_filter["B"] == (None, "n1", True)

    def test_words_of_all_are_joined(self) -> None:
        made = self.fails(
            self.post_filter("A", (None, unschedulable("one"), None)),
            self.post_filter("B", (PostFilterResult(NominatingInfo("")), unschedulable("two"), None)),
        )

        assert made.condition("p").message == "0/3 nodes are available: 3 Insufficient cpu. one, two"

    def test_unresolvable_ends_the_phase(self) -> None:
        made = self.fails(self.post_filter("A", (None, unresolvable("no use"), None)), self.post_filter("B"))

        assert made.condition("p").message == "0/3 nodes are available: 3 Insufficient cpu. no use"

    def test_error_ends_the_phase_but_the_pod_stays_unschedulable(self) -> None:
        made = self.fails(self.post_filter("A", (None, error("not found"), None)), self.post_filter("B"))

        assert made.condition("p").reason == "Unschedulable"
        assert made.condition("p").message == "0/3 nodes are available: 3 Insufficient cpu. not found"

    @pytest.mark.parametrize(("override", "kept"), [(False, "n1"), (True, "")])
    def test_failure_clears_an_old_nomination_only_when_told(self, override: bool, kept: str) -> None:  # noqa: FBT001
        info = NominatingInfo("", override)
        made = cluster(self.post_filter("A", (PostFilterResult(info), unschedulable("no"), None)))
        made.schedule(make_pod("p").req(cpu="8").nominated_node("n1"))

        assert made.pod("p").status.nominated_node_name == kept

    def test_without_plugins_an_old_nomination_is_cleared(self) -> None:
        made = cluster()
        made.schedule(make_pod("p").req(cpu="8").nominated_node("n1"))

        assert made.pod("p").status.nominated_node_name == ""

    def test_is_skipped_when_the_state_says_so(self) -> None:
        def skip_all(state: Any, *_: object) -> tuple[None, None]:
            state.skip_post_filter = True
            return None, None

        made = self.fails(FakePlugin("X", pre_filter=skip_all), self.post_filter("A"))

        message = "0/3 nodes are available: 3 Insufficient cpu. All PostFilter plugins are skipped"
        assert made.condition("p").message == message

    def test_background_work_goes_on_after_the_cycle(self) -> None:
        resumed: list[Any] = []

        def resume(_state: object, pod: Any, node_name: str, _work: Work, outcomes: Any) -> None:
            resumed.append((pod.name, node_name, len(outcomes)))

        work = Work(writes=(Write("delete", "pods", "default", "victim"),))
        plugin = self.post_filter("A", (PostFilterResult(NominatingInfo("n1")), None, work))
        plugin.resume = resume  # type: ignore[attr-defined]
        made = cluster(plugin)
        made.add(make_pod("victim").node("n1").req(cpu="3"))
        made.schedule(make_pod("p").req(cpu="8"))

        assert resumed == [("p", "", 1)]
        assert made.listers.lister("pods").get("victim", "default") is None


class TestReserveAndPermit:
    @pytest.mark.parametrize(
        ("plugin", "reason", "message"),
        [
            (
                FakePlugin("R", reserve=lambda *_: unschedulable("taken"), unreserve=lambda *_: None),
                "Unschedulable",
                "0/1 nodes are available: 1 taken.",
            ),
            (
                FakePlugin("R", reserve=lambda *_: error("broken"), unreserve=lambda *_: None),
                "SchedulerError",
                'running Reserve plugin "R": broken',
            ),
            (
                FakePlugin("R", permit=lambda *_: (unschedulable("not now"), 0)),
                "Unschedulable",
                "0/1 nodes are available: 1 not now.",
            ),
            (
                FakePlugin("R", permit=lambda *_: (error("broken"), 0)),
                "SchedulerError",
                'running Permit plugin "R": broken',
            ),
        ],
    )
    def test_refusal_undoes_the_assumption(self, plugin: FakePlugin, reason: str, message: str) -> None:
        made = cluster(plugin)
        made.schedule(make_pod("p").req(cpu="1"))

        assert (made.condition("p").reason, made.condition("p").message) == (reason, message)
        assert not made.scheduler.cache.assumed_pods()
        assert made.scheduler.cache.table.requested[0].tolist() == [0, 0, 0]
        assert last(made).unschedulable_plugins == (("R",) if reason == "Unschedulable" else ())

    def test_reserved_plugins_give_back_in_reverse(self) -> None:
        order: list[str] = []

        def reserver(name: str, status: Status | None = None) -> FakePlugin:
            return FakePlugin(name, reserve=lambda *_: status, unreserve=lambda *_: order.append(name))

        cluster(reserver("A"), reserver("B", unschedulable("no")), reserver("C")).schedule(make_pod("p"))

        assert order[:3] == ["C", "B", "A"]


class TestExtenders:
    def extended(self, answers: Any, *plugins: FakePlugin, nodes: int = 3, **settings: Any) -> FakeCluster:
        extender = {"urlPrefix": "http://x/", "nodeCacheCapable": True, "weight": 1, **settings}

        def call(url: str, body: Any) -> CallOutcome:
            answer = answers(url.rpartition("/")[2], body)
            return answer if isinstance(answer, CallOutcome) else CallOutcome(200, orjson.dumps(answer))

        return cluster(*plugins, nodes=nodes, calls=call, config={"extenders": [extender]})

    def test_extender_turns_nodes_down(self) -> None:
        def answer(_: str, body: Any) -> Any:
            return {
                "NodeNames": [name for name in body["NodeNames"] if name == "n1"],
                "FailedNodes": {"n0": "not this", "n2": "both"},
                "FailedAndUnresolvableNodes": {"n2": "never this"},
            }

        made = self.extended(answer, filterVerb="filter")

        assert made.schedule(make_pod("p")) == ["n1"]
        record = last(made)
        assert record.extender_failed == {
            "n2": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never this",)),
            "n0": Status(Code.UNSCHEDULABLE, ("not this",)),
        }
        assert record.feasible is not None
        assert names_of(record, record.feasible) == ["n1"]
        assert record.passed_filters is not None
        assert len(record.passed_filters) == 3
        assert made.asked[0][0] == "http://x/filter"

    def test_pod_rejected_by_extenders_waits_for_any_event(self) -> None:
        made = self.extended(
            lambda *_: {"NodeNames": [], "FailedNodes": dict.fromkeys(("n0", "n1", "n2"), "no")}, filterVerb="filter"
        )
        made.schedule(make_pod("p"))

        assert made.condition("p").message == "0/3 nodes are available: 3 no."
        assert last(made).unschedulable_plugins == ("Extender",)

    @pytest.mark.parametrize(
        ("outcome", "message"),
        [
            ({"Error": "broken"}, "broken"),
            (["garbage"], "json: cannot read the answer: Expected `object`, got `array`"),
            (CallOutcome(500), "failed filter with extender at URL http://x/filter, code 500"),
            (CallOutcome(error="connection refused"), 'Post "http://x/filter": connection refused'),
            (
                {"NodeNames": ["other"]},
                'extender "http://x/" claims a filtered node "other" which is not found in the input node list',
            ),
        ],
    )
    @pytest.mark.parametrize("ignorable", [False, True])
    def test_failing_extender_fails_the_pod_unless_it_is_ignorable(
        self,
        outcome: Any,
        message: str,
        ignorable: bool,  # noqa: FBT001
    ) -> None:
        made = self.extended(lambda *_: outcome, filterVerb="filter", ignorable=ignorable)

        assert (made.schedule(make_pod("p")) != [""]) is ignorable
        if not ignorable:
            assert (made.condition("p").reason, made.condition("p").message) == ("SchedulerError", message)

    def test_scores_of_extenders_are_scaled_and_weighed(self) -> None:
        made = self.extended(
            lambda *_: [{"Host": "n2", "Score": 3}, {"Host": "n1", "Score": 1}], prioritizeVerb="rate", weight=2
        )

        assert made.schedule(make_pod("p")) == ["n2"]
        score = last(made).score
        assert score is not None
        assert (score.total - score.final.sum(axis=0)).tolist() == [0, 20, 60]

    def test_failing_scores_are_ignored(self) -> None:
        made = self.extended(lambda *_: CallOutcome(500), prioritizeVerb="rate")

        assert made.schedule(make_pod("p")) == ["n0"]
        assert last(made).extender_calls[0].error

    def test_enormous_scores_wrap_around(self) -> None:
        """The best and the least of 64 bits: ten times the first is -10, the second 0."""
        made = self.extended(
            lambda *_: [{"Host": "n1", "Score": 2**63 - 1}, {"Host": "n2", "Score": -(2**63)}], prioritizeVerb="rate"
        )

        assert made.schedule(make_pod("p")) == ["n2"]
        score = last(made).score
        assert score is not None
        assert (score.total - score.final.sum(axis=0)).tolist() == [0, -10, 0]

    def test_nodes_that_do_not_exist_are_kept_as_they_were_told(self) -> None:
        made = self.extended(
            lambda *_: {"NodeNames": ["n1"], "FailedNodes": {f"ghost-{index}": "no" for index in range(1000)}},
            filterVerb="filter",
        )

        assert made.schedule(make_pod("p")) == ["n1"]
        assert len(last(made).extender_failed) == 1000

    @pytest.mark.parametrize("capable", [True, False])
    def test_nodes_that_an_extender_sends_back_have_no_pods_when_scored(self, capable: bool) -> None:  # noqa: FBT001
        def answer(_: str, body: Any) -> Any:
            return {"NodeNames": body["NodeNames"], "Nodes": body["Nodes"]}

        made = self.extended(answer, filterVerb="filter", nodeCacheCapable=capable, nodes=2)
        made.add(make_pod("big").node("n0").req(cpu="3"))
        made.schedule(make_pod("p").req(cpu="500m"))

        score = last(made).score
        assert score is not None
        fit = dict(zip(score.plugins, score.raw.tolist(), strict=True))["NodeResourcesFit"]
        assert (fit[0] < fit[1]) is capable

    def test_ties_are_shuffled_once_an_extender_cares(self) -> None:
        made = self.extended(lambda _, body: {"NodeNames": body["NodeNames"]}, nodes=9, filterVerb="filter")

        placed = made.schedule(*(make_pod(f"p{index}") for index in range(20)))

        assert len(set(placed[:5])) > 2

    def test_extender_is_left_alone_by_pods_without_its_resources(self) -> None:
        made = self.extended(
            lambda *_: CallOutcome(500), filterVerb="filter", managedResources=[{"name": "example.com/x"}]
        )

        assert made.schedule(make_pod("p")) == ["n0"]
        assert not made.asked

    def test_events_and_bindings_wait_while_an_extender_is_asked(self) -> None:
        made = self.extended(lambda _, body: {"NodeNames": body["NodeNames"]}, filterVerb="filter")
        made.held = lambda effect: isinstance(effect, CallEffect)
        made.schedule(make_pod("p"), make_pod("q"))
        assert not made.scheduler.ready()

        made.add(node("late"))
        assert made.scheduler.cache.node_count == 3

        made.held = lambda _: False
        made.finish(made.pending.pop())
        made.run()

        assert made.scheduler.cache.node_count == 4
        assert made.nodes_of("p", "q") == ["n0", "n1"] or all(made.nodes_of("p", "q"))


class TestFullMode:
    def test_full_mode_judges_every_node_by_every_filter_and_decides_the_same(self) -> None:
        def filters() -> list[FakePlugin]:
            return [rejecting("A", "n0", form="array"), rejecting("B", "n0", "n1")]

        plain, full = cluster(*filters()), cluster(*filters(), full=True)

        assert plain.schedule(make_pod("p")) == full.schedule(make_pod("p")) == ["n2"]
        record = last(full).filter
        assert record is not None
        assert record.full_code is not None
        judged = dict(zip(record.plugins, record.full_code.tolist(), strict=True))
        assert judged["A"] == [2, 0, 0]
        assert judged["B"] == [2, 2, 0]
        plain_record = last(plain).filter
        assert plain_record is not None
        assert plain_record.full_code is None
        assert np.array_equal(plain_record.failed_plugin, record.failed_plugin)
