"""The controller: starts a Job when the schedule is due, keeps track of those that run, deletes old ones.

Mirrors: pkg/controller/cronjob/{cronjob_controllerv2,utils}.go (v1.36).
Differs: Jobs are found by their owner's uid; a status that met a conflict is written by the next sync.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.rules.cron import CronError, Schedule, is_time_zone, parse_schedule
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.workloads import CronJob, Job
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.client.protocol import Write
from schedlab.controllers.cronjob.schedule import ScheduleError, delay_ns, local_text, missed, zone_of
from schedlab.controllers.framework import kinds, ownership
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    ask,
    attempt,
    split_key,
)
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.controllers.framework.status import new_status
from schedlab.kernel.clock import SECOND_NS

_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_NOT_SUPPORTED: Final = "is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"


class _Draft:
    """A CronJob during one sync, and its status as it is to be written."""

    def __init__(self, stored: StoredObject, now_ns: int) -> None:
        self.stored = stored
        self.view: CronJob = stored.view
        self.now_ns = now_ns
        self.status: dict[str, Any] = dict(stored.raw.get("status") or {})
        self.active: list[Mapping[str, Any]] = list(self.status.get("active") or ())

    def forget(self, uid: str) -> None:
        self.active = [each for each in self.active if each["uid"] != uid]

    def drafted(self) -> dict[str, Any]:
        others = {key: value for key, value in self.status.items() if key != "active"}
        return {**others, "active": self.active} if self.active else others


class CronJobController(Controller):
    """Runs CronJobs."""

    name: ClassVar[str] = "cronjob-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._cron_jobs = context.lister(kinds.CRON_JOB.resource)
        self._jobs = context.lister(kinds.JOB.resource)
        ownership.index_by_controller(self._jobs)
        self._cron_jobs.on_change(self._on_cron_job)
        self._jobs.on_change(self._on_job)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_cron_job(self, event: WatchEvent) -> None:
        stored, before = event.object, event.previous
        if event.type == "MODIFIED" and before is not None:
            spec, old = stored.view.spec, before.view.spec
            if (spec.schedule, spec.time_zone) != (old.schedule, old.time_zone):
                self._plan_anew(stored)
                return
        self.queue.add(stored.key)

    def _plan_anew(self, stored: StoredObject) -> None:
        """Look at the CronJob when its new schedule is due for the first time, not for times before."""
        try:
            spec = stored.view.spec
            schedule = _parse(spec.schedule, spec.time_zone)
            self.queue.add_after(stored.key, delay_ns(stored.view, schedule, self.clock.now_ns()))
        except (CronError, ScheduleError):
            message = f"unparseable schedule for cronjob: {stored.view.spec.schedule}"
            self.events.warning(kinds.CRON_JOB, stored, "UnParseableCronJobSchedule", message)
            self.queue.add(stored.key)

    def _on_job(self, event: WatchEvent) -> None:
        for job in (event.previous, event.object):
            if job is not None:
                reference = ownership.controller_of(job)
                owner = ownership.resolve(self._cron_jobs, kinds.CRON_JOB, job.namespace, reference)
                if owner is not None:
                    self.queue.add(owner.key)

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Look at one CronJob, and plan when to look again."""
        namespace, name = split_key(key)
        stored = self._cron_jobs.stored(name, namespace)
        if stored is None or is_inert(stored.view):
            return
        draft = _Draft(stored, self.clock.now_ns())
        jobs = ownership.controlled_by(self._jobs, stored.uid)
        yield from self._clean_up(draft, jobs)
        error: StatusError | SyncError | None = None
        again_ns = None
        try:
            again_ns = yield from self._sync_one(draft, jobs)
        except (StatusError, SyncError) as failed:
            error = failed
        if draft.drafted() != (stored.raw.get("status") or {}):
            yield from ask(new_status(stored, draft.drafted()))
        if again_ns is not None:
            self.queue.add_after(key, again_ns)
        elif error is not None:
            raise error

    def _sync_one(self, draft: _Draft, jobs: Sequence[StoredObject]) -> Asking[int | None]:
        """Take note of Jobs and start the one that is due; returns after what time to look again."""
        self._note_jobs(draft, jobs)
        if ownership.is_deleted(draft.stored):
            return None
        schedule = self._schedule(draft)
        if schedule is None:
            return None
        try:
            found = missed(draft.view, schedule, draft.now_ns, by_deadline=True)
            if found.many and found.recent_ns is not None:
                message = (
                    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
                )
                self._warn(draft, "TooManyMissedTimes", message)
            if found.recent_ns is not None and (yield from self._start(draft, found.recent_ns)):
                draft.status["lastScheduleTime"] = format_time(found.recent_ns)
            return delay_ns(draft.view, schedule, draft.now_ns)
        except ScheduleError as error:
            self._warn(draft, "InvalidSchedule", f"invalid schedule: {draft.view.spec.schedule} : {error}")
            return None

    def _schedule(self, draft: _Draft) -> Schedule | None:
        """Return the schedule, unless there is none to follow."""
        spec = draft.view.spec
        if spec.time_zone is not None and not is_time_zone(spec.time_zone):
            message = f"invalid timeZone: {quote(spec.time_zone)}: unknown time zone {spec.time_zone}"
            self._warn(draft, "UnknownTimeZone", message)
            return None
        if spec.suspend:
            return None
        if "TZ" in spec.schedule:
            message = f"CRON_TZ or TZ used in schedule {quote(spec.schedule)} {_NOT_SUPPORTED}"
            self._warn(draft, "UnsupportedSchedule", message)
        try:
            return _parse(spec.schedule, spec.time_zone)
        except CronError as error:
            self._warn(draft, "UnparseableSchedule", f"unparseable schedule: {quote(spec.schedule)} : {error}")
            return None

    def _note_jobs(self, draft: _Draft, jobs: Sequence[StoredObject]) -> None:
        known = {each["uid"]: each["name"] for each in draft.active}
        for stored in jobs:
            job: Job = stored.view
            end = job.finished()
            if end is None:
                if stored.uid not in known:
                    message = f"Saw a job that the controller did not create or forgot: {stored.name}"
                    self._warn(draft, "UnexpectedJob", message)
                continue
            if stored.uid in known:
                draft.forget(stored.uid)
                message = f"Saw completed job: {stored.name}, condition: {end.type}"
                self.events.normal(kinds.CRON_JOB, draft.stored, "SawCompletedJob", message)
            if end.type == "Complete" and job.status.completion_time:
                draft.status["lastSuccessfulTime"] = max(
                    draft.status.get("lastSuccessfulTime", ""), job.status.completion_time
                )
        present = {stored.uid: None for stored in jobs}
        for uid, name in known.items():
            if uid not in present and self._jobs.stored(name, draft.stored.namespace) is None:
                self.events.normal(kinds.CRON_JOB, draft.stored, "MissingJob", f"Active job went missing: {name}")
                draft.forget(uid)

    # --- Jobs --------------------------------------------------------------------------------------------------------

    def _start(self, draft: _Draft, due_ns: int) -> Asking[bool]:
        """Start the Job of a time, if it may be; returns whether that time is done with."""
        spec, name = draft.view.spec, f"{draft.stored.name}-{due_ns // SECOND_NS // 60}"
        deadline_s = spec.starting_deadline_seconds
        if deadline_s is not None and due_ns + deadline_s * SECOND_NS < draft.now_ns:
            self._warn(draft, "MissSchedule", f"Missed scheduled time to start a job: {_rfc1123(due_ns)}")
            return False
        last = draft.status.get("lastScheduleTime")
        if any(each["name"] == name for each in draft.active) or (last and parse_time(last) == due_ns):
            return False
        if spec.concurrency_policy == "Forbid" and draft.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.events.normal(kinds.CRON_JOB, draft.stored, "JobAlreadyActive", message)
            return False
        if spec.concurrency_policy == "Replace":
            yield from self._replace(draft)
        created = yield from self._create(draft, name, due_ns)
        if created is None:
            return False
        reference = {
            "kind": kinds.JOB.kind,
            "namespace": created.namespace,
            "name": created.name,
            "uid": created.uid,
            "apiVersion": kinds.JOB.api_version,
            "resourceVersion": str(created.revision),
        }
        draft.active = [*draft.active, reference]
        return True

    def _replace(self, draft: _Draft) -> Steps:
        for each in list(draft.active):
            job = self._jobs.stored(each["name"], each["namespace"])
            if job is None:
                self._warn(draft, "FailedGet", f'Get job: job.batch "{each["name"]}" not found')
                raise SyncError(f"job {each['name']} is gone")
            if not (yield from self._delete(draft, job)):
                raise SyncError(f"could not replace job {job.key}")

    def _create(self, draft: _Draft, name: str, due_ns: int) -> Asking[StoredObject | None]:
        namespace = draft.stored.namespace
        body = _job(draft.stored, name, due_ns)
        outcome = yield from attempt(Write("create", kinds.JOB.resource, namespace, name, body))
        error = outcome.error
        if error is None:
            self.events.normal(kinds.CRON_JOB, draft.stored, "SuccessfulCreate", f"Created job {name}")
            return outcome.object
        if error.reason == "AlreadyExists":
            found = self._jobs.stored(name, namespace)
            known = found is not None and any(each["uid"] == found.uid for each in draft.active)
            return (
                found if found is not None and ownership.is_controlled_by(found, draft.stored) and not known else None
            )
        if not is_namespace_going(error):
            self._warn(draft, "FailedCreate", f"Error creating job: {error}")
        raise error

    def _clean_up(self, draft: _Draft, jobs: Sequence[StoredObject]) -> Steps:
        """Delete the oldest finished Jobs beyond the limits of the history."""
        spec = draft.view.spec
        for kind, limit in (
            ("Complete", spec.successful_jobs_history_limit),
            ("Failed", spec.failed_jobs_history_limit),
        ):
            ended = [job for job in jobs if (end := job.view.finished()) is not None and end.type == kind]
            ended.sort(key=lambda job: (job.view.status.start_time or "~", job.name))
            for job in ended[: max(0, len(ended) - limit) if limit is not None else 0]:
                if not ownership.is_deleted(job):
                    yield from self._delete(draft, job)

    def _delete(self, draft: _Draft, job: StoredObject) -> Asking[bool]:
        body = {"propagationPolicy": "Background"}
        error = (yield from attempt(Write("delete", job.resource, job.namespace, job.name, body))).error
        if error is not None:
            self._warn(draft, "FailedDelete", f"Deleted job: {error}")
            return False
        draft.forget(job.uid)
        self.events.normal(kinds.CRON_JOB, draft.stored, "SuccessfulDelete", f"Deleted job {job.name}")
        return True

    def _warn(self, draft: _Draft, reason: str, message: str) -> None:
        self.events.warning(kinds.CRON_JOB, draft.stored, reason, message)


@lru_cache(maxsize=1024)
def _parse(text: str, zone: str | None) -> Schedule:
    if zone is not None and "TZ" not in text and is_time_zone(zone):
        text = f"TZ={zone} {text}"
    return parse_schedule(text)


def _job(stored: StoredObject, name: str, due_ns: int) -> Object:
    template: Object = stored.raw["spec"]["jobTemplate"]
    source: Object = template.get("metadata") or {}
    zone = zone_of(stored.view.spec.time_zone or "")
    metadata: Object = {
        "name": name,
        "namespace": stored.namespace,
        "annotations": {**(source.get("annotations") or {}), _SCHEDULED: local_text(due_ns, zone)},
        "ownerReferences": [kinds.CRON_JOB.reference(stored)],
    }
    if source.get("labels"):
        metadata["labels"] = dict(source["labels"])
    return {
        "apiVersion": kinds.JOB.api_version,
        "kind": kinds.JOB.kind,
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def _rfc1123(moment_ns: int) -> str:
    return datetime.fromtimestamp(moment_ns // SECOND_NS, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
