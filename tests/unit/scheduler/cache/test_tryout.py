"""What is tried on a cache is taken back, with every order."""

from __future__ import annotations

from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.cache.tryout import Tryout
from schedlab.testing.builders import make_node, make_pod


def filled() -> SchedulerCache:
    cache = SchedulerCache()
    for name, zone in (("a", "1"), ("b", "2"), ("c", "1")):
        cache.set_node(make_node(name).label("topology.kubernetes.io/zone", zone).view())
    for number in range(4):
        cache.add_pod(make_pod(f"p{number}").uid(f"p{number}").node("a").req(cpu="1").obj())
    cache.refresh()
    return cache


def seen(cache: SchedulerCache) -> tuple[list[str], list[list[str]], list[list[int]]]:
    table = cache.table
    return list(table.names), [[pod.name for pod in info.pods] for info in table.infos], table.requested.tolist()


def test_changes_count_within_the_block_only() -> None:
    cache = filled()
    before = seen(cache)

    with Tryout(cache) as tryout:
        tryout.set_node(make_node("new").view())
        tryout.remove_pod(make_pod("p1").uid("p1").node("a").obj())
        cache.refresh()

        assert "new" in cache.table.names
        assert [pod.name for pod in cache.table.infos[0].pods] == ["p0", "p3", "p2"]
    assert seen(cache) == before


def test_a_node_that_changed_its_zone_comes_back_to_its_place() -> None:
    cache = filled()

    with Tryout(cache) as tryout:
        tryout.set_node(make_node("a").label("topology.kubernetes.io/zone", "2").view())
        cache.refresh()
    cache.set_node(make_node("d").label("topology.kubernetes.io/zone", "1").view())
    cache.refresh()

    assert cache.table.names == ["a", "b", "c", "d"]
