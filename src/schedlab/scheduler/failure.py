"""What follows from an attempt that failed: the pod goes back to the queue, its condition and an event say why.

Mirrors: handleSchedulingFailure of pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schedlab.scheduler import metrics
from schedlab.scheduler.events import cut_note
from schedlab.scheduler.framework.pod_status import NewCondition, status_patch
from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.schedule_one import Failure
    from schedlab.scheduler.scheduler import Scheduler

REASON_UNSCHEDULABLE: Final = "Unschedulable"
REASON_ERROR: Final = "SchedulerError"


def handle_failure(
    scheduler: Scheduler,
    framework: Framework,
    queued: QueuedPodInfo,
    failure: Failure,
    started_ns: int,
    record: CycleRecord | None = None,
) -> None:
    """Put the pod back and say why; `record` is completed when the attempt failed in its scheduling cycle."""
    rejected = failure.status.rejected
    reason = reason_of(failure)
    message = failure.message
    if scheduler.metrics is not None:
        result = metrics.UNSCHEDULABLE if rejected else metrics.ERROR
        scheduler.metrics.attempt(result, framework.profile_name, scheduler.clock.now_ns() - started_ns)
    queued.set_rejectors(*_rejectors(failure))
    if record is not None:
        note_failure(record, failure)
    if not _put_back(scheduler, queued):
        return
    pod = queued.pod
    scheduler.queue.nominator.add(pod, failure.nominating)
    scheduler.send_event(
        pod, None, "Warning", "FailedScheduling", "Scheduling", cut_note(message), framework.profile_name
    )
    nominated = None
    if failure.nominating is not None and failure.nominating.override:
        nominated = failure.nominating.nominated_node_name
    condition = NewCondition("PodScheduled", "False", reason, message)
    patch = status_patch(pod.pod, condition, nominated, scheduler.clock.now_ns())
    if patch is not None:
        scheduler.outbox.write(patch)


def note_failure(record: CycleRecord, failure: Failure) -> None:
    """Complete the record of an attempt that failed in its scheduling cycle."""
    record.result = "unschedulable" if failure.status.rejected else "error"
    record.failure_reason, record.failure_message = reason_of(failure), failure.message
    record.unschedulable_plugins, record.pending_plugins = _rejectors(failure)


def _rejectors(failure: Failure) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the plugins that turned the pod down for now, and those that wait for something."""
    if failure.fit is None:
        return (), ()
    diagnosis = failure.fit.diagnosis
    return tuple(diagnosis.unschedulable_plugins), tuple(diagnosis.pending_plugins)


def reason_of(failure: Failure) -> str:
    """Return the reason of the condition."""
    return REASON_UNSCHEDULABLE if failure.status.rejected else REASON_ERROR


def _put_back(scheduler: Scheduler, queued: QueuedPodInfo) -> bool:
    """Return the pod to the queue in its newest state; False when another pod has taken its name."""
    pod = queued.pod
    stored = scheduler.pods.stored(pod.name, pod.namespace)
    if stored is None or stored.view.spec.node_name:
        # Gone, or bound by somebody else (or by an extender whose answer got lost).
        scheduler.queue.done(pod.uid)
        return True
    if stored.uid != pod.uid:
        scheduler.queue.done(pod.uid)
        return False
    if pod.stored is not stored:
        queued.pod = PodInfo(stored.view, stored)
    scheduler.queue.add_unschedulable(queued)
    return True
