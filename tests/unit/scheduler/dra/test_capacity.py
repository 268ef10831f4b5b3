"""What a request consumes of a capacity: as it asks, rounded as the device says, or a default."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from schedlab.api.views.resource import CapacityRequirements, Device
from schedlab.apimachinery.quantity import parse
from schedlab.scheduler.dra.capacity import consumed_by, fits

STEPS = {"validRange": {"min": "2Gi", "max": "8Gi", "step": "2Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "4Gi"]}


def device_of(policy: dict[str, Any] | None, value: str = "10Gi") -> Device:
    capacity = {"value": value, **({} if policy is None else {"requestPolicy": policy})}
    return msgspec.convert({"name": "d", "capacity": {"memory": capacity}}, Device)


def wanted(amount: str | None) -> CapacityRequirements | None:
    return None if amount is None else CapacityRequirements({"memory": amount})


@pytest.mark.parametrize(
    ("policy", "amount", "consumed", "is_enough"),
    [
        (None, None, "10Gi", True),
        (None, "3Gi", "3Gi", True),
        (None, "11Gi", "11Gi", False),
        ({"default": "1Gi"}, None, "1Gi", True),
        ({"default": "1Gi"}, "3Gi", "3Gi", True),
        (STEPS, None, "10Gi", False),
        (STEPS, "1Gi", "2Gi", True),
        (STEPS, "2Gi", "2Gi", True),
        (STEPS, "3Gi", "4Gi", True),
        (STEPS, "7Gi", "8Gi", True),
        (STEPS, "9Gi", "10Gi", False),
        ({"validRange": {"min": "2Gi"}}, "3Gi", "3Gi", True),
        ({"validRange": {"min": "2Gi", "max": "3Gi"}}, "4Gi", "4Gi", False),
        ({"validRange": {"max": "3Gi"}}, "1Gi", "1Gi", True),
        (STEPS | {"default": "9Gi"}, None, "9Gi", True),
        (VALUES, None, "1Gi", True),
        (VALUES, "2Gi", "4Gi", True),
        (VALUES, "5Gi", "5Gi", False),
        ({"validValues": ["4Gi"]}, "4Gi", "4Gi", True),
    ],
)
def test_consumption(policy: dict[str, Any] | None, amount: str | None, consumed: str, is_enough: bool) -> None:  # noqa: FBT001
    """Ranges round up in steps from their minimum, lists to the next value; what violates the policy does not fit."""
    device = device_of(policy)

    assert str(consumed_by(wanted(amount), device)["memory"]) == consumed
    assert fits(wanted(amount), device, {}, {}) is is_enough


@pytest.mark.parametrize(
    ("others", "more", "is_enough"), [("4Gi", "3Gi", True), ("4Gi", "4Gi", False), ("8Gi", "0", False)]
)
def test_what_others_take_counts(others: str, more: str, is_enough: bool) -> None:  # noqa: FBT001
    """Those who have it, and those who are about to get it."""
    assert fits(wanted("3Gi"), device_of(None), {"memory": parse(others)}, {"memory": parse(more)}) is is_enough


def test_unknown_capacity_is_never_enough() -> None:
    """A request names only what the device has."""
    assert not fits(CapacityRequirements({"cores": "1"}), device_of(None), {}, {})
