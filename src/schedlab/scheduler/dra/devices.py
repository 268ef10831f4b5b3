"""What all profiles of a scheduler share of devices: claims, classes and slices.

Mirrors: DefaultDRAManager in pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go (v1.36).
Differs: taint rules (`DRADeviceTaintRules`, off by default) are not applied to slices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.dra.claims import ClaimTracker
from schedlab.scheduler.dra.device_classes import DeviceClasses
from schedlab.scheduler.dra.slices import Slices
from schedlab.scheduler.framework.events import EventResource

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.resource import ResourceClaim
    from schedlab.apimachinery.features import FeatureGates

#: Kinds whose changes come here first.
DEVICE_KINDS: Final = (EventResource.RESOURCE_CLAIM, EventResource.RESOURCE_SLICE, EventResource.DEVICE_CLASS)

#: Wakes pods for a change of an object, given before and after.
OnChange = Callable[[EventResource, object, object], None]


class Devices:
    """Kept up to date by events; `on_change` is told of what changed after that was taken in."""

    def __init__(self, features: FeatureGates, original: Devices | None = None) -> None:
        """Begin empty, or for a fork with what `original` was told; allocations on their way there are dropped."""
        self.on_change: OnChange | None = None
        if original is None:
            self.claims = ClaimTracker(self._claim_changed, with_shares=features.enabled("DRAConsumableCapacity"))
            self.classes = DeviceClasses()
            self.slices = Slices(with_counters=features.enabled("DRAPartitionableDevices"))
        else:
            self.claims = original.claims.copy(self._claim_changed)
            self.classes, self.slices = original.classes.copy(), original.slices.copy()

    def observe(self, kind: EventResource, before: StoredObject | None, after: StoredObject | None) -> None:
        """Take an event of one of DEVICE_KINDS."""
        if kind == EventResource.RESOURCE_CLAIM:
            self.claims.observe(before, after)
            return
        old, new = before.view if before else None, after.view if after else None
        if kind == EventResource.DEVICE_CLASS:
            self.classes.observe(old, new)
        else:
            self.slices.observe(old, new)
        self._changed(kind, old, new)

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self._changed(EventResource.RESOURCE_CLAIM, old, new)

    def _changed(self, kind: EventResource, old: object, new: object) -> None:
        if self.on_change is not None:
            self.on_change(kind, old, new)
