"""Statuses by node and the message that sums them up."""

import numpy as np
import pytest

from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.status import REASONS, Code, Status, unresolvable, unschedulable
from schedlab.scheduler.runtime.diagnosis import Diagnosis, FitError, NodeToStatusMap
from schedlab.testing.builders import make_node, make_table


def table(count: int) -> NodeTable:
    return make_table(*(make_node(f"n{index}") for index in range(count)))


def searched(nodes: NodeToStatusMap, verdicts: dict[int, tuple[int, str]]) -> NodeToStatusMap:
    nodes.set_searched(
        np.array([*verdicts], np.int64),
        np.array([code for code, _ in verdicts.values()], np.uint8),
        np.array([REASONS.id_of((text,)) for _, text in verdicts.values()], np.int32),
        np.zeros(len(verdicts), np.int8),
        ("P",),
    )
    return nodes


class TestNodeStatuses:
    def test_nodes_without_a_status_share_one(self) -> None:
        nodes = searched(NodeToStatusMap(table(3)), {1: (2, "full")})

        assert nodes.get("n1") == Status(Code.UNSCHEDULABLE, ("full",), "P")
        assert nodes.get("n0").code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert len(nodes) == 1
        assert nodes.rows_with(Code.UNSCHEDULABLE).tolist() == [1]
        assert nodes.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [0, 2]

        nodes.absent = unschedulable("all")
        assert nodes.rows_with(Code.UNSCHEDULABLE).tolist() == [0, 1, 2]

    def test_search_replaces_what_was_said_of_the_nominated_node(self) -> None:
        nodes = NodeToStatusMap(table(3))
        nodes.set("n1", unschedulable("before"))
        nodes.set("n2", unschedulable("kept"))
        searched(nodes, {0: (3, "a"), 1: (2, "b")})

        assert len(nodes) == 3
        assert nodes.get("n1").reasons == ("b",)
        assert list(nodes.explicit()) == ["n0", "n1", "n2"]

    def test_what_extenders_say_comes_last(self) -> None:
        nodes = searched(NodeToStatusMap(table(2)), {0: (3, "a")})
        nodes.set("n0", unschedulable("extender"))
        nodes.set("n1", unschedulable("extender"))

        assert len(nodes) == 2
        assert nodes.count_reasons(2) == {"extender": 2}
        assert nodes.rows_with(Code.UNSCHEDULABLE).tolist() == [0, 1]


class TestMessage:
    def test_parts_are_sorted_as_text(self) -> None:
        verdicts = dict.fromkeys(range(10), (2, "x")) | {10: (2, "y"), 11: (2, "y")}
        nodes = searched(NodeToStatusMap(table(12)), verdicts)

        assert FitError(12, Diagnosis(nodes)).message() == "0/12 nodes are available: 10 x, 2 y."

    def test_nodes_outside_a_pre_filter_result_count_with_its_words(self) -> None:
        nodes = searched(NodeToStatusMap(table(3)), {0: (2, "x")})
        nodes.absent = unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]")

        message = FitError(3, Diagnosis(nodes)).message()
        assert message == "0/3 nodes are available: 1 x, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."

    @pytest.mark.parametrize(
        ("pre_filter", "post_filter", "expected"),
        [
            ("no claim", "", "0/1 nodes are available: no claim."),
            ("no claim", "not found", "0/1 nodes are available: no claim. not found"),
            ("", "preemption: no", "0/1 nodes are available: 1 x. preemption: no"),
        ],
    )
    def test_pre_filter_speaks_for_all_nodes(self, pre_filter: str, post_filter: str, expected: str) -> None:
        nodes = searched(NodeToStatusMap(table(1)), {0: (2, "x")})
        diagnosis = Diagnosis(nodes, pre_filter_message=pre_filter, post_filter_message=post_filter)

        assert FitError(1, diagnosis).message() == expected

    def test_nothing_to_say(self) -> None:
        assert FitError(2, Diagnosis(NodeToStatusMap(table(2)))).message() == "0/2 nodes are available:"

    def test_several_reasons_of_one_node_count_each(self) -> None:
        nodes = NodeToStatusMap(table(2))
        nodes.set("n0", unschedulable("a", "b"))
        nodes.set("n1", Status(Code.UNSCHEDULABLE, ("b",), error="c"))

        assert FitError(2, Diagnosis(nodes)).message() == "0/2 nodes are available: 1 a, 1 c, 2 b."


def test_pending_plugins_are_unschedulable_too() -> None:
    diagnosis = Diagnosis(NodeToStatusMap(table(1)))
    diagnosis.add_plugin_status(Status(Code.PENDING, (), "A"))
    diagnosis.add_plugin_status(Status(Code.UNSCHEDULABLE, (), "B"))
    diagnosis.add_plugin_status(Status(Code.ERROR, (), "C"))
    diagnosis.add_plugin_status(Status(Code.UNSCHEDULABLE))

    assert list(diagnosis.unschedulable_plugins) == ["A", "B"]
    assert list(diagnosis.pending_plugins) == ["A"]
