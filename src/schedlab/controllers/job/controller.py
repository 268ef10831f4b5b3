"""The controller: makes pods until enough have succeeded or too many have failed.

    pods ──► failed or met its success policy? ──► delete what runs      ──► count what has ended ──► status
          └► no: make or delete pods up to parallelism ──► all done? ──┘

Mirrors: pkg/controller/job/job_controller.go (v1.36).
Differs: pods of a finished Job are found by their owner, not by its selector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.core import Pod
from schedlab.api.views.workloads import Job
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.controllers.framework import kinds, ownership
from schedlab.controllers.framework import pods as pod_rules
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, attempt, split_key
from schedlab.controllers.framework.expectations import Expectations
from schedlab.controllers.framework.pod_control import PodControl, is_namespace_going, slow_start
from schedlab.controllers.framework.work_queue import WorkQueue
from schedlab.controllers.job.failures import FailureRecord, remaining_of_index_ns
from schedlab.controllers.job.indexes import UNKNOWN
from schedlab.controllers.job.pods import creation, to_remove, without_tracking
from schedlab.controllers.job.policies import success_message
from schedlab.controllers.job.state import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    TRACKING,
    JobState,
    is_tracked,
    new_condition,
)
from schedlab.controllers.job.tracking import Tracking
from schedlab.kernel.clock import SECOND_NS

_BATCH_NS: Final = SECOND_NS
_RETRY_MAX_NS: Final = 60 * SECOND_NS
_PODS_PER_SYNC_MAX: Final = 500
_OWN_NAME: Final = "kubernetes.io/job-controller"
_POD_KEY: Final = "pod:"
_OWNER_KEY: Final = "owner:"


class JobController(Controller):
    """Keys are those of Jobs, of pods behind `pod:`, and uids of Jobs that have ended behind `owner:`."""

    name: ClassVar[str] = "job-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.queue = WorkQueue(context.clock, retry_base_ns=SECOND_NS, retry_max_ns=_RETRY_MAX_NS)
        self._expectations = Expectations(context.clock)
        self._control = PodControl(kinds.JOB, self.events)
        self._jobs = context.lister(kinds.JOB.resource)
        self._pods = context.lister("pods")
        ownership.index_by_controller(self._pods)
        self._failures: dict[str, FailureRecord] = {}
        #: Finalizers on their way out, by Job and pod.
        self._removing: dict[str, dict[str, None]] = {}
        #: Jobs that have ended, until the cache knows.
        self._ended: dict[str, None] = {}
        self._clears_start_time = context.features.enabled("MutableSchedulingDirectivesForSuspendedJobs")
        self._jobs.on_change(self._on_job)
        self._pods.on_change(self._on_pod)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_job(self, event: WatchEvent) -> None:
        stored, before = event.object, event.previous
        job: Job = stored.view
        if event.type == "DELETED":
            self._ended.pop(stored.uid, None)
            self._failures.pop(stored.key, None)
            self.queue.add(stored.key)
            self.queue.add(_OWNER_KEY + stored.uid)
        elif before is None:
            self.queue.add(stored.key)
        elif job.finished() is not None:
            self._ended.pop(stored.uid, None)
            self.queue.add(_OWNER_KEY + stored.uid)
        else:
            same = job.metadata.generation == before.view.metadata.generation
            self.queue.add_after(stored.key, _BATCH_NS if same else 0)
            deadline_s = job.spec.active_deadline_seconds
            if (
                job.status.start_time
                and deadline_s is not None
                and deadline_s != before.view.spec.active_deadline_seconds
            ):
                self.queue.add_after(stored.key, self._deadline_ns(job) - self.clock.now_ns())

    def _on_pod(self, event: WatchEvent) -> None:
        if ownership.is_foreign(event, kinds.JOB):
            return
        pod, before = event.object, event.previous
        if event.type == "DELETED" or ownership.is_deleted(pod):
            self._pod_gone(pod, final=event.type == "DELETED")
            return
        owner = self._owner(pod)
        former = None if before is None else self._owner(before)
        for job in (former, owner):
            if job is not None:
                if not is_tracked(pod):
                    self._removing.get(job.key, {}).pop(pod.uid, None)
                self.queue.add_after(job.key, _BATCH_NS)
        if before is None and owner is not None:
            self._expectations.creation_observed(owner.key)
        if ownership.controller_of(pod) is not None:
            return
        if is_tracked(pod):
            self.queue.add(_POD_KEY + pod.key)
        if before is None or former is not None or before.labels != pod.labels:
            for each in self._jobs.all_stored(pod.namespace):
                selector = selectors.selector_from_view(each.view.spec.selector)
                if not selector.is_empty and selector.matches(pod.labels):
                    self.queue.add_after(each.key, _BATCH_NS)

    def _pod_gone(self, pod: StoredObject, *, final: bool) -> None:
        job, tracked = self._owner(pod), is_tracked(pod)
        if job is None or job.view.finished() is not None:
            if tracked and not final:
                self.queue.add(_POD_KEY + pod.key)
            return
        self._expectations.deletion_observed(job.key, pod.key)
        if final or not tracked:
            self._removing.get(job.key, {}).pop(pod.uid, None)
        self.queue.add_after(job.key, _BATCH_NS)

    def _owner(self, pod: StoredObject) -> StoredObject | None:
        return ownership.resolve(self._jobs, kinds.JOB, pod.namespace, ownership.controller_of(pod))

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Look at one Job, or let pods go that no living Job counts."""
        if key.startswith(_POD_KEY):
            namespace, name = split_key(key.removeprefix(_POD_KEY))
            pod = self._pods.stored(name, namespace)
            yield from self._let_go([] if pod is None else [pod])
        elif key.startswith(_OWNER_KEY):
            yield from self._let_go(ownership.controlled_by(self._pods, key.removeprefix(_OWNER_KEY)))
        else:
            yield from self._sync_job(key)

    def _let_go(self, pods: Sequence[StoredObject]) -> Steps:
        for pod in pods:
            reference = ownership.controller_of(pod)
            if reference is not None and reference.kind != kinds.JOB.kind:
                continue
            job = self._owner(pod)
            if not is_tracked(pod) or (job is not None and (_is_foreign(job) or job.view.finished() is None)):
                continue
            outcome = yield from attempt(without_tracking(pod))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error

    def _sync_job(self, key: str) -> Steps:
        namespace, name = split_key(key)
        stored = self._jobs.stored(name, namespace)
        if stored is None:
            self._forget(key)
            return
        if _is_foreign(stored) or is_inert(stored.view) or stored.uid in self._ended:
            return
        if stored.view.finished() is not None:
            self._failures.pop(key, None)
            return
        satisfied = self._expectations.satisfied(key)
        pods = yield from self._claim(stored)
        removing = self._removing.setdefault(key, {})
        record = self._failures.get(key, FailureRecord())
        state = JobState(stored, pods, dict(removing), record, self.clock.now_ns())
        if not state.view.status.start_time and not state.view.spec.suspend:
            state.status["startTime"] = format_time(state.now_ns)
        self._decide_end(state)
        error, changed = yield from self._act(state, satisfied=satisfied)
        changed = self._draft_counts(state) or changed
        tracking = Tracking(state, removing)
        yield from tracking.run(dirty=changed)
        if tracking.is_noted:
            self._failures[key] = state.record
        if tracking.has_ended:
            self._tell_end(state)
        if error is not None:
            raise error

    def _forget(self, key: str) -> None:
        self._expectations.forget(key)
        self._removing.pop(key, None)
        self._failures.pop(key, None)

    def _claim(self, stored: StoredObject) -> Asking[list[StoredObject]]:
        selector = selectors.selector_from_view(stored.view.spec.selector)
        claim = ownership.Claim(
            kinds.JOB, stored, self._jobs, lambda pod: selector.matches(pod.labels), finalizers=(TRACKING,)
        )
        owned = ownership.controlled_by(self._pods, stored.uid)
        self.queue.rest(stored.key, len(owned))
        return (yield from claim.all([*owned, *ownership.orphans(self._pods, stored.namespace)]))

    # --- The end -----------------------------------------------------------------------------------------------------

    def _decide_end(self, state: JobState) -> None:
        """Find out whether the Job has to end."""
        state.end = state.condition(SUCCESS_CRITERIA_MET)
        failure = state.condition(FAILURE_TARGET)
        if state.end is None and failure is not None:
            state.end = new_condition(FAILED, "True", failure["reason"], failure["message"], state.now_ns)
        elif state.end is None and (message := state.failure_message()):
            state.end = new_condition(FAILURE_TARGET, "True", "PodFailurePolicy", message, state.now_ns)
        if state.end is None:
            self._decide_by_limits(state)
        if state.is_indexed:
            state.count_indexes()
            self._decide_by_indexes(state)

    def _decide_by_limits(self, state: JobState) -> None:
        spec = state.view.spec
        if state.failed > spec.backoff_limit or _restarts_exceeded(state):
            self._fail(state, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        elif spec.active_deadline_seconds is not None and not spec.suspend and state.status.get("startTime"):
            left_ns = self._deadline_of(state) - state.now_ns
            if state.view.status.start_time and left_ns <= 0:
                self._fail(state, "DeadlineExceeded", "Job was active longer than specified deadline")
            else:
                self.queue.add_after(state.stored.key, max(left_ns, 1))

    def _decide_by_indexes(self, state: JobState) -> None:
        spec = state.view.spec
        if state.failed_indexes is not None:
            failed = len(state.failed_indexes)
            if state.end is None and spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
                message = "Job has exceeded the specified maximal number of failed indexes"
                self._fail(state, "MaxFailedIndexesExceeded", message)
            elif state.end is None and failed and failed + len(state.succeeded_indexes) >= state.completions:
                self._fail(state, "FailedIndexes", "Job has failed indexes")
            state.find_waiting()
        if state.end is None:
            message = success_message(spec.success_policy, state.completions, state.succeeded_indexes)
            if message:
                state.end = new_condition(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", message, state.now_ns)

    @staticmethod
    def _fail(state: JobState, reason: str, message: str) -> None:
        state.end = new_condition(FAILURE_TARGET, "True", reason, message, state.now_ns)

    @staticmethod
    def _deadline_of(state: JobState) -> int:
        start_ns = parse_time(state.view.status.start_time) if state.view.status.start_time else state.now_ns
        return start_ns + (state.view.spec.active_deadline_seconds or 0) * SECOND_NS

    @staticmethod
    def _deadline_ns(job: Job) -> int:
        return parse_time(job.status.start_time or "") + (job.spec.active_deadline_seconds or 0) * SECOND_NS

    def _tell_end(self, state: JobState) -> None:
        assert state.end is not None
        self._ended[state.stored.uid] = None
        current = self._jobs.stored(state.stored.name, state.stored.namespace)
        if current is None or current.uid != state.stored.uid or current.view.finished() is not None:
            # The cache is as far already.
            self._ended.pop(state.stored.uid, None)
        if state.end["type"] == COMPLETE:
            completions = state.view.spec.completions
            if completions is not None and state.status.get("succeeded", 0) > completions:
                message = "Too many succeeded pods running after completion count reached"
                self.events.warning(kinds.JOB, state.stored, "TooManySucceededPods", message)
            self.events.normal(kinds.JOB, state.stored, "Completed", "Job completed")
        else:
            self.events.warning(kinds.JOB, state.stored, state.end["reason"], state.end["message"])

    # --- Pods --------------------------------------------------------------------------------------------------------

    def _act(self, state: JobState, *, satisfied: bool) -> Asking[tuple[StatusError | None, bool]]:
        """Delete what runs if the Job has to end, else make or delete pods; returns an error, and what is news."""
        if state.end is not None:
            error = yield from self._delete_active(state)
            if state.active or not satisfied:
                # Not before all have been asked to end, and nothing is on its way.
                state.end = None
            return error, False
        error = None
        managed = satisfied and not ownership.is_deleted(state.stored)
        if managed:
            error = yield from self._manage(state)
        completions = state.view.spec.completions
        enough = state.succeeded > 0 if completions is None else state.succeeded >= completions
        if enough and not state.active:
            message = "Reached expected number of succeeded pods"
            state.end = new_condition(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", message, state.now_ns)
            return error, False
        return error, managed and self._note_suspension(state)

    def _note_suspension(self, state: JobState) -> bool:
        if state.view.spec.suspend:
            if not state.ensure_condition("Suspended", "True", "JobSuspended", "Job suspended"):
                return False
            self.events.normal(kinds.JOB, state.stored, "Suspended", "Job suspended")
            if self._clears_start_time:
                state.status.pop("startTime", None)
            return True
        if not state.ensure_condition("Suspended", "False", "JobResumed", "Job resumed"):
            return False
        self.events.normal(kinds.JOB, state.stored, "Resumed", "Job resumed")
        state.status["startTime"] = format_time(state.now_ns)
        return True

    def _delete_active(self, state: JobState) -> Asking[StatusError | None]:
        errors = yield from self._control.delete(state.stored, state.active_pods)
        first_error = None
        for pod, error in zip(state.active_pods, errors, strict=True):
            if error is None or error.reason == "NotFound":
                state.active -= 1
                state.terminating += 1
            else:
                first_error = first_error or error
            state.ready -= pod_rules.is_ready(pod.view)
        return first_error

    def _manage(self, state: JobState) -> Asking[StatusError | None]:
        """Make or delete pods."""
        spec = state.view.spec
        if spec.suspend:
            return (yield from self._remove(state, to_remove(state, state.active)))
        if spec.completions is None:
            wanted = state.active if state.succeeded > 0 else spec.parallelism
        else:
            wanted = max(0, min(spec.completions - state.succeeded, spec.parallelism))
        surplus = to_remove(state, max(0, state.active - wanted))[:_PODS_PER_SYNC_MAX]
        if surplus:
            return (yield from self._remove(state, surplus))
        missing = wanted - state.active - (state.terminating if state.replaces_failed_only else 0)
        if missing <= 0:
            return None
        indexes, wait_ns = self._to_create(state, min(missing, _PODS_PER_SYNC_MAX))
        if wait_ns:
            self.queue.add_after(state.stored.key, wait_ns)
            # As upstream: while it waits, a Job counts no pod as active.
            state.active = 0
            return None
        return (yield from self._create(state, indexes))

    def _to_create(self, state: JobState, count: int) -> tuple[list[int], int]:
        """Return for which indexes pods are to be made now, or how long to wait."""
        if not state.is_per_index and (wait_ns := state.record.remaining_ns(state.now_ns)):
            return [], wait_ns
        if not state.is_indexed:
            return [UNKNOWN] * count, 0
        pending = state.first_pending_indexes(count)
        if not state.is_per_index:
            return pending, 0
        waits = {each: remaining_of_index_ns(state.waiting_per_index.get(each), state.now_ns) for each in pending}
        due = [index for index, wait_ns in waits.items() if not wait_ns]
        return due, 0 if due else min(waits.values(), default=0)

    def _create(self, state: JobState, indexes: Sequence[int]) -> Asking[StatusError | None]:
        key, job = state.stored.key, state.stored
        self._expectations.expect_creations(key, len(indexes))
        outcomes = yield from slow_start([creation(state, index) for index in indexes])
        errors = [error for error in (self._control.created(job, each) for each in outcomes) if error is not None]
        errors = [error for error in errors if not is_namespace_going(error)]
        unseen = len(errors) + len(indexes) - len(outcomes)
        self._expectations.creation_observed(key, unseen)
        state.active += len(indexes) - unseen
        return errors[0] if errors else None

    def _remove(self, state: JobState, surplus: Sequence[StoredObject]) -> Asking[StatusError | None]:
        """Delete pods that are not to be counted."""
        key = state.stored.key
        self._expectations.expect_deletions(key, [pod.key for pod in surplus])
        tracked = [pod for pod in surplus if is_tracked(pod)]
        outcomes = yield [without_tracking(pod) for pod in tracked]
        errors = {pod.uid: outcome.error for pod, outcome in zip(tracked, outcomes, strict=True) if outcome.error}
        free = [pod for pod in surplus if pod.uid not in errors]
        deleted = yield from self._control.delete(state.stored, free)
        errors |= {pod.uid: error for pod, error in zip(free, deleted, strict=True) if error is not None}
        first_error = None
        for pod in surplus:
            error = errors.get(pod.uid)
            if error is not None:
                self._expectations.deletion_observed(key, pod.key)
            if error is None or error.reason == "NotFound":
                state.active -= 1
                state.terminating += 1
            else:
                first_error = first_error or error
            state.ready -= pod_rules.is_ready(pod.view)
        return first_error

    def _draft_counts(self, state: JobState) -> bool:
        """Put the counts of living pods into the status; returns whether they are news."""
        known = state.view.status
        changed = (state.active, state.ready, state.terminating) != (known.active, known.ready, known.terminating)
        state.status |= {"active": state.active, "ready": state.ready, "terminating": state.terminating}
        return changed


def _is_foreign(job: StoredObject) -> bool:
    """Whether another controller looks after the Job."""
    return job.view.spec.managed_by not in (None, _OWN_NAME)


def _restarts_exceeded(state: JobState) -> bool:
    """Whether containers that restart in place have failed too often."""
    spec = state.view.spec
    if spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = 0
    for pod in state.pods:
        view: Pod = pod.view
        if view.status.phase in ("Running", "Pending"):
            statuses = (*view.status.init_container_statuses, *view.status.container_statuses)
            restarts += sum(each.restart_count for each in statuses)
    return restarts > 0 if not spec.backoff_limit else restarts >= spec.backoff_limit
