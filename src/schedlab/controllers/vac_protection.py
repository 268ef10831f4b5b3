"""The protection of volume attributes classes: a deleted class stays while a volume or a claim names it.

Mirrors: pkg/controller/volume/vacprotection/vac_protection_controller.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.protection import ProtectionController


class VACProtectionController(ProtectionController):
    """Lets classes go that nobody names."""

    name: ClassVar[str] = "volumeattributesclass-protection-controller"
    resource: ClassVar[str] = "volumeattributesclasses.storage.k8s.io"
    finalizer: ClassVar[str] = "kubernetes.io/vac-protection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._users = (context.lister("persistentvolumes"), context.lister("persistentvolumeclaims"))
        for informer in self._users:
            informer.on_change(self._on_user)
        self.start()

    def _on_user(self, event: WatchEvent) -> None:
        before = event.object if event.type == "DELETED" else event.previous
        if before is None:
            return
        for name in _classes(before):
            found = self.objects.stored(name)
            if found is not None and self.is_leaving(found):
                self.queue.add(name)

    def is_used(self, obj: StoredObject) -> bool:
        """Whether a volume or a claim names the class."""
        return any(obj.name in _classes(user) for informer in self._users for user in informer.all_stored())


def _classes(user: StoredObject) -> Iterator[str]:
    """Name the classes of a volume or a claim: wanted, current, and on the way."""
    if user.view.spec.volume_attributes_class_name:
        yield user.view.spec.volume_attributes_class_name
    if user.resource == "persistentvolumeclaims":
        status = user.raw.get("status") or {}
        if status.get("currentVolumeAttributesClassName"):
            yield status["currentVolumeAttributesClassName"]
        target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
        if target:
            yield target
