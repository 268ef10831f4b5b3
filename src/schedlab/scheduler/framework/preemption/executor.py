"""Makes room on the chosen node: takes nominations back and evicts the victims, in the background.

    nominations of lower priority on the node are taken back
        -> all victims but the last: condition DisruptionTarget, then deletion
        -> the last victim: the same                                        -> the preemptor may be tried again

Until then the preemptor stays out of the queue. The last victim comes apart from the others so that its deletion, which
may be seen before its answer comes, finds the preemptor free to be queued. A victim that is not bound yet is called
back instead of being deleted. With the gate SchedulerAsyncPreemption off, nothing keeps the preemptor out of the queue,
and nominations are taken back at the end.

Mirrors: pkg/scheduler/framework/preemption/executor.go (v1.36).
Differs: victims of a step are marked together and then deleted together. Without the gate, too, the cycle does not wait
for the answers, so an eviction that fails does not fail the attempt. A write that fails is not tried again: the
preemptor is. Pod groups (WorkloadAwarePreemption) are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from schedlab.apimachinery.errors import NotFound
from schedlab.client.protocol import Outcome, Write
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.pod_status import NewCondition, status_patch

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import PodInfo

PODS: Final = "pods"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"


@dataclass(frozen=True, slots=True)
class Step:
    """Take the nominations of pods back, or evict pods, the last of all victims apart."""

    kind: Literal["clear", "evict", "evict last"]
    pods: tuple[PodInfo, ...]


@dataclass(frozen=True, slots=True)
class Eviction:
    """How far it has come: the note of the work.

    steps: what is left after the one under way. pods: who is being evicted in that, `written` whom its writes are
    about. failed: something went wrong; stopped: so that the last victim is spared.
    """

    preemptor: PodInfo
    node: str
    steps: tuple[Step, ...]
    phase: Literal["clear", "mark", "delete"] = "clear"
    pods: tuple[PodInfo, ...] = ()
    written: tuple[PodInfo, ...] = ()
    failed: bool = False
    stopped: bool = False


class Executor:
    """Evicts victims for preemptors; knows who is at it."""

    def __init__(self, handle: Handle, plugin_name: str) -> None:
        self._handle = handle
        self._plugin_name = plugin_name
        self._is_async = handle.features.enabled("SchedulerAsyncPreemption")
        self._preempting: dict[str, None] = {}
        self._last_victim: dict[str, PodInfo] = {}

    def to_delete(self, victims: Sequence[PodInfo]) -> tuple[PodInfo, ...]:
        """Return the victims that will be deleted: neither on their way out already nor called back."""
        handle = self._handle
        return tuple(
            pod
            for pod in _to_evict(victims)
            if handle.waiting_pod(pod.uid) is None and handle.pod_in_pre_bind(pod.uid) is None
        )

    def is_preempting(self, uid: str) -> bool:
        """Whether the pod still waits for evictions; once the last victim is on its way out it does not."""
        if uid not in self._preempting:
            return False
        last = self._last_victim.get(uid)
        if last is None:
            return True
        current = self._handle.listers.lister(PODS).get(last.name, last.namespace)
        return current is not None and current.metadata.deletion_timestamp is None

    def start(self, preemptor: PodInfo, node: str, victims: Sequence[PodInfo]) -> Work | None:
        """Begin; return what is to be done first, or None when there is nothing to do (any more)."""
        pods = _to_evict(victims)
        clear = Step("clear", self._lower_nominated(preemptor, node))
        if pods or not self._is_async:
            self._handle.metrics.victims_chosen(len(victims))
        if not self._is_async:
            return self._go_on(Eviction(preemptor, node, (Step("evict", pods), clear)))
        if not pods:
            return None
        self._handle.metrics.preemption_started()
        self._preempting[preemptor.uid] = None
        return self._go_on(Eviction(preemptor, node, (clear, Step("evict", pods[:-1]), Step("evict last", pods[-1:]))))

    def resume(self, work: Work, outcomes: Sequence[Outcome]) -> Work | None:
        """Go on after the writes were answered."""
        note: Eviction = work.note
        errors = {
            pod.uid: outcome.error
            for pod, outcome in zip(note.written, outcomes, strict=True)
            if outcome.error is not None
        }
        # A victim that is gone already is as good as evicted, if without an event.
        failed = any(note.phase == "clear" or not isinstance(error, NotFound) for error in errors.values())
        note = replace(note, failed=note.failed or failed, stopped=note.stopped or (failed and note.phase != "clear"))
        left = tuple(pod for pod in note.pods if pod.uid not in errors)
        if note.phase == "mark":
            return self._delete(replace(note, pods=left))
        if note.phase == "delete":
            for pod in left:
                self._record_event(note, pod)
        return self._go_on(note)

    # --- Steps ---

    def _go_on(self, note: Eviction) -> Work | None:
        """Begin with the steps that are left, until one has to wait."""
        if not note.steps:
            self._end(note)
            return None
        step, note = note.steps[0], replace(note, steps=note.steps[1:])
        if step.kind == "clear":
            return self._clear(note, step.pods)
        if step.kind == "evict last":
            if note.stopped:
                return self._go_on(note)
            self._last_victim[note.preemptor.uid] = step.pods[0]
        return self._mark(replace(note, pods=tuple(pod for pod in step.pods if not self._call_back(note, pod))))

    def _clear(self, note: Eviction, pods: tuple[PodInfo, ...]) -> Work | None:
        now = self._handle.clock.now_ns()
        patches = [(pod, status_patch(pod.pod, None, "", now)) for pod in pods]
        return _work(replace(note, phase="clear", pods=pods), patches) or self._go_on(note)

    def _mark(self, note: Eviction) -> Work | None:
        text = f"{note.preemptor.pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = NewCondition(DISRUPTION_TARGET, "True", PREEMPTION_BY_SCHEDULER, text)
        now = self._handle.clock.now_ns()
        patches = [(pod, status_patch(pod.pod, condition, None, now)) for pod in note.pods]
        return _work(replace(note, phase="mark"), patches) or self._delete(note)

    def _delete(self, note: Eviction) -> Work | None:
        deletes = [(pod, Write("delete", PODS, pod.namespace, pod.name)) for pod in note.pods]
        return _work(replace(note, phase="delete"), deletes) or self._go_on(note)

    def _call_back(self, note: Eviction, pod: PodInfo) -> bool:
        """Take back a victim that is not bound yet; False when it has to be deleted."""
        waiting = self._handle.waiting_pod(pod.uid)
        if waiting is not None:
            called_back = waiting.preempt(self._plugin_name, "preempted")
        else:
            in_pre_bind = self._handle.pod_in_pre_bind(pod.uid)
            called_back = in_pre_bind is not None and in_pre_bind.cancel(f"preempted by {self._plugin_name}")
        if called_back:
            self._record_event(note, pod, " (in kube-scheduler memory).")
        return called_back

    def _record_event(self, note: Eviction, pod: PodInfo, more: str = "") -> None:
        text = f"Preempted by pod {note.preemptor.uid} on node {note.node}{more}"
        self._handle.record_event(pod, note.preemptor, "Normal", "Preempted", "Preempting", text)

    def _end(self, note: Eviction) -> None:
        self._preempting.pop(note.preemptor.uid, None)
        self._last_victim.pop(note.preemptor.uid, None)
        if note.failed:
            # No event will come that could wake the preemptor.
            self._handle.activate((note.preemptor,))

    def _lower_nominated(self, preemptor: PodInfo, node: str) -> tuple[PodInfo, ...]:
        """Pods that were promised the node and have to find another place now."""
        nominated = self._handle.nominator.pods_for_node(node)
        return tuple(pod for pod in nominated if pod.priority < preemptor.priority)


def _to_evict(victims: Sequence[PodInfo]) -> tuple[PodInfo, ...]:
    """Leave out the victims that are being deleted already."""
    return tuple(pod for pod in victims if pod.pod.metadata.deletion_timestamp is None)


def _work(note: Eviction, writes: Sequence[tuple[PodInfo, Write | None]]) -> Work | None:
    """Return the work of the writes that there are, if any."""
    needed = [(pod, write) for pod, write in writes if write is not None]
    if not needed:
        return None
    note = replace(note, written=tuple(pod for pod, _ in needed))
    return Work(tuple(write for _, write in needed), note=note)
