"""The search for devices finds a solution whenever there is one, and what it finds is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any
from unittest import mock

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from schedlab.api.views.resource import AllocationResult, ResourceSlice
from schedlab.scheduler.dra.allocator import NodeAllocationError, _Search
from schedlab.scheduler.dra.slices import Slices
from schedlab.scheduler.dra.types import AllocationError
from schedlab.testing.builders import make_node
from tests.unit.scheduler.dra.device_search import Bench, wire
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    DRIVER,
    Raw,
    allocated,
    claim,
    device,
    either,
    request,
    slice_of,
)

KINDS = ("x", "y")
SAME = [{"matchAttribute": f"{DRIVER}/kind"}]
NAMES = tuple("abcdef")


@st.composite
def wanted_requests(draw: st.DrawFn, name: str) -> Raw:
    """A request for one or two devices, of a kind or of any."""
    kind = draw(st.none() | st.sampled_from(KINDS))
    selectors = [] if kind is None else [f'device.attributes["{DRIVER}"].kind == "{kind}"']
    return request(name, "gpu", *selectors, count=draw(st.integers(1, 2)))


@st.composite
def claims(draw: st.DrawFn, name: str) -> Raw:
    """A claim of one or two requests, some with alternatives, perhaps for devices of one kind."""
    requests = []
    for number in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            requests.append(draw(wanted_requests(f"r{number}")))
        else:
            requests.append(either(f"r{number}", draw(wanted_requests("a")), draw(wanted_requests("b"))))
    constraints: dict[str, Any] = {"constraints": SAME} if draw(st.booleans()) else {}
    return claim(name, *requests, **constraints)


kinds_of_devices = st.lists(st.sampled_from(KINDS), min_size=3, max_size=len(NAMES))


@given(
    kinds=kinds_of_devices,
    wanted=st.tuples(claims("c")) | st.tuples(claims("c"), claims("d")),
    taken=st.sets(st.sampled_from(NAMES), max_size=2),
)
def test_search_finds_a_solution_if_there_is_one(kinds: list[str], wanted: tuple[Raw, ...], taken: set[str]) -> None:
    """As trying everything does; and what is found has the right devices, each once."""
    devices = dict(zip(NAMES, kinds, strict=False))
    made = [device(name, attributes={"kind": kind}) for name, kind in devices.items()]
    # One pool is one slice, the other has a slice for each device.
    rest = made[1::2]
    manifests = [slice_of("all", *made[::2], node="n", pool="p0")]
    manifests += [slice_of(each["name"], each, node="n", pool="p1", count=len(rest)) for each in rest]
    in_use = [f"p{NAMES.index(name) % 2}/{name}" for name in sorted(taken) if name in devices]
    bench = Bench(*manifests, taken=[claim("t", status=allocated(*in_use))])

    found = bench.results(*wanted)

    free = [name for name in devices if name not in taken]
    assert (found is not None) is any(_solutions(wanted, devices, free))
    if found is not None:
        _check(found, wanted, devices, free)


odd_devices = st.fixed_dictionaries(
    {"attributes": st.sampled_from(({"kind": "x"}, {"kind": "x"}, {"kind": "y"}, {}))},
    optional={
        "taints": st.just([{"key": "t", "effect": "NoSchedule"}]),
        "memory": st.just({"memory": "4Gi"}),
        "allowMultipleAllocations": st.just(True),
        "bindingConditions": st.just(["Ready"]),
    },
)


@st.composite
def greedy_claims(draw: st.DrawFn, name: str) -> Raw:
    """A claim for up to five devices each in up to three requests, whose selector is in error for some devices."""
    requests = []
    for number in range(draw(st.integers(1, 3))):
        selectors = [f'device.attributes["{DRIVER}"].kind == "x"'] * draw(st.integers(0, 1))
        admin: dict[str, Any] = {"adminAccess": True} if draw(st.integers(0, 5)) == 5 else {}
        requests.append(request(f"r{number}", "gpu", *selectors, count=draw(st.integers(1, 5)), **admin))
    if draw(st.booleans()):
        requests = [either("r", *requests)]
    constraints: dict[str, Any] = {"constraints": SAME} if draw(st.integers(0, 4)) == 4 else {}
    return claim(name, *requests, **constraints)


@given(
    first=st.lists(odd_devices, max_size=4),
    second=st.lists(odd_devices, max_size=3),
    wanted=st.tuples(greedy_claims("c")) | st.tuples(greedy_claims("c"), greedy_claims("d")),
    taken=st.sets(st.sampled_from(NAMES), max_size=2),
)
def test_counting_devices_first_changes_nothing(
    first: list[Raw], second: list[Raw], wanted: tuple[Raw, ...], taken: set[str]
) -> None:
    """Neither what is found, nor what is said to be wrong: as if all ways to choose were tried."""
    pools = {"p": dict(zip("abcd", first, strict=False)), "q": dict(zip("efg", second, strict=False))}
    manifests = [
        slice_of(pool, *(device(name, **fields) for name, fields in made.items()), node="n", pool=pool)
        for pool, made in pools.items()
    ]
    in_use = [f"{pool}/{name}" for pool, made in pools.items() for name in sorted(taken) if name in made]

    def outcome() -> Any:
        bench = Bench(*manifests, taken=[claim("t", status=allocated(*in_use))], gates={"DRAConsumableCapacity": True})
        try:
            found = bench.results(*wanted)
        except (AllocationError, NodeAllocationError) as error:
            return str(error)
        return None if found is None else [wire(result) for result in found]

    with mock.patch.object(_Search, "_are_too_few", return_value=False):
        expected = outcome()
    assert outcome() == expected


def _flat(wanted: Sequence[Raw]) -> list[tuple[int, list[Raw]]]:
    """Return (claim, alternatives) of every request."""
    return [
        (index, one["firstAvailable"] if "firstAvailable" in one else [one["exactly"]])
        for index, each in enumerate(wanted)
        for one in each["spec"]["devices"]["requests"]
    ]


def _kind(spec: Raw) -> str | None:
    selectors = spec.get("selectors")
    return None if not selectors else selectors[0]["cel"]["expression"][-2]


def _solutions(wanted: Sequence[Raw], devices: dict[str, str], free: list[str]) -> Iterator[bool]:
    """Try everything: yield once per solution."""
    requests = _flat(wanted)

    def go(index: int, left: list[str], kinds: dict[int, set[str]]) -> Iterator[bool]:
        if index == len(requests):
            yield True
            return
        owner, alternatives = requests[index]
        for spec in alternatives:
            fitting = [name for name in left if _kind(spec) in {None, devices[name]}]
            for chosen in combinations(fitting, spec["count"]):
                more = kinds.get(owner, set()) | {devices[name] for name in chosen}
                if "constraints" in wanted[owner]["spec"]["devices"] and len(more) > 1:
                    continue
                yield from go(index + 1, [name for name in left if name not in chosen], {**kinds, owner: more})

    return go(0, free, {})


def _check(found: Sequence[AllocationResult], wanted: Sequence[Raw], devices: dict[str, str], free: list[str]) -> None:
    names = [each.device for result in found for each in result.devices.results]
    assert len(names) == len(set(names))
    assert set(names) <= set(free)
    for result, given_claim in zip(found, wanted, strict=True):
        got: dict[str, list[str]] = {}
        for each in result.devices.results:
            got.setdefault(each.request, []).append(each.device)
        specs = _specs(given_claim)
        assert {name.partition("/")[0] for name in got} == {name.partition("/")[0] for name in specs}
        for name, chosen in got.items():
            assert len(chosen) == specs[name]["count"]
            assert all(_kind(specs[name]) in {None, devices[each]} for each in chosen)
        if "constraints" in given_claim["spec"]["devices"]:
            assert len({devices[each] for chosen in got.values() for each in chosen}) == 1


def _specs(given_claim: Raw) -> dict[str, Any]:
    specs: dict[str, Any] = {}
    for each in given_claim["spec"]["devices"]["requests"]:
        if "exactly" in each:
            specs[each["name"]] = each["exactly"]
        for one in each.get("firstAvailable", ()):
            specs[f"{each['name']}/{one['name']}"] = one
    return specs


def _view(raw: Raw | None) -> Any:
    return None if raw is None else msgspec.convert(raw, ResourceSlice)


slices_of_names = st.fixed_dictionaries(
    {
        "pool": st.sampled_from(("p", "q")),
        "node": st.sampled_from(("n", "m", "")),
        "generation": st.integers(1, 2),
        "count": st.integers(1, 2),
        "devices": st.lists(st.sampled_from("abc"), max_size=2),
    }
)


@given(changes=st.lists(st.tuples(st.sampled_from("stu"), st.none() | slices_of_names), max_size=12))
def test_pools_depend_on_the_slices_alone(changes: list[tuple[str, dict[str, Any] | None]]) -> None:
    """However they came to be what they are."""
    slices, now = Slices(with_counters=True), dict[str, Raw]()
    node = make_node("n").view()
    for name, fields in changes:
        old, new = now.pop(name, None), None
        if fields is not None:
            place = {"node": fields["node"]} if fields["node"] else {"allNodes": True}
            rest = {key: fields[key] for key in ("pool", "generation", "count")}
            new = now[name] = slice_of(name, *fields["devices"], **place, **rest)
        if old is not None or new is not None:
            slices.observe(_view(old), _view(new))
        slices.pools_for(node)
    afresh = Slices(with_counters=True)
    for raw in now.values():
        afresh.observe(None, _view(raw))

    assert _shown(slices, node) == _shown(afresh, node)


def _shown(slices: Slices, node: Any) -> list[tuple[Any, ...]]:
    return [
        (pool.id, pool.is_incomplete, pool.invalid_reason, [one.name for one in pool.slices])
        for pool in slices.pools_for(node)
    ]
