"""The simulated attacher: every volume can be attached to every node, at once.

Mirrors: the role of external-attacher (kubernetes-csi). Differs: finalizers and annotations are left out; nothing fails.
"""

from __future__ import annotations

from typing import ClassVar

from schedlab.api.object import WatchEvent
from schedlab.controllers.attachdetach import ATTACHMENTS
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask
from schedlab.controllers.framework.ownership import is_deleted
from schedlab.controllers.framework.status import new_status


class SimulatedAttacher(Controller):
    """Keys are names of attachments."""

    name: ClassVar[str] = "simulated-attacher"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._attachments = context.lister(ATTACHMENTS)
        self._attachments.on_change(self._on_attachment)

    def _on_attachment(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self.queue.add(event.object.name)

    def sync(self, key: str) -> Steps:
        """Say that a volume is attached."""
        found = self._attachments.stored(key)
        if found is None or is_deleted(found) or (found.raw.get("status") or {}).get("attached"):
            return
        yield from ask(new_status(found, {"attached": True}))
