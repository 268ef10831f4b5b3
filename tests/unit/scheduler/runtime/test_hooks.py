"""Hooks around plugins: before-hooks can answer in the plugin's place, what after-hooks return is the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from schedlab.client.protocol import Write
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.interface import (
    CycleState,
    NominatingInfo,
    PostFilterResult,
    PreFilterResult,
    Work,
)
from schedlab.scheduler.framework.record import add_custom_result
from schedlab.scheduler.framework.status import SKIP, Code, NodeStatuses, Status, unschedulable
from schedlab.scheduler.runtime.framework import Framework
from schedlab.scheduler.runtime.hooks import HookedPlugin, HookError
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of, rejecting

NO = unschedulable("no")
Body = Callable[..., Any]


class Hooks:
    """Hooks with exactly the given methods; they count their calls."""

    def __init__(self, **methods: Body) -> None:
        self.calls: list[str] = []
        for name, body in methods.items():
            setattr(self, name, self._counted(name, body))

    def _counted(self, name: str, body: Body) -> Body:
        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            return body(*arguments)

        return call


# Per method: what it is called with, and what the plugin, a refusing before-hook and an after-hook answer.
FORMS: dict[str, tuple[tuple[Any, ...], Any, Any, Any]] = {
    "pre_filter": (("state", "pod", "table"), (None, None), (None, SKIP), (PreFilterResult(("a",)), None)),
    "filter": (("state", "pod", "node"), None, NO, unschedulable("after")),
    "pre_score": (("state", "pod", "table", "rows"), None, SKIP, Status(Code.SUCCESS)),
    "score": (("state", "pod", "node"), (5, None), (7, NO), (9, None)),
    "normalize_score": (("state", "pod", "rows", "scores"), None, NO, Status(Code.SUCCESS)),
    "reserve": (("state", "pod", "node"), None, NO, unschedulable("after")),
    "permit": (("state", "pod", "node"), (None, 0), (NO, 0), (Status(Code.WAIT), SECOND_NS)),
    "pre_bind": ((CycleState(), "pod", "node"), None, NO, unschedulable("after")),
    "bind": ((CycleState(), "pod", "node"), None, SKIP, unschedulable("after")),
}


@pytest.mark.parametrize("method", FORMS)
class TestAnswers:
    def hooked(self, method: str, **hooks: Body) -> tuple[Any, list[Any]]:
        asked: list[Any] = []

        def body(*arguments: Any) -> Any:
            asked.append(arguments)
            return FORMS[method][1]

        return getattr(HookedPlugin(FakePlugin("A", **{method: body}), Hooks(**hooks)), method), asked

    def test_before_hook_that_is_no_success_answers_alone(self, method: str) -> None:
        arguments, _, refusal, after = FORMS[method]
        call, asked = self.hooked(
            method, **{f"before_{method}": lambda *_: refusal, f"after_{method}": lambda *_: after}
        )

        assert call(*arguments) == refusal
        assert asked == []

    def test_after_hook_that_succeeds_lets_the_plugin_answer(self, method: str) -> None:
        arguments, answer, *_ = FORMS[method]
        call, asked = self.hooked(method, **{f"before_{method}": lambda *_: answer})

        assert call(*arguments) == answer
        assert asked == [arguments]

    def test_after_hook_gets_the_answer_and_gives_another_one(self, method: str) -> None:
        arguments, answer, _, after = FORMS[method]
        heard: list[Any] = []

        def hook(*everything: Any) -> Any:
            heard.append(everything)
            return after

        call, _ = self.hooked(method, **{f"after_{method}": hook})

        assert call(*arguments) == after
        assert heard == [(*arguments, *(answer if isinstance(answer, tuple) else (answer,)))]

    def test_hook_that_raises_says_who_it_is(self, method: str) -> None:
        def broken(*_: object) -> None:
            raise KeyError("zone")

        call, _ = self.hooked(method, **{f"before_{method}": broken})

        with pytest.raises(HookError, match=rf"Hooks.before_{method}: KeyError: 'zone'"):
            call(*FORMS[method][0])


@pytest.mark.parametrize("method", ["unreserve", "post_bind"])
def test_methods_without_answer_can_be_left_out(method: str) -> None:
    told: list[str] = []
    plugin = FakePlugin("A", **{method: lambda *_: told.append("plugin")})
    after = {f"after_{method}": lambda *_: told.append("after")}

    getattr(HookedPlugin(plugin, Hooks(**{f"before_{method}": lambda *_: NO}, **after)), method)("s", "p", "n")
    assert told == []

    getattr(HookedPlugin(plugin, Hooks(**{f"before_{method}": lambda *_: None}, **after)), method)("s", "p", "n")
    assert told == ["plugin", "after"]


class TestPostFilter:
    FOUND = PostFilterResult(NominatingInfo("n1"))

    def test_hooks_see_result_and_status_and_leave_the_work(self) -> None:
        work = Work(deadline_ns=1)
        plugin = FakePlugin("A", post_filter=lambda *_: (self.FOUND, None, work))
        hooked = HookedPlugin(plugin, Hooks(after_post_filter=lambda *heard: (heard[3], NO)))

        assert hooked.post_filter("state", "pod", "statuses") == (self.FOUND, NO, work)

    def test_before_hook_answers_alone(self) -> None:
        plugin = FakePlugin("A", post_filter=lambda *_: pytest.fail("asked"))
        hooked = HookedPlugin(plugin, Hooks(before_post_filter=lambda *_: (self.FOUND, NO)))

        assert hooked.post_filter("state", "pod", "statuses") == (self.FOUND, NO, None)

    def test_after_hook_waits_for_extenders(self) -> None:
        asking: Any = Work(calls=("request",))  # type: ignore[arg-type]  # any request will do
        plugin = FakePlugin(
            "A", post_filter=lambda *_: (None, None, asking), resume_post_filter=lambda *_: (self.FOUND, None, None)
        )
        hooks = Hooks(after_post_filter=lambda *heard: (heard[3], NO))
        hooked = HookedPlugin(plugin, hooks)

        assert hooked.post_filter("state", "pod", "statuses") == (None, None, asking)
        assert hooks.calls == []
        assert hooked.resume_post_filter("state", "pod", "statuses", asking, ()) == (self.FOUND, NO, None)


class TestWork:
    def hooked(self) -> tuple[Any, Hooks]:
        plugin = FakePlugin(
            "A",
            pre_bind=lambda *_: Work(deadline_ns=1),
            bind=lambda *_: Work(deadline_ns=2),
            resume=lambda _state, _pod, _node, work, _outcomes: None if work.note is None else work,
        )
        hooks = Hooks(
            after_pre_bind=lambda *_: unschedulable("after pre_bind"), after_bind=lambda *_: unschedulable("after bind")
        )
        return HookedPlugin(plugin, hooks), hooks

    @pytest.mark.parametrize("point", ["pre_bind", "bind"])
    def test_after_hook_comes_when_the_work_is_done(self, point: str) -> None:
        hooked, hooks = self.hooked()
        state = CycleState()

        work = getattr(hooked, point)(state, "pod", "n1")
        assert isinstance(work, Work)
        waiting = Work(note="still")
        assert hooked.resume(state, "pod", "n1", waiting, ()) is waiting
        assert hooks.calls == []

        assert hooked.resume(state, "pod", "n1", work, ()) == unschedulable(f"after {point}")

    def test_background_work_has_no_hooks(self) -> None:
        hooked, hooks = self.hooked()

        assert hooked.resume(CycleState(), "pod", "", Work(), ()) is None
        assert hooks.calls == []


class TestWhatElseIsSeen:
    PLUGIN = FakePlugin(
        "A",
        filter=lambda *_: None,
        filter_nodes=lambda *_: None,
        score=lambda *_: (0, None),
        score_nodes=lambda *_: None,
        sign_pod=lambda *_: ((), None),
    )

    def test_array_forms_and_signatures_are_hidden_where_they_do_not_know_the_hooks(self) -> None:
        hooked = HookedPlugin(self.PLUGIN, Hooks(after_filter=lambda *_: None))

        assert not hasattr(hooked, "filter_nodes")
        assert not hasattr(hooked, "sign_pod")
        assert hasattr(hooked, "score_nodes")

    def test_everything_else_is_the_plugins_own(self) -> None:
        hooked = HookedPlugin(self.PLUGIN, Hooks(after_score=lambda *_: (1, None), after_reserve=lambda *_: None))

        assert hooked.name == "A"
        assert hooked.filter_nodes is self.PLUGIN.filter_nodes  # type: ignore[attr-defined]
        assert not hasattr(hooked, "score_nodes")
        assert not hasattr(hooked, "reserve")
        assert not hasattr(hooked, "looks_at")


class TestInTheScheduler:
    def cluster(self, hooks: Hooks, plugin: str = "NodeResourcesFit", *more: FakePlugin) -> FakeCluster:
        names = (*BASIC_PLUGINS, "DefaultPreemption", *(each.name for each in more))
        cluster = FakeCluster(
            configuration(profile(*names)), registry=registry_of(*more), hooks={plugin: lambda _handle: hooks}
        )
        cluster.add(make_node("n1").capacity(cpu="4", pods="9"), make_node("n2").capacity(cpu="4", pods="9"))
        return cluster

    def test_without_hooks_plugins_are_not_wrapped(self) -> None:
        cluster = self.cluster(Hooks(after_filter=lambda *_: None))
        framework = cluster.scheduler.profiles["default-scheduler"]

        assert isinstance(framework.plugin("NodeResourcesFit"), HookedPlugin)
        assert not any(isinstance(each, HookedPlugin) for each in framework.plugins if each.name != "NodeResourcesFit")

    def test_after_filter_changes_the_placement_and_the_record(self) -> None:
        closed = unschedulable("closed by a hook")
        hooks = Hooks(after_filter=lambda _s, _p, node, status: closed if node.name == "n1" else status)
        cluster = self.cluster(hooks)

        assert cluster.schedule(make_pod("p").req(cpu="1")) == ["n2"]
        record = cluster.observer.cycles[0].filter
        assert record is not None
        failed = [record.plugins[at] for at in record.failed_plugin.tolist() if at >= 0]
        assert failed == ["NodeResourcesFit"]

    def test_before_filter_keeps_the_plugin_from_being_asked(self) -> None:
        other = rejecting("Other")
        hooks = Hooks(before_filter=lambda *_: unschedulable("closed"))
        cluster = self.cluster(hooks, "Other", other)

        assert cluster.schedule(make_pod("p")) == [""]
        assert other.calls == []  # type: ignore[attr-defined]
        assert "2 closed" in cluster.condition("p").message

    def test_after_score_changes_the_choice(self) -> None:
        hooks = Hooks(after_score=lambda _s, _p, node, _score, status: (100 if node.name == "n2" else 0, status))

        assert self.cluster(hooks).schedule(make_pod("p").req(cpu="1")) == ["n2"]

    def test_pods_are_not_taken_for_equal_where_hooks_decide(self) -> None:
        cluster = self.cluster(Hooks(after_filter=lambda _s, _p, _n, status: status))
        framework: Framework = cluster.scheduler.profiles["default-scheduler"]

        assert framework.batch is not None
        assert framework.batch.sign(make_pod("p").obj()) is None

    def test_preemption_hears_the_hooks(self) -> None:
        hooks = Hooks(after_filter=lambda _s, _p, node, status: status if node.name == "n2" else NO)
        cluster = self.cluster(hooks)
        cluster.schedule(make_pod("low").req(cpu="4").priority(1))

        cluster.add(make_pod("high").req(cpu="4").priority(9))
        cluster.run()

        [preemption] = [record.preemption for record in cluster.observer.cycles if record.preemption is not None]
        assert [each.node for each in preemption.candidates] == ["n2"]

    def test_hook_that_raises_fails_the_pod(self) -> None:
        def broken(*_: object) -> None:
            raise KeyError("zone")

        cluster = self.cluster(Hooks(after_reserve=broken), "A", FakePlugin("A", reserve=lambda *_: None, unreserve=lambda *_: None))  # fmt: skip

        cluster.add(make_pod("p"))
        cluster.run()

        assert cluster.condition("p").message == (
            "running Reserve plugin \"A\": HookError: Hooks.after_reserve: KeyError: 'zone'"
        )

    def test_custom_results_of_both_cycles_are_on_the_records(self) -> None:
        def note(key: str) -> Body:
            def after(state: Any, *rest: Any) -> Any:
                add_custom_result(state, f"example.com/{key}", "seen")
                return rest[-1]

            return after

        fit, bind = Hooks(after_filter=note("filter")), Hooks(after_bind=note("bind"))
        cluster = FakeCluster(
            hooks={"NodeResourcesFit": lambda _handle: fit, "DefaultBinder": lambda _handle: bind},
        )
        cluster.add(make_node("n1").capacity(cpu="4", pods="9"))

        assert cluster.schedule(make_pod("p")) == ["n1"]
        assert cluster.observer.cycles[0].custom == {"example.com/filter": "seen"}
        assert list(cluster.observer.bindings[0].custom) == ["example.com/filter", "example.com/bind"]

    def test_bind_hook_comes_after_the_answer_of_the_api_server(self) -> None:
        bound: list[Any] = []

        def after_bind(_state: Any, pod: Any, node: str, status: Any) -> Any:
            bound.append((cluster.pod(pod.name).spec.node_name, node))
            return status

        cluster = self.cluster(Hooks(after_bind=after_bind), "DefaultBinder")

        assert cluster.schedule(make_pod("p")) == ["n1"]
        assert bound == [("n1", "n1")]
        assert [type(write) for write in cluster.writes if write.subresource == "binding"] == [Write]


def test_array_form_of_a_filter_without_filter_hooks_is_still_used() -> None:
    def never(*_: object) -> None:
        raise AssertionError("the scalar form was asked")

    plugin = FakePlugin(
        "A", filter=never, filter_nodes=lambda _s, _p, _t, rows: NodeStatuses.success(rows.stop - rows.start),
        score=lambda *_: (0, None),
    )  # fmt: skip
    hooks = Hooks(after_score=lambda *heard: (heard[3], heard[4]))
    cluster = FakeCluster(
        configuration(profile(*BASIC_PLUGINS, "A")), registry=registry_of(plugin), hooks={"A": lambda _handle: hooks}
    )
    cluster.add(make_node("n1").capacity(pods="9"), make_node("n2").capacity(pods="9"))

    assert cluster.schedule(make_pod("p")) == ["n1"]
    assert hooks.calls == ["after_score", "after_score"]
    assert np.array(cluster.observer.cycles[0].feasible).tolist() == [0, 1]
