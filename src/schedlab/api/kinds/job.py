"""Jobs.

Mirrors: pkg/registry/batch/job/strategy.go, pkg/apis/batch/{v1/defaults,validation/validation}.go,
pkg/api/job/warnings.go (v1.36)
Differs: features that cannot be turned off are taken to be on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import update_of_spec, update_of_status
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy, bump_generation, keep_status
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.job_status import has_condition, validate_job_status
from schedlab.api.validation.jobs import is_indexed, validate_job_spec
from schedlab.api.validation.workloads import (
    is_new_generation,
    parse_selector,
    pod_name_warnings,
    selector_text,
    template_warnings,
    validate_fixed_selector,
)
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.selectors import validate_label_selector

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
#: The same two labels as older releases call them.
_OLD_CONTROLLER_UID: Final = "controller-uid"
_OLD_JOB_NAME: Final = "job-name"

_SPEC: Final = Path("spec")
_TEMPLATE: Final = _SPEC.child("template")
_BACKOFF_MAX: Final = 2**31 - 1
_COMPLETIONS_SOFT_MAX: Final = 100_000
_PARALLELISM_SOFT_MAX: Final = 10_000
_ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_TOO_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def _default(job: Object, _context: Context) -> None:
    default_job_spec(job["spec"], job["metadata"])


def default_job_spec(spec: Object, metadata: Object | None = None) -> None:
    """Fill in the spec of a job; without `metadata`, that of the template in a cron job."""
    if metadata is not None:
        _default_counts(spec, metadata)
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"
    default_template(spec["template"])


def _default_counts(spec: Object, metadata: Object) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _BACKOFF_MAX)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not metadata.get("labels"):
        # One and the same map: what is added to the template's labels is also added to the job's.
        metadata["labels"] = labels
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    spec.setdefault("manualSelector", False)


def _prepare(job: Object, context: Context) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if not spec.get("manualSelector"):
        _generate_selector(spec, metadata)
    job["status"] = {}
    metadata["generation"] = 1
    prepare_template(spec["template"], None, context)


def _generate_selector(spec: Object, metadata: Object) -> None:
    """Select the pods by the uid of the job, and label them with it."""
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key in (_OLD_JOB_NAME, JOB_NAME):
        labels.setdefault(key, metadata.get("name", ""))
    for key in (_OLD_CONTROLLER_UID, CONTROLLER_UID):
        labels.setdefault(key, metadata["uid"])
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, metadata["uid"])


def _canonicalize(job: Object, _context: Context) -> None:
    """Without labels of its own a job has those of its pods, whenever it is read."""
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def _validate(job: Object, context: Context) -> ErrorList:
    errors = _validate_job(job, context, new_labels=True)
    if not errors:
        context.warnings.extend(pod_name_warnings(job["metadata"]["name"]))
        context.warnings.extend(job_warnings(job["spec"], _SPEC, context))
    return errors


def job_warnings(spec: Mapping[str, Any], path: Path, context: Context) -> list[str]:
    """What to tell about a spec that is accepted."""
    many = spec.get("completions", 0) > _COMPLETIONS_SOFT_MAX and spec.get("parallelism", 0) > _PARALLELISM_SOFT_MAX
    warnings = [f"{path}: {_TOO_MANY_INDEXES}"] if many and is_indexed(spec) else []
    return warnings + template_warnings(spec["template"], path.child("template"), context)


def _validate_job(job: Object, context: Context, *, new_labels: bool) -> ErrorList:
    metadata, spec = job["metadata"], job["spec"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_generated_selector(metadata, spec, new_labels=new_labels)
    errors += _validate_spec(spec, context)
    completions = spec.get("completions") or 0
    if is_indexed(spec) and completions > 0:
        host = f"{metadata.get('name', '')}-{completions - 1}"
        if names.check_dns1123_label(host):
            detail = f"will not able to create pod with invalid DNS label: {host}"
            errors.append(field.invalid(Path("metadata", "name"), metadata.get("name", ""), detail))
    return errors


def _validate_generated_selector(metadata: Object, spec: Object, *, new_labels: bool) -> ErrorList:
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    errors: ErrorList = []
    if not uid:
        errors.append(field.required(Path("metadata", "uid")))
    expected = {_OLD_CONTROLLER_UID: uid, _OLD_JOB_NAME: name}
    if new_labels:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    labels = spec["template"]["metadata"].get("labels") or {}
    path = _TEMPLATE.child("metadata", "labels")
    for key, value in expected.items():
        if key not in labels:
            errors.append(field.required(path.key(key), f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(field.invalid(path.key(key), labels, f"must be '{value}'"))
    selector = parse_selector(spec["selector"])
    if selector is not None and not selector.matches(expected):
        shown = selector_text(spec["selector"])
        errors.append(field.invalid(_SPEC.child("selector"), shown, "`selector` not auto-generated"))
    return errors


def _validate_spec(spec: Object, context: Context) -> ErrorList:
    errors = validate_job_spec(spec, _SPEC, context)
    selector, path = spec.get("selector"), _SPEC.child("selector")
    errors += [field.required(path)] if selector is None else validate_label_selector(selector, path)
    found = parse_selector(selector)
    labels = spec["template"]["metadata"].get("labels")
    if found is not None and not found.matches(labels or {}):
        detail = "`selector` does not match template `labels`"
        errors.append(field.invalid(_TEMPLATE.child("metadata", "labels"), labels, detail))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    prepare_template(new["spec"]["template"], old["spec"]["template"], context)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    known = old["spec"]["template"]["metadata"].get("labels") or {}
    errors = _validate_job(new, context, new_labels=CONTROLLER_UID in known and JOB_NAME in known)
    errors += meta.validate_update(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    # Upstream checks the spec twice.
    errors += _validate_spec(spec, context)
    errors += _validate_completions(spec, before)
    errors += validate_fixed_selector(spec.get("selector"), before.get("selector"), _SPEC.child("selector"))
    errors += _validate_template_update(old, spec, before, context)
    for key, kind in (
        ("completionMode", "*string"),
        ("podFailurePolicy", "*batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", "*int32"),
        ("managedBy", "*string"),
        ("successPolicy", "*batch.SuccessPolicy"),
    ):
        if spec.get(key) != before.get(key):
            shown = internal_text(kind, spec.get(key))
            errors.append(field.invalid(_SPEC.child(key), shown, names.FIELD_IMMUTABLE))
    if not errors and is_new_generation(new, old):
        context.warnings.extend(job_warnings(spec, _SPEC, context))
    return errors


def _validate_completions(spec: Object, old: Object) -> ErrorList:
    completions, before, path = spec.get("completions"), old.get("completions"), _SPEC.child("completions")
    if not is_indexed(spec):
        return meta.validate_immutable(completions, before, path)
    if completions in (before, None) or completions == spec.get("parallelism"):
        return []
    return [field.invalid(path, completions, "can only be modified in tandem with spec.parallelism")]


def _validate_template_update(old_job: Object, spec: Object, old: Object, context: Context) -> ErrorList:
    """The template is fixed, except for where and with what the pods of a suspended job will run."""
    template, before = spec["template"], old["template"]
    if template == before:
        return []
    features = context.features
    suspended = bool(old.get("suspend"))
    not_started = old_job["status"].get("startTime") is None
    idle = (not_started or has_condition(old_job, "Suspended")) and not old_job["status"].get("active")
    directives_free = suspended and not_started
    if features.enabled("MutableSchedulingDirectivesForSuspendedJobs"):
        directives_free = suspended and idle
    if directives_free:
        before = _with_directives(before, template)
    if suspended and idle and features.enabled("MutablePodResourcesForSuspendedJobs"):
        pod = template["spec"]
        if pod == _with_resources(before["spec"], pod):
            return []
        return [field.invalid(_TEMPLATE.child("spec"), internal_text("core.PodSpec", pod), names.FIELD_IMMUTABLE)]
    if template == before:
        return []
    return [field.invalid(_TEMPLATE, internal_text("core.PodTemplateSpec", template), names.FIELD_IMMUTABLE)]


def _with_directives(template: Object, source: Object) -> Object:
    """Return a template with another one's labels, annotations and rules about nodes."""
    metadata = _taken(template["metadata"], source["metadata"], "annotations", "labels")
    spec = _taken(template["spec"], source["spec"], "nodeSelector", "tolerations", "schedulingGates")
    affinity, wanted = spec.get("affinity"), source["spec"].get("affinity")
    if affinity is not None or wanted is not None:
        merged = _taken(affinity or {}, wanted or {}, "nodeAffinity")
        spec["affinity"] = merged
        if wanted is None and not merged:
            del spec["affinity"]
    return {**template, "metadata": metadata, "spec": spec}


