"""Checks NodeResourcesFit's arguments.

Mirrors: ValidateNodeResourcesFitArgs in pkg/scheduler/apis/config/validation/validation_pluginargs.go (v1.36), which runs
when the plugin is made, not when the configuration is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.names import validate_label_name
from schedlab.scheduler.framework.helpers.shape_score import UTILIZATION_MAX
from schedlab.scheduler.plugins.node_resources.requested_to_capacity_ratio import MAX_CUSTOM_PRIORITY_SCORE

if TYPE_CHECKING:
    from schedlab.scheduler.config.args import (
        NodeResourcesFitArgs,
        ResourceSpec,
        ScoringStrategy,
        UtilizationShapePoint,
    )

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

_WEIGHT_MAX: Final = 100


def check_fit_args(args: NodeResourcesFitArgs) -> ErrorList:
    """Return what is wrong with the arguments."""
    errors: ErrorList = []
    for i, name in enumerate(args.ignored_resources):
        errors += validate_label_name(name, Path("ignoredResources").index(i))
    for i, group in enumerate(args.ignored_resource_groups):
        path = Path("ignoredResourceGroups").index(i)
        if "/" in group:
            errors.append(field.invalid(path, group, "resource group name can't contain '/'"))
        errors += validate_label_name(group, path)
    path = Path("scoringStrategy")
    if args.scoring_strategy is None:
        return [*errors, field.required(path, "ScoringStrategy field is required")]
    return errors + _strategy_errors(args.scoring_strategy, path)


def _strategy_errors(strategy: ScoringStrategy, path: Path) -> ErrorList:
    errors: ErrorList = []
    if strategy.type not in STRATEGIES:
        errors.append(field.not_supported(path.child("type"), Verbatim(marshal(strategy.type)), STRATEGIES))
    errors += _resource_errors(strategy.resources, path.child("resources"))
    ratio, ratio_path = strategy.requested_to_capacity_ratio, path.child("requestedToCapacityRatio")
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            errors.append(field.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio"))
    elif ratio is None:
        errors.append(field.required(ratio_path, "must be specified when type is RequestedToCapacityRatio"))
    else:
        errors += _shape_errors(ratio.shape, ratio_path.child("shape"))
    return errors


def _resource_errors(resources: Sequence[ResourceSpec], path: Path) -> ErrorList:
    return [
        field.invalid(
            path.index(i).child("weight"),
            resource.weight,
            f"resource weight of {resource.name} not in valid range (0, {_WEIGHT_MAX}]",
        )
        for i, resource in enumerate(resources)
        if not 0 < resource.weight <= _WEIGHT_MAX
    ]


def _shape_errors(shape: Sequence[UtilizationShapePoint], path: Path) -> ErrorList:
    if not shape:
        return [field.required(path, "at least one point must be specified")]
    errors: ErrorList = []
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            detail = "values must be sorted in increasing order"
            errors.append(field.invalid(path.index(i).child("utilization"), shape[i].utilization, detail))
            break
    for i, point in enumerate(shape):
        errors += _range_errors(point.utilization, UTILIZATION_MAX, path.index(i).child("utilization"))
        errors += _range_errors(point.score, MAX_CUSTOM_PRIORITY_SCORE, path.index(i).child("score"))
    return errors


def _range_errors(value: int, highest: int, path: Path) -> ErrorList:
    return [] if 0 <= value <= highest else [field.invalid(path, value, f"not in valid range [0, {highest}]")]
