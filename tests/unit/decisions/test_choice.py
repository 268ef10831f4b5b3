"""Why this node: ties, margins, the weights in which a choice stands, and luck."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedlab.decisions.choice import choice, runner_up, weight_intervals
from schedlab.scheduler.framework.record import ScoreRecord
from schedlab.scheduler.runtime.choice import heap_root
from tests.unit.decisions import records


def _scores(normalized: list[list[int]], weights: tuple[int, ...]) -> ScoreRecord:
    values = np.array(normalized, np.int64)
    final = values * np.array(weights, np.int64)[:, None]
    plugins = tuple(f"P{index}" for index in range(len(weights)))
    rows = np.arange(values.shape[1], dtype=np.int32)
    return ScoreRecord(plugins, weights, rows, values, final, final.sum(axis=0))


def _cycle(normalized: list[list[int]], weights: tuple[int, ...]) -> Any:
    score = _scores(normalized, weights)
    chosen = heap_root(score.total)
    names = tuple(f"n{row}" for row in range(len(score.rows)))
    return records.scheduled(node_names=names, score=score, selected=names[chosen])


def test_margin_and_runner_up() -> None:
    cycle = _cycle([[50, 40, 10], [10, 30, 20]], (2, 1))

    found, second = choice(cycle), runner_up(cycle)

    assert found is not None
    assert second is not None
    assert (found["selected"], found["total"], found["margin"], found["tied"]) == ("n0", 110, 0, ["n0", "n1"])
    assert second == {"node": "n1", "total": 110, "margin": 0, "byPlugin": {"P0": 20, "P1": -20}}


def test_one_best_node_leaves_nothing_to_luck() -> None:
    found = choice(_cycle([[50, 40]], (1,)))

    assert found is not None
    assert found["luck"] == {"seeds": 100, "outcomes": {"n0": 100}}


def test_each_of_equal_nodes_comes_out_for_some_dice() -> None:
    found = choice(_cycle([[50, 50, 10, 50]], (1,)))

    assert found is not None
    assert sorted(found["luck"]["outcomes"]) == ["n0", "n1", "n3"]
    assert sum(found["luck"]["outcomes"].values()) == 100


def test_points_of_extenders_are_told_apart() -> None:
    cycle = _cycle([[50, 40]], (1,))
    cycle.score.total[:] = (60, 70)
    cycle.selected = "n1"

    second = runner_up(cycle)

    assert second is not None
    assert second["byPlugin"] == {"P0": -10}
    assert second["byExtenders"] == 20


def test_no_choice_without_complete_scores() -> None:
    assert choice(records.failed()) is None
    assert choice(records.scheduled(score=None)) is None


@given(
    normalized=st.integers(2, 6).flatmap(
        lambda nodes: st.lists(st.lists(st.integers(0, 100), min_size=nodes, max_size=nodes), min_size=1, max_size=3)
    ),
    data=st.data(),
)
def test_the_choice_stands_exactly_within_the_interval(normalized: list[list[int]], data: st.DataObject) -> None:
    """Within it the same node comes out, one step beyond either end another one."""
    weights = tuple(data.draw(st.integers(1, 5)) for _ in normalized)
    score = _scores(normalized, weights)
    chosen = heap_root(score.total)

    intervals = weight_intervals(score, chosen)

    def with_weight(index: int, weight: int) -> int:
        changed = (*weights[:index], weight, *weights[index + 1 :])
        return heap_root(_scores(normalized, changed).total)

    for index, plugin in enumerate(score.plugins):
        found = intervals[plugin]
        assert found["least"] <= weights[index]
        assert with_weight(index, found["least"]) == chosen
        if found["least"] > 1:
            assert with_weight(index, found["least"] - 1) != chosen
        greatest = found["greatest"]
        if greatest is None:
            assert with_weight(index, 10**9) == chosen
        else:
            assert greatest >= weights[index]
            assert with_weight(index, greatest) == chosen
            assert with_weight(index, greatest + 1) != chosen
