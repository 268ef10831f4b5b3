"""Nodes, pods and assumed pods of the scheduler cache, and what a refresh makes of them."""

import pytest

from schedlab.apimachinery import selectors
from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.cache.cache import AssumeError, SchedulerCache
from schedlab.scheduler.framework.pod_index import PodIndex, PodQuery, PodTerm
from schedlab.scheduler.framework.preemption.potential_victims import PotentialVictims
from schedlab.testing.builders import NodeBuilder, make_cache, make_node, make_pod


def node(name: str) -> NodeBuilder:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods="110")


def pods_on(cache: SchedulerCache, name: str) -> list[str]:
    info = cache.node_info(name)
    return [] if info is None else [pod.name for pod in info.pods]


def check(cache: SchedulerCache) -> None:
    """Table and infos agree."""
    cache.refresh()
    table = cache.table
    assert [info.name for info in table.infos] == table.names
    for row, info in enumerate(table.infos):
        assert info.row == row
        assert info is cache.node_info(info.name)
        assert table.requested[0, row] == info.requested.milli_cpu
        assert table.pod_count[row] == len(info.pods)
        assert table.allocatable[0, row] == info.allocatable.milli_cpu
    sums = sum(len(info.pods) for info in cache._infos.values())
    assert sums == len(list(cache.pods()))


class TestPods:
    def test_assumed_pod_counts_at_once_and_is_confirmed(self) -> None:
        cache = make_cache(node("a"))
        pod = make_pod("p").req(cpu="1").obj()
        requests = pod.requests

        assumed = cache.assume_pod(pod, "a")
        assert assumed.pod.spec.node_name == "a"
        assert assumed.requests is requests
        assert cache.is_assumed(pod.uid)
        assert cache.table.requested[0, 0] == 1000

        bound = make_pod("p").req(cpu="1").node("a").obj()
        cache.add_pod(bound)
        assert not cache.is_assumed(pod.uid)
        assert bound.requests is requests
        assert cache.table.requested[0, 0] == 1000
        check(cache)

    @pytest.mark.parametrize("changed", [False, True], ids=["alike", "asking for more"])
    def test_renewed_pod_goes_to_the_end_of_its_node(self, *, changed: bool) -> None:
        """Whether or not a pod asks for the same as before, the order of the others is that of a swap removal."""
        cache = make_cache(node("a"), pods=[make_pod(name).node("a").req(cpu="1") for name in "pqrs"])
        potential = PotentialVictims.of(cache.table)
        assert len(potential.below(1, cache.table.infos[0], 0).pods) == 4
        renewed = make_pod("q").node("a").req(cpu="2" if changed else "1").phase("Running")

        cache.update_pod(renewed.start_time("2026-01-01T00:00:00Z").obj())

        assert pods_on(cache, "a") == ["p", "s", "r", "q"]
        assert cache.table.requested[0].tolist() == [5000 if changed else 4000]
        ranked = potential.below(1, cache.table.infos[0], 1_767_225_600_000_000_001)
        assert ranked.pods[0].name == "q"
        assert ranked.pods[0].pod.status.phase == "Running"
        check(cache)

    def test_pod_that_gets_labels_is_found_by_them(self) -> None:
        cache = make_cache(node("a"))
        index = PodIndex.of(cache.table)
        query = PodQuery((PodTerm(None, selectors.parse("zone=z")),))
        cache.assume_pod(make_pod("p").req(cpu="1").obj(), "a")
        assert index.per_node(query).tolist() == [0]

        cache.add_pod(make_pod("p").req(cpu="1").node("a").label("zone", "z").obj())

        assert index.per_node(query).tolist() == [1]

    def test_assumed_pod_may_turn_up_on_another_node(self) -> None:
        cache = make_cache(node("a"), node("b"))
        cache.assume_pod(make_pod("p").req(cpu="1").obj(), "a")

        cache.add_pod(make_pod("p").req(cpu="1").node("b").obj())

        assert cache.table.requested[0].tolist() == [0, 1000]
        check(cache)

    def test_forgetting_gives_everything_back(self) -> None:
        cache = make_cache(node("a"))
        assumed = cache.assume_pod(make_pod("p").req(cpu="1").obj(), "a")

        cache.forget_pod(assumed)
        assert cache.table.requested[0, 0] == 0
        assert cache.pod(assumed.uid) is None

        cache.forget_pod(assumed)
        check(cache)

    def test_only_assumed_pods_can_be_forgotten(self) -> None:
        bound = make_pod("p").node("a")
        cache = make_cache(node("a"), pods=[bound])

        with pytest.raises(AssumeError, match="wasn't assumed so cannot be forgotten"):
            cache.forget_pod(bound.obj())
        with pytest.raises(AssumeError, match="was assumed on b but assigned to a"):
            cache.forget_pod(make_pod("p").node("b").obj())

    def test_known_pod_cannot_be_assumed(self) -> None:
        cache = make_cache(node("a"), pods=[make_pod("p").node("a")])
        pod = make_pod("p").obj()

        with pytest.raises(AssumeError) as caught:
            cache.assume_pod(pod, "a")

        assert str(caught.value) == f"pod {pod.uid}(default/p) is in the cache, so can't be assumed"

    def test_order_of_pods_on_a_node_is_upstreams(self) -> None:
        """Removal moves the last pod into the hole, an update removes and appends."""
        cache = make_cache(node("a"), pods=[make_pod(name).node("a") for name in "pqrs"])

        cache.remove_pod(make_pod("q").node("a").obj())
        assert pods_on(cache, "a") == ["p", "s", "r"]

        cache.update_pod(make_pod("p").node("a").label("new", "label").obj())
        assert pods_on(cache, "a") == ["r", "s", "p"]

    @pytest.mark.parametrize("method", ["update_pod", "remove_pod"])
    def test_unknown_pod_cannot_be_changed(self, method: str) -> None:
        with pytest.raises(InvariantError):
            getattr(make_cache(node("a")), method)(make_pod("p").node("a").obj())

    def test_bound_pod_stays_on_its_node(self) -> None:
        cache = make_cache(node("a"), pods=[make_pod("p").node("a")])

        with pytest.raises(InvariantError, match="moved from node a to b"):
            cache.update_pod(make_pod("p").node("b").obj())
        with pytest.raises(InvariantError, match="already in added state"):
            cache.add_pod(make_pod("p").node("a").obj())

    def test_assumed_pod_is_not_updated(self) -> None:
        cache = make_cache(node("a"))
        cache.assume_pod(make_pod("p").obj(), "a")

        with pytest.raises(InvariantError, match="assumed pod"):
            cache.update_pod(make_pod("p").node("a").obj())


