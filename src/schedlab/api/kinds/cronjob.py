"""Cron jobs.

Mirrors: pkg/registry/batch/cronjob/strategy.go, pkg/apis/batch/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.job import default_job_spec, job_warnings
from schedlab.api.kinds.plain import update_of_spec, update_of_status
from schedlab.api.kinds.strategy import Context, Strategy, bump_generation, keep_status
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object
from schedlab.api.rules.cron import CronError, is_time_zone, parse_schedule
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.jobs import validate_job_spec
from schedlab.api.validation.workloads import is_new_generation, pod_name_warnings, selector_text
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_JOB_SPEC: Final = _SPEC.child("jobTemplate", "spec")
_POLICIES: Final = ("Allow", "Forbid", "Replace")
#: The controller appends 11 characters to make the names of jobs.
_NAME_MAX: Final = 52
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_ZONE_IN_SCHEDULE: Final = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, "
    "see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


def _default(cron: Object, _context: Context) -> None:
    spec = cron["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_job_spec(spec["jobTemplate"]["spec"])


def _prepare(cron: Object, context: Context) -> None:
    cron["status"] = {}
    cron["metadata"]["generation"] = 1
    prepare_template(cron["spec"]["jobTemplate"]["spec"]["template"], None, context)


def _validate(cron: Object, context: Context) -> ErrorList:
    metadata = cron["metadata"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(cron["spec"], {}, context)
    name = metadata.get("name", "")
    if names.byte_length(name) > _NAME_MAX:
        errors.append(field.invalid(Path("metadata", "name"), name, names.max_len_error(_NAME_MAX)))
    if not errors:
        context.warnings.extend(pod_name_warnings(name))
        context.warnings.extend(job_warnings(cron["spec"]["jobTemplate"]["spec"], _JOB_SPEC, context))
    return errors


def _validate_spec(spec: Object, old: Mapping[str, Any], context: Context) -> ErrorList:
    schedule, zone, path = spec.get("schedule", ""), spec.get("timeZone"), _SPEC.child("schedule")
    errors = _validate_schedule(schedule, zone, path, zone_known="TZ" in old.get("schedule", ""))
    errors += nonnegative(spec, _SPEC, "startingDeadlineSeconds")
    if zone is not None and zone != old.get("timeZone"):
        errors += _validate_zone(zone, _SPEC.child("timeZone"))
    policy, path = spec.get("concurrencyPolicy", ""), _SPEC.child("concurrencyPolicy")
    if policy not in _POLICIES:
        errors.append(field.not_supported(path, policy, _POLICIES) if policy else field.required(path))
    errors += _validate_job_template(spec["jobTemplate"]["spec"], context)
    return errors + nonnegative(spec, _SPEC, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _validate_schedule(schedule: str, zone: str | None, path: Path, *, zone_known: bool) -> ErrorList:
    if not schedule:
        return [field.required(path)]
    errors: ErrorList = []
    try:
        parse_schedule(schedule)
    except CronError as error:
        errors.append(field.invalid(path, schedule, str(error)))
    if "TZ" not in schedule:
        return errors
    if not zone_known:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(field.invalid(path, schedule, detail))
    elif zone is not None:
        errors.append(field.invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


def _validate_zone(zone: str, path: Path) -> ErrorList:
    if not zone:
        return [field.invalid(path, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            return [field.invalid(path, zone, f"unknown time zone {zone}")]
    errors: ErrorList = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(field.invalid(path, zone, detail))
    if not is_time_zone(zone):
        errors.append(field.invalid(path, zone, f"unknown time zone {zone}"))
    return errors


def _validate_job_template(spec: Object, context: Context) -> ErrorList:
    errors = validate_job_spec(spec, _JOB_SPEC, context)
    if (selector := spec.get("selector")) is not None:
        shown = selector_text(selector)
        errors.append(field.invalid(_JOB_SPEC.child("selector"), shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(field.not_supported(_JOB_SPEC.child("manualSelector"), True, ("nil", "false")))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    template, before = (each["spec"]["jobTemplate"]["spec"]["template"] for each in (new, old))
    prepare_template(template, before, context)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += _validate_spec(new["spec"], old["spec"], context)
    if errors:
        return errors
    if is_new_generation(new, old):
        context.warnings.extend(job_warnings(new["spec"]["jobTemplate"]["spec"], _JOB_SPEC, context))
    if "TZ" in new["spec"].get("schedule", ""):
        context.warnings.append(_ZONE_IN_SCHEDULE)
    return []


def _validate_status(_new: Object, _old: Object, _context: Context) -> ErrorList:
    return []


CRON_JOB: Final = Strategy(
    resource="cronjobs.batch",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
)
