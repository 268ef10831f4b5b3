"""Binding conditions: what drivers must report of allocated devices before the pod may be bound.

Mirrors: isClaimReadyForBinding, isClaimTimeout and hasBindingConditions in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import parse_time

if TYPE_CHECKING:
    from schedlab.api.views.resource import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim

TIMEOUT: str = "device binding timeout"
FAILED: str = "device binding failed"


class BindingConditionError(Exception):
    """A device will not become ready."""


def has_conditions(claims: Iterable[ResourceClaim]) -> bool:
    """Whether any device of the claims has to become ready first."""
    return any(result.binding_conditions for claim in claims for result in _results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Whether every device is ready; raises BindingConditionError when one has failed."""
    if claim.status.allocation is None:
        return False
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False
        for kind in result.binding_failure_conditions:
            condition = status.condition(kind)
            if condition is not None and condition.status == "True":
                place = f"claim={claim.metadata.name}, reason={condition.reason}, message={quote(condition.message)}"
                raise BindingConditionError(f"{FAILED}: {place}")
        for kind in result.binding_conditions:
            condition = status.condition(kind)
            if condition is None or condition.status != "True":
                return False
    return True


def is_overdue(claim: ResourceClaim, timeout_ns: int, now_ns: int) -> bool:
    """Whether devices of the claim should have been ready by now."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    is_over = parse_time(allocation.allocation_timestamp) + timeout_ns < now_ns
    return is_over and any(result.binding_conditions for result in _results(claim))


def drivers(claims: Iterable[ResourceClaim]) -> tuple[list[str], list[str]]:
    """Return the driver of every allocated device, and of every one that has to become ready."""
    results = [result for claim in claims for result in _results(claim)]
    return [each.driver for each in results], [each.driver for each in results if each.binding_conditions]


def _results(claim: ResourceClaim) -> Iterator[DeviceRequestAllocationResult]:
    allocation = claim.status.allocation
    return iter(() if allocation is None else allocation.devices.results)


def _status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    place = result.driver, result.pool, result.device
    return next((each for each in claim.status.devices if (each.driver, each.pool, each.device) == place), None)
