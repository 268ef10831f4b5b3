"""Requests of a claim in one form, whether exact or one of several alternatives.

Mirrors: requestAccessor in staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schedlab.api.views.resource import (
        CapacityRequirements,
        DeviceClass,
        DeviceRequest,
        DeviceSelector,
        DeviceSubRequest,
        DeviceTaint,
        DeviceToleration,
        ExactDeviceRequest,
    )
    from schedlab.scheduler.dra.slices import SliceDevice

EXACT_COUNT: Final = "ExactCount"
ALL: Final = "All"

_PREVENTING: Final = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class Request:
    """A request, or an alternative of the request `parent`; `devices` are the ones it must have in mode All."""

    name: str
    parent: str
    spec: ExactDeviceRequest | DeviceSubRequest
    device_class: DeviceClass | None = None
    count: int = 0
    devices: tuple[SliceDevice, ...] = ()

    @property
    def full_name(self) -> str:
        """The name as results have it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_and_sub_name(self) -> tuple[str, str]:
        """The names as constraints look at them."""
        return (self.parent, self.name) if self.parent else (self.name, "")

    @property
    def mode(self) -> str:
        return self.spec.allocation_mode

    @property
    def has_admin_access(self) -> bool:
        return bool(getattr(self.spec, "admin_access", None))

    @property
    def speaks_of_admin_access(self) -> bool:
        return getattr(self.spec, "admin_access", None) is not None

    @property
    def selectors(self) -> tuple[DeviceSelector, ...]:
        return self.spec.selectors

    @property
    def tolerations(self) -> tuple[DeviceToleration, ...]:
        return self.spec.tolerations

    @property
    def capacity(self) -> CapacityRequirements | None:
        return self.spec.capacity

    def tolerates(self, device: SliceDevice) -> bool:
        """Whether no taint of the device keeps the request away."""
        return all(
            any(tolerates(toleration, taint) for toleration in self.tolerations)
            for taint in device.device.taints
            if taint.effect in _PREVENTING
        )


def alternatives(request: DeviceRequest) -> tuple[Request, ...]:
    """Return the alternatives of a request, or the request itself as the only one."""
    if request.first_available:
        return tuple(Request(each.name, request.name, each) for each in request.first_available)
    assert request.exactly is not None, f"request {request.name} asks for nothing"
    return (Request(request.name, "", request.exactly),)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether a toleration is about a taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in {"", "Equal"}:
        return toleration.value == taint.value
    return toleration.operator == "Exists"
