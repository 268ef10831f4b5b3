"""Checks of the status of jobs; most look only at what a write changes.

Mirrors: pkg/apis/batch/validation/validation.go (validateJobStatus, ValidateJobStatusUpdate),
pkg/registry/batch/job/strategy.go (getStatusValidationOptions) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from schedlab.api.internal_form import internal_text
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.indexes import IndexesError, count_indexes, find_overlap
from schedlab.api.validation.jobs import is_indexed
from schedlab.apimachinery import field
from schedlab.apimachinery.field import OMIT_VALUE, ErrorList, Path
from schedlab.apimachinery.time import parse_time

Job: TypeAlias = Mapping[str, Any]

_STATUS: Final = Path("status")
_CONDITIONS: Final = _STATUS.child("conditions")
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


def has_condition(job: Job, kind: str, status: str = "True") -> bool:
    """Whether a condition has a status."""
    conditions = job["status"].get("conditions") or ()
    return any(condition.get("type") == kind and condition.get("status") == status for condition in conditions)


def _is_finished(job: Job) -> bool:
    return has_condition(job, "Complete") or has_condition(job, "Failed")


@dataclass(frozen=True, slots=True)
class _Change:
    """A job before and after a write of its status."""

    new: Job
    old: Job

    def of(self, *keys: str) -> bool:
        """Whether one of these fields changes."""
        return any(self.new["status"].get(key) != self.old["status"].get(key) for key in keys)

    def of_condition(self, *kinds: str) -> bool:
        """Whether one of these conditions becomes true or ceases to be."""
        return any(has_condition(self.new, kind) != has_condition(self.old, kind) for kind in kinds)

    @property
    def of_end(self) -> bool:
        """Whether the job ends, or is going again."""
        return _is_finished(self.new) != _is_finished(self.old)


def validate_job_status(new: Job, old: Job) -> ErrorList:
    """Check a write of the status."""
    change = _Change(new, old)
    errors = _validate_counts(change)
    errors += _validate_conditions(change)
    errors += _validate_times(change)
    errors += _validate_end(change)
    errors += _validate_indexes(change)
    return errors + _validate_direction(change)


def _of_conditions(detail: str) -> ErrorList:
    return [field.invalid(_CONDITIONS, OMIT_VALUE, detail)]


def _validate_counts(change: _Change) -> ErrorList:
    status = change.new["status"]
    errors = nonnegative(status, _STATUS, "active", "succeeded", "failed", "ready", "terminating")
    errors += _validate_uncounted(status.get("uncountedTerminatedPods") or {})
    ready = status.get("ready")
    if change.of("ready", "active") and ready is not None and ready > status.get("active", 0):
        errors.append(field.invalid(_STATUS.child("ready"), ready, "cannot set more ready pods than active"))
    return errors


def _validate_uncounted(pods: Mapping[str, Sequence[str]]) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            path = _STATUS.child("uncountedTerminatedPods", key).index(i)
            if not uid:
                errors.append(field.invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(field.duplicate(path, uid))
            seen.append(uid)
    return errors


def _validate_conditions(change: _Change) -> ErrorList:
    new, old = change.new, change.old
    complete, failed, target, met = (
        has_condition(new, kind) for kind in ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
    )
    errors: ErrorList = []
    if complete and failed and change.of_condition("Complete", "Failed"):
        errors += _of_conditions("cannot set Complete=True and Failed=true conditions")
    if complete and target and change.of_condition("Complete", "FailureTarget"):
        errors += _of_conditions("cannot set Complete=True and FailureTarget=true conditions")
    if failed and not target and (change.of_condition("Failed") or change.of("failedIndexes")):
        errors += _of_conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    if complete and not met and change.of_condition("Complete", "SuccessCriteriaMet"):
        errors += _of_conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if met and failed:
        errors += _of_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and target:
        errors += _of_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if new["spec"].get("successPolicy") is not None and complete and not met:
        errors += _of_conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    was_met = has_condition(old, "SuccessCriteriaMet")
    if was_met and not met:
        errors += _of_conditions("cannot disable the SuccessCriteriaMet=True condition")
    if has_condition(old, "Complete") and not was_met and met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors += _of_conditions(detail)
    return errors


def _validate_times(change: _Change) -> ErrorList:
    new, status, before = change.new, change.new["status"], change.old["status"]
    started, completed, complete = status.get("startTime"), status.get("completionTime"), has_condition(new, "Complete")
    path = _STATUS.child("completionTime")
    errors: ErrorList = []
    if change.of_condition("Complete") or change.of("completionTime"):
        if completed is not None and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(field.invalid(path, completed, detail))
        if completed is None and complete:
            errors.append(field.required(path, "completionTime is required for Complete jobs"))
    changes = change.of("startTime", "completionTime") and started is not None and completed is not None
    if changes and parse_time(completed) < parse_time(started):
        errors.append(field.invalid(path, completed, "must be equal to or after `startTime`"))
    known = before.get("completionTime")
    if completed is not None and known is not None and completed != known:
        errors.append(field.invalid(path, completed, "field is immutable"))
    resumes = has_condition(change.old, "Suspended") and has_condition(new, "Suspended", "False")
    frozen = before.get("startTime") is not None and not new["spec"].get("suspend")
    if change.of("startTime") and not resumes and frozen:
        detail = "field is immutable for unsuspended job once set"
        errors.append(field.invalid(_STATUS.child("startTime"), started, detail))
    return errors


def _validate_end(change: _Change) -> ErrorList:
    """A finished job has nothing going on."""
    status, spec = change.new["status"], change.new["spec"]
    if not _is_finished(change.new):
        return []
    ends = change.of_end
    errors: ErrorList = []
    active, terminating = status.get("active", 0), status.get("terminating") or 0
    if active > 0 and (ends or change.of("active")):
        errors.append(field.invalid(_STATUS.child("active"), active, "active>0 is invalid for finished job"))
    never_ran = spec.get("suspend") is True and spec.get("completions") == 0
    if status.get("startTime") is None and (ends or change.of("startTime")) and not never_ran:
        errors.append(field.required(_STATUS.child("startTime"), "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods")
    if uncounted and any(uncounted.values()) and (ends or change.of("uncountedTerminatedPods")):
        shown = internal_text("batch.UncountedTerminatedPods", uncounted)
        errors.append(field.invalid(_STATUS.child("uncountedTerminatedPods"), shown, "must be empty for finished job"))
    if terminating > 0 and (ends or change.of("terminating")):
        detail = "terminating>0 is invalid for finished job"
        errors.append(field.invalid(_STATUS.child("terminating"), terminating, detail))
    return errors


def _validate_indexes(change: _Change) -> ErrorList:
    status, spec = change.new["status"], change.new["spec"]
    completed, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    completions = spec.get("completions")
    per_index = spec.get("backoffLimitPerIndex") is not None
    errors: ErrorList = []
    if change.of("completedIndexes"):
        errors += _validate_format("completedIndexes", completed, completions)
        if completed and not is_indexed(spec):
            detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(field.invalid(_STATUS.child("completedIndexes"), completed, detail))
    path = _STATUS.child("failedIndexes")
    if change.of("failedIndexes") and failed is not None:
        if per_index:
            errors += _validate_format("failedIndexes", failed, completions)
        else:
            detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(field.invalid(path, failed, detail))
    if change.of("failedIndexes", "completedIndexes") and completions is not None and failed is not None:
        overlap = find_overlap(completed, failed, completions)
        if overlap is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {overlap}"
            errors.append(field.invalid(path, failed, detail))
    return errors


def _validate_format(key: str, text: str, completions: int | None) -> ErrorList:
    if completions is None:
        return []
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        return [field.invalid(_STATUS.child(key), text, f"error parsing {key}: {error}")]
    return []


def _validate_direction(change: _Change) -> ErrorList:
    """What is over cannot be undone, and counts do not go down."""
    new, old, spec = change.new, change.old, change.new["spec"]
    errors: ErrorList = []
    for kind in _TERMINAL:
        if has_condition(old, kind) and not has_condition(new, kind):
            errors += _of_conditions(f"cannot disable the terminal {kind}=True condition")
    # An indexed job can be made smaller, and what succeeded beyond its new end no longer counts.
    fixed = not is_indexed(spec) or spec.get("completions") != spec.get("parallelism")
    for key in ("failed", "succeeded") if fixed else ("failed",):
        count = new["status"].get(key, 0)
        if count < old["status"].get(key, 0):
            errors.append(field.invalid(_STATUS.child(key), count, f"cannot decrease the {key} counter"))
    return errors
