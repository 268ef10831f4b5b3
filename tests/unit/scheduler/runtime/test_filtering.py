"""The search for feasible nodes."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.status import REASONS, Code, Status, error, unresolvable, unschedulable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.scheduler.runtime.filtering import FilterRun, Search, wanted_nodes
from schedlab.testing.builders import make_node, make_pod, make_table
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, Form, rejecting

OTHER: dict[Form, Form] = {"scalar": "array", "array": "scalar"}


class Nominations:
    """Pods by nominated node."""

    def __init__(self, by_node: dict[str, list[PodInfo]] | None = None) -> None:
        self.by_node = by_node or {}

    def node_names(self) -> Collection[str]:
        return self.by_node.keys()

    def pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        return self.by_node.get(node_name, [])


def nodes(count: int) -> NodeTable:
    return make_table(*(make_node(f"n{index}").capacity(cpu="4", pods="10") for index in range(count)))


def run(
    table: NodeTable,
    *plugins: FakePlugin,
    pod: PodInfo | None = None,
    nominated: dict[str, list[PodInfo]] | None = None,
    state: CycleState | None = None,
    add_pod: Any = None,
) -> FilterRun:
    return FilterRun(
        plugins,
        add_pod or (lambda *_: None),
        state or CycleState(),
        pod or make_pod("p").obj(),
        table,
        Nominations(nominated),  # type: ignore[arg-type]
    )


def failures(search: Search, names: tuple[str, ...]) -> dict[int, tuple[str, str]]:
    """Return who turned down which row, and why."""
    verdicts = search.verdicts
    return {
        int(row): (names[verdicts.plugin[at]], ", ".join(REASONS.texts(int(verdicts.reason[at]))))
        for at, row in enumerate(search.rows)
        if verdicts.plugin[at] != PASSED
    }


class TestWantedNodes:
    @pytest.mark.parametrize(
        ("percentage", "all_nodes", "expected"),
        [
            pytest.param(0, 0, 0, id="no nodes"),
            pytest.param(30, 99, 99, id="small clusters are searched to the end"),
            pytest.param(30, 100, 100, id="never fewer than 100"),
            pytest.param(30, 1000, 300, id="a percentage that was set"),
            pytest.param(100, 1000, 1000, id="all"),
            pytest.param(0, 1000, 420, id="adaptive: 50 minus a 125th"),
            pytest.param(0, 5000, 500, id="adaptive for 5,000"),
            pytest.param(0, 6000, 300, id="adaptive, at least 5 percent"),
        ],
    )
    def test_how_many(self, percentage: int, all_nodes: int, expected: int) -> None:
        assert wanted_nodes(percentage, all_nodes) == expected


@pytest.mark.parametrize("form", ["scalar", "array"])
class TestSearch:
    def test_first_filter_that_fails_decides(self, form: Form) -> None:
        filters = run(
            nodes(3), rejecting("A", "n0", form=form), rejecting("B", "n0", "n1", form=OTHER[form]), rejecting("C")
        )

        search = filters.search(3, 0)

        assert search.feasible.tolist() == [2]
        assert failures(search, filters.names) == {0: ("A", "A says no"), 1: ("B", "B says no")}

    def test_starts_where_it_is_told_and_wraps(self, form: Form) -> None:
        search = run(nodes(5), rejecting("A", "n4", form=form)).search(5, 3)

        assert search.rows.tolist() == [3, 4, 0, 1, 2]
        assert search.feasible.tolist() == [3, 0, 1, 2]

    def test_ends_after_one_feasible_node_too_many(self, form: Form) -> None:
        search = run(nodes(8), rejecting("A", "n1", "n2", form=form)).search(2, 0)

        assert search.rows.tolist() == [0, 1, 2, 3, 4]
        assert search.feasible.tolist() == [0, 3]

    def test_exactly_as_many_as_wanted_means_to_look_at_all(self, form: Form) -> None:
        search = run(nodes(4), rejecting("A", "n1", "n3", form=form)).search(2, 0)

        assert search.rows.tolist() == [0, 1, 2, 3]
        assert search.feasible.tolist() == [0, 2]

    def test_does_not_look_at_everything_when_enough_fit(self, form: Form) -> None:
        plugin = rejecting("A", form=form)
        search = run(nodes(300), plugin).search(100, 250)

        assert len(plugin.calls) < 150  # type: ignore[attr-defined]
        assert search.rows.tolist() == [*range(250, 300), *range(51)]
        assert search.feasible.tolist() == [*range(250, 300), *range(50)]

    def test_few_feasible_nodes_are_found_in_all(self, form: Form) -> None:
        bad = [f"n{index}" for index in range(300) if index % 50]
        search = run(nodes(300), rejecting("A", *bad, form=form)).search(100, 120)

        assert sorted(search.rows.tolist()) == list(range(300))
        assert search.feasible.tolist() == [150, 200, 250, 0, 50, 100]

    def test_error_ends_the_search_and_names_the_plugin(self, form: Form) -> None:
        filters = run(nodes(4), rejecting("A", "n0", form=form), rejecting("B", "n2", form=form, status=error("bad")))

        search = filters.search(4, 0)

        assert search.rows.tolist() == [0, 1, 2]
        assert search.error == Status(Code.ERROR, (), "B", 'running "B" filter plugin: bad')

    def test_error_behind_an_earlier_failure_is_not_met(self, form: Form) -> None:
        filters = run(nodes(2), rejecting("A", "n0", form=form), rejecting("B", "n0", form=form, status=error("bad")))

        assert filters.search(2, 0).error is None

    def test_skipped_filters_do_not_run(self, form: Form) -> None:
        state = CycleState()
        state.skip_filter = frozenset(("A",))
        filters = run(nodes(1), rejecting("A", "n0", form=form), rejecting("B", form=form), state=state)

        assert filters.names == ("B",)
        assert filters.search(1, 0).feasible.tolist() == [0]

    @pytest.mark.parametrize("count", [3, 40])
    def test_given_rows_only(self, form: Form, count: int) -> None:
        rows = np.arange(2, 2 + count, dtype=np.int64)[::-1].copy()
        search = run(nodes(60), rejecting("A", "n2", form=form)).search_rows(rows, count, 1)

        assert search.rows.tolist() == [*rows[1:].tolist(), int(rows[0])]
        assert 2 not in search.feasible.tolist()
        assert len(search.feasible) == count - 1

    def test_no_rows(self, form: Form) -> None:
        search = run(nodes(2), rejecting("A", form=form)).search_rows(np.zeros(0, np.int64), 0, 1)

        assert search.rows.tolist() == search.feasible.tolist() == []


class TestRaisingPlugins:
    @pytest.mark.parametrize("method", ["filter", "filter_nodes"])
    def test_exception_becomes_an_error_of_the_plugin(self, method: str) -> None:
        def broken(*_: object) -> None:
            raise KeyError("x")

        methods = {"filter": lambda *_: None, method: broken}
        search = run(nodes(2), FakePlugin("A", **methods)).search(2, 0)

        assert search.error == Status(Code.ERROR, (), "A", "running \"A\" filter plugin: KeyError: 'x'")

    def test_broken_invariant_of_ours_goes_up(self) -> None:
        def broken(*_: object) -> None:
            raise InvariantError("ours")

        with pytest.raises(InvariantError):
            run(nodes(1), FakePlugin("A", filter=broken)).search(1, 0)

    def test_filter_may_only_reject(self) -> None:
        plugin = FakePlugin("A", filter=lambda *_: Status(Code.WAIT, ("later",)))

        assert run(nodes(1), plugin).search(1, 0).error == Status(
            Code.ERROR, (), "A", 'running "A" filter plugin: later'
        )


class TestNominatedPods:
    def full(self) -> FakePlugin:
        """Nodes take one pod."""
        return FakePlugin("Full", filter=lambda _state, _pod, node: unschedulable("full") if node.pods else None)

    def test_pod_must_fit_beside_equal_and_more_important_nominated_pods(self) -> None:
        table = nodes(3)
        nominated = {
            "n0": [make_pod("same").priority(5).obj()],
            "n1": [make_pod("lower").priority(4).obj()],
            "n2": [make_pod("p").priority(5).obj()],
        }
        search = run(table, self.full(), pod=make_pod("p").priority(5).obj(), nominated=nominated).search(3, 0)

        assert search.feasible.tolist() == [1, 2]
        assert not table.infos[0].pods

    def test_pod_must_fit_without_them_too(self) -> None:
        needs_company = FakePlugin(
            "Company", filter=lambda _state, _pod, node: None if node.pods else unresolvable("alone")
        )
        table = nodes(2)
        filters = run(
            table, FakePlugin("Ok", filter=lambda *_: None), needs_company, nominated={"n0": [make_pod("q").obj()]}
        )

        search = filters.search(2, 0)

        assert failures(search, filters.names) == {0: ("Company", "alone"), 1: ("Company", "alone")}
        assert search.verdicts.second_pass is not None
        assert search.verdicts.second_pass.tolist() == [True, False]

    def test_states_of_plugins_are_told_on_a_copy(self) -> None:
        told: list[tuple[str, str]] = []

        def add_pod(state: CycleState, _pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
            told.append((added.name, node.name))
            state.write("seen", True)
            return None

        state = CycleState()
        run(nodes(1), self.full(), nominated={"n0": [make_pod("q").obj()]}, state=state, add_pod=add_pod).search(1, 0)

        assert told == [("q", "n0")]
        assert state.find("seen") is None

    def test_failure_to_tell_is_an_error(self) -> None:
        filters = run(
            nodes(1), self.full(), nominated={"n0": [make_pod("q").obj()]}, add_pod=lambda *_: error("cannot count")
        )

        assert filters.search(1, 0).error == Status(Code.ERROR, (), "", "cannot count")


def test_every_verdict_asks_every_filter_about_every_node() -> None:
    filters = run(nodes(3), rejecting("A", "n0", form="array"), rejecting("B", "n0", "n2"))

    every = filters.every_verdict()

    assert every.full_code.tolist() == [[2, 0, 0], [2, 0, 2]]
    assert REASONS.texts(int(every.full_reason[1, 2])) == ("B says no",)
    assert every.changed_rows is None


def test_tap_hears_of_scalar_calls() -> None:
    heard: list[tuple[str, str, bool]] = []

    class Tap:
        def filter_called(self, node_name: str, plugin: str, status: Status | None) -> None:
            heard.append((node_name, plugin, status is None))

    filters = FilterRun(
        [rejecting("A", "n0")],
        lambda *_: None,
        CycleState(),
        make_pod("p").obj(),
        nodes(2),
        Nominations(),  # type: ignore[arg-type]
        Tap(),
    )
    filters.search(2, 0)

    assert heard == [("n0", "A", False), ("n1", "A", True)]
