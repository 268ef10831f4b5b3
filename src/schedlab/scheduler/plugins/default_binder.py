"""Binds a pod by creating its binding.

Mirrors: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go (v1.36).
Differs: the write is an effect, and the answer comes back through `resume`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.client.protocol import Outcome, Write
from schedlab.scheduler.framework.interface import PluginEntry, Work
from schedlab.scheduler.framework.status import Status, error

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.types import PodInfo


class DefaultBinder:
    """The plugin."""

    name = "DefaultBinder"

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """Binding needs no arguments."""

    def bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | Work | None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        write = Write("create", "pods", pod.namespace, pod.name, body, "binding", is_canonical=True)
        return Work((write,))

    def resume(
        self, _state: CycleState, _pod: PodInfo, _node_name: str, _work: Work, outcomes: Sequence[Outcome]
    ) -> Status | Work | None:
        refusal = outcomes[0].error
        return None if refusal is None else error(str(refusal))


ENTRY: Final = PluginEntry(DefaultBinder.name, DefaultBinder)
