"""Checks of autoscalers: their target, metrics and behaviour.

Mirrors: pkg/apis/autoscaling/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.validation.common import dns_label, messages
from schedlab.api.validation.resources import validate_container_name, validate_nonnegative
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gvk import parse_group_version
from schedlab.apimachinery.quantity import parse_cached

_WINDOW_SECONDS_MAX: Final = 3600
_PERIOD_SECONDS_MAX: Final = 1800
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")
#: Where the source of a metric is, by its type, as messages list the types.
_SOURCES: Final[Mapping[str, str]] = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SOURCE_ORDER: Final = ("object", "external", "pods", "resource", "containerResource")
_RAW_OR_UTILIZATION: Final = "a target raw value {} a target utilization"


@dataclass(frozen=True, slots=True)
class AutoscalerRules:
    """What is allowed in a spec, which depends on what is stored already."""

    min_replicas_min: int = 1
    any_target_version: bool = False
    target_without_group: bool = False
    any_object_version: bool = False


def version_problem(api_version: str, *, without_group: bool) -> str:
    """Return what is wrong with the apiVersion of a reference, an empty text if nothing is."""
    try:
        group_version = parse_group_version(api_version)
    except ValueError as error:
        return str(error)
    return "" if without_group or group_version.group else "apiVersion must specify API group"


def validate_autoscaler_spec(spec: Mapping[str, Any], path: Path, rules: AutoscalerRules) -> ErrorList:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    own = path.child("maxReplicas")
    errors: ErrorList = []
    if least is not None and least < rules.min_replicas_min:
        detail = f"must be greater than or equal to {rules.min_replicas_min}"
        errors.append(field.invalid(path.child("minReplicas"), least, detail, "minimum"))
    if most == 0:
        errors.append(field.required(own, "must be set and greater than 0"))
    elif most < 0:
        errors.append(field.invalid(own, most, "must be greater than or equal to 1", "minimum"))
    if least is not None and most < least:
        errors.append(field.invalid(own, most, "must be greater than or equal to `minReplicas`"))
    errors += _validate_reference(
        spec["scaleTargetRef"],
        path.child("scaleTargetRef"),
        any_version=rules.any_target_version,
        without_group=rules.target_without_group,
    )
    errors += _validate_metrics(spec, path.child("metrics"), rules)
    for key, scaling in (spec.get("behavior") or {}).items():
        if scaling is not None:
            errors += _validate_scaling(scaling, path.child("behavior", key))
    return errors


def _validate_reference(
    reference: Mapping[str, Any], path: Path, *, any_version: bool, without_group: bool
) -> ErrorList:
    errors: ErrorList = []
    for key in ("kind", "name"):
        value = reference.get(key, "")
        if value:
            errors += messages(path.child(key), value, names.check_path_segment_name(value))
        else:
            errors.append(field.required(path.child(key)))
    version = reference.get("apiVersion", "")
    problem = "" if any_version else version_problem(version, without_group=without_group)
    if problem:
        errors.append(field.invalid(path.child("apiVersion"), version, problem))
    return errors


def _validate_metrics(spec: Mapping[str, Any], path: Path, rules: AutoscalerRules) -> ErrorList:
    metrics = spec.get("metrics") or ()
    errors: ErrorList = []
    for i, metric in enumerate(metrics):
        errors += _validate_metric(metric, path.index(i), rules)
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(field.forbidden(path, detail))
    return errors


def _validate_metric(metric: Mapping[str, Any], path: Path, rules: AutoscalerRules) -> ErrorList:
    kind = metric.get("type", "")
    errors: ErrorList = []
    if not kind:
        errors.append(field.required(path.child("type"), "must specify a metric source type"))
    if kind not in _SOURCES:
        # Upstream says so twice.
        errors += [field.not_supported(path.child("type"), kind, _SOURCES)] * 2
    present = [source for source in _SOURCE_ORDER if metric.get(source) is not None]
    if present:
        first = present[0]
        errors += _validate_source(first, metric[first], path.child(first), rules)
    expected = _SOURCES.get(kind)
    if expected is not None and expected not in present:
        detail = "must populate information for the given metric source"
        errors.append(field.required(path.child(expected), detail))
    if len(present) != 1:
        detail = "must populate the given metric source only"
        errors += [field.forbidden(path.child(source), detail) for source in present if source != expected]
    return errors


def _validate_source(kind: str, source: Mapping[str, Any], path: Path, rules: AutoscalerRules) -> ErrorList:
    target, own = source.get("target") or {}, path.child("target")
    errors: ErrorList = []
    if kind == "object":
        errors += _validate_reference(
            source.get("describedObject") or {},
            path.child("describedObject"),
            any_version=rules.any_object_version,
            without_group=True,
        )
    if kind in ("object", "external", "pods"):
        errors += _validate_identifier(source.get("metric") or {}, path.child("metric"))
    else:
        errors += _validate_names(kind, source, path)
    return errors + _validate_target(target, own) + _validate_choice(kind, target, own)


def _validate_identifier(metric: Mapping[str, Any], path: Path) -> ErrorList:
    name = metric.get("name", "")
    if not name:
        return [field.required(path.child("name"), "must specify a metric name")]
    return messages(path.child("name"), name, names.check_path_segment_name(name))


def _validate_names(kind: str, source: Mapping[str, Any], path: Path) -> ErrorList:
    name, container = source.get("name", ""), source.get("container", "")
    errors: ErrorList = []
    if not name:
        errors.append(field.required(path.child("name"), "must specify a resource name"))
    elif kind == "containerResource":
        errors += validate_container_name(name, path.child("name"))
    if kind != "containerResource":
        return errors
    if not container:
        errors.append(field.required(path.child("container"), "must specify a container"))
        return errors
    return errors + dns_label(container, path.child("container"))


def _validate_target(target: Mapping[str, Any], path: Path) -> ErrorList:
    kind = target.get("type", "")
    errors: ErrorList = []
    if not kind:
        errors.append(field.required(path.child("type"), "must specify a metric target type"))
    if kind not in _TARGET_TYPES:
        errors.append(field.invalid(path.child("type"), kind, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        text = target.get(key)
        if text is not None and parse_cached(text).sign <= 0:
            errors.append(field.invalid(path.child(key), text, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(field.invalid(path.child("averageUtilization"), utilization, "must be greater than 0"))
    return errors


def _validate_choice(kind: str, target: Mapping[str, Any], path: Path) -> ErrorList:
    """Which of its values a target must have, and which it cannot have together."""
    value, average, utilization = (
        target.get(key) is not None for key in ("value", "averageValue", "averageUtilization")
    )
    if kind == "pods":
        detail = "must specify a positive target averageValue"
        return [] if average else [field.required(path.child("averageValue"), detail)]
    if kind in ("resource", "containerResource"):
        if not utilization and not average:
            detail = f"must set either {_RAW_OR_UTILIZATION.format('or')}"
            return [field.required(path.child("averageUtilization"), detail)]
        if utilization and average:
            detail = f"may not set both {_RAW_OR_UTILIZATION.format('and')}"
            return [field.forbidden(path.child("averageValue"), detail)]
        return []
    per_pod = "a target value for metric {} a per-pod target"
    if not value and not average:
        choice = "a target value or averageValue" if kind == "object" else per_pod.format("or")
        return [field.required(path.child("averageValue"), f"must set either {choice}")]
    if kind == "external" and value and average:
        return [field.forbidden(path.child("value"), f"may not set both {per_pod.format('and')}")]
    return []


def _validate_scaling(rules: Mapping[str, Any], path: Path) -> ErrorList:
    window, select, tolerance = (rules.get(key) for key in ("stabilizationWindowSeconds", "selectPolicy", "tolerance"))
    own = path.child("stabilizationWindowSeconds")
    errors: ErrorList = []
    if window is not None and window < 0:
        errors.append(field.invalid(own, window, "must be greater than or equal to zero"))
    if window is not None and window > _WINDOW_SECONDS_MAX:
        errors.append(field.invalid(own, window, f"must be less than or equal to {_WINDOW_SECONDS_MAX}"))
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(field.not_supported(path.child("selectPolicy"), select, _SELECT_POLICIES))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(field.required(path.child("policies"), "must specify at least one Policy"))
    for i, policy in enumerate(policies):
        errors += _validate_policy(policy, path.child("policies").index(i))
    return errors + (validate_nonnegative(tolerance, path.child("tolerance")) if tolerance is not None else [])


def _validate_policy(policy: Mapping[str, Any], path: Path) -> ErrorList:
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    errors: ErrorList = []
    if kind not in _POLICY_TYPES:
        errors.append(field.not_supported(path.child("type"), kind, _POLICY_TYPES))
    for key, number in (("value", value), ("periodSeconds", period)):
        if number <= 0:
            errors.append(field.invalid(path.child(key), number, "must be greater than zero"))
    if period > _PERIOD_SECONDS_MAX:
        detail = f"must be less than or equal to {_PERIOD_SECONDS_MAX}"
        errors.append(field.invalid(path.child("periodSeconds"), period, detail))
    return errors
