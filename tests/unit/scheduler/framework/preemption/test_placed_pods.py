"""The columns of placed pods follow pods and nodes."""

import numpy as np
import pytest

from schedlab.scheduler.framework.preemption.placed_pods import NOT_STARTED, PlacedPods
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod


def contents(cluster: LittleCluster, placed: PlacedPods) -> dict[str, tuple[str, int, int]]:
    """Name of each pod, its node, priority and cpu."""
    cpu = placed.requests[0].tolist()
    return {
        pod.name: (cluster.table.names[placed.row[slot]], int(placed.priority[slot]), cpu[slot])
        for slot, pod in enumerate(placed.pods)
    }


def test_follows_changes() -> None:
    """Pods come, change and go; nodes move and leave; resources appear."""
    cluster = LittleCluster([make_node("n1"), make_node("n2"), make_node("n3")])
    cluster.place(make_pod("p1", node="n1", priority=1, requests={"cpu": "1"}))
    cluster.place(make_pod("p2", node="n2", priority=2, requests={"cpu": "2"}))
    placed = PlacedPods.of(cluster.table)
    cluster.place(make_pod("p3", node="n3", priority=3, requests={"cpu": "3", "example.com/x": "7"}))

    assert contents(cluster, placed) == {"p1": ("n1", 1, 1000), "p2": ("n2", 2, 2000), "p3": ("n3", 3, 3000)}
    assert placed.requests[cluster.table.resource_index("example.com/x")].tolist() == [0, 0, 7]

    cluster.cache.remove_node(cluster.info("n1").node)
    cluster.cache.set_node(make_node("n0"))
    cluster.cache.update_pod(make_pod("p2", node="n2", priority=5))
    cluster.cache.refresh()

    assert contents(cluster, placed) == {"p2": ("n2", 5, 0), "p3": ("n3", 3, 3000)}

    cluster.cache.remove_pod(make_pod("p2", node="n2"))
    cluster.cache.set_node(make_node("n1"))
    cluster.cache.set_node(make_node("n3", {"zone": "a"}))
    cluster.cache.refresh()

    assert contents(cluster, placed) == {"p3": ("n3", 3, 3000), "p1": ("n1", 1, 1000)}


def test_grows() -> None:
    """There is room for any number of pods, and every start is kept."""
    cluster = LittleCluster([make_node("n1"), make_node("n2")])
    placed = PlacedPods.of(cluster.table)
    for number in range(200):
        status = {"startTime": "2026-01-01T00:00:01Z"} if number % 2 else {}
        cluster.place(make_pod(f"p{number}", node=f"n{1 + number % 2}", status=status, priority=number))

    order = placed.priority.argsort()
    assert placed.priority[order].tolist() == list(range(200))
    assert placed.row[order].tolist() == [0, 1] * 100
    assert np.array_equal(placed.start[order] == NOT_STARTED, np.arange(200) % 2 == 0)


@pytest.mark.parametrize("read_between", [False, True])
def test_a_pod_that_moves_while_its_node_changes_is_counted_once(*, read_between: bool) -> None:
    cluster = LittleCluster([make_node("n1"), make_node("n2")], [make_pod("p1", node="n1", priority=1)])
    placed = PlacedPods.of(cluster.table)
    assert len(placed.pods) == 1
    cluster.cache.remove_pod(make_pod("p1", node="n1"))
    if read_between:
        assert placed.pods == []
    cluster.cache.set_node(make_node("n1", {"zone": "a"}))
    cluster.cache.refresh()
    cluster.cache.add_pod(make_pod("p1", node="n2", priority=1))

    assert contents(cluster, placed) == {"p1": ("n2", 1, 0)}


def test_many_changes_that_nobody_reads_are_not_kept() -> None:
    cluster = LittleCluster([make_node("n1")], [make_pod("stays", node="n1", priority=7)])
    placed = PlacedPods.of(cluster.table)
    for _ in range(2000):
        cluster.cache.add_pod(make_pod("p1", node="n1", priority=1))
        cluster.cache.remove_pod(make_pod("p1", node="n1"))

    assert placed._changes == []
    assert contents(cluster, placed) == {"stays": ("n1", 7, 0)}


def test_copy_goes_its_own_way() -> None:
    """A copy of the table has the same pods; what happens there is not seen here."""
    cluster = LittleCluster([make_node("n1")], [make_pod("p1", node="n1", priority=1)])
    here = PlacedPods.of(cluster.table)
    fork = cluster.cache.copy()
    there = PlacedPods.of(fork.table)
    assert there is not here
    fork.add_pod(make_pod("p2", node="n1", priority=2))
    fork.remove_pod(make_pod("p1", node="n1"))

    assert [pod.name for pod in there.pods] == ["p2"]
    assert [pod.name for pod in here.pods] == ["p1"]
    assert (there.priority.tolist(), here.priority.tolist()) == ([2], [1])
