"""Binding cycles: from an assumed pod to a bound one, or back.

    start -> nominate* -> permit wait* -> pre_bind (groups of plugins, one after the other) -> bind -> bound
                                |                    |                                           |
                                +--------------------+-------------------- fails ----------------+--> undone

    * only when there is something to wait for

Any number of them run beside the scheduling cycles. A cycle is a plain object that is called back when what it waits
for has come; a fork of the cluster drops it, as a restart would.

Mirrors: bindingCycle, bind and handleBindingCycleError of pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from schedlab.scheduler import metrics
from schedlab.scheduler.failure import handle_failure, reason_of
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.pod_status import status_patch
from schedlab.scheduler.framework.record import CUSTOM_RESULTS, BindingRecord, ExtenderCall
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.queue.cluster_events import ASSIGNED_POD_DELETE
from schedlab.scheduler.runtime.diagnosis import Diagnosis, FitError, NodeToStatusMap
from schedlab.scheduler.runtime.errors import as_status, failure_of, wrapped
from schedlab.scheduler.runtime.waiting import PodInPreBind
from schedlab.scheduler.schedule_one import CLEAR_NOMINATION, Failure
from schedlab.scheduler.work import Job

if TYPE_CHECKING:
    from schedlab.scheduler.extender import HTTPExtender
    from schedlab.scheduler.framework.interface import CycleState, ExtenderAnswer, ExtenderRequest
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.scheduler import Scheduler

Phase = Literal["nominate", "permit", "pre_bind", "bind", "bound", "undone"]


class Binding(msgspec.Struct):
    """One binding cycle; `pod` is the assumed pod."""

    scheduler: Scheduler
    framework: Framework
    queued: QueuedPodInfo
    pod: PodInfo
    node: str
    state: CycleState
    started_ns: int
    phase: Phase = "nominate"
    record: BindingRecord | None = None
    _pre_flight: Status | None = None
    _groups: list[list[Any]] = []
    _working: dict[str, Job | None] = {}
    _permit_since_ns: int = 0
    # When pre_bind or bind began.
    _phase_since_ns: int = 0

    # --- Before pre_bind ---

    def start(self) -> None:
        """Begin, right after the scheduling cycle."""
        scheduler = self.scheduler
        scheduler.bindings[self.pod.uid] = self
        if scheduler.observer is not None:
            self.record = BindingRecord(self.pod, self.queued.attempts, self.node, 0)
        if scheduler.nominates_before_binding:
            status = self._pre_flight = self.framework.run_pre_bind_pre_flights(self.state, self.pod, self.node)
            if status is not None and status.code != Code.SKIP:
                self._fail(Failure(status))
                return
            if status is None or self._waiting() is not None:
                # Tells outside components that the node is about to be used.
                patch = status_patch(self.pod.pod, None, self.node, scheduler.clock.now_ns())
                if patch is not None:
                    scheduler.outbox.write(patch, lambda _: self._wait_on_permit())
                    return
        self._wait_on_permit()

    def _waiting(self) -> Any:
        return self.scheduler.on_the_way.waiting.get(self.pod.uid)

    def _wait_on_permit(self) -> None:
        self.phase = "permit"
        waiting = self._waiting()
        if waiting is None:
            self._pre_bind()
        else:
            self._permit_since_ns = self.scheduler.clock.now_ns()
            between = self.scheduler.outbox.between_cycles
            waiting.when_over(lambda status: between(lambda: self._permitted(status)))

    def _permitted(self, status: Status | None) -> None:
        scheduler = self.scheduler
        del scheduler.on_the_way.waiting[self.pod.uid]
        if scheduler.metrics is not None:
            text = "Success" if status is None else status.code.text
            scheduler.metrics.permit_wait(text, scheduler.clock.now_ns() - self._permit_since_ns)
        if status is None:
            self._pre_bind()
        elif status.rejected:
            diagnosis = Diagnosis(NodeToStatusMap(scheduler.cache.table), {status.plugin: None})
            diagnosis.nodes.set(self.node, status)
            self._fail(Failure(status, CLEAR_NOMINATION, FitError(1, diagnosis)))
        else:
            self._fail(Failure(wrapped("waiting on permit for pod", status, status.plugin)))

    # --- PreBind ---

    def _pre_bind(self) -> None:
        """From here on the pod cannot become unschedulable: failures are retried after a backoff."""
        self.phase = "pre_bind"
        self._phase_since_ns = self.scheduler.clock.now_ns()
        self.scheduler.queue.done(self.pod.uid)
        if self._pre_flight is None:
            between = self.scheduler.outbox.between_cycles
            self.scheduler.on_the_way.in_pre_bind[self.pod.uid] = PodInPreBind(
                lambda message: between(lambda: self._cancelled(message))
            )
        self._groups = self.framework.pre_bind_groups(self.state)
        self._next_group()

    def _next_group(self) -> None:
        if not self._groups:
            self._after_pre_bind()
            return
        group = self._groups.pop(0)
        self._working = dict.fromkeys((plugin.name for plugin in group), None)
        for plugin in group:
            if self.phase != "pre_bind":
                return
            self._start_pre_bind(plugin)

    def _start_pre_bind(self, plugin: Any) -> None:
        result = self._ask(plugin.pre_bind)
        if isinstance(result, Work):
            name = plugin.name
            job = Job(
                self.scheduler.outbox, plugin, self.state, self.pod, self.node, lambda s: self._pre_bound(name, s)
            )
            self._working[name] = job
            job.start(result)
        else:
            self._pre_bound(plugin.name, result)

    def _pre_bound(self, name: str, status: Status | None) -> None:
        if self.record is not None:
            self.record.pre_bind[name] = status
        if status is not None and status.code != Code.SUCCESS:
            self._count_point("PreBind", status)
            if name == "VolumeBinding":
                self.framework.metrics.volume_stage_failed("bind")
            self._stop_working()
            if status.rejected:
                self._fail(Failure(status.with_plugin(name)))
            else:
                self._fail(Failure(wrapped(f'running PreBind plugin "{name}"', status)))
            return
        del self._working[name]
        if not self._working:
            self._next_group()

    def _cancelled(self, message: str) -> None:
        """The pod was preempted meanwhile."""
        if self.phase != "pre_bind":
            return
        names = list(self._working)
        self._stop_working()
        status = Status(Code.ERROR, (), "", message)
        if names:
            status = wrapped(f'running PreBind plugin "{names[0]}"', status)
        self._fail(Failure(status))

    def _count_point(self, point: str, status: Status | None) -> None:
        if self.scheduler.metrics is None:
            return
        elapsed_ns = self.scheduler.clock.now_ns() - self._phase_since_ns
        text = "Success" if status is None else status.code.text
        self.framework.metrics.point(point, text, self.framework.profile_name, elapsed_ns)

    def _stop_working(self) -> None:
        for job in self._working.values():
            if job is not None:
                job.cancel()
        self._working = {}

    def _ask(self, method: Any) -> Any:
        try:
            answer = method(self.state, self.pod, self.node)
            return answer if isinstance(answer, Work) else as_status(answer)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; it fails the pod, not the scheduler
            return failure_of(error)

    # --- Bind ---

    def _after_pre_bind(self) -> None:
        in_pre_bind = self.scheduler.on_the_way.in_pre_bind.get(self.pod.uid)
        if in_pre_bind is not None:
            in_pre_bind.finish()
        self._count_point("PreBind", None)
        self.phase = "bind"
        self._phase_since_ns = self.scheduler.clock.now_ns()
        self._ask_extender(0)

    def _ask_extender(self, index: int) -> None:
        for at, extender in enumerate(self.scheduler.extenders[index:], index):
            if extender.is_binder and extender.is_interested(self.pod):
                request = extender.bind_request(self.pod, self.node)

                def answered(
                    answers: tuple[ExtenderAnswer, ...],
                    at: int = at,
                    extender: HTTPExtender = extender,
                    request: ExtenderRequest = request,
                ) -> None:
                    self._extender_bound(at, extender, request, answers[0])

                self.scheduler.outbox.ask((request,), answered)
                return
        self._bind(0)

    def _extender_bound(
        self, at: int, extender: HTTPExtender, request: ExtenderRequest, answer: ExtenderAnswer
    ) -> None:
        if self.record is not None:
            self.record.extender_calls.append(
                ExtenderCall(extender.name, request.verb, request.body, answer.result, answer.error)
            )
        text = extender.bind_result(answer)
        if text and extender.ignorable:
            self._ask_extender(at + 1)
        else:
            self._bind_ended(Status(Code.ERROR, (), "", text) if text else None)

    def _bind(self, index: int) -> None:
        plugin = self.framework.bind_plugins[index]
        result = self._ask(plugin.bind)
        if isinstance(result, Work):
            outbox = self.scheduler.outbox
            job = Job(outbox, plugin, self.state, self.pod, self.node, lambda s: self._plugin_bound(index, s))
            job.start(result)
        else:
            self._plugin_bound(index, result)

    def _plugin_bound(self, index: int, status: Status | None) -> None:
        plugins = self.framework.bind_plugins
        name = plugins[index].name
        if self.record is not None:
            self.record.bind[name] = status
        if status is not None and status.code == Code.SKIP and index + 1 < len(plugins):
            self._bind(index + 1)
            return
        self._count_point("Bind", status)
        if status is None or status.code in {Code.SUCCESS, Code.SKIP}:
            self._bind_ended(status)
        elif status.rejected:
            self._bind_ended(status.with_plugin(name))
        else:
            self._bind_ended(wrapped(f'running Bind plugin "{name}"', status))

    def _bind_ended(self, status: Status | None) -> None:
        if status is not None and status.code != Code.SUCCESS:
            self._fail(Failure(status))
            return
        scheduler, framework, pod = self.scheduler, self.framework, self.pod
        note = f"Successfully assigned {pod.key} to {self.node}"
        scheduler.send_event(pod, None, "Normal", "Scheduled", "Binding", note, framework.profile_name)
        if scheduler.metrics is not None:
            now, first = scheduler.clock.now_ns(), self.queued.initial_attempt_ns
            scheduler.metrics.attempt(metrics.SCHEDULED, framework.profile_name, now - self.started_ns)
            scheduler.metrics.bound(
                self.queued.attempts, None if first is None else now - first, flushed=self.queued.was_flushed
            )
        framework.run_post_bind(self.state, pod, self.node)
        scheduler.activate_pods_of(self.state)
        self._end("bound")

    # --- The end ---

    def _fail(self, failure: Failure) -> None:
        """Undo the assumption, wake the pods that wait for room, and put the pod back."""
        scheduler, pod = self.scheduler, self.pod
        if self.record is not None:
            self.record.error, self.record.failure_reason = failure.message, reason_of(failure)
            if failure.fit is not None:
                self.record.unschedulable_plugins = tuple(failure.fit.diagnosis.unschedulable_plugins)
        self._end("undone")
        forgotten = scheduler.unreserve_and_forget(self.framework, self.state, pod, self.node)
        rejected = failure.status.rejected
        if forgotten and not rejected:
            scheduler.queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None)
        handle_failure(scheduler, self.framework, self.queued, failure, self.started_ns)
        if forgotten and rejected:
            # The pod itself has just become unschedulable; its own end must not wake it.
            scheduler.queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None, lambda other: other.uid != pod.uid)

    def _end(self, phase: Phase) -> None:
        scheduler = self.scheduler
        self.phase = phase
        del scheduler.bindings[self.pod.uid]
        scheduler.on_the_way.in_pre_bind.pop(self.pod.uid, None)
        if self.record is not None and scheduler.observer is not None:
            self.record.finished_ns = scheduler.clock.now_ns()
            self.record.custom = dict(self.state.find(CUSTOM_RESULTS) or {})
            scheduler.observer.binding(self.record)
