"""What is kept of evaluations between equal pods."""

from typing import Any

import numpy as np

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import REASONS, NodeStatuses, unschedulable
from schedlab.scheduler.runtime.equal_pods import Evaluation
from schedlab.testing.builders import make_node, make_pod, make_table
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin


def test_nodes_that_were_closed_to_the_pod_before_are_scored_for_the_next_one() -> None:
    """Even when the filters are not asked about all nodes in between."""

    def filter_nodes(_state: Any, pod: Any, table: Any, _rows: slice) -> NodeStatuses:
        found = NodeStatuses.success(len(table))
        found.reject(np.array([name == "n0" for name in table.names]), unschedulable(f"not for {pod.name}"))
        return found

    table = make_table(*(make_node(f"n{index}").capacity(pods="9") for index in range(2)))
    teller = FakePlugin("T", filter_nodes=filter_nodes, changed_verdicts=lambda *_: (None, None))
    scorer = FakePlugin(
        "S",
        score=lambda *_: (7, None),
        score_nodes=lambda *arguments: np.full(len(arguments[-1]), 7),
        is_row_local=lambda _: True,
    )
    evaluation = Evaluation((teller,), table)
    first, second = CycleState(), CycleState()

    def scores(state: CycleState, name: str, *rows: int) -> list[int]:
        found = evaluation.refresh_scores((scorer,), {"S": 1}, state, make_pod(name).obj(), table, np.array(rows))
        assert found is not None
        return [int(found.total[row]) for row in rows]

    assert evaluation.refresh_filters(first, make_pod("a").obj(), table, slice(0, 2))
    assert scores(first, "a", 1) == [7]
    assert scores(second, "b", 0, 1) == [7, 7]


def test_filters_that_look_at_amounts_are_asked_once_about_equal_amounts_also_where_nobody_fits() -> None:
    """One pod in ten that fits nowhere costs no question about all nodes, and one for each amount that is new."""
    asked: list[str] = []

    def filter_(_state: Any, _pod: Any, node: Any) -> Any:
        asked.append(node.name)
        return unschedulable(f"{len(node.pods)} pods")

    def filter_nodes(state: Any, pod: Any, table: Any, rows: slice) -> NodeStatuses:
        asked.append("all")
        return NodeStatuses.of([unschedulable(f"{len(info.pods)} pods") for info in table.infos[rows]])

    plugin = FakePlugin("F", filter=filter_, filter_nodes=filter_nodes, is_row_local=lambda _: True)
    vars(plugin)["is_of_amounts"] = True
    table = make_table(*(make_node(f"n{index}").capacity(pods="9") for index in range(500)))
    evaluation = Evaluation((plugin,), table)

    for number in range(9):
        assert evaluation.refresh_filters(CycleState(), make_pod("big").obj(), table, slice(0, 500))
        assert evaluation.is_whole(table)
        for row in range(10):
            table.add_pod(table.infos[row], make_pod(f"p{row}-{number}").obj())

    assert asked == ["all", *["n0"] * 8]
    assert [REASONS.texts(int(evaluation.reason[0, row])) for row in (9, 10)] == [("8 pods",), ("0 pods",)]
    assert evaluation.rejections == 500
