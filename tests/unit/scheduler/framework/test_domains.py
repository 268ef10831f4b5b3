"""Numbers by domain: kept right by pods that come and go, made anew when nodes change their domain, and what is told of it."""

import numpy as np

from schedlab.scheduler.framework.domains import Changes, DomainSums, NodeCounts, sums_by_value
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node


def three_nodes() -> LittleCluster:
    return LittleCluster([make_node("n1", {"zone": "a"}), make_node("n2"), make_node("n3", {"zone": "b"})])


def facts(sums: DomainSums) -> tuple[list[int], int]:
    return sums.counts.tolist(), sums.positive


def test_sums_follow_pods() -> None:
    """A pod changes its own domain; one on a node without the label changes none."""
    counts = NodeCounts(np.array([1, 0, 0], np.int32))
    sums = counts.by_domain(three_nodes().table.label("zone"))
    assert facts(sums) == ([1, 0, 0], 1)
    for row, step in ((2, 2), (0, 1), (1, 1), (2, -1)):
        counts.change(row, step)

    assert counts.per_node.tolist() == [2, 1, 1]
    assert facts(sums) == ([2, 1, 0], 2)
    assert sums.changes.since(0) == [1, 0, 1]
    assert sums.flips.since(0) == [1]


def test_a_domain_that_loses_its_last_pod_flips() -> None:
    """So does one that gets its first."""
    counts = NodeCounts(np.array([1, 0, 0], np.int32))
    sums = counts.by_domain(three_nodes().table.label("zone"))
    counts.change(0, -1)
    assert facts(sums) == ([0, 0, 0], 0)
    counts.change(0, 1)

    assert facts(sums) == ([1, 0, 0], 1)
    assert sums.flips.since(0) == [0, 0]
    assert sums.flips.since(1) == [0]
    assert sums.flips.since(2) == ()


def test_sums_are_made_anew_when_a_node_changes_its_domain() -> None:
    """Those that were handed out before are over: nothing is counted there any more."""
    cluster = three_nodes()
    label = cluster.table.label("zone")
    counts = NodeCounts(np.array([1, 1, 1], np.int32))
    before = counts.by_domain(label)
    cluster.cache.set_node(make_node("n2", {"zone": "c"}))
    cluster.cache.refresh()
    counts.change(1, 1)
    after = counts.by_domain(label)

    assert before is not after
    assert facts(before) == ([1, 1, 0], 2)
    assert facts(after) == ([1, 1, 2, 0], 3)
    assert counts.by_domain(label) is after


def test_sums_are_kept_while_nodes_change_otherwise() -> None:
    cluster = three_nodes()
    counts = NodeCounts(np.array([1, 1, 1], np.int32))
    before = counts.by_domain(cluster.table.label("zone"))
    cluster.cache.set_node(make_node("n1", {"zone": "a"}, unschedulable=True))
    cluster.cache.refresh()

    assert counts.by_domain(cluster.table.label("zone")) is before


def test_changes_of_long_ago_are_forgotten() -> None:
    """Whoever asks for them has to look at everything."""
    changes = Changes()
    for number in range(200):
        changes.note(number)

    assert changes.since(200) == ()
    assert changes.since(190) == list(range(190, 200))
    assert changes.since(10) is None


def test_sums_by_value() -> None:
    """Numbers of nodes add up by label value; nodes without the label read the 0 at the end."""
    label = LittleCluster(
        [make_node("n1", {"zone": "a"}), make_node("n2"), make_node("n3", {"zone": "a"})]
    ).table.label("zone")
    sums = sums_by_value(label, np.array([1, 1, 1], np.int32))

    assert sums.tolist() == [2, 0]
    assert sums[label.ids].tolist() == [2, 0, 2]


def test_sums_are_current_until_nodes_change_or_counting_ends() -> None:
    """Whoever keeps sums is told when they do not go along any more."""
    cluster = three_nodes()
    label = cluster.table.label("zone")
    counts = NodeCounts(np.array([1, 1, 1], np.int32))
    before = counts.by_domain(label)
    counts.change(0, 1)
    assert before.is_current
    cluster.cache.set_node(make_node("n2", {"zone": "b"}))
    cluster.cache.refresh()
    after = counts.by_domain(label)
    assert (before.is_current, after.is_current) == (False, True)
    counts.end()

    assert not after.is_current


def test_rows_of_a_value_follow_nodes() -> None:
    """The rows of a domain are those of the nodes that are in it now, in order."""
    cluster = three_nodes()
    label = cluster.table.label("zone")
    places = {value: label.values.find(value) for value in "ab"}
    assert {value: label.rows_of(at).tolist() for value, at in places.items()} == {"a": [0], "b": [2]}
    cluster.cache.set_node(make_node("n2", {"zone": "b"}))
    cluster.cache.set_node(make_node("n1", {"zone": "c"}))
    cluster.cache.refresh()

    assert {value: label.rows_of(at).tolist() for value, at in places.items()} == {"a": [], "b": [1, 2]}
    assert label.rows_of(label.values.find("c")).tolist() == [0]
