"""DefaultPreemption: when a pod fits nowhere, make room by evicting pods of lower priority from the best node.

Mirrors: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (v1.36).
Differs: pod groups (WorkloadAwarePreemption, TopologyAwareWorkloadScheduling) are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.preemption.evaluator import Answer, Evaluator
from schedlab.scheduler.framework.preemption.executor import Executor
from schedlab.scheduler.framework.status import Status, unresolvable

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.client.protocol import Outcome
    from schedlab.scheduler.config.args import DefaultPreemptionArgs
    from schedlab.scheduler.framework.interface import CycleState, ExtenderAnswer, Handle, NodeToStatus, Work
    from schedlab.scheduler.framework.types import PodInfo

NAME: Final = "DefaultPreemption"

_GATED: Final = unresolvable("waiting for the preemption for this pod to be finished")


class DefaultPreemption:
    """See the module."""

    name: Final = NAME

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._is_async = handle.features.enabled("SchedulerAsyncPreemption")
        self._executor = Executor(handle, NAME)
        percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
        assert percentage is not None
        assert absolute is not None
        self._evaluator = Evaluator(handle, self._executor, percentage=percentage, absolute=absolute)

    # --- Queue ---

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep the pod out of the queue while its victims are being evicted."""
        return _GATED if self._is_async and self._executor.is_preempting(pod.uid) else None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A deletion may be what the pod was waiting for at the gate; it does not help a pod that was turned down."""
        if not self._is_async:
            return ()
        return (ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), _after_pod_deletion),)

    # --- PostFilter ---

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeToStatus) -> Answer:
        """See Evaluator.preempt."""
        return _said_by_preemption(self._evaluator.preempt(state, pod, statuses))

    def resume_post_filter(
        self, state: CycleState, pod: PodInfo, statuses: NodeToStatus, work: Work, answers: Sequence[ExtenderAnswer]
    ) -> Answer:
        """See Evaluator.resume."""
        return _said_by_preemption(self._evaluator.resume(state, work, answers))

    def resume(
        self, state: CycleState, pod: PodInfo, node_name: str, work: Work, outcomes: Sequence[Outcome]
    ) -> Status | Work | None:
        """See Executor.resume."""
        return self._executor.resume(work, outcomes)


def _said_by_preemption(answer: Answer) -> Answer:
    """Put "preemption: " before what is said."""
    result, status, work = answer
    if status is not None and status.message:
        if status.error:
            status = replace(status, error=f"preemption: {status.message}", reasons=())
        else:
            status = replace(status, reasons=(f"preemption: {status.message}",))
    return result, status, work


def _after_pod_deletion(_pod: PodInfo, _old: Pod | None, _new: Pod | None) -> QueueingHint:
    return QueueingHint.SKIP


ENTRY: Final = PluginEntry(NAME, DefaultPreemption)
