"""NodeAffinity."""

from typing import Any

import msgspec
import numpy as np
import pytest

from schedlab.api.views.core import NodeAffinity
from schedlab.apimachinery.selectors import SelectorError
from schedlab.scheduler.config.args import NodeAffinityArgs
from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState, PreFilterResult
from schedlab.scheduler.framework.status import SKIP, error, unresolvable
from schedlab.scheduler.plugins.node_affinity import ENTRY, REASON_CONFLICT, REASON_ENFORCED, REASON_POD
from schedlab.testing.builders import NodeBuilder, make_node, make_pod, term
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

POD = make_pod()
A, B, C = make_node("a").label("zone", "1"), make_node("b").label("zone", "2").label("cores", "8"), make_node("c")
IN_1 = term(("zone", "In", ["1"]))
NO = f"{REASON_POD}!"
BAD = term(("cores", "Gt", ["many"]))


def named(*names: str) -> dict[str, Any]:
    return term(fields=[("metadata.name", "In", names)])


def added(**fields: Any) -> NodeAffinityArgs:
    return NodeAffinityArgs(added_affinity=msgspec.convert(fields, NodeAffinity))


def added_required(*terms: Any) -> NodeAffinityArgs:
    return added(requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": terms})


def added_preferred(weight: int, preference: Any) -> NodeAffinityArgs:
    return added(preferredDuringSchedulingIgnoredDuringExecution=[{"weight": weight, "preference": preference}])


def test_selector_and_affinity_leave_matching_nodes() -> None:
    bench = PluginBench(ENTRY, A, B, C)

    assert bench.filter(POD.node_selector({"zone": "1"})) == {"a": "", "b": NO, "c": NO}
    assert bench.filter(POD.node_affinity(IN_1, term(("cores", "Gt", ["7"])))) == {"a": "", "b": "", "c": NO}
    assert bench.filter(POD.node_affinity(term(("zone", "NotIn", ["1", "2"])))) == {"a": NO, "b": NO, "c": ""}
    assert bench.filter(POD.node_affinity(named("c"))) == {"a": NO, "b": NO, "c": ""}
    assert bench.filter(POD.node_affinity(IN_1).node_selector({"zone": "2"})) == {"a": NO, "b": NO, "c": NO}
    assert bench.filter(POD.node_affinity()) == {"a": NO, "b": NO, "c": NO}
    assert bench.filter(POD.node_affinity(BAD, IN_1)) == {"a": "", "b": NO, "c": NO}


def test_pod_without_requirements_is_skipped() -> None:
    assert PluginBench(ENTRY, A).pre_filter(POD.preferred_node_affinity(1, IN_1)) == (None, SKIP)
    assert PluginBench(ENTRY, A, args=added_required(IN_1)).pre_filter(POD) == (None, None)


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([named("b"), named("a")], ("b", "a")),
        ([named("b"), IN_1], None),
        ([named("b") | {"matchExpressions": []}, named("b", "c")], ("b", "c")),
        ([IN_1], None),
        ([], None),
        ([term(fields=[("metadata.name", "NotIn", ["a"])])], None),
        ([term(fields=[("metadata.name", "In", ["a"]), ("metadata.name", "In", ["a"])])], ("a",)),
    ],
)
def test_terms_that_all_name_nodes_narrow_the_search(terms: list[Any], names: tuple[str, ...] | None) -> None:
    """One term without names leaves all nodes to the filter."""
    expected = None if names is None else PreFilterResult(names)

    assert PluginBench(ENTRY, A, B).pre_filter(POD.node_affinity(*terms)) == (expected, None)


def test_contradicting_names_are_a_conflict() -> None:
    both = term(fields=[("metadata.name", "In", ["a"]), ("metadata.name", "In", ["b"])])
    bench = PluginBench(ENTRY, A)

    assert bench.pre_filter(POD.node_affinity(both)) == (None, unresolvable(REASON_CONFLICT))
    assert bench.pre_filter(POD.node_affinity(both, named("a"))) == (PreFilterResult(("a",)), None)


def test_added_affinity_comes_first() -> None:
    bench = PluginBench(ENTRY, A, B, C, args=added_required(IN_1))

    assert bench.filter(POD) == {"a": "", "b": f"{REASON_ENFORCED}!", "c": f"{REASON_ENFORCED}!"}
    assert bench.filter(POD.node_selector({"zone": "2"})) == {
        "a": NO,
        "b": f"{REASON_ENFORCED}!",
        "c": f"{REASON_ENFORCED}!",
    }


