"""Horizontal pod autoscalers as autoscaling/v1 shows them: one number for the cpu, the rest in annotations.

Mirrors: pkg/apis/autoscaling/{v1/conversion,annotations,helpers}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from schedlab.api.internal_form import internal_text
from schedlab.api.object import Object
from schedlab.apimachinery.gojson import marshal
from schedlab.apimachinery.quantity import QuantityError, parse_cached

DEFAULT_CPU_UTILIZATION: Final = 80

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_CURRENT_METRICS: Final = f"{_PREFIX}current-metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
#: Annotations that stand for fields which the other version has.
_ROUND_TRIP: Final = (
    _METRICS,
    _CURRENT_METRICS,
    _CONDITIONS,
    _BEHAVIOR,
    f"{_PREFIX}scale-down-tolerance",
    f"{_PREFIX}scale-up-tolerance",
)
_CONDITION_KEYS: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_REFERENCE_KEYS: Final = ("kind", "name", "apiVersion")

#: A field of a metric's source in v1, where it is in v2, and what v1 writes when it is absent (None: nothing).
_Row: TypeAlias = tuple[str, tuple[str, ...], str | None]

_NAME: Final[_Row] = ("metricName", ("metric", "name"), "")
_SELECTOR: Final[_Row] = ("selector", ("metric", "selector"), None)
_OBJECT: Final[_Row] = ("target", ("describedObject",), None)
_CONTAINER: Final[_Row] = ("container", ("container",), "")
_RESOURCE: Final[_Row] = ("name", ("name",), "")
_SPECS: Final[Mapping[str, Sequence[_Row]]] = {
    "object": (
        _OBJECT,
        _NAME,
        ("targetValue", ("target", "value"), "0"),
        _SELECTOR,
        ("averageValue", ("target", "averageValue"), None),
    ),
    "pods": (_NAME, ("targetAverageValue", ("target", "averageValue"), "0"), _SELECTOR),
    "resource": (
        _RESOURCE,
        ("targetAverageUtilization", ("target", "averageUtilization"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
    ),
    "containerResource": (
        _RESOURCE,
        ("targetAverageUtilization", ("target", "averageUtilization"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
        _CONTAINER,
    ),
    "external": (
        _NAME,
        ("metricSelector", ("metric", "selector"), None),
        ("targetValue", ("target", "value"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
    ),
}
_STATUSES: Final[Mapping[str, Sequence[_Row]]] = {
    "object": (
        _OBJECT,
        _NAME,
        ("currentValue", ("current", "value"), "0"),
        _SELECTOR,
        ("averageValue", ("current", "averageValue"), None),
    ),
    "pods": (_NAME, ("currentAverageValue", ("current", "averageValue"), "0"), _SELECTOR),
    "resource": (
        _RESOURCE,
        ("currentAverageUtilization", ("current", "averageUtilization"), None),
        ("currentAverageValue", ("current", "averageValue"), "0"),
    ),
    "containerResource": (
        _RESOURCE,
        ("currentAverageUtilization", ("current", "averageUtilization"), None),
        ("currentAverageValue", ("current", "averageValue"), "0"),
        _CONTAINER,
    ),
    "external": (
        _NAME,
        ("metricSelector", ("metric", "selector"), None),
        ("currentValue", ("current", "value"), "0"),
        ("currentAverageValue", ("current", "averageValue"), None),
    ),
}


def cpu_metric(utilization: int) -> Object:
    """Return the metric that v1 has a field for."""
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def without_round_trip(metadata: Object) -> None:
    """Drop the annotations that stand for fields."""
    annotations = metadata.get("annotations")
    if annotations and any(key in annotations for key in _ROUND_TRIP):
        kept = {key: value for key, value in annotations.items() if key not in _ROUND_TRIP}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]


# --- To v1 ------------------------------------------------------------------------------------------------------------


def from_v2(autoscaler: Object) -> Object:
    """Show an autoscaler as v1 does."""
    spec, status, metadata = autoscaler["spec"], autoscaler["status"], dict(autoscaler["metadata"])
    without_round_trip(metadata)
    metrics, current = spec.get("metrics") or (), status.get("currentMetrics") or ()
    utilizations = [found for metric in metrics if (found := _cpu_utilization(metric, "target")) is not None]
    used = [found for metric in current if (found := _cpu_utilization(metric, "current")) is not None]
    added = {}
    if others := [metric for metric in metrics if _cpu_utilization(metric, "target") is None]:
        added[_METRICS] = _encode([_metric_to_v1(metric, _SPECS) for metric in others])
    if current:
        added[_CURRENT_METRICS] = _encode([_metric_to_v1(metric, _STATUSES) for metric in current])
    if spec.get("behavior") is not None:
        added[_BEHAVIOR] = str(internal_text("autoscaling.HorizontalPodAutoscalerBehavior", spec["behavior"]))
    if conditions := status.get("conditions"):
        added[_CONDITIONS] = _encode([_ordered(condition, _CONDITION_KEYS) for condition in conditions])
    if added:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}
    shown_spec = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    if utilizations:
        shown_spec["targetCPUUtilizationPercentage"] = utilizations[0]
    shown_status = {key: status[key] for key in ("observedGeneration", "lastScaleTime") if key in status}
    shown_status |= {key: status.get(key, 0) for key in ("currentReplicas", "desiredReplicas")}
    if used:
        shown_status["currentCPUUtilizationPercentage"] = used[-1]
    shown = {"metadata": metadata, "spec": shown_spec, "status": shown_status}
    return {"kind": autoscaler["kind"], "apiVersion": "autoscaling/v1", **shown}


def _cpu_utilization(metric: Mapping[str, Any], part: str) -> int | None:
    source = metric.get("resource")
    if metric.get("type") != "Resource" or source is None or source.get("name") != "cpu":
        return None
    found: int | None = (source.get(part) or {}).get("averageUtilization")
    return found


def _encode(value: object) -> str:
    return marshal(value, sort_keys=False)


def _ordered(value: Mapping[str, Any], keys: Sequence[str]) -> Object:
    return {key: value[key] for key in keys if key in value}


def _metric_to_v1(metric: Mapping[str, Any], tables: Mapping[str, Sequence[_Row]]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for kind, rows in tables.items():
        source = metric.get(kind)
        if source is None:
            continue
        own = made[kind] = {}
        for key, place, absent in rows:
            value = _dig(source, place)
            if key == "target":
                own[key] = {"kind": "", "name": "", **_ordered(value or {}, _REFERENCE_KEYS)}
            elif value is not None or absent is not None:
                own[key] = absent if value is None else value
    return made


def _dig(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = (value or {}).get(key)
    return value


# --- To v2 ------------------------------------------------------------------------------------------------------------


def to_v2(autoscaler: Object) -> Object:
    """Turn what v1 shows into the stored form."""
    given, given_status, metadata = autoscaler["spec"], autoscaler["status"], dict(autoscaler["metadata"])
    annotations = metadata.get("annotations") or {}
    spec = {key: given[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in given}
    utilization, used = (
        given.get("targetCPUUtilizationPercentage"),
        given_status.get("currentCPUUtilizationPercentage"),
    )
    metrics = [_metric_to_v2(metric, _SPECS) for metric in _decode(annotations.get(_METRICS))]
    if utilization is not None or not metrics:
        metrics.append(cpu_metric(DEFAULT_CPU_UTILIZATION if utilization is None else utilization))
    spec["metrics"] = metrics
    if behavior := _decode_behavior(annotations.get(_BEHAVIOR)):
        spec["behavior"] = behavior
    status = {key: given_status[key] for key in ("observedGeneration", "lastScaleTime") if key in given_status}
    if given_status.get("currentReplicas"):
        status["currentReplicas"] = given_status["currentReplicas"]
    status["desiredReplicas"] = given_status.get("desiredReplicas", 0)
    current = [_metric_to_v2(metric, _STATUSES) for metric in _decode(annotations.get(_CURRENT_METRICS))]
    if not current and used is not None:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": used}}}]
    status["currentMetrics"] = current or None
    if conditions := _decode(annotations.get(_CONDITIONS)):
        status["conditions"] = conditions
    without_round_trip(metadata)
    return {
        "kind": autoscaler["kind"],
        "apiVersion": "autoscaling/v2",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _decode(text: str | None) -> list[Object]:
    """Read a list of objects; what is no such list counts as absent."""
    try:
        value = orjson.loads(text or "[]")
    except orjson.JSONDecodeError:
        return []
    return value if isinstance(value, list) and all(isinstance(entry, dict) for entry in value) else []


def _decode_behavior(text: str | None) -> Object | None:
    """Read what `from_v2` wrote: names of fields as in Go."""
    try:
        value = orjson.loads(text or "null")
    except orjson.JSONDecodeError:
        return None
    lowered = _lower(value)
    return lowered if isinstance(lowered, dict) else None


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _lower(entry) for key, entry in value.items() if entry is not None}
    return [_lower(entry) for entry in value] if isinstance(value, list) else value


def _metric_to_v2(metric: Mapping[str, Any], tables: Mapping[str, Sequence[_Row]]) -> Object:
    made: Object = {"type": metric.get("type", "")}
    for kind, rows in tables.items():
        source = metric.get(kind)
        if not isinstance(source, dict):
            continue
        own: Object = {}
        for key, place, _absent in rows:
            if source.get(key) is not None:
                holder = own
                for name in place[:-1]:
                    holder = holder.setdefault(name, {})
                holder[place[-1]] = source[key]
        if tables is _SPECS:
            _set_target_type(kind, own.setdefault("target", {}))
        made[kind] = own
    return made


def _set_target_type(kind: str, target: Object) -> None:
    """v1 does not say which of its values a target goes by."""
    average, utilization = target.get("averageValue"), target.get("averageUtilization")
    if kind in ("resource", "containerResource"):
        target["type"] = "AverageValue" if utilization is None else "Utilization"
    elif kind == "pods":
        target["type"] = "AverageValue"
    elif kind == "external":
        target["type"] = "AverageValue" if target.get("value") is None else "Value"
    else:
        target["type"] = "Value" if average is None else "AverageValue"
        if average is not None and _is_zero(target.get("value")):
            target.pop("value", None)


def _is_zero(text: str | None) -> bool:
    try:
        return text is None or parse_cached(text).sign == 0
    except QuantityError:
        return False
