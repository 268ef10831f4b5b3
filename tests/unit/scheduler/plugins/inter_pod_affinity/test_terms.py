"""The terms of pods on nodes are kept by distinct term, bounded in memory, and gone with the last pod."""

from typing import Any

import pytest

from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.plugins.inter_pod_affinity.terms import TermIndex
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod


def away_from(app: str) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def numbers(index: TermIndex, app: str) -> list[list[int]]:
    matching = index.matching(TermKind.REQUIRED_ANTI, make_pod("p", {"app": app}), None)
    return [index.per_node(placed).tolist() for placed in matching]


def test_equal_terms_are_one() -> None:
    """However many pods have a term, it is tried once; its numbers follow the pods."""
    cluster = LittleCluster([make_node("n1"), make_node("n2")])
    index = TermIndex.of(cluster.table)
    for number in range(3):
        cluster.place(make_pod(f"e{number}", node="n1", affinity=away_from("web")))

    assert numbers(index, "web") == [[3, 0]]
    assert numbers(index, "db") == []

    cluster.cache.remove_pod(make_pod("e0", node="n1"))
    cluster.place(make_pod("e3", node="n2", affinity=away_from("web")))
    cluster.cache.update_pod(make_pod("e1", node="n1", affinity=away_from("db")))

    assert numbers(index, "web") == [[1, 1]]
    assert numbers(index, "db") == [[1, 0]]


def test_nothing_is_left_of_terms_that_are_gone() -> None:
    cluster = LittleCluster([make_node("n1")], [make_pod("e", node="n1", affinity=away_from("web"))])
    index = TermIndex.of(cluster.table)
    assert numbers(index, "web") == [[1]]
    cluster.cache.remove_pod(make_pod("e", node="n1"))

    assert numbers(index, "web") == []
    assert (index._terms, index._counts) == ({}, {})


def test_rows_move_with_their_nodes() -> None:
    """Terms follow nodes that change rows, and leave with nodes that leave."""
    pods = [make_pod("e1", node="n1", affinity=away_from("web")), make_pod("e2", node="n3", affinity=away_from("web"))]
    cluster = LittleCluster([make_node("n1"), make_node("n2"), make_node("n3")], pods)
    index = TermIndex.of(cluster.table)
    assert numbers(index, "web") == [[1, 0, 1]]
    cluster.cache.remove_node(cluster.info("n1").node)
    cluster.cache.refresh()

    assert numbers(index, "web") == [[0, 1]]


def test_copy_goes_its_own_way() -> None:
    """A copy of the table has the same terms; what happens there is not seen here."""
    pods = [make_pod(f"e-{app}", node="n1", affinity=away_from(app)) for app in ("web", "db")]
    cluster = LittleCluster([make_node("n1"), make_node("n2")], pods)
    here = TermIndex.of(cluster.table)
    assert numbers(here, "web") == [[1, 0]]
    fork = cluster.cache.copy()
    there = TermIndex.of(fork.table)
    assert there is not here
    fork.add_pod(make_pod("more", node="n2", affinity=away_from("web")))
    fork.remove_pod(make_pod("e-db", node="n1"))

    assert (numbers(there, "web"), numbers(there, "db")) == ([[1, 1]], [])
    assert (numbers(here, "web"), numbers(here, "db")) == ([[1, 0]], [[1, 0]])


@pytest.mark.parametrize("order", [("web", "db", "web"), ("db", "web", "db")])
def test_arrays_are_bounded(order: tuple[str, ...]) -> None:
    """The numbers that were not asked for the longest are dropped and right again when they are asked for."""
    pods = [make_pod(f"e-{app}", node="n1", affinity=away_from(app)) for app in ("web", "db")]
    cluster = LittleCluster([make_node("n1")], pods)
    index = cluster.table.column("small", lambda: TermIndex(cluster.table, counts_max=1))
    for app in order:
        cluster.place(make_pod(f"more-{app}-{len(list(cluster.cache.pods()))}", node="n1", affinity=away_from(app)))
        numbers(index, app)

    assert len(index._counts) == 1
    assert numbers(index, order[0]) == [[3]]
    assert numbers(index, order[1]) == [[2]]
