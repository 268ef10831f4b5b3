"""The TTL controller: tells kubelets, by an annotation of their node, for how long they may keep secrets and configmaps.

The larger the cluster, the longer. Not to be confused with the TTL of finished jobs.

Mirrors: pkg/controller/ttl/ttl_controller.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import ClassVar, Final

from schedlab.api.object import WatchEvent
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, attempt

_ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
#: From how many nodes, up to how many, and the seconds.
_STEPS: Final = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 2**31 - 1, 300))


class NodeTTLController(Controller):
    """Keys are names of nodes."""

    name: ClassVar[str] = "ttl-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._count = 0
        self._step = 0
        self._nodes = context.lister("nodes")
        self._nodes.on_change(self._on_node)

    def _on_node(self, event: WatchEvent) -> None:
        self._count += {"ADDED": 1, "DELETED": -1}.get(event.type, 0)
        least, most, _ = _STEPS[self._step]
        if self._count > most:
            self._step += 1
        elif self._count < least:
            self._step -= 1
        if event.type != "DELETED":
            self.queue.add(event.object.name)

    def sync(self, key: str) -> Steps:
        """Annotate a node."""
        node = self._nodes.stored(key)
        seconds = str(_STEPS[self._step][2])
        if node is None or node.view.metadata.annotations.get(_ANNOTATION) == seconds:
            return
        patch = {"metadata": {"annotations": {_ANNOTATION: seconds}}}
        error = (yield from attempt(Write("patch", "nodes", "", key, patch, patch_type="strategic"))).error
        if error is not None and error.reason != "NotFound":
            raise error
