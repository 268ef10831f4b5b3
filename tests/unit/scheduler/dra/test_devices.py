"""What all profiles share of devices takes a change in before it tells of it, and can be copied for a fork."""

from __future__ import annotations

import pytest

from schedlab.api.object import StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.dra.devices import DEVICE_KINDS, Devices
from schedlab.scheduler.framework.events import EventResource
from schedlab.testing.builders import make_node
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    CLAIMS,
    CLASSES,
    SLICES,
    Raw,
    allocated,
    claim,
    device_class,
    slice_of,
)

GATES = FeatureGates.default()
GIVEN = {
    EventResource.RESOURCE_CLAIM: (CLAIMS, claim("x", status=allocated("n/a"))),
    EventResource.RESOURCE_SLICE: (SLICES, slice_of("x", "a", node="n")),
    EventResource.DEVICE_CLASS: (CLASSES, device_class("x")),
}


def stored(kind: EventResource, revision: int = 1) -> StoredObject:
    resource, raw = GIVEN[kind]
    return StoredObject.encode(resource, raw, revision)


def known(devices: Devices) -> list[bool]:
    """Whether the claim, the slice and the class are known."""
    pools = devices.slices.pools_for(make_node("n").view())
    return [devices.claims.get("default", "x") is not None, bool(pools), devices.classes.get("x") is not None]


@pytest.mark.parametrize("kind", DEVICE_KINDS)
def test_change_is_taken_in_before_it_is_told(kind: EventResource) -> None:
    """Whoever is woken finds what woke it."""
    devices = Devices(GATES)
    heard: list[tuple[EventResource, bool, bool, list[bool]]] = []
    devices.observe(kind, None, stored(kind))
    devices.on_change = lambda *event: heard.append((event[0], event[1] is None, event[2] is None, known(devices)))
    expected = [each == kind for each in DEVICE_KINDS]

    devices.observe(kind, stored(kind), stored(kind, 2))
    devices.observe(kind, stored(kind, 2), None)

    assert heard == [(kind, False, False, expected), (kind, False, True, [False] * 3)]


def test_fork_goes_on_alone() -> None:
    """It knows what the original was told, and neither hears of the other's changes."""
    original = Devices(GATES)
    for kind in DEVICE_KINDS:
        original.observe(kind, None, stored(kind))
    fork = Devices(GATES, original)
    assert known(fork) == [True] * 3
    assert len(fork.claims.allocated_state().devices) == 1

    heard: list[object] = []
    original.on_change = lambda *event: heard.append(event)
    for kind in DEVICE_KINDS:
        fork.observe(kind, stored(kind), None)

    assert known(fork) == [False] * 3
    assert known(original) == [True] * 3
    assert heard == []


def test_gates_decide_what_is_taken_into_account() -> None:
    """Shares are devices without consumable capacity; counters are not there without partitions."""
    gates = GATES.with_overrides({"DRAConsumableCapacity": False, "DRAPartitionableDevices": False})
    devices = Devices(gates)
    share: Raw = claim("x", status=allocated("n/a", shareID="s"))
    devices.observe(EventResource.RESOURCE_CLAIM, None, StoredObject.encode(CLAIMS, share, 1))
    counters = slice_of("x", node="n", sharedCounters=[{"name": "m", "counters": {}}])
    devices.observe(EventResource.RESOURCE_SLICE, None, StoredObject.encode(SLICES, counters, 1))

    assert len(devices.claims.allocated_state().devices) == 1
    assert known(devices) == [True, False, False]