def _with_resources(spec: Object, source: Object) -> Object:
    """Return a pod spec with the resources of another one's containers of the same place and name."""
    made = dict(spec)
    for key in ("containers", "initContainers"):
        own, other = spec.get(key) or [], source.get(key) or []
        if own and len(own) == len(other):
            made[key] = [
                {**one, "resources": two["resources"]} if one.get("name") == two.get("name") else one
                for one, two in zip(own, other, strict=True)
            ]
    return made


def _taken(target: Mapping[str, Any], source: Mapping[str, Any], *keys: str) -> Object:
    kept = {key: value for key, value in target.items() if key not in keys}
    return {**kept, **{key: source[key] for key in keys if key in source}}


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"]) + validate_job_status(new, old)


def _field_values(job: StoredObject) -> dict[str, str]:
    return {"status.successful": str(job.raw["status"].get("succeeded", 0))}


JOB: Final = Strategy(
    resource="jobs.batch",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    canonicalize=_canonicalize,
    subresources={"status": update_of_status(_validate_status)},
    orphans_dependents=True,
    orphan_warning=_ORPHANS,
    field_labels=FieldLabels(
        frozenset(("metadata.name", "metadata.namespace", "status.successful")),
        'field label "{}" not supported for Job',
    ),
    field_values=_field_values,
)
