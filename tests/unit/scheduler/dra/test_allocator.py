"""The search takes the first devices that fit, and goes back where it must."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.scheduler.dra.allocator import NodeAllocationError
from schedlab.scheduler.dra.types import AllocationError
from tests.unit.scheduler.dra.device_search import GPU, Bench
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    DRIVER,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    either,
    request,
    slice_of,
)


def attribute(name: str, value: object) -> str:
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return f'device.attributes["{DRIVER}"].{name} == {shown}'


def devices(**attributes: Any) -> list[Raw]:
    """Devices by name, each with one attribute `kind`."""
    return [device(name, attributes={"kind": kind}) for name, kind in attributes.items()]


ON_N = {"node": "n"}


class TestOrder:
    def test_pools_slices_and_devices_in_order(self) -> None:
        """Pools by driver and name, slices by name, devices as they are."""
        bench = Bench(
            slice_of("z", "z1", node="n", pool="p2"),
            slice_of("y", "y1", node="n", pool="p1", count=2),
            slice_of("x", "x2", "x1", node="n", pool="p1", count=2),
            slice_of("w", "w1", node="n", pool="p9", driver="a.example.com"),
        )
        assert bench.find(claim("c", request(count=5))) == ["r=w1", "r=x2", "r=x1", "r=y1", "r=z1"]

    def test_devices_to_be_attached_come_last(self) -> None:
        waits = device("a", bindingConditions=["Ready"])
        bench = Bench(slice_of("a", waits, node="n", pool="a"), slice_of("b", "b", node="n", pool="b"))
        assert bench.find(claim("c", request())) == ["r=b"]
        assert bench.find(claim("c", request(count=2))) == ["r=b", "r=a"]

        off = {"DRADeviceBindingConditions": False}
        bench = Bench(slice_of("a", waits, node="n", pool="a"), slice_of("b", "b", node="n", pool="b"), gates=off)
        assert bench.find(claim("c", request(count=2))) is None

    def test_choice_is_taken_back(self) -> None:
        """The first request would take the only device of the second one."""
        bench = Bench(slice_of("s", *devices(a="both", b="one"), node="n"))
        wanted = claim("c", request("any"), request("both", "gpu", attribute("kind", "both")))
        assert bench.find(wanted) == ["any=b", "both=a"]

    def test_choice_of_an_earlier_claim_is_taken_back(self) -> None:
        bench = Bench(slice_of("s", *devices(a="both", b="one"), node="n"))
        first, second = claim("c", request()), claim("d", request("r", "gpu", attribute("kind", "both")))
        assert bench.find(first, second) == ["r=b", "r=a"]

    def test_nothing_is_found(self) -> None:
        bench = Bench(slice_of("s", "a", "b", node="n"))
        assert bench.find(claim("c", request(count=3))) is None
        assert bench.find(claim("c", request()), node="other") is None

    def test_claim_without_requests_gets_nothing(self) -> None:
        assert Bench().find(claim("c")) == []


class TestUse:
    def test_devices_in_use_are_passed_over(self) -> None:
        bench = Bench(slice_of("s", "a", "b", node="n"), taken=[claim("t", status=allocated("n/a"))])
        assert bench.find(claim("c", request())) == ["r=b"]

    def test_admin_access_looks_at_any_device_once_per_claim(self) -> None:
        bench = Bench(slice_of("s", "a", "b", node="n"), taken=[claim("t", status=allocated("n/a"))])
        admin = request("r", adminAccess=True, count=2)
        assert bench.find(claim("c", admin)) == ["r=a", "r=b"]
        assert bench.find(claim("c", admin), claim("d", admin)) == ["r=a", "r=b", "r=a", "r=b"]
        assert bench.find(claim("c", request("r", adminAccess=True, count=3))) is None

        result = bench.results(claim("c", request("r", adminAccess=True)))
        assert result is not None
        assert result[0].devices.results[0].admin_access is True

    def test_devices_with_admin_access_are_not_taken(self) -> None:
        taken = claim("t", status=allocated("n/a", adminAccess=True))
        assert Bench(slice_of("s", "a", node="n"), taken=[taken]).find(claim("c", request())) == ["r=a"]


class TestSelectors:
    def test_class_and_request_must_both_match(self) -> None:
        kinds = device_class("kind", attribute("kind", "x"))
        bench = Bench(
            slice_of("s", *devices(a="y", b="x"), device("c", attributes={"kind": "x", "big": True}), node="n"),
            classes=[kinds],
        )
        assert bench.find(claim("c", request("r", "kind"))) == ["r=b"]
        assert bench.find(
            claim("c", request("r", "kind", 'device.attributes["gpu.example.com"].?big.orValue(false)'))
        ) == ["r=c"]

    def test_devices_are_asked_about_as_far_as_the_search_goes(self) -> None:
        """The last one, without the attribute, is in error; it is reached only by those who need more than two."""
        bench = Bench(slice_of("a", *devices(a=1, b=1), "c", node="n"))
        one_kind = attribute("kind", 1)

        assert bench.find(claim("c", request("r", "gpu", one_kind, count=2))) == ["r=a", "r=b"]
        with pytest.raises(AllocationError, match="CEL runtime error"):
            bench.find(claim("c", request("r", "gpu", one_kind, count=3)))

    @pytest.mark.parametrize(
        ("classes", "wanted", "expected"),
        [
            (
                [device_class("gpu", "nonsense")],
                request(),
                "class gpu: selector #0: CEL compile error: compilation failed",
            ),
            (
                [device_class("gpu", "1/0 == 1")],
                request(),
                "class gpu: selector #0: CEL runtime error: division by zero",
            ),
            (
                [GPU],
                request("r", "gpu", "true", "device"),
                "claim default/c: selector #1: CEL runtime error: CEL result",
            ),
            ([GPU], request("r", "gpu", "1"), "claim default/c: selector #0: CEL compile error: must evaluate to bool"),
            (
                [],
                request(),
                'claim default/c, request r: could not retrieve device class gpu: deviceclass.resource.k8s.io "gpu" not found',
            ),
            (
                [GPU],
                request("r", ""),
                "claim default/c, request r: missing device class name (unsupported request type?)",
            ),
            ([GPU], request(allocationMode="Some"), "claim default/c, request r: unsupported count mode Some"),
            (
                [GPU],
                request(selectors=[{}]),
                "claim default/c, request r, selector #0: CEL expression empty (unsupported selector type?)",
            ),
        ],
    )
    def test_what_is_wrong_ends_the_search(self, classes: list[Raw], wanted: Raw, expected: str) -> None:
        bench = Bench(slice_of("s", "a", node="n"), classes=classes)
        with pytest.raises(AllocationError) as failure:
            bench.find(claim("c", wanted))
        assert str(failure.value).startswith(expected)


class TestAll:
    def test_all_matching_devices_or_none(self) -> None:
        given = slice_of("s", *devices(a="x", b="y", c="x"), node="n")
        everything = claim("c", request("r", "gpu", attribute("kind", "x"), allocationMode="All"))
        assert Bench(given).find(everything) == ["r=a", "r=c"]
        assert Bench(given, taken=[claim("t", status=allocated("n/c"))]).find(everything) is None
        assert Bench(given).find(claim("c", request("r", "gpu", attribute("kind", "z"), allocationMode="All"))) is None

    @pytest.mark.parametrize(
        ("given", "state"),
        [
            (slice_of("s", "a", node="n", count=2), "being updated"),
            (slice_of("s", "a", "a", node="n"), "invalid"),
        ],
    )
    def test_pools_must_be_whole(self, given: Raw, state: str) -> None:
        with pytest.raises(AllocationError) as failure:
            Bench(given).find(claim("c", request(allocationMode="All")))
        place = "claim default/c, request r: asks for all devices, but resource pool"
        assert str(failure.value) == f"{place} gpu.example.com/n is currently {state}"

    def test_constraint_against_all_is_an_error(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="y"), node="n"))
        same = [{"matchAttribute": f"{DRIVER}/kind"}]
        with pytest.raises(AllocationError) as failure:
            bench.find(claim("c", request(allocationMode="All"), constraints=same))
        text = "cannot add device gpu.example.com/n/b because a claim constraint would not be satisfied"
        assert str(failure.value) == f"claim default/c, request r: {text}"


class TestAlternatives:
    def test_first_that_fits(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="y"), node="n"))
        none = request("z", "gpu", attribute("kind", "z"))
        wanted = either("r", none, request("y", "gpu", attribute("kind", "y")), request("x"))
        assert bench.find(claim("c", wanted)) == ["r/y=b"]
        assert bench.find(claim("c", either("r", none))) is None

    def test_alternatives_are_tried_again_for_later_requests(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="y"), node="n"))
        wanted = claim("c", either("r", request("two", count=2), request("one")), request("q"))
        assert bench.find(wanted) == ["r/one=a", "q=b"]

    def test_need_their_feature(self) -> None:
        with pytest.raises(AllocationError, match="has subrequests, but the DRAPrioritizedList feature is disabled"):
            Bench(gates={"DRAPrioritizedList": False}).find(claim("c", either("r", request("a"))))


class TestLimit:
    """A claim has 32 devices at most."""

    MANY = slice_of("s", *(f"d{number}" for number in range(40)), node="n")

    def test_more_are_refused(self) -> None:
        with pytest.raises(AllocationError) as failure:
            Bench(self.MANY).find(claim("c", request("r", count=20), request("q", count=13)))
        assert str(failure.value) == "claim default/c: number of requested devices 33 exceeds the claim limit of 32"

    def test_alternatives_that_would_be_too_many_are_passed_over(self) -> None:
        wanted = claim("c", request("q", count=20), either("r", request("a", count=13), request("b", count=12)))
        found = Bench(self.MANY).find(wanted)
        assert found is not None
        assert [each for each in found if each.startswith("r/")] == [f"r/b=d{number}" for number in range(20, 32)]

    def test_alternative_of_an_earlier_request_makes_room(self) -> None:
        first = either("q", request("a", count=30), request("b", count=3))
        second = either("r", request("a", count=4), request("b", count=3))
        found = Bench(self.MANY).find(claim("c", first, second))
        assert found == [*(f"q/b=d{number}" for number in range(3)), *(f"r/a=d{number}" for number in range(3, 7))]

    def test_other_claims_count_on_their_own(self) -> None:
        found = Bench(self.MANY).find(claim("c", request(count=20)), claim("d", request(count=20)))
        assert found is not None
        assert len(found) == 40

    def test_later_claim_may_find_no_solution(self) -> None:
        wanted = either("r", request("a", "gpu", "false"), request("b", count=33))
        assert Bench(self.MANY).find(claim("c", request()), claim("d", wanted)) is None


class TestTaints:
    @pytest.mark.parametrize(
        ("effect", "tolerations", "is_found"),
        [
            ("NoSchedule", [], False),
            ("NoExecute", [], False),
            ("None", [], True),
            ("NoSchedule", [{"operator": "Exists"}], True),
            ("NoSchedule", [{"key": "k", "value": "v"}], True),
            ("NoSchedule", [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}], True),
            ("NoSchedule", [{"key": "k", "operator": "Equal", "value": "w"}], False),
            ("NoSchedule", [{"key": "other", "operator": "Exists"}], False),
            ("NoSchedule", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], False),
            ("NoSchedule", [{"key": "k", "operator": "Near"}], False),
        ],
    )
    def test_taints_must_be_tolerated(self, effect: str, tolerations: list[Raw], is_found: bool) -> None:  # noqa: FBT001
        tainted = device("a", taints=[{"key": "k", "value": "v", "effect": effect}])
        wanted = claim("c", request(tolerations=tolerations))
        bench = Bench(slice_of("s", tainted, node="n"))
        assert (bench.find(wanted) is not None) is is_found

    def test_without_the_feature_they_do_not_count(self) -> None:
        tainted = device("a", taints=[{"key": "k", "effect": "NoExecute"}])
        assert Bench(slice_of("s", tainted, node="n"), gates={"DRADeviceTaints": False}).find(claim("c", request()))

    def test_tolerations_are_kept_in_the_result(self) -> None:
        result = Bench(slice_of("s", "a", node="n")).results(claim("c", request(tolerations=[{"operator": "Exists"}])))
        assert result is not None
        assert result[0].devices.results[0].tolerations[0].operator == "Exists"


class TestConstraints:
    def test_same_attribute(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="y", c="y"), node="n"))
        same = [{"matchAttribute": f"{DRIVER}/kind"}]
        assert bench.find(claim("c", request(count=2), constraints=same)) == ["r=b", "r=c"]
        assert bench.find(claim("c", request(count=3), constraints=same)) is None

    def test_only_named_requests(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="y", c="y"), node="n"))
        same = [{"requests": ["q", "r"], "matchAttribute": f"{DRIVER}/kind"}]
        wanted = claim("c", request("p"), request("q"), request("r"), constraints=same)
        assert bench.find(wanted) == ["p=a", "q=b", "r=c"]

    def test_different_attributes(self) -> None:
        bench = Bench(slice_of("s", *devices(a="x", b="x", c="y"), node="n"))
        other = [{"distinctAttribute": f"{DRIVER}/kind"}]
        assert bench.find(claim("c", request("q"), request("r"), constraints=other)) == ["q=a", "r=c"]

    def test_empty_constraint_is_an_error(self) -> None:
        with pytest.raises(AllocationError) as failure:
            Bench().find(claim("c", request(), constraints=[{"requests": ["r"]}]))
        assert str(failure.value).endswith("constraint #0: empty constraint (unsupported constraint type?)")


def partition(name: str, amount: str, counter_set: str = "memory") -> Raw:
    return device(name, consumesCounters=[{"counterSet": counter_set, "counters": {"bytes": {"value": amount}}}])


def partitioned(total: str, *parts: Raw) -> tuple[Raw, Raw]:
    counters = [{"name": "memory", "counters": {"bytes": {"value": total}}}]
    return (
        slice_of("counters", node="n", pool="p", count=2, sharedCounters=counters),
        slice_of("parts", *parts, node="n", pool="p", count=2),
    )


class TestCounters:
    def test_parts_share_what_there_is(self) -> None:
        parts = [partition("half", "20Gi"), partition("whole", "40Gi"), partition("other", "20Gi")]
        bench = Bench(*partitioned("40Gi", *parts))
        assert bench.find(claim("c", request(count=2))) == ["r=half", "r=other"]
        assert bench.find(claim("c", request(count=3))) is None

    def test_parts_in_use_count(self) -> None:
        parts = [partition("half", "20Gi"), partition("whole", "40Gi"), partition("other", "20Gi")]
        taken = [claim("t", status=allocated("p/half"))]
        bench = Bench(*partitioned("40Gi", *parts), taken=taken)
        assert bench.find(claim("c", request())) == ["r=other"]
        assert bench.find(claim("c", request(count=2))) is None

    def test_parts_for_other_nodes_count(self) -> None:
        counters, parts = partitioned("40Gi", partition("a", "20Gi"))
        counters["spec"]["pool"]["resourceSliceCount"] = parts["spec"]["pool"]["resourceSliceCount"] = 3
        away = slice_of("away", partition("b", "30Gi"), node="m", pool="p", count=3)
        taken = [claim("t", status=allocated("p/b"))]
        assert Bench(counters, parts, away).find(claim("c", request())) == ["r=a"]
        assert Bench(counters, parts, away, taken=taken).find(claim("c", request())) is None

    @pytest.mark.parametrize(
        "given",
        [
            partitioned("40Gi", partition("a", "20Gi", "unknown")),
            partitioned(
                "40Gi", device("a", consumesCounters=[{"counterSet": "memory", "counters": {"x": {"value": "1"}}}])
            ),
            (slice_of("s", node="n", pool="p", sharedCounters=[{"name": "m", "counters": {}}] * 2),),
        ],
    )
    def test_unknown_counters_make_the_pool_invalid(self, given: tuple[Raw, ...]) -> None:
        with pytest.raises(NodeAllocationError, match=r"^invalid resource pools were encountered$"):
            Bench(*given).find(claim("c", request()))

    def test_without_the_feature_such_slices_are_not_there(self) -> None:
        off = {"DRAPartitionableDevices": False}
        whole = slice_of("whole", "w", node="n", pool="w")
        odd = slice_of("odd", partition("p", "1"), node="n", pool="odd")
        bench = Bench(*partitioned("40Gi", partition("a", "20Gi")), whole, odd, gates=off)
        assert bench.find(claim("c", request())) == ["r=w"]
        assert bench.find(claim("c", request(count=2))) is None


def shared(name: str, memory: str = "40Gi", **policy: Any) -> Raw:
    capacity = {"memory": {"value": memory, **({"requestPolicy": policy} if policy else {})}}
    return device(name, allowMultipleAllocations=True, capacity=capacity)


def needs(amount: str, name: str = "r", **fields: Any) -> Raw:
    return request(name, capacity={"requests": {"memory": amount}}, **fields)


class TestCapacity:
    def test_devices_are_shared_until_they_are_full(self) -> None:
        bench = Bench(slice_of("s", shared("a"), shared("b"), node="n"))
        wanted = claim("c", needs("15Gi", "p"), needs("15Gi", "q"), needs("15Gi", "r"))
        assert bench.find(wanted) == ["p=a", "q=a", "r=b"]
        assert bench.find(claim("c", needs("41Gi"))) is None

    def test_result_names_share_and_amount(self) -> None:
        results = Bench(slice_of("s", shared("a"), node="n")).results(claim("c", needs("15Gi")))
        assert results is not None
        (result,) = results[0].devices.results
        assert result.share_id == "share-0"
        assert result.consumed_capacity == {"memory": "15Gi"}

    def test_what_others_consume_is_not_left(self) -> None:
        taken = claim("t", status=allocated("n/a", shareID="x", consumedCapacity={"memory": "30Gi"}))
        bench = Bench(slice_of("s", shared("a"), node="n"), taken=[taken])
        assert bench.find(claim("c", needs("10Gi"))) == ["r=a"]
        assert bench.find(claim("c", needs("11Gi"))) is None

    def test_without_a_request_all_is_consumed(self) -> None:
        bench = Bench(slice_of("s", shared("a"), node="n"))
        assert bench.find(claim("c", request())) == ["r=a"]
        assert bench.find(claim("c", request()), claim("d", needs("1"))) is None

    def test_unknown_capacity_fits_nowhere(self) -> None:
        bench = Bench(slice_of("s", shared("a"), "b", node="n"))
        assert bench.find(claim("c", request(capacity={"requests": {"cores": "1"}}))) is None

    def test_device_that_is_not_shared_is_taken_whole(self) -> None:
        whole = device("a", memory={"memory": "40Gi"})
        bench = Bench(slice_of("s", whole, node="n"))
        results = bench.results(claim("c", needs("15Gi")))
        assert results is not None
        assert results[0].devices.results[0].consumed_capacity is None
        assert bench.find(claim("c", needs("15Gi")), claim("d", needs("15Gi"))) is None

    def test_all_mode_needs_room_on_each(self) -> None:
        bench = Bench(slice_of("s", shared("a"), shared("b", "5Gi"), node="n"))
        assert bench.find(claim("c", needs("15Gi", allocationMode="All"))) == ["r=a"]

    def test_need_their_feature(self) -> None:
        off = {"DRAConsumableCapacity": False}
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        with pytest.raises(AllocationError, match=rf"^claim default/c, request r: {text}$"):
            Bench(gates=off).find(claim("c", needs("1")))
        with pytest.raises(AllocationError, match=rf"^claim default/c, subrequest a: {text}$"):
            Bench(gates=off).find(claim("c", either("r", needs("1", "a"))))

    def test_counters_are_taken_by_the_first_share_only(self) -> None:
        part = partition("a", "30Gi") | {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "30Gi"}}}
        bench = Bench(*partitioned("40Gi", part))
        assert bench.find(claim("c", needs("10Gi", "q"), needs("10Gi", "r"))) == ["q=a", "r=a"]