def test_filter_works_without_pre_filter() -> None:
    statuses = PluginBench(ENTRY, A, B).statuses(POD.node_selector({"zone": "1"}), CycleState())

    assert statuses == {"a": None, "b": unresolvable(REASON_POD)}


def test_added_affinity_in_error_is_refused() -> None:
    path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    with pytest.raises(SelectorError) as caught:
        PluginBench(ENTRY, args=added_required(BAD))
    assert str(caught.value).startswith(f"{path}.matchExpressions[0].values[0]: Invalid value")

    path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
    with pytest.raises(SelectorError) as caught:
        PluginBench(ENTRY, args=added_preferred(1, BAD))
    assert str(caught.value).startswith(f"{path}.matchExpressions[0].values[0]: Invalid value")


def test_score_is_the_sum_of_matching_weights() -> None:
    pod = POD.preferred_node_affinity(5, IN_1).preferred_node_affinity(2, term(("zone", "Exists", [])))

    assert PluginBench(ENTRY, A, B, C).score(pod) == [7, 2, 0]
    assert PluginBench(ENTRY, A, B, C).score(pod, normalized=True) == [100, 28, 0]
    assert PluginBench(ENTRY, A, B, C, args=added_preferred(3, named("c"))).score(pod) == [7, 2, 3]


def test_score_is_skipped_without_preferences() -> None:
    assert PluginBench(ENTRY, A).score(POD.node_affinity(IN_1)) is None
    assert PluginBench(ENTRY, A, C, args=added_preferred(3, named("c"))).score(POD) == [0, 3]


def test_score_works_without_pre_score() -> None:
    bench, pod = PluginBench(ENTRY, A, B), POD.preferred_node_affinity(5, IN_1).obj()

    assert bench.plugin.score(CycleState(), pod, bench.table.infos[0]) == (5, None)
    assert bench.plugin.score_nodes(CycleState(), pod, bench.table, np.array([1, 0])).tolist() == [0, 5]


def test_preference_in_error_is_an_error() -> None:
    bench, pod = PluginBench(ENTRY, A), POD.preferred_node_affinity(5, BAD).obj()
    expected = error(
        '[0].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )

    assert bench.plugin.pre_score(CycleState(), pod, bench.table, np.arange(1)) == expected
    assert bench.plugin.score(CycleState(), pod, bench.table.infos[0]) == (0, expected)
    assert bench.plugin.score_nodes(CycleState(), pod, bench.table, np.arange(1)) == expected


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, A, "queue"),
        (None, B, "skip"),
        (B, A, "queue"),
        (A, A, "skip"),
        (A, B, "skip"),
    ],
)
def test_node_that_begins_to_match_queues_the_pod(old: NodeBuilder | None, new: NodeBuilder, hint: str) -> None:
    before = old.view() if old is not None else None
    event = (EventResource.NODE, ActionType.UPDATE_NODE_LABEL)

    assert PluginBench(ENTRY).hint(*event, POD.node_affinity(IN_1), before, new.view()) == hint
    enforced = PluginBench(ENTRY, args=added_required(named("c")))
    assert enforced.hint(*event, POD.node_affinity(IN_1), before, new.view()) == "skip"


def test_hint_in_error_raises() -> None:
    """The queue takes that as "may help"."""
    with pytest.raises(SelectorError):
        PluginBench(ENTRY).hint(EventResource.NODE, ActionType.ADD, POD.node_affinity(BAD), None, A.view())


def test_signature_is_what_is_required_and_preferred() -> None:
    bench = PluginBench(ENTRY)
    other = term(("cores", "Gt", ["1"]))

    assert bench.signature(POD.node_affinity(IN_1, other)) == bench.signature(POD.node_affinity(other, IN_1))
    assert bench.signature(POD.node_affinity(IN_1)) != bench.signature(POD)
    assert bench.signature(POD.node_selector({"a": "b"})) != bench.signature(POD)
    assert bench.signature(POD.preferred_node_affinity(1, IN_1)) != bench.signature(
        POD.preferred_node_affinity(2, IN_1)
    )
