"""The columns of jobs and cron jobs.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.selectors import label_selector_text
from schedlab.apimachinery.table import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    Object,
    Printer,
    age,
    between,
    name_of,
    since,
)
from schedlab.apiserver.printers.common import (
    CONTAINERS,
    IMAGES,
    container_cells,
    has_true_condition,
    part,
    pod_spec,
    shows,
)


def _job_cells(job: Object, now_ns: int) -> Sequence[Cell]:
    return (
        name_of(job),
        _job_status(job),
        _completions(job),
        _job_duration(job, now_ns),
        age(job, now_ns),
        *container_cells(pod_spec(job)),
        label_selector_text(part(job, "spec").get("selector")),
    )


def _job_status(job: Object) -> str:
    if has_true_condition(job, "Complete"):
        return "Complete"
    if has_true_condition(job, "Failed"):
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if has_true_condition(job, "Suspended"):
        return "Suspended"
    return "FailureTarget" if has_true_condition(job, "FailureTarget") else "Running"


def _completions(job: Object) -> str:
    spec, succeeded = part(job, "spec"), part(job, "status").get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Object, now_ns: int) -> str:
    status = part(job, "status")
    if not status.get("startTime"):
        return ""
    if not status.get("completionTime"):
        return since(status["startTime"], now_ns)
    return between(status["startTime"], status["completionTime"])


JOBS: Final = Printer(
    (
        NAME,
        Column("Status", description="Status of the job."),
        shows("Completions", "batch.v1.JobStatus", "succeeded"),
        Column("Duration", description="Time required to complete the job."),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "batch.v1.JobSpec", "selector", priority=1),
    ),
    _job_cells,
)


def _cron_job_cells(cron_job: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(cron_job, "spec"), part(cron_job, "status")
    suspend, last = spec.get("suspend"), status.get("lastScheduleTime")
    return (
        name_of(cron_job),
        spec.get("schedule", ""),
        NONE if spec.get("timeZone") is None else spec["timeZone"],
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        since(last, now_ns) if last else NONE,
        age(cron_job, now_ns),
        *container_cells(part(spec, "jobTemplate", "spec", "template", "spec")),
        label_selector_text(part(spec, "jobTemplate", "spec").get("selector")),
    )


CRON_JOBS: Final = Printer(
    (
        NAME,
        shows("Schedule", "batch.v1.CronJobSpec", "schedule"),
        shows("Timezone", "batch.v1.CronJobSpec", "timeZone"),
        shows("Suspend", "batch.v1.CronJobSpec", "suspend", "boolean"),
        shows("Active", "batch.v1.CronJobStatus", "active", "integer"),
        shows("Last Schedule", "batch.v1.CronJobStatus", "lastScheduleTime"),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "batch.v1.JobSpec", "selector", priority=1),
    ),
    _cron_job_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {"cronjobs": CRON_JOBS, "jobs": JOBS}
