"""The protection of volumes: a deleted volume stays while it is bound to a claim.

Mirrors: pkg/controller/volume/pvprotection/pv_protection_controller.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import ClassVar

from schedlab.api.object import StoredObject
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.protection import ProtectionController


class PVProtectionController(ProtectionController):
    """Lets volumes go that are not bound."""

    name: ClassVar[str] = "persistentvolume-protection-controller"
    resource: ClassVar[str] = "persistentvolumes"
    finalizer: ClassVar[str] = "kubernetes.io/pv-protection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.start()

    def is_used(self, obj: StoredObject) -> bool:
        """Whether the volume is bound."""
        return bool(obj.view.status.phase == "Bound")
