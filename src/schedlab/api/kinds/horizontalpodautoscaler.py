"""Horizontal pod autoscalers, stored as autoscaling/v2; autoscaling/v1 is another form of them.

Mirrors: pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go,
pkg/apis/autoscaling/{v1/defaults,v2/defaults,v2/conversion,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.horizontalpodautoscaler_v1 import (
    DEFAULT_CPU_UTILIZATION,
    cpu_metric,
    from_v2,
    to_v2,
    without_round_trip,
)
from schedlab.api.kinds.plain import update_of_status
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Conversion, Strategy, UpdateStrategy, keep_status
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.autoscaling import AutoscalerRules, validate_autoscaler_spec, version_problem
from schedlab.api.validation.common import nonnegative
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_DIRECTIONS: Final = ("scaleUp", "scaleDown")


def _default(autoscaler: Object, _context: Context) -> None:
    without_round_trip(autoscaler["metadata"])
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = spec.get("behavior")
    if behavior is None:
        return
    for key in _DIRECTIONS:
        given = behavior.get(key) or {}
        behavior[key] = {**_default_scaling(key), **{name: value for name, value in given.items() if value is not None}}


def _default_scaling(direction: str) -> Object:
    """Return how fast things change when nothing is said: to the double or to nothing in one period."""
    policies = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    if direction == "scaleDown":
        return {"selectPolicy": "Max", "policies": policies}
    policies.insert(0, {"type": "Pods", "value": 4, "periodSeconds": 15})
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _default_v1(autoscaler: Object, _context: Context) -> None:
    autoscaler["spec"].setdefault("minReplicas", 1)


def _prepare(autoscaler: Object, context: Context) -> None:
    autoscaler["status"] = {"desiredReplicas": 0, "currentMetrics": None}
    _drop_tolerance(autoscaler["spec"], {}, context)


def _drop_tolerance(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    if context.features.enabled("HPAConfigurableTolerance"):
        return
    known, given = old.get("behavior") or {}, spec.get("behavior") or {}
    if any((known.get(key) or {}).get("tolerance") is not None for key in _DIRECTIONS):
        return
    for key in _DIRECTIONS:
        if given.get(key):
            given[key].pop("tolerance", None)


def _rules(spec: Object, old: Mapping[str, Any] | None, context: Context) -> AutoscalerRules:
    """Say what is allowed: what is stored may stay."""
    target, known = spec["scaleTargetRef"], (old or {}).get("scaleTargetRef")
    scales_to_zero = context.features.enabled("HPAScaleToZero") or (old or {}).get("minReplicas") == 0
    same_kind = known is not None and all(known.get(key) == target.get(key) for key in ("apiVersion", "kind"))
    described = [
        metric["object"].get("describedObject") or {}
        for metric in (old or {}).get("metrics") or ()
        if metric.get("type") == "Object" and metric.get("object") is not None
    ]
    return AutoscalerRules(
        min_replicas_min=0 if scales_to_zero else 1,
        any_target_version=same_kind,
        target_without_group=target.get("kind") == "ReplicationController",
        any_object_version=any(version_problem(each.get("apiVersion", ""), without_group=True) for each in described),
    )


def _validate(autoscaler: Object, context: Context) -> ErrorList:
    errors = meta.validate(autoscaler["metadata"], names.name_is_dns_subdomain, namespaced=True)
    spec = autoscaler["spec"]
    return errors + validate_autoscaler_spec(spec, _SPEC, _rules(spec, None, context))


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    _drop_tolerance(new["spec"], old["spec"], context)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + validate_autoscaler_spec(new["spec"], _SPEC, _rules(new["spec"], old["spec"], context))


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + nonnegative(new["status"], Path("status"), "currentReplicas", "desiredReplicas")


HORIZONTAL_POD_AUTOSCALER: Final = Strategy(
    resource="horizontalpodautoscalers.autoscaling",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
)
HORIZONTAL_POD_AUTOSCALER_V1: Final = Strategy(
    resource="horizontalpodautoscalers.v1.autoscaling",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default_v1,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
    conversion=Conversion("horizontalpodautoscalers.autoscaling", to_stored=to_v2, from_stored=from_v2),
)
