"""How much of a device's capacity a request consumes, and whether that much is left.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go (v1.36).
Differs: amounts that equal the default are valid whatever way they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from schedlab.apimachinery.quantity import Format, Quantity, of_int, parse_cached
from schedlab.scheduler.dra.types import Amounts

if TYPE_CHECKING:
    from schedlab.api.views.resource import (
        CapacityRequestPolicy,
        CapacityRequestPolicyRange,
        CapacityRequirements,
        Device,
        DeviceCapacity,
    )


def consumed_by(request: CapacityRequirements | None, device: Device) -> Amounts:
    """Return what a request consumes of every capacity of the device."""
    return {name: _consumed(_requested(request, name), capacity) for name, capacity in device.capacity.items()}


def fits(
    request: CapacityRequirements | None, device: Device, consumed: Mapping[str, Quantity], more: Mapping[str, Quantity]
) -> bool:
    """Whether what a request needs is left, beside what others consume and what this search has chosen already."""
    if request is not None and any(name not in device.capacity for name in request.requests):
        return False
    for name, capacity in device.capacity.items():
        amount = _consumed(_requested(request, name), capacity)
        if _violates(amount, capacity.request_policy):
            return False
        for others in (consumed, more):
            if name in others:
                amount += others[name]
        if parse_cached(capacity.value) < amount:
            return False
    return True


def _requested(request: CapacityRequirements | None, name: str) -> Quantity | None:
    text = None if request is None else request.requests.get(name)
    return None if text is None else parse_cached(text)


def _consumed(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        default = None if policy is None else policy.default
        return parse_cached(capacity.value if default is None else default)
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_to_range(requested, policy.valid_range)
    for text in policy.valid_values or ():
        value = parse_cached(text)
        if requested <= value:
            return value
    return requested


def _rounded_to_range(requested: Quantity, valid: CapacityRequestPolicyRange) -> Quantity:
    assert valid.min is not None
    least = parse_cached(valid.min)
    if requested < least:
        return least
    if valid.step is None:
        return requested
    step = parse_cached(valid.step).value()
    steps = -(-(requested.value() - least.value()) // step)
    return of_int(least.value() + step * steps, Format.BINARY_SI)


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == parse_cached(policy.default)):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range)
    values = policy.valid_values or ()
    return bool(values) and all(amount != parse_cached(text) for text in values)


def _outside(amount: Quantity, valid: CapacityRequestPolicyRange) -> bool:
    if valid.max is not None and parse_cached(valid.max) < amount:
        return True
    if valid.step is None:
        return False
    # A range with steps has a minimum to count them from.
    least = 0 if valid.min is None else parse_cached(valid.min).value()
    return (amount.value() - least) % parse_cached(valid.step).value() != 0
