"""Checks of job specs: those of jobs, and those of the templates in cron jobs.

Mirrors: pkg/apis/batch/validation/validation.go (ValidateJobSpec, validatePodFailurePolicy, validateSuccessPolicy)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import Context
from schedlab.api.validation.common import messages, nonnegative
from schedlab.api.validation.indexes import IndexesError, count_indexes
from schedlab.api.validation.workloads import validate_pod_template
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import OMIT_VALUE, ErrorList, Path
from schedlab.apimachinery.gojson import quote_list

_MANAGED_BY_MAX: Final = 63
_INDEXED_PARALLELISM_MAX: Final = 100_000
_FAILED_INDEXES_MAX: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_PARALLELISM_MAX_FOR_MANY: Final = 10_000
_FAILED_INDEXES_MAX_FOR_MANY: Final = 10_000
_FAILURE_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_PATTERNS_MAX: Final = 20
_SUCCESS_RULES_MAX: Final = 20
_INDEXES_SIZE_MAX: Final = 64 * 1024

_MODES: Final = ("NonIndexed", "Indexed")
_RESTART_POLICIES: Final = ("OnFailure", "Never")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_NEEDS_INDEXES: Final = "requires indexed completion mode"


def is_indexed(spec: Mapping[str, Any]) -> bool:
    """Whether each pod of the job has an index of its own."""
    return spec.get("completionMode") == "Indexed"


def validate_job_spec(spec: Mapping[str, Any], path: Path, context: Context) -> ErrorList:
    """Check what jobs and the templates of cron jobs have in common."""
    errors = nonnegative(spec, path, *_COUNTS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(field.required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
    manager = spec.get("managedBy")
    if manager is not None:
        errors += names.check_domain_prefixed_path(path.child("managedBy"), manager)
        if names.byte_length(manager) > _MANAGED_BY_MAX:
            errors.append(field.too_long(path.child("managedBy"), _MANAGED_BY_MAX))
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        errors.append(field.not_supported(path.child("completionMode"), mode, _MODES))
    if mode == "Indexed":
        errors += _validate_indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        errors += [
            field.invalid(path.child(key), spec[key], _NEEDS_INDEXES)
            for key in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(key) is not None
        ]
    errors += _validate_policies(spec, path)
    errors += validate_pod_template(spec["template"], path.child("template"), context)
    return errors + _validate_restart_policy(spec, path.child("template", "spec", "restartPolicy"))


def _validate_indexed(spec: Mapping[str, Any], path: Path) -> ErrorList:
    completions, parallelism, failed = (spec.get(key) for key in ("completions", "parallelism", "maxFailedIndexes"))
    errors: ErrorList = []
    if completions is None:
        errors.append(field.required(path.child("completions"), "when completion mode is Indexed"))
    if parallelism is not None and parallelism > _INDEXED_PARALLELISM_MAX:
        detail = f"must be less than or equal to {_INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        errors.append(field.invalid(path.child("parallelism"), parallelism, detail))
    own = path.child("maxFailedIndexes")
    if completions is not None and failed is not None and failed > completions:
        errors.append(field.invalid(own, failed, "must be less than or equal to completions"))
    if failed is not None and failed > _FAILED_INDEXES_MAX:
        errors.append(field.invalid(own, failed, f"must be less than or equal to {_FAILED_INDEXES_MAX}"))
    if (completions or 0) <= _MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return errors
    if failed is None:
        errors.append(field.required(own, f"must be specified when completions is above {_MANY_COMPLETIONS}"))
    limits = (
        ("parallelism", parallelism, _PARALLELISM_MAX_FOR_MANY),
        ("maxFailedIndexes", failed, _FAILED_INDEXES_MAX_FOR_MANY),
    )
    for key, value, limit in limits:
        if value is not None and value > limit:
            detail = (
                f"must be less than or equal to {limit} when completions are above {_MANY_COMPLETIONS} "
                "and used with backoff limit per index"
            )
            errors.append(field.invalid(path.child(key), value, detail))
    return errors


def _validate_policies(spec: Mapping[str, Any], path: Path) -> ErrorList:
    failure, success, replacement = (
        spec.get(key) for key in ("podFailurePolicy", "successPolicy", "podReplacementPolicy")
    )
    errors: ErrorList = []
    if failure is not None:
        errors += _validate_failure_policy(spec, failure, path.child("podFailurePolicy", "rules"))
    if success is not None:
        own = path.child("successPolicy")
        if is_indexed(spec):
            errors += _validate_success_policy(spec, success, own.child("rules"))
        else:
            errors.append(field.invalid(own, internal_text("batch.SuccessPolicy", success), _NEEDS_INDEXES))
    if replacement is not None:
        allowed = _REPLACEMENTS if failure is None else _REPLACEMENTS[:1]
        if replacement not in allowed:
            errors.append(field.not_supported(path.child("podReplacementPolicy"), replacement, allowed))
    return errors


def _validate_restart_policy(spec: Mapping[str, Any], path: Path) -> ErrorList:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        return [field.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in _RESTART_POLICIES:
        return [field.not_supported(path, policy, _RESTART_POLICIES)]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [field.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _choice(value: str, allowed: Sequence[str], path: Path) -> ErrorList:
    """A value that must be there and be one of these."""
    if not value:
        return [field.required(path, f"valid values: {quote_list(allowed)}")]
    return [] if value in allowed else [field.not_supported(path, value, allowed)]


def _validate_failure_policy(spec: Mapping[str, Any], policy: Mapping[str, Any], path: Path) -> ErrorList:
    rules = policy.get("rules") or ()
    errors: ErrorList = []
    if len(rules) > _FAILURE_RULES_MAX:
        errors.append(field.too_many(path, len(rules), _FAILURE_RULES_MAX))
    pod = spec["template"]["spec"]
    containers = [
        container.get("name", "") for key in ("containers", "initContainers") for container in pod.get(key) or ()
    ]
    for i, rule in enumerate(rules):
        errors += _validate_failure_rule(spec, rule, path.index(i), containers)
    return errors


def _validate_failure_rule(
    spec: Mapping[str, Any], rule: Mapping[str, Any], path: Path, containers: Sequence[str]
) -> ErrorList:
    action, codes, patterns = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    errors = _choice(action, _ACTIONS, path.child("action"))
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        errors.append(field.invalid(path.child("action"), action, "requires the backoffLimitPerIndex to be set"))
    if codes is not None:
        errors += _validate_exit_codes(codes, path.child("onExitCodes"), containers)
    if patterns:
        errors += _validate_patterns(patterns, path.child("onPodConditions"))
    if codes is not None and patterns:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(field.invalid(path, OMIT_VALUE, detail))
    if codes is None and not patterns:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(field.invalid(path, OMIT_VALUE, detail))
    return errors


def _validate_patterns(patterns: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    if len(patterns) > _PATTERNS_MAX:
        errors.append(field.too_many(path, len(patterns), _PATTERNS_MAX))
    for i, pattern in enumerate(patterns):
        kind = pattern.get("type", "")
        errors += messages(path.index(i).child("type"), kind, names.check_qualified_name(kind))
        errors += _choice(pattern.get("status", ""), _STATUSES, path.index(i).child("status"))
    return errors


def _validate_exit_codes(codes: Mapping[str, Any], path: Path, containers: Sequence[str]) -> ErrorList:
    operator, values, container = codes.get("operator", ""), codes.get("values"), codes.get("containerName")
    errors = _choice(operator, _OPERATORS, path.child("operator"))
    if container is not None and container not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(field.invalid(path.child("containerName"), container, detail))
    own = path.child("values")
    if not values:
        errors.append(field.invalid(own, values, "at least one value is required"))
        return errors
    if len(values) > _EXIT_CODES_MAX:
        errors.append(field.too_many(own, len(values), _EXIT_CODES_MAX))
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(field.invalid(own.index(i), value, "must not be 0 for the In operator"))
        if value in values[:i]:
            errors.append(field.duplicate(own.index(i), value))
    if values != sorted(values):
        errors.append(field.invalid(own, values, "must be ordered"))
    return errors


def _validate_success_policy(spec: Mapping[str, Any], policy: Mapping[str, Any], path: Path) -> ErrorList:
    rules = policy.get("rules") or ()
    errors: ErrorList = []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(field.required(path, detail))
    if len(rules) > _SUCCESS_RULES_MAX:
        errors.append(field.too_many(path, len(rules), _SUCCESS_RULES_MAX))
    for i, rule in enumerate(rules):
        errors += _validate_success_rule(rule, spec.get("completions") or 0, path.index(i))
    return errors


def _validate_success_rule(rule: Mapping[str, Any], completions: int, path: Path) -> ErrorList:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: ErrorList = []
    if count is None and indexes is None:
        errors.append(field.required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        own = path.child("succeededIndexes")
        if names.byte_length(indexes) > _INDEXES_SIZE_MAX:
            errors.append(field.too_long(own, _INDEXES_SIZE_MAX))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            errors.append(field.invalid(own, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return errors
    own = path.child("succeededCount")
    errors += names.validate_nonnegative(count, own)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(field.invalid(own, count, detail))
    if indexes is not None and count > total:
        what = "the number of indexes in the specified succeededIndexes field"
        errors.append(field.invalid(own, count, f"must be less than or equal to {total} ({what})"))
    return errors
