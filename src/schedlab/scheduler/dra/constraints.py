"""Constraints of a claim: an attribute that all of its devices share, or that no two of them share.

Mirrors: matchAttributeConstraint in allocator_incubating.go and distinctAttributeConstraint in constraint.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from schedlab.api.views.resource import DeviceAttribute
    from schedlab.scheduler.dra.slices import SliceDevice


class Constraint(Protocol):
    """Told of each device that is chosen for a claim, and of each that is given up again."""

    def add(self, request: str, sub_request: str, device: SliceDevice) -> bool:
        """Note a device; False when it must not be chosen."""

    def remove(self, request: str, sub_request: str) -> None:
        """Forget a device that was noted for the request."""


class _AttributeConstraint:
    """The requests a constraint is about (all when none is named), and its attribute."""

    def __init__(self, requests: Sequence[str], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._count = 0

    def _is_about(self, request: str, sub_request: str) -> bool:
        if not self._requests or request in self._requests:
            return True
        return bool(sub_request) and f"{request}/{sub_request}" in self._requests

    def _value(self, device: SliceDevice) -> DeviceAttribute | None:
        """Return the attribute under its full name, or under its short one where the domain is the driver's."""
        attributes = device.device.attributes
        found = attributes.get(self._attribute)
        domain, has_domain, name = self._attribute.partition("/")
        if found is None and has_domain and domain == device.id.driver:
            return attributes.get(name)
        return found


class MatchAttribute(_AttributeConstraint):
    """All devices have the same value."""

    def __init__(self, requests: Sequence[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._shared: DeviceAttribute | None = None

    def add(self, request: str, sub_request: str, device: SliceDevice) -> bool:
        """See Constraint."""
        if not self._is_about(request, sub_request):
            return True
        value = self._value(device)
        if value is None:
            return False
        if self._count == 0:
            self._shared = value
        elif not _is_known(value) or value != self._shared:
            return False
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """See Constraint."""
        if self._is_about(request, sub_request):
            self._count -= 1


class DistinctAttribute(_AttributeConstraint):
    """No two devices have the same value. Of the devices of one request only the last one is remembered, as upstream."""

    def __init__(self, requests: Sequence[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, DeviceAttribute] = {}

    def add(self, request: str, sub_request: str, device: SliceDevice) -> bool:
        """See Constraint."""
        if not self._is_about(request, sub_request):
            return True
        value = self._value(device)
        if value is None:
            return False
        if self._count > 0 and self._values and (not _is_known(value) or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """See Constraint."""
        if self._is_about(request, sub_request):
            self._values.pop(request, None)
            self._count -= 1


def _is_known(value: DeviceAttribute) -> bool:
    """Whether the value is of a type that can be compared."""
    values = value.string_value, value.int_value, value.bool_value, value.version_value
    return any(each is not None for each in values)
