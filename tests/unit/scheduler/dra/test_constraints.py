"""Attributes that devices of a claim share, or must not share."""

from __future__ import annotations

import msgspec
import pytest

from schedlab.api.views.resource import ResourceSlice
from schedlab.scheduler.dra.constraints import DistinctAttribute, MatchAttribute
from schedlab.scheduler.dra.slices import Slice, SliceDevice
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import DRIVER, device, slice_of


def made(value: object, name: str = "kind") -> SliceDevice:
    attributes = {} if value is None else {name: value}
    return Slice(msgspec.convert(slice_of("s", device("d", attributes=attributes), node="n"), ResourceSlice)).devices[0]


X, Y, NONE = made("x"), made("y"), made(None)
VALUES = [("a", "b"), (1, 2), (True, False), ({"version": "1.0.0"}, {"version": "1.0.1"})]


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_match(one: object, other: object) -> None:
    """The first device sets the value, whatever its type."""
    same = MatchAttribute((), f"{DRIVER}/kind")

    assert same.add("r", "", made(one))
    assert same.add("q", "", made(one))
    assert not same.add("r", "", made(other))
    assert not same.add("r", "", made("of another type" if one != "a" else 7))
    assert not same.add("r", "", NONE)


def test_match_begins_anew_when_all_are_given_up() -> None:
    """It knows how many devices there are, not which."""
    same = MatchAttribute((), f"{DRIVER}/kind")
    same.add("r", "", X)
    same.remove("r", "")

    assert same.add("r", "", Y)
    assert not same.add("r", "", X)


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_distinct(one: object, other: object) -> None:
    """No value comes twice among different requests."""
    different = DistinctAttribute((), f"{DRIVER}/kind")

    assert different.add("q", "", made(one))
    assert not different.add("r", "", made(one))
    assert different.add("r", "", made(other))
    assert not different.add("s", "", NONE)
    different.remove("q", "")
    assert different.add("s", "", made(one))


def test_values_of_no_known_type_do_not_go_together() -> None:
    """The first may be anything, as upstream; lists are an alpha feature."""
    odd = made({"ints": [1]})
    same, different = MatchAttribute((), f"{DRIVER}/kind"), DistinctAttribute((), f"{DRIVER}/kind")

    assert same.add("r", "", odd)
    assert not same.add("r", "", odd)
    assert different.add("q", "", odd)
    assert not different.add("r", "", odd)


@pytest.mark.parametrize(
    ("requests", "name", "sub", "is_about"),
    [
        ((), "r", "", True),
        (("r",), "r", "", True),
        (("r",), "r", "a", True),
        (("r/a",), "r", "a", True),
        (("r/a",), "r", "b", False),
        (("q",), "r", "", False),
    ],
)
def test_requests(requests: tuple[str, ...], name: str, sub: str, is_about: bool) -> None:  # noqa: FBT001
    """A constraint is about the requests it names, whole or one of their alternatives; without names about all."""
    for kind in (MatchAttribute, DistinctAttribute):
        constraint = kind(requests, f"{DRIVER}/kind")
        assert constraint.add(name, sub, NONE) is not is_about
        constraint.remove(name, sub)


@pytest.mark.parametrize(
    ("attribute", "name", "is_found"),
    [
        (f"{DRIVER}/kind", "kind", True),
        (f"{DRIVER}/kind", f"{DRIVER}/kind", True),
        ("other.example/kind", "kind", False),
        ("other.example/kind", "other.example/kind", True),
    ],
)
def test_names_of_attributes(attribute: str, name: str, is_found: bool) -> None:  # noqa: FBT001
    """A short name is in the driver's domain."""
    assert MatchAttribute((), attribute).add("r", "", made("x", name)) is is_found
