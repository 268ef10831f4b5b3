"""The part that the protection controllers share: a finalizer keeps an object for as long as it is used.

    not deleted, no finalizer ──► add it         (the object is older than the admission)
    deleted, has it, not used ──► take it away

Mirrors: pkg/controller/volume/protectionutil (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import ClassVar

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask, split_key


class ProtectionController(Controller):
    """Base of the controllers that take one finalizer away; keys are those of the objects."""

    resource: ClassVar[str] = ""
    finalizer: ClassVar[str] = ""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.objects = context.lister(self.resource)

    def start(self) -> None:
        """Begin to listen; to be called when the controller is complete."""
        self.objects.on_change(self._on_object)

    def is_used(self, obj: StoredObject) -> bool:
        """Whether the object must stay."""
        raise NotImplementedError

    def is_leaving(self, obj: StoredObject) -> bool:
        """Whether the object is deleted and kept by the finalizer."""
        metadata = obj.view.metadata
        return bool(metadata.deletion_timestamp) and self.finalizer in metadata.finalizers

    def is_unprotected(self, obj: StoredObject) -> bool:
        """Whether the object stays and has no finalizer yet."""
        metadata = obj.view.metadata
        return not metadata.deletion_timestamp and self.finalizer not in metadata.finalizers

    def _on_object(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and (self.is_leaving(event.object) or self.is_unprotected(event.object)):
            self.queue.add(event.object.key)

    def sync(self, key: str) -> Steps:
        """Add the finalizer or take it away."""
        namespace, name = split_key(key)
        obj = self.objects.stored(name, namespace)
        if obj is None:
            return
        present: tuple[str, ...] = obj.view.metadata.finalizers
        if self.is_leaving(obj):
            if not self.is_used(obj):
                yield from ask(_with_finalizers(obj, [each for each in present if each != self.finalizer]))
        elif self.is_unprotected(obj):
            yield from ask(_with_finalizers(obj, [*present, self.finalizer]))


def _with_finalizers(obj: StoredObject, finalizers: list[str]) -> Write:
    body = obj.thaw()
    body["metadata"]["finalizers"] = finalizers
    return Write("update", obj.resource, obj.namespace, obj.name, body)