class TestNodes:
    def test_pods_may_come_before_their_node(self) -> None:
        cache = make_cache(node("a"))
        cache.add_pod(make_pod("p").req(cpu="1").node("ghost").obj())
        check(cache)
        assert cache.table.names == ["a"]

        cache.set_node(node("ghost").view())
        check(cache)
        assert cache.table.requested[0].tolist() == [0, 1000]

    def test_pods_may_outlive_their_node(self) -> None:
        pod = make_pod("p").req(cpu="1").node("b")
        cache = make_cache(node("a"), node("b"), pods=[pod])

        cache.remove_node(node("b").view())
        check(cache)
        assert cache.table.names == ["a"]
        assert pods_on(cache, "b") == ["p"]

        cache.remove_pod(pod.obj())
        assert cache.node_info("b") is None

    def test_node_that_comes_back_has_its_pods(self) -> None:
        cache = make_cache(node("a"), node("b"), pods=[make_pod("p").req(cpu="1").node("a")])

        cache.remove_node(node("a").view())
        check(cache)
        cache.set_node(node("a").view())
        check(cache)

        assert cache.table.names == ["b", "a"]
        assert cache.table.requested[0].tolist() == [0, 1000]

    def test_node_replaced_between_refreshes_keeps_its_row(self) -> None:
        cache = make_cache(node("a"), node("b"), pods=[make_pod("p").req(cpu="1").node("b")])
        check(cache)

        cache.remove_node(node("a").view())
        cache.set_node(make_node("a").capacity(cpu="2").view())
        check(cache)

        assert cache.table.names == ["a", "b"]
        assert cache.table.allocatable[0].tolist() == [2000, 4000]

    def test_new_zone_is_seen_in_the_order_when_nodes_come_or_go(self) -> None:
        cache = make_cache(node("a").zone("z1"), node("b").zone("z1"), node("c").zone("z2"))
        check(cache)
        assert cache.table.names == ["a", "c", "b"]

        cache.set_node(node("a").zone("z2").view())
        check(cache)
        assert cache.table.names == ["a", "c", "b"]

        cache.set_node(node("d").zone("z1").view())
        check(cache)
        assert cache.table.names == ["b", "c", "d", "a"]

    def test_unknown_node_cannot_be_removed(self) -> None:
        with pytest.raises(InvariantError, match="node x is not found"):
            make_cache().remove_node(node("x").view())

    def test_sizes_count_what_upstreams_metric_counts(self) -> None:
        cache = make_cache(node("a"), pods=[make_pod("p").node("a"), make_pod("q").node("ghost")])
        cache.assume_pod(make_pod("r").obj(), "a")

        assert cache.sizes() == {"assumed_pods": 1, "pods": 3, "nodes": 2}
        assert [pod.name for pod in cache.assumed_pods()] == ["r"]


class TestImages:
    def test_image_counts_are_renewed_only_with_the_node(self) -> None:
        cache = make_cache(node("a").image("i:1", size=10), node("b"))
        cache.refresh()

        cache.set_node(node("b").image("i:1", size=10).view())
        cache.refresh()
        counts = [info.image_states["i:1"].num_nodes for info in cache.table.infos]
        assert counts == [1, 2]

        cache.add_pod(make_pod("p").node("a").obj())
        cache.refresh()
        counts = [info.image_states["i:1"].num_nodes for info in cache.table.infos]
        assert counts == [2, 2]


def test_copy_is_independent_and_shares_nodes_and_pods() -> None:
    cache = make_cache(node("a"), node("b"), pods=[make_pod("p").req(cpu="1").node("a")])
    cache.refresh()
    cache.remove_node(node("b").view())
    other = cache.copy()

    other.assume_pod(make_pod("q").req(cpu="1").obj(), "a")
    check(other)
    check(cache)

    assert cache.table.requested[0].tolist() == [1000]
    assert other.table.requested[0].tolist() == [2000]
    assert other.table.infos[0].pods[0] is cache.table.infos[0].pods[0]
