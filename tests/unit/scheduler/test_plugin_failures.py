"""A plugin may raise anything and return anything: that pod fails and says which plugin it was; the scheduler goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.interface import PostFilterResult, Work
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, unschedulable
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of

Body = Callable[..., Any]


def good(method: str) -> Body:
    """What a harmless plugin answers at a point."""
    answers: dict[str, Any] = {
        "pre_filter": (None, None),
        "score": (0, None),
        "permit": (None, 0),
        "post_filter": (None, unschedulable("no"), None),
        "sign_pod": ((), None),
        "events_to_register": (),
    }
    if method == "filter_nodes":
        return lambda _state, _pod, _table, rows: NodeStatuses.success(rows.stop - rows.start)
    if method == "score_nodes":
        return lambda _state, _pod, _table, rows: np.zeros(len(rows), np.int64)
    return lambda *_: answers.get(method)


def raising(*_: object) -> Any:
    raise RuntimeError("oops")


def only_for(pod_name: str, body: Body, otherwise: Body) -> Body:
    """Behave badly for one pod only."""

    def method(*arguments: Any) -> Any:
        bad = any(getattr(argument, "name", "") == pod_name for argument in arguments)
        return (body if bad else otherwise)(*arguments)

    return method


def cluster_with(
    *methods: str, faulty: str, body: Body, gates: dict[str, bool] | None = None, **more: Any
) -> FakeCluster:
    """A cluster whose plugin Faulty behaves badly for the pod `bad` in one method."""
    bodies = {method: good(method) for method in methods}
    bodies[faulty] = only_for("bad", body, good(faulty))
    plugin = FakePlugin("Faulty", **bodies)
    for name, value in more.items():
        setattr(plugin, name, value)
    # Before the scheduler's own plugins, so that its bind is asked first.
    config = configuration(profile("Faulty", *BASIC_PLUGINS))
    cluster = FakeCluster(config, registry=registry_of(plugin), gates=gates)
    cluster.add(make_node("n1").capacity(cpu="4", pods="9"), make_node("n2").capacity(cpu="4", pods="9"))
    return cluster


# (methods the plugin needs, the one that fails, how the message begins)
POINTS = [
    ((), "pre_enqueue", 'running PreEnqueue plugin "Faulty"'),
    ((), "pre_filter", 'running PreFilter plugin "Faulty"'),
    ((), "filter", 'running "Faulty" filter plugin'),
    (("filter",), "filter_nodes", 'running "Faulty" filter plugin'),
    (("score",), "pre_score", 'running PreScore plugin "Faulty"'),
    ((), "score", 'running Score plugins: plugin "Faulty" failed with'),
    (("score",), "score_nodes", 'running Score plugins: plugin "Faulty" failed with'),
    (("score",), "normalize_score", 'running Normalize on Score plugins: plugin "Faulty" failed with'),
    (("unreserve",), "reserve", 'running Reserve plugin "Faulty"'),
    ((), "permit", 'running Permit plugin "Faulty"'),
    (("pre_bind",), "pre_bind_pre_flight", 'running PreBindPreFlight "Faulty"'),
    (("pre_bind_pre_flight",), "pre_bind", 'running PreBind plugin "Faulty"'),
    ((), "bind", 'running Bind plugin "Faulty"'),
]


@pytest.mark.parametrize(("methods", "faulty", "prefix"), POINTS, ids=[faulty for _, faulty, _ in POINTS])
@pytest.mark.parametrize(
    ("body", "words"),
    [(raising, ": RuntimeError: oops"), (lambda *_: object(), "Error: "), (lambda *_: "yes", "Error: ")],
    ids=["raises", "returns an object", "returns a text"],
)
def test_bad_pod_fails_with_the_plugins_name_and_the_next_one_is_scheduled(
    methods: tuple[str, ...], faulty: str, prefix: str, body: Body, words: str
) -> None:
    cluster = cluster_with(*methods, faulty=faulty, body=body)

    cluster.add(make_pod("bad"))
    cluster.run()

    condition = cluster.condition("bad")
    assert (condition.status, condition.reason) == ("False", "SchedulerError")
    assert condition.message.startswith(prefix)
    assert words in condition.message
    assert cluster.pod("bad").spec.node_name == ""
    assert any(note.startswith(prefix) for note in cluster.notes("FailedScheduling"))
    if faulty == "bind":
        return  # this plugin takes every pod for bound
    assert cluster.schedule(make_pod("good"))[0] in {"n1", "n2"}


def refuse_all(_state: Any, pod: Any, _node: Any) -> Any:
    return unschedulable("no room") if pod.name == "bad" else None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (raising, "RuntimeError: oops"),
        (lambda *_: None, "TypeError: cannot unpack non-iterable NoneType object"),
        (lambda *_: (None, None), "ValueError: not enough values to unpack (expected 3, got 2)"),
        (lambda *_: (3, None, None), "a plugin returned 3 where a PostFilterResult or None is expected"),
        (lambda *_: (PostFilterResult(), None, 3), "a plugin returned 3 where Work or None is expected"),
        (lambda *_: (None, "no", None), "a plugin returned 'no' where a Status or None is expected"),
    ],
)
def test_post_filter_that_fails_is_named_beside_the_verdicts(body: Body, words: str) -> None:
    cluster = cluster_with("filter", faulty="post_filter", body=body, filter=refuse_all)

    cluster.add(make_pod("bad"))
    cluster.run()

    message = cluster.condition("bad").message
    assert message.startswith("0/2 nodes are available: 2 no room.")
    assert words in message
    assert cluster.schedule(make_pod("good")) == ["n1"]


class TestWhereNothingCanBeTurnedDownAnyMore:
    """Such a failure is an event about the pod."""

    def test_unreserve_that_raises_keeps_nobody_else_from_giving_back(self) -> None:
        given_back: list[str] = []
        other = FakePlugin("Other", reserve=lambda *_: None, unreserve=lambda *_: given_back.append("other"))
        faulty = FakePlugin("Faulty", reserve=lambda *_: unschedulable("full"), unreserve=raising)
        config = configuration(profile(*BASIC_PLUGINS, "Other", "Faulty"))
        cluster = FakeCluster(config, registry=registry_of(other, faulty))
        cluster.add(make_node("n1").capacity(pods="9"))

        cluster.add(make_pod("bad"))
        cluster.run()

        assert given_back
        assert set(cluster.notes("PluginFailed")) == {'running Unreserve plugin "Faulty": RuntimeError: oops'}
        assert "full" in cluster.condition("bad").message
        assert not cluster.scheduler.cache.is_assumed(cluster.info("bad").uid)

    def test_post_bind_that_raises_leaves_the_pod_bound(self) -> None:
        cluster = cluster_with(faulty="post_bind", body=raising)

        assert cluster.schedule(make_pod("bad"), make_pod("good")) == ["n1", "n2"]
        assert cluster.notes("PluginFailed") == ['running PostBind plugin "Faulty": RuntimeError: oops']
        assert cluster.scheduler.bindings == {}

    def test_background_work_that_raises(self) -> None:
        cluster = cluster_with(
            "filter",
            faulty="post_filter",
            body=lambda *_: (None, unschedulable("wait"), Work(deadline_ns=1)),
            filter=refuse_all,
            resume=raising,
        )

        cluster.add(make_pod("bad"))
        cluster.run()
        cluster.advance(1)

        assert set(cluster.notes("PluginFailed")) == {'background work of plugin "Faulty": RuntimeError: oops'}

    def test_queue_sort_that_raises_puts_the_pod_last(self) -> None:
        sort = FakePlugin("Sort", sort_key=only_for("bad", raising, lambda queued: (queued.pod.name,)))
        sort.sort_key = lambda queued: raising() if queued.pod.name == "bad" else (queued.pod.name,)  # type: ignore[attr-defined]
        names = [name for name in BASIC_PLUGINS if name != "PrioritySort"]
        cluster = FakeCluster(configuration(profile("Sort", *names)), registry=registry_of(sort))
        cluster.add(make_node("n1").capacity(pods="9"))

        assert cluster.schedule(make_pod("bad"), make_pod("z"), make_pod("a")) == ["n1", "n1", "n1"]
        assert [record.pod.name for record in cluster.observer.cycles] == ["a", "z", "bad"]
        assert cluster.notes("PluginFailed") == ['running QueueSort plugin "Sort": RuntimeError: oops']

    def test_sort_keys_that_cannot_be_compared_leave_the_order_of_arrival(self) -> None:
        keys = {"a": None, "b": 3, "c": "x"}
        sort = FakePlugin("Sort", sort_key=lambda queued: keys[queued.pod.name])
        names = [name for name in BASIC_PLUGINS if name != "PrioritySort"]
        cluster = FakeCluster(configuration(profile("Sort", *names)), registry=registry_of(sort))
        cluster.add(make_node("n1").capacity(pods="9"))

        assert cluster.schedule(make_pod("a"), make_pod("b"), make_pod("c")) == ["n1"] * 3
        assert [record.pod.name for record in cluster.observer.cycles] == ["a", "b", "c"]


class TestPreEnqueue:
    def test_gated_pod_is_told_once_and_let_in_when_the_plugin_recovers(self) -> None:
        broken = [True]

        def moody(pod: Any) -> None:
            if broken and pod.name == "bad":
                raise RuntimeError("oops")

        cluster = cluster_with(faulty="pre_enqueue", body=moody)
        cluster.add(make_pod("bad"))
        cluster.run()
        cluster.add(make_node("n3"))
        cluster.run()

        message = 'running PreEnqueue plugin "Faulty": RuntimeError: oops'
        assert cluster.notes("FailedScheduling") == [message]
        assert cluster.scheduler.queue.contents().gated == ("default/bad",)

        broken.clear()
        cluster.add(make_node("n4"))
        cluster.run()

        assert cluster.pod("bad").spec.node_name


class TestWorkOfBinding:
    @pytest.mark.parametrize("point", ["pre_bind", "bind"])
    @pytest.mark.parametrize("body", [raising, lambda *_: "done"], ids=["raises", "returns a text"])
    def test_resume_that_fails(self, point: str, body: Body) -> None:
        cluster = cluster_with(
            "pre_bind", "pre_bind_pre_flight", faulty=point, body=lambda *_: Work(deadline_ns=5), resume=body
        )

        cluster.add(make_pod("bad"))
        cluster.run()
        cluster.advance(1)

        name = {"pre_bind": "PreBind", "bind": "Bind"}[point]
        assert cluster.condition("bad").message.startswith(f'running {name} plugin "Faulty": ')
        assert not cluster.scheduler.cache.is_assumed(cluster.info("bad").uid)


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("score", (1.5, None), "TypeError: 'float' object cannot be interpreted as an integer"),
        ("score", (10**30, None), "OverflowError"),
        ("score", 10, "TypeError: cannot unpack"),
        ("score", (-1, None), "returns an invalid score -1, it should in the range of [0, 100] after normalizing"),
        ("score_nodes", np.array([1.5, 2.5]), "Cannot cast array data from dtype('float64')"),
        ("score_nodes", np.array([1, 2, 3]), "could not broadcast"),
        ("filter", True, "a plugin returned True where a Status or None is expected"),
        ("filter_nodes", NodeStatuses.success(3), "a plugin returned 3 verdicts for 2 nodes"),
        ("pre_filter", (["n1"], None), "a plugin returned ['n1'] where a PreFilterResult or None is expected"),
        ("permit", (None, None), "a plugin returned None where a whole number of ns is expected"),
        ("permit", (None, 1.5), "a plugin returned 1.5 where a whole number of ns is expected"),
    ],
)
def test_wrong_answer_says_what_was_expected(method: str, answer: Any, words: str) -> None:
    cluster = cluster_with("score", "filter", faulty=method, body=lambda *_: answer)

    cluster.add(make_pod("bad"))
    cluster.run()

    assert words in cluster.condition("bad").message


@pytest.mark.parametrize("method", ["add_pod", "remove_pod"])
def test_state_that_cannot_follow_a_dry_run_is_named(method: str) -> None:
    """add_pod is called for nominated pods, remove_pod and add_pod while preemption looks for victims."""

    def refuse(_state: Any, pod: Any, node: Any) -> Any:
        return unschedulable("no room") if pod.name == "bad" and node.pods else None

    plugin = FakePlugin(
        "Faulty", pre_filter=good("pre_filter"), filter=refuse, add_pod=lambda *_: None, remove_pod=lambda *_: None
    )
    setattr(plugin, method, raising)
    config = configuration(profile("Faulty", *BASIC_PLUGINS, "DefaultPreemption"))
    cluster = FakeCluster(config, registry=registry_of(plugin))
    cluster.add(make_node("n1").capacity(pods="9"))
    cluster.schedule(make_pod("low"))

    cluster.add(make_pod("bad").priority(10))
    cluster.run()

    point = {"add_pod": "AddPod", "remove_pod": "RemovePod"}[method]
    assert f'running {point} on PreFilter plugin "Faulty": RuntimeError: oops' in cluster.condition("bad").message
    assert cluster.schedule(make_pod("good")) == ["n1"]


def test_state_that_cannot_be_copied_fails_the_pod() -> None:
    class Uncopyable:
        def copy(self, deep: object) -> None: ...

    def keep(state: Any, pod: Any, _table: Any) -> Any:
        state.write("mine", Uncopyable() if pod.name == "bad" else 1)
        return None, None

    cluster = cluster_with("filter", faulty="pre_filter", body=keep)
    # Full mode looks at every filter with a copy of the state.
    cluster.scheduler.full = True

    cluster.add(make_pod("bad"))
    cluster.run()

    assert cluster.condition("bad").message.startswith("copying what is kept under 'mine': TypeError: ")
    assert cluster.schedule(make_pod("good")) == ["n1"]


def test_signing_that_raises_fails_the_pod() -> None:
    cluster = FakeCluster(
        configuration(profile("Faulty", "PrioritySort", "DefaultBinder")),
        registry=registry_of(
            FakePlugin("Faulty", filter=lambda *_: None, sign_pod=only_for("bad", raising, good("sign_pod")))
        ),
    )
    cluster.add(make_node("n1"))

    cluster.add(make_pod("bad"))
    cluster.run()

    assert cluster.condition("bad").message == 'running SignPod plugin "Faulty": RuntimeError: oops'
    assert cluster.schedule(make_pod("good")) == ["n1"]


def test_hint_that_raises_lets_the_pod_go_on() -> None:
    event = ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD), raising)
    cluster = cluster_with("filter", faulty="filter", body=refuse_all, events_to_register=lambda: [event])
    cluster.add(make_pod("bad"))
    cluster.run()
    cluster.advance(2)

    cluster.add(make_node("n3"))
    cluster.run()

    assert [record.attempt for record in cluster.observer.cycles] == [1, 2]
    [hints] = {move.hints for move in cluster.observer.moves if move.hints}
    assert hints == (("NodeAdd", "Faulty", "Queue", "oops"),)


class BrokenColumn:
    """A column that is filled and then cannot be kept current."""

    def __init__(self) -> None:
        self.raises = False

    def reorder(self, old_rows: object) -> None:
        pass

    def set_node(self, row: int, info: object) -> None:
        pass

    def add_pod(self, row: int, pod: object) -> None:
        raise RuntimeError("oops")

    def remove_pod(self, row: int, pod: object) -> None:
        pass


def test_column_that_breaks_fails_the_pod_that_asks_for_it_next() -> None:
    def look(_state: Any, _pod: Any, table: Any) -> Any:
        table.column("mine", BrokenColumn)
        return None, None

    plugin = FakePlugin("Faulty", pre_filter=look)
    cluster = FakeCluster(configuration(profile("Faulty", *BASIC_PLUGINS)), registry=registry_of(plugin))
    cluster.add(make_node("n1").capacity(pods="9"))

    assert cluster.schedule(make_pod("first"), make_pod("second"), make_pod("third")) == ["n1", "", "n1"]
    assert cluster.condition("second").message == (
        "running PreFilter plugin \"Faulty\": ColumnError: column 'mine' could not be kept current: RuntimeError: oops"
    )


def test_broken_invariant_of_ours_is_not_taken_for_the_plugins() -> None:
    def broken(*_: object) -> None:
        raise InvariantError("ours")

    cluster = cluster_with(faulty="filter", body=broken)
    cluster.add(make_pod("bad"))

    with pytest.raises(InvariantError):
        cluster.run()


class TestEqualPods:
    """Pods that are made alike share evaluations; a plugin that goes wrong there is asked in the usual way."""

    def two_equal(self, **methods: Body) -> FakeCluster:
        plugin = FakePlugin("Faulty", **methods)
        cluster = FakeCluster(configuration(profile(*BASIC_PLUGINS, "Faulty")), registry=registry_of(plugin))
        cluster.add(make_node("n1").capacity(pods="9"), make_node("n2").capacity(pods="9"))
        cluster.add(make_pod("a"), make_pod("b"), make_pod("c"))
        cluster.run()
        return cluster

    def test_score_that_is_no_whole_number_fails_every_one_of_them(self) -> None:
        cluster = self.two_equal(
            score=lambda *_: (1.5, None), score_nodes=lambda *_: np.array([1.5, 2.5]), is_row_local=lambda _: True
        )

        assert all("Cannot cast array data" in cluster.condition(name).message for name in "abc")

    def test_plugin_that_cannot_say_whether_it_is_row_local_is_asked_every_time(self) -> None:
        cluster = self.two_equal(filter=lambda *_: None, filter_nodes=good("filter_nodes"), is_row_local=raising)

        assert all(cluster.nodes_of("a", "b", "c"))

    def test_filter_that_raises_after_it_told_what_has_changed_fails_every_one_of_them(self) -> None:
        cluster = self.two_equal(
            filter=raising,
            filter_nodes=raising,
            changed_verdicts=lambda *since: ("now", None if since[-1] is None else ()),
        )

        assert all('running "Faulty" filter plugin' in cluster.condition(name).message for name in "abc")

    def test_scores_that_are_kept_do_not_count_for_a_pod_that_the_plugin_skips(self) -> None:
        cluster = self.two_equal(
            pre_score=lambda _state, pod, *_: SKIP if pod.name == "c" else None,
            score=lambda *_: (50, None),
            score_nodes=lambda *arguments: np.full(len(arguments[-1]), 50),
            is_row_local=lambda _: True,
        )

        for record in cluster.observer.cycles:
            assert record.score is not None
            assert ("Faulty" in record.score.plugins) == (record.pod.name != "c")
            assert record.score.total.tolist() == record.score.final.sum(axis=0).tolist()


class TestKnownDryRuns:
    """Preemptors that are made alike share what dry runs came to, unless other filters run for them."""

    def preempting(self, **methods: Any) -> FakeCluster:
        plugin = FakePlugin("Faulty", **methods)
        plugin.looks_at = "node"  # type: ignore[attr-defined]
        cluster = FakeCluster(
            configuration(profile(*BASIC_PLUGINS, "DefaultPreemption", "Faulty")), registry=registry_of(plugin)
        )
        cluster.add(make_node("n1").capacity(cpu="1", pods="9"))
        cluster.add(make_pod("low").req(cpu="1").node("n1").priority(0))
        cluster.add(make_pod("a").req(cpu="1").priority(9))
        cluster.run()
        cluster.add(make_pod("b").req(cpu="1").priority(9))
        cluster.run()
        return cluster

    def test_a_filter_that_skips_one_of_them_does_not_speak_for_it(self) -> None:
        cluster = self.preempting(
            pre_filter=lambda _state, pod, _table: (None, SKIP if pod.name == "b" else None),
            filter=lambda *_: unschedulable("no"),
            filter_nodes=lambda *arguments: NodeStatuses.of([unschedulable("no")] * len(arguments[2])),
            is_row_local=lambda _: True,
        )

        assert [write.name for write in cluster.writes if write.verb == "delete"] == ["low"]

    def test_filter_that_cannot_say_whether_it_is_row_local_is_asked_every_time(self) -> None:
        cluster = self.preempting(filter=lambda *_: None, filter_nodes=good("filter_nodes"), is_row_local=raising)

        assert [write.name for write in cluster.writes if write.verb == "delete"] == ["low"]
