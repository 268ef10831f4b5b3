"""Keeps pods with scheduling gates out of the active queue.

Mirrors: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import Status, unresolvable

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import PodInfo


class SchedulingGates:
    """The plugin."""

    name = "SchedulingGates"

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """A gate needs no arguments."""

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (ClusterEventWithHint(event, _after_gates_eliminated),)


def _after_gates_eliminated(pod: PodInfo, _old: Pod | None, new: Pod) -> QueueingHint:
    return QueueingHint.QUEUE if new.metadata.uid == pod.uid else QueueingHint.SKIP


ENTRY: Final = PluginEntry(SchedulingGates.name, SchedulingGates)
