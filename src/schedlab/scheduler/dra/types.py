"""Names of devices, and what of them is taken.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/structured/schedulerapi/types.go (v1.36).
Differs: sets are dicts, so that nothing depends on an order that changes from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from schedlab.apimachinery.quantity import Quantity, parse_cached

if TYPE_CHECKING:
    from schedlab.api.views.resource import DeviceRequestAllocationResult, ResourceClaim

#: Amounts of capacities, by qualified name.
Amounts: TypeAlias = dict[str, Quantity]


class AllocationError(Exception):
    """Something is wrong with a claim or class, so that no other node need be tried."""


class PoolID(NamedTuple):
    """A pool of devices."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceID(NamedTuple):
    """A device, unique in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(slots=True)
class AllocatedState:
    """Devices that are taken as a whole, shares of devices, and how much the shares consume."""

    devices: dict[DeviceID, None] = field(default_factory=dict)
    shares: dict[tuple[DeviceID, str], None] = field(default_factory=dict)
    capacity: dict[DeviceID, Amounts] = field(default_factory=dict)

    def copy(self) -> AllocatedState:
        """Return an independent copy."""
        capacity = {device: dict(amounts) for device, amounts in self.capacity.items()}
        return AllocatedState(dict(self.devices), dict(self.shares), capacity)

    def is_allocated(self, device: DeviceID) -> bool:
        """Whether the device or a share of it is taken."""
        return device in self.devices or device in self.capacity or any(each == device for each, _ in self.shares)

    def add(self, claim: ResourceClaim, *, with_shares: bool) -> None:
        """Take what a claim has."""
        for device, result in _taken(claim):
            if not (with_shares and result.share_id is not None):
                self.devices[device] = None
                continue
            self.shares[device, result.share_id] = None
            if result.consumed_capacity is not None:
                add_amounts(self.capacity.setdefault(device, {}), parse_amounts(result.consumed_capacity))

    def remove(self, claim: ResourceClaim, *, with_shares: bool) -> None:
        """Give back what a claim had."""
        for device, result in _taken(claim):
            if not (with_shares and result.share_id is not None):
                self.devices.pop(device, None)
                continue
            self.shares.pop((device, result.share_id), None)
            if result.consumed_capacity is not None:
                subtract_capacity(self.capacity, device, parse_amounts(result.consumed_capacity))


def _taken(claim: ResourceClaim) -> Iterator[tuple[DeviceID, DeviceRequestAllocationResult]]:
    """Go through the devices of a claim; with admin access a device is not taken."""
    allocation = claim.status.allocation
    for result in () if allocation is None else allocation.devices.results:
        if not result.admin_access:
            yield DeviceID(result.driver, result.pool, result.device), result


def parse_amounts(texts: dict[str, str]) -> Amounts:
    """Read quantities."""
    return {name: parse_cached(text) for name, text in texts.items()}


def add_amounts(amounts: Amounts, more: Amounts) -> None:
    """Add to amounts, in place."""
    for name, amount in more.items():
        amounts[name] = amounts[name] + amount if name in amounts else amount


def subtract_capacity(capacity: dict[DeviceID, Amounts], device: DeviceID, less: Amounts) -> None:
    """Take amounts away from what is consumed of a device; a device of which nothing is consumed any more goes."""
    amounts = capacity.get(device)
    if amounts is None:
        return
    for name, amount in less.items():
        if name in amounts:
            amounts[name] -= amount
    if not any(amounts.values()):
        del capacity[device]
