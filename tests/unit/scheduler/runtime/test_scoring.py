"""Scores of feasible nodes."""

from typing import Any

import numpy as np
import pytest

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, Status, error
from schedlab.scheduler.runtime.scoring import ScoreFailure, Scores, run_pre_score, run_score
from schedlab.testing.builders import make_node, make_pod, make_table
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin

TABLE = make_table(*(make_node(f"n{index}") for index in range(4)))
POD = make_pod("p").obj()
ROWS = np.array([3, 1], np.int64)
INVALID = (
    'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score %d, '
    "it should in the range of [0, 100] after normalizing"
)


def score(*plugins: FakePlugin, weights: dict[str, int] | None = None, state: CycleState | None = None) -> Any:
    weights = weights or {plugin.name: 1 for plugin in plugins}
    return run_score(plugins, weights, state or CycleState(), POD, TABLE, ROWS)


def by_row(_state: object, _pod: object, node: Any) -> tuple[int, None]:
    return node.row * 10, None


def test_raw_scores_are_normalised_and_weighed() -> None:
    def halve(_state: object, _pod: object, _rows: object, scores: Any) -> None:
        scores //= 2

    scores = score(
        FakePlugin("A", score=by_row, normalize_score=halve),
        FakePlugin("B", score=by_row, score_nodes=lambda _state, _pod, _table, rows: rows),
        weights={"A": 3, "B": 2},
    )

    assert isinstance(scores, Scores)
    assert scores.plugins == ("A", "B")
    assert scores.weights == (3, 2)
    assert scores.raw.tolist() == [[30, 10], [3, 1]]
    assert scores.final.tolist() == [[45, 15], [6, 2]]
    assert scores.total.tolist() == [51, 17]


def test_skipped_plugins_do_not_score() -> None:
    state = CycleState()
    state.skip_score = frozenset(("A",))

    scores = score(FakePlugin("A", score=by_row), FakePlugin("B", score=by_row), state=state)

    assert scores.plugins == ("B",)


def test_no_plugins_give_zeros() -> None:
    assert score().total.tolist() == [0, 0]


def broken(*_: object) -> None:
    raise ValueError("odd")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (
            FakePlugin("A", score=lambda *_: (0, error("cannot"))),
            'running Score plugins: plugin "A" failed with: cannot',
        ),
        (FakePlugin("A", score=broken), 'running Score plugins: plugin "A" failed with: ValueError: odd'),
        (
            FakePlugin("A", score=by_row, score_nodes=lambda *_: error("cannot")),
            'running Score plugins: plugin "A" failed with: cannot',
        ),
        (
            FakePlugin("A", score=by_row, normalize_score=lambda *_: error("cannot")),
            'running Normalize on Score plugins: plugin "A" failed with: cannot',
        ),
        (
            FakePlugin("A", score=by_row, normalize_score=broken),
            'running Normalize on Score plugins: plugin "A" failed with: ValueError: odd',
        ),
        (
            FakePlugin("A", score=lambda _state, _pod, node: (101 if node.row == 1 else 5, None)),
            INVALID % 101,
        ),
        (
            FakePlugin("A", score=lambda *_: (-1, None)),
            INVALID % -1,
        ),
    ],
)
def test_failures_fail_the_pod(plugin: FakePlugin, message: str) -> None:
    failure = score(FakePlugin("Ok", score=by_row), plugin)

    assert isinstance(failure, ScoreFailure)
    assert failure.status.error == message


def test_scores_up_to_a_failure_are_kept_for_the_first_node() -> None:
    plugin = FakePlugin("A", score=lambda *_: (0, error("cannot")))

    failure = score(
        FakePlugin("Ok", score=by_row), plugin, FakePlugin("Never", score=by_row), weights={"Ok": 2, "A": 1, "Never": 1}
    )

    assert failure.scores.plugins == ("Ok", "A")
    assert failure.scores.raw.tolist() == [[30], [0]]
    assert failure.scores.final.tolist() == [[60], [0]]


class TestPreScore:
    def run(self, *plugins: FakePlugin) -> tuple[Status | None, CycleState, dict[str, Status | None]]:
        state, record = CycleState(), dict[str, Status | None]()
        return run_pre_score(plugins, state, POD, TABLE, ROWS, record), state, record

    def test_skip_leaves_the_score_out(self) -> None:
        status, state, record = self.run(
            FakePlugin("A", pre_score=lambda *_: SKIP), FakePlugin("B", pre_score=lambda *_: None)
        )

        assert status is None
        assert state.skip_score == {"A"}
        assert record == {"A": SKIP, "B": None}

    @pytest.mark.parametrize(("method", "text"), [(lambda *_: error("cannot"), "cannot"), (broken, "ValueError: odd")])
    def test_failure_ends_the_phase(self, method: Any, text: str) -> None:
        status, state, _ = self.run(
            FakePlugin("A", pre_score=lambda *_: SKIP),
            FakePlugin("B", pre_score=method),
            FakePlugin("C", pre_score=lambda *_: SKIP),
        )

        assert status is not None
        assert status.error == f'running PreScore plugin "B": {text}'
        assert state.skip_score == {"A"}
