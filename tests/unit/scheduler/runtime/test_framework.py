"""A profile at work: what plugins may ask of it, and the points that are not part of a whole cycle's tests."""

from typing import Any

import pytest

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, Status, error, unschedulable
from schedlab.scheduler.framework.types import NodeInfo
from schedlab.scheduler.runtime.framework import Framework
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of, rejecting

POD = make_pod("p").obj()
NODE = NodeInfo(make_node("a").view())


def framework(*plugins: FakePlugin) -> Framework:
    names = ("PrioritySort", "DefaultBinder", *(plugin.name for plugin in plugins))
    made = FakeCluster(configuration(profile(*names)), registry=registry_of(*plugins))
    return made.scheduler.profiles["default-scheduler"]


class TestStateOfPreFilter:
    def telling(self, name: str, status: Status | None = None) -> tuple[FakePlugin, list[str]]:
        heard: list[str] = []

        def hear(what: str) -> Any:
            def method(_state: object, _pod: object, other: Any, node: Any) -> Status | None:
                heard.append(f"{what} {other.name} {node.name}")
                return status

            return method

        plugin = FakePlugin(name, pre_filter=lambda *_: (None, None), add_pod=hear("add"), remove_pod=hear("remove"))
        return plugin, heard

    def test_every_plugin_is_told_of_pods_that_come_and_go(self) -> None:
        plugin, heard = self.telling("A")
        made = framework(plugin, FakePlugin("Deaf", pre_filter=lambda *_: (None, None)))

        assert made.run_pre_filter_add_pod(CycleState(), POD, make_pod("q").obj(), NODE) is None
        assert made.run_pre_filter_remove_pod(CycleState(), POD, make_pod("q").obj(), NODE) is None
        assert heard == ["add q a", "remove q a"]

    def test_plugins_that_skip_are_not(self) -> None:
        plugin, heard = self.telling("A")
        state = CycleState()
        state.skip_filter = frozenset(("A",))

        framework(plugin).run_pre_filter_add_pod(state, POD, POD, NODE)

        assert not heard

    def test_failure_names_the_plugin(self) -> None:
        plugin, _ = self.telling("A", error("broken"))
        made = framework(plugin)

        added = made.run_pre_filter_add_pod(CycleState(), POD, POD, NODE)
        removed = made.run_pre_filter_remove_pod(CycleState(), POD, POD, NODE)

        assert added == error('running AddPod on PreFilter plugin "A": broken')
        assert removed == error('running RemovePod on PreFilter plugin "A": broken')


class TestFiltersOnOneNode:
    @pytest.mark.parametrize(
        ("verdict", "expected"),
        [
            (None, None),
            (unschedulable("no"), Status(Code.UNSCHEDULABLE, ("no",), "A")),
            (error("broken"), Status(Code.ERROR, (), "A", 'running "A" filter plugin: broken')),
        ],
    )
    def test_first_failure_with_its_plugin(self, verdict: Status | None, expected: Status | None) -> None:
        made = framework(rejecting("A", "a", status=verdict) if verdict else rejecting("A"))

        assert made.run_filters_with_nominated_pods(CycleState(), POD, NODE) == expected


class TestPermit:
    def test_longest_wait_is_a_quarter_of_an_hour(self) -> None:
        made = framework(
            FakePlugin("A", permit=lambda *_: (Status(Code.WAIT, ("hold",)), 3600 * SECOND_NS)),
            FakePlugin("B", permit=lambda *_: (Status(Code.WAIT), SECOND_NS)),
            FakePlugin("C", permit=lambda *_: (None, 0)),
        )
        record: dict[str, tuple[Status | None, int]] = {}

        status, waits = made.run_permit(CycleState(), POD, "a", record)

        assert status == Status(Code.WAIT, ("one or more plugins asked to wait and no plugin rejected pod",))
        assert waits == {"A": 900 * SECOND_NS, "B": SECOND_NS}
        assert list(record) == ["A", "B", "C"]

    def test_rejection_beats_a_wait(self) -> None:
        made = framework(
            FakePlugin("A", permit=lambda *_: (Status(Code.WAIT), SECOND_NS)),
            FakePlugin("B", permit=lambda *_: (unschedulable("no"), 0)),
        )

        assert made.run_permit(CycleState(), POD, "a") == (Status(Code.UNSCHEDULABLE, ("no",), "B"), {})


def broken(*_: object) -> None:
    raise RuntimeError("oops")


@pytest.mark.parametrize(
    ("method", "call", "expected"),
    [
        ("reserve", lambda made: made.run_reserve(CycleState(), POD, "a"), 'running Reserve plugin "A"'),
        ("permit", lambda made: made.run_permit(CycleState(), POD, "a")[0], 'running Permit plugin "A"'),
        ("pre_filter", lambda made: made.run_pre_filter(CycleState(), POD).status, 'running PreFilter plugin "A"'),
    ],
)
def test_exceptions_are_errors_of_the_plugin(method: str, call: Any, expected: str) -> None:
    status = call(framework(FakePlugin("A", **{method: broken, "unreserve": lambda *_: None})))

    assert status.code == Code.ERROR
    assert status.error == f"{expected}: RuntimeError: oops"


def test_pre_bind_groups_follow_the_order_of_the_plugins() -> None:
    def worker(name: str, *, parallel: bool = False) -> FakePlugin:
        plugin = FakePlugin(name, pre_bind=lambda *_: None, pre_bind_pre_flight=lambda *_: None)
        plugin.pre_bind_parallel = parallel  # type: ignore[attr-defined]
        return plugin

    made = framework(
        worker("A", parallel=True),
        worker("B", parallel=True),
        worker("C"),
        worker("D"),
        worker("E", parallel=True),
    )
    state = CycleState()
    state.skip_pre_bind = frozenset(("B", "D"))

    assert [[plugin.name for plugin in group] for group in made.pre_bind_groups(state)] == [["A"], ["C"], ["E"]]
    assert [[plugin.name for plugin in group] for group in made.pre_bind_groups(CycleState())] == [
        ["A", "B"],
        ["C"],
        ["D"],
        ["E"],
    ]
