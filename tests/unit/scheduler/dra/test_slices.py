"""Pools as a node sees them: the newest generation, whole, valid, with devices for the node."""

from __future__ import annotations

import msgspec
import pytest

from schedlab.api.views.resource import ResourceSlice
from schedlab.scheduler.dra.slices import NodeSelectionError, Slices
from schedlab.scheduler.dra.types import AllocationError
from schedlab.testing.builders import make_node
from tests.unit.scheduler.dra.device_search import Bench, slices_of
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import Raw, claim, device, request, slice_of


def selector(key: str, value: str, operator: str = "In") -> Raw:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}]}


def view(raw: Raw) -> ResourceSlice:
    return msgspec.convert(raw, ResourceSlice)


def pools(slices: Slices, node: str = "n", **labels: str) -> dict[str, str]:
    """Return the devices or the state of each pool."""
    found = {}
    for pool in slices.pools_for(make_node(node).labels(labels).view()):
        state = "incomplete" if pool.is_incomplete else pool.invalid_reason
        found[pool.id.pool] = state or " ".join(each.device.name for one in pool.slices for each in one.devices)
    return found


class TestNodes:
    GIVEN = (
        slice_of("local", "l", node="n"),
        slice_of("all", "a", allNodes=True),
        slice_of("zone", "z", nodeSelector=selector("zone", "one")),
        slice_of(
            "each",
            device("m", nodeName="m"),
            device("any", allNodes=True),
            device("in-zone", nodeSelector=selector("zone", "one")),
            perDeviceNodeSelection=True,
        ),
        slice_of("nobody", "x"),
    )

    def test_slices_say_for_which_nodes_they_are(self) -> None:
        slices = slices_of(self.GIVEN)
        assert list(pools(slices, "n", zone="one")) == ["all", "each", "n", "zone"]
        assert list(pools(slices, "m", zone="two")) == ["all", "each"]

    @pytest.mark.parametrize(
        ("node", "zone", "expected"), [("m", "two", ["m", "any"]), ("n", "one", ["any", "in-zone"])]
    )
    def test_devices_may_say_so_themselves(self, node: str, zone: str, expected: list[str]) -> None:
        bench = Bench(self.GIVEN[3])
        found = bench.find(claim("c", request(count=2)), node=node, zone=zone)
        assert found == [f"r={name}" for name in expected]

    def test_bad_selector_is_an_error(self) -> None:
        bad = slice_of("s", "a", nodeSelector=selector("a", "b", "Near"))
        with pytest.raises(NodeSelectionError, match="failed to perform node selection for slice s: failed to parse"):
            pools(slices_of([bad]))
        each = slice_of("s", device("a", nodeSelector=selector("a", "b", "Near")), perDeviceNodeSelection=True)
        with pytest.raises(NodeSelectionError, match="node selection for device a in slice s: failed to parse"):
            pools(slices_of([each]))
        with pytest.raises(AllocationError, match="gather pool information: failed to perform node selection"):
            Bench(bad).find(claim("c", request()))
        good = device("first", allNodes=True)
        mixed = slice_of("s", good, device("a", nodeSelector=selector("a", "b", "Near")), perDeviceNodeSelection=True)
        with pytest.raises(AllocationError, match=r"^failed to parse node selector"):
            Bench(mixed).find(claim("c", request(count=2)))


class TestGenerations:
    def test_newest_generation_counts(self) -> None:
        slices = slices_of(
            [
                slice_of("new", "b", node="n", pool="p", generation=2),
                slice_of("old", "a", node="n", pool="p", generation=1),
                slice_of("newest", "c", node="n", pool="p", generation=3),
            ]
        )
        assert pools(slices) == {"p": "c"}

    def test_missing_slices_make_the_pool_incomplete(self) -> None:
        assert pools(slices_of([slice_of("s", "a", node="n", pool="p", count=2)])) == {"p": "incomplete"}

    def test_slices_for_other_nodes_are_no_longer_missing(self) -> None:
        both = [slice_of(name, name, node=name, pool="p", count=2) for name in ("n", "m")]
        assert pools(slices_of(both)) == {"p": "n"}

    def test_pool_whose_newer_slices_are_elsewhere_is_gone(self) -> None:
        both = [
            slice_of("old", "a", node="n", pool="p", count=2),
            slice_of("new", "b", node="m", pool="p", generation=2),
        ]
        assert pools(slices_of(both)) == {}


class TestValidity:
    def test_device_names_are_unique(self) -> None:
        both = [slice_of(name, "same", node="n", pool="p", count=2) for name in ("s", "t")]
        assert pools(slices_of(both)) == {"p": "duplicate device name same"}
        assert pools(slices_of(both, with_counters=False)) == {"p": "duplicate device name same"}

    def test_counter_sets_are_unique(self) -> None:
        counters = [{"name": "m", "counters": {}}]
        both = [slice_of(name, node="n", pool="p", count=2, sharedCounters=counters) for name in ("s", "t")]
        assert pools(slices_of(both)) == {"p": "duplicate counter set name m"}


class TestChanges:
    def test_pools_follow_changes(self) -> None:
        first = view(slice_of("s", "a", node="n"))
        second = view(slice_of("s", "b", "c", node="n"))
        slices = Slices(with_counters=True)
        slices.observe(None, first)
        assert pools(slices) == {"n": "a"}
        slices.observe(first, second)
        assert pools(slices) == {"n": "b c"}
        moved = view(slice_of("s", "b", allNodes=True, pool="n"))
        slices.observe(second, moved)
        assert pools(slices, "m") == {"n": "b"}
        slices.observe(moved, None)
        assert pools(slices) == {}

    def test_pools_are_kept_until_the_node_changes(self) -> None:
        slices = slices_of([slice_of("zone", "z", nodeSelector=selector("zone", "one"))])
        node = make_node("n").labels({"zone": "one"}).view()
        assert slices.pools_for(node) is slices.pools_for(node)
        assert pools(slices, "n", zone="two") == {}

    def test_copy_is_independent(self) -> None:
        slices = slices_of([slice_of("s", "a", node="n")])
        other = slices.copy()
        other.observe(view(slice_of("s", "a", node="n")), None)
        assert pools(slices) == {"n": "a"}
        assert pools(other) == {}
