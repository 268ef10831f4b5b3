"""Lets the pods of a gang go together: at least minCount of a group, or none.

A pod waits outside the active queue until its group is known and has minCount pods, and in permit until so many of them
are on nodes or assumed to be; the last one lets all go.

Mirrors: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go (v1.36).
Differs: while a whole group is tried (schedule_pod_group), permit wakes and lets go nobody; what it says is the same.
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
from schedlab.scheduler.framework.pod_groups import group_of
from schedlab.scheduler.framework.status import Code, Status, error, unresolvable

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.api.views.scheduling import PodGroup
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.types import PodInfo

_TIMEOUT_NS: Final = 5 * 60 * 1_000_000_000
_TOO_FEW: Final = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
_WAIT: Final = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling:
    """The plugin."""

    name = "GangScheduling"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.ADD), _after_pod_added),
            ClusterEventWithHint(ClusterEvent(EventResource.POD_GROUP, ActionType.ADD), _after_group_added),
        )

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        key = group_of(pod)
        if key is None:
            return None
        groups = self._handle.pod_groups
        group = groups.get(key)
        if group is None:
            return unresolvable(f'waiting for pods\'s pod group "{_name(key)}" to appear in scheduling queue')
        gang = group.spec.scheduling_policy.gang
        return _TOO_FEW if gang is not None and groups.count(key) < gang.min_count else None

    def permit(self, state: CycleState, pod: PodInfo, _node_name: str) -> tuple[Status | None, int]:
        key = group_of(pod)
        if key is None:
            return None, 0
        groups = self._handle.pod_groups
        group = groups.get(key)
        if group is None:
            return error(f'failed to get podGroup {key}: podgroup.scheduling.k8s.io "{_name(key)}" not found'), 0
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return None, 0
        if groups.scheduled_count(key) < gang.min_count:
            if not state.in_pod_group_cycle:
                self._handle.activate(groups.unscheduled(key))
            return _WAIT, _TIMEOUT_NS
        if not state.in_pod_group_cycle:
            for other in groups.assumed(key):
                waiting = self._handle.waiting_pod(other.uid)
                if waiting is not None:
                    waiting.allow(self.name)
        return None, 0


def _name(key: str) -> str:
    return key.partition("/")[2]


def _after_pod_added(pod: PodInfo, _old: Pod | None, new: Pod) -> QueueingHint:
    group, other = pod.pod.spec.scheduling_group, new.spec.scheduling_group
    return _queue_if(group is not None and group == other and new.metadata.namespace == pod.namespace)


def _after_group_added(pod: PodInfo, _old: PodGroup | None, new: PodGroup) -> QueueingHint:
    return _queue_if(group_of(pod) == f"{new.metadata.namespace}/{new.metadata.name}")


def _queue_if(condition: bool) -> QueueingHint:  # noqa: FBT001 - a condition is all there is to say
    return QueueingHint.QUEUE if condition else QueueingHint.SKIP


ENTRY: Final = PluginEntry(GangScheduling.name, GangScheduling)
