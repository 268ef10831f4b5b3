"""TaintToleration."""

import numpy as np
import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import error
from schedlab.scheduler.plugins.taint_toleration import ENTRY, REASON_UNTOLERATED
from schedlab.testing.builders import NodeBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

POD = make_pod()
PLAIN = make_node("plain")
HARD = make_node("hard").taint("a", "1")
EVICTING = make_node("evicting").taint("a", "1", "NoExecute")
SOFT = make_node("soft").taint("a", "1", "PreferNoSchedule").taint("b", "", "PreferNoSchedule")
REFUSED = f"{REASON_UNTOLERATED}!"


def test_hard_taints_turn_pods_away() -> None:
    """Soft ones do not; every hard one must be tolerated."""
    bench = PluginBench(ENTRY, PLAIN, HARD, EVICTING, SOFT, make_node("two").taint("a").taint("b"))

    assert bench.filter(POD) == {"plain": "", "hard": REFUSED, "evicting": REFUSED, "soft": "", "two": REFUSED}
    assert bench.filter(POD.toleration("a", operator="Exists")) == {
        "plain": "",
        "hard": "",
        "evicting": "",
        "soft": "",
        "two": REFUSED,
    }
    assert bench.filter(POD.toleration("a", "1", "NoSchedule"))["evicting"] == REFUSED


def test_comparing_tolerations_need_their_gate() -> None:
    node, pod = make_node("n").taint("load", "5"), POD.toleration("load", "7", operator="Lt")

    assert PluginBench(ENTRY, node).filter(pod) == {"n": REFUSED}
    gates = {"TaintTolerationComparisonOperators": True}
    assert PluginBench(ENTRY, node, gates=gates).filter(pod) == {"n": ""}


def test_more_soft_taints_mean_a_lower_score() -> None:
    bench = PluginBench(ENTRY, PLAIN, SOFT, make_node("one").taint("b", "", "PreferNoSchedule"))

    assert bench.score(POD) == [0, 2, 1]
    assert bench.score(POD, normalized=True) == [100, 0, 50]
    assert bench.score(POD.toleration("a", operator="Exists")) == [0, 1, 1]


def test_tolerations_of_hard_effects_do_not_count_for_scores() -> None:
    bench = PluginBench(ENTRY, SOFT)

    assert bench.score(POD.toleration("a", operator="Exists", effect="NoSchedule")) == [2]


def test_without_soft_taints_every_node_has_the_highest_score() -> None:
    assert PluginBench(ENTRY, PLAIN, HARD).score(POD, normalized=True) == [100, 100]


def test_score_without_pre_score_is_an_error() -> None:
    bench = PluginBench(ENTRY, PLAIN)
    expected = error('failed to read "PreScoreTaintToleration" from cycleState: not found')

    assert bench.plugin.score(CycleState(), POD.obj(), bench.table.infos[0]) == (0, expected)
    assert bench.plugin.score_nodes(CycleState(), POD.obj(), bench.table, np.arange(1)) == expected


def test_taints_that_appear_later_are_judged_too() -> None:
    """What is kept about taint sets grows with them."""
    bench = PluginBench(ENTRY, PLAIN)
    assert bench.filter(POD) == {"plain": ""}
    info = bench.table.infos[0]

    info.set_node(PLAIN.taint("late").view())
    bench.table.set_node(info)

    assert bench.filter(POD) == {"plain": REFUSED}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, PLAIN, "queue"),
        (None, HARD, "skip"),
        (HARD, PLAIN, "queue"),
        (HARD, EVICTING, "skip"),
        (SOFT, PLAIN, "skip"),
    ],
)
def test_node_that_becomes_tolerable_queues_the_pod(old: NodeBuilder | None, new: NodeBuilder, hint: str) -> None:
    bench = PluginBench(ENTRY)
    before = old.view() if old is not None else None

    assert bench.hint(EventResource.NODE, ActionType.UPDATE_NODE_TAINT, POD, before, new.view()) == hint


def test_own_new_toleration_queues_the_pod() -> None:
    bench = PluginBench(ENTRY)
    own, other = POD.view(), POD.name("other").view()

    assert bench.hint(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, POD, own, own) == "queue"
    assert bench.hint(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, POD, other, other) == "skip"
    assert bench.signature(POD) != bench.signature(POD.toleration("a"))
