"""The columns of horizontal pod autoscalers and of the scale subresource.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: an autoscaler is printed from its autoscaling/v2 form.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.horizontalpodautoscaler_v1 import to_v2
from schedlab.apimachinery.table import AGE, NAME, NONE, UNKNOWN, UNSET, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part, shows

_METRICS_MAX: Final = 2
#: Where the numbers of a metric are, by its type.
_SOURCES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler_cells(autoscaler: Object, now_ns: int) -> Sequence[Cell]:
    if autoscaler.get("apiVersion") == "autoscaling/v1":
        autoscaler = to_v2(dict(autoscaler))
    spec, status = part(autoscaler, "spec"), part(autoscaler, "status")
    target, least = part(spec, "scaleTargetRef"), spec.get("minReplicas")
    return (
        name_of(autoscaler),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(autoscaler, now_ns),
    )


def _metrics(specs: Sequence[Mapping[str, Any]], statuses: Sequence[Mapping[str, Any]]) -> str:
    if not specs:
        return NONE
    shown = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs[:_METRICS_MAX])]
    text = ", ".join(shown)
    return f"{text} + {len(specs) - _METRICS_MAX} more..." if len(specs) > _METRICS_MAX else text


def _metric(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    source = _SOURCES.get(spec.get("type", ""))
    if source is None:
        return "<unknown type>"
    target, has_status = part(spec, source, "target"), status.get(source) is not None
    current = part(status, source, "current")
    if source in ("resource", "containerResource"):
        return f"{part(spec, source).get('name', '')}: {_resource_numbers(target, current, has_status=has_status)}"
    if source == "pods":
        return f"{current.get('averageValue', '0') if has_status else UNKNOWN}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{current.get('averageValue') or UNKNOWN}/{target['averageValue']} (avg)"
    return f"{current.get('value', '0') if has_status else UNKNOWN}/{target.get('value', '0')}"


def _resource_numbers(target: Mapping[str, Any], current: Mapping[str, Any], *, has_status: bool) -> str:
    if target.get("averageValue") is not None:
        return f"{current.get('averageValue', '0') if has_status else UNKNOWN}/{target['averageValue']}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


HORIZONTAL_POD_AUTOSCALERS: Final = Printer(
    (
        NAME,
        shows("Reference", "autoscaling.v2.HorizontalPodAutoscalerSpec", "scaleTargetRef"),
        shows("Targets", "autoscaling.v2.HorizontalPodAutoscalerSpec", "metrics"),
        shows("MinPods", "autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas"),
        shows("MaxPods", "autoscaling.v2.HorizontalPodAutoscalerSpec", "maxReplicas"),
        shows("Replicas", "autoscaling.v2.HorizontalPodAutoscalerStatus", "currentReplicas"),
        AGE,
    ),
    _autoscaler_cells,
)


def _scale_cells(scale: Object, now_ns: int) -> Sequence[Cell]:
    replicas = (part(scale, "spec").get("replicas", 0), part(scale, "status").get("replicas", 0))
    return name_of(scale), *replicas, age(scale, now_ns)


#: The answer of a scale subresource, whatever it belongs to.
SCALE: Final = Printer(
    (
        Column("Name", field=NAME.field),
        shows("Desired", "autoscaling.v1.ScaleSpec", "replicas", "integer"),
        shows("Available", "autoscaling.v1.ScaleStatus", "replicas", "integer"),
        AGE,
    ),
    _scale_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {"horizontalpodautoscalers": HORIZONTAL_POD_AUTOSCALERS}
