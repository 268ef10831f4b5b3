"""Device classes, by name and by the extended resources they stand behind.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.api.rules.resource_names import DEVICE_CLASS_PREFIX

if TYPE_CHECKING:
    from schedlab.api.views.resource import DeviceClass


class DeviceClasses:
    """All device classes."""

    def __init__(self) -> None:
        self._by_name: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, DeviceClass] = {}

    def get(self, name: str) -> DeviceClass | None:
        """Return a class."""
        return self._by_name.get(name)

    def device_class(self, resource_name: str) -> DeviceClass | None:
        """Return the class behind an extended resource, by the name it gives or by the one every class has."""
        return self._by_resource.get(resource_name)

    def observe(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        """Take a change of a class."""
        if new is None:
            assert old is not None
            self._by_name.pop(old.metadata.name, None)
            self._drop(old)
            return
        self._by_name[new.metadata.name] = new
        # Of two classes for one resource the newer counts, then the one with the lesser name; also when a class changes.
        rival = self._by_resource.get(new.spec.extended_resource_name or "")
        if rival is not None and not _goes_before(new, rival):
            return
        if old is not None:
            self._drop(old)
        if new.spec.extended_resource_name is not None:
            self._by_resource[new.spec.extended_resource_name] = new
        self._by_resource[DEVICE_CLASS_PREFIX + new.metadata.name] = new

    def _drop(self, old: DeviceClass) -> None:
        self._by_resource.pop(DEVICE_CLASS_PREFIX + old.metadata.name, None)
        if old.spec.extended_resource_name is not None:
            self._by_resource.pop(old.spec.extended_resource_name, None)

    def copy(self) -> DeviceClasses:
        """Return an independent copy."""
        other = DeviceClasses()
        other._by_name, other._by_resource = dict(self._by_name), dict(self._by_resource)
        return other


def _goes_before(new: DeviceClass, rival: DeviceClass) -> bool:
    mine, theirs = new.metadata.creation_timestamp or "", rival.metadata.creation_timestamp or ""
    if mine != theirs:
        return mine > theirs
    return new.metadata.name < rival.metadata.name
