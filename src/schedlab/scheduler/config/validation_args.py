"""What is wrong with the arguments of the plugins that come with the scheduler.

Mirrors: pkg/scheduler/apis/config/validation/validation_pluginargs.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.rules.node_affinity import parse_node_selector, parse_preferred_terms
from schedlab.apimachinery import field
from schedlab.apimachinery.field import FieldError, Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.names import validate_label_name
from schedlab.apimachinery.selectors import SelectorError
from schedlab.apimachinery.time import format_duration
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config.args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

if TYPE_CHECKING:
    from schedlab.api.views.core import TopologySpreadConstraint
    from schedlab.apimachinery.features import FeatureGates

Errors = Iterable[FieldError]

_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def _default_preemption(path: Path, args: DefaultPreemptionArgs, _: FeatureGates) -> Errors:
    percentage_path, absolute_path = path.child("minCandidateNodesPercentage"), path.child("minCandidateNodesAbsolute")
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    assert percentage is not None
    assert absolute is not None
    if not 0 <= percentage <= 100:
        yield field.invalid(percentage_path, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield field.invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        zero = "cannot be zero at the same time as"
        yield field.invalid(percentage_path, percentage, f"{zero} minCandidateNodesAbsolute")
        yield field.invalid(absolute_path, absolute, f"{zero} minCandidateNodesPercentage")


def _inter_pod_affinity(path: Path, args: InterPodAffinityArgs, _: FeatureGates) -> Errors:
    weight = args.hard_pod_affinity_weight
    assert weight is not None
    if not 0 <= weight <= 100:
        yield field.invalid(path.child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _pod_topology_spread(path: Path, args: PodTopologySpreadArgs, _: FeatureGates) -> Errors:
    type_path, constraints = path.child("defaultingType"), args.default_constraints
    if args.defaulting_type not in {"System", "List"}:
        yield field.not_supported(type_path, args.defaulting_type, ("System", "List"))
    elif args.defaulting_type == "System" and constraints:
        yield field.invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    constraints_path = path.child("defaultConstraints")
    for index, constraint in enumerate(constraints):
        yield from _constraint(constraints_path.index(index), constraint)
        for other in constraints[:index]:
            both = (constraint.topology_key, constraint.when_unsatisfiable)
            if both == (other.topology_key, other.when_unsatisfiable):
                yield field.duplicate(constraints_path.index(index), f"{{{both[0]}, {both[1]}}}")
                break


def _constraint(path: Path, constraint: TopologySpreadConstraint) -> Errors:
    if constraint.max_skew <= 0:
        yield field.invalid(path.child("maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    key_path, action_path = path.child("topologyKey"), path.child("whenUnsatisfiable")
    if not constraint.topology_key:
        yield field.required(key_path, "can not be empty")
    else:
        yield from validate_label_name(constraint.topology_key, key_path)
    if not constraint.when_unsatisfiable:
        yield field.required(action_path, "can not be empty")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        yield field.not_supported(action_path, constraint.when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        yield field.forbidden(
            path.child("labelSelector"), "constraint must not define a selector, as they deduced for each pod"
        )


def _shape(shape: Sequence[UtilizationShapePoint], path: Path) -> Errors:
    if not shape:
        yield field.required(path, "at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            yield field.invalid(
                path.index(index).child("utilization"),
                shape[index].utilization,
                "values must be sorted in increasing order",
            )
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield field.invalid(
                path.index(index).child("utilization"), point.utilization, "not in valid range [0, 100]"
            )
        if not 0 <= point.score <= 10:
            yield field.invalid(path.index(index).child("score"), point.score, "not in valid range [0, 10]")


def _balanced_allocation(path: Path, args: NodeResourcesBalancedAllocationArgs, _: FeatureGates) -> Errors:
    seen: dict[str, None] = {}
    for index, resource in enumerate(args.resources):
        here = path.child("resources").index(index)
        if resource.name in seen:
            yield field.duplicate(here.child("name"), resource.name)
        seen[resource.name] = None
        if resource.weight != 1:
            yield field.invalid(here.child("weight"), resource.weight, "must be 1")


def _node_affinity(path: Path, args: NodeAffinityArgs, _: FeatureGates) -> Errors:
    affinity = args.added_affinity
    if affinity is None:
        return
    added = path.child("addedAffinity")
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        where = added.child("requiredDuringSchedulingIgnoredDuringExecution")
        yield from parse_node_selector(required, where).errors
    try:
        parse_preferred_terms(
            affinity.preferred_during_scheduling_ignored_during_execution,
            added.child("preferredDuringSchedulingIgnoredDuringExecution"),
        )
    except SelectorError as error:
        yield from error.errors


def _volume_binding(path: Path, args: VolumeBindingArgs, features: FeatureGates) -> Errors:
    timeout = args.bind_timeout_seconds
    assert timeout is not None
    if timeout < 0:
        yield field.invalid(
            path.child("bindTimeoutSeconds"), timeout, "invalid BindTimeoutSeconds, should not be a negative value"
        )
    if features.enabled("StorageCapacityScoring"):
        yield from _shape(args.shape or (), path.child("shape"))
    elif args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        yield field.invalid(
            path.child("shape"),
            Verbatim(marshal(points, sort_keys=False)),
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        )


def check_node_resources_fit(path: Path | None, args: NodeResourcesFitArgs) -> Errors:
    """Return what is wrong; upstream looks for it only when the plugin is made, so the path has no beginning."""

    def below(*names: str) -> Path:
        return Path(*names) if path is None else path.child(*names)

    for index, name in enumerate(args.ignored_resources):
        yield from validate_label_name(name, below("ignoredResources").index(index))
    for index, group in enumerate(args.ignored_resource_groups):
        here = below("ignoredResourceGroups").index(index)
        if "/" in group:
            yield field.invalid(here, group, "resource group name can't contain '/'")
        yield from validate_label_name(group, here)
    strategy, strategy_path = args.scoring_strategy, below("scoringStrategy")
    if strategy is None:
        yield field.required(strategy_path, "ScoringStrategy field is required")
        return
    if strategy.type not in _STRATEGIES:
        yield field.not_supported(strategy_path.child("type"), strategy.type, _STRATEGIES)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            yield field.invalid(
                strategy_path.child("resources").index(index).child("weight"),
                resource.weight,
                f"resource weight of {resource.name} not in valid range (0, 100]",
            )
    ratio, ratio_path = strategy.requested_to_capacity_ratio, strategy_path.child("requestedToCapacityRatio")
    if strategy.type != "RequestedToCapacityRatio":
        if ratio is not None:
            yield field.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        yield field.required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
    else:
        yield from _shape(ratio.shape, ratio_path.child("shape"))


def _dynamic_resources(path: Path, args: DynamicResourcesArgs, features: FeatureGates) -> Errors:
    filter_path, binding_path = path.child("filterTimeout"), path.child("bindingTimeout")
    if args.filter_timeout is not None:
        if not features.enabled("DRASchedulerFilterTimeout"):
            yield field.forbidden(filter_path, "DRASchedulingFilterTimeout feature gate is disabled")
        elif args.filter_timeout < 0:
            yield field.invalid(filter_path, _duration(args.filter_timeout), "must be zero or positive")
    if args.binding_timeout is not None:
        gates = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
        if not all(features.enabled(gate) for gate in gates):
            yield field.forbidden(
                binding_path, "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
            )
        elif args.binding_timeout < SECOND_NS:
            yield field.invalid(binding_path, _duration(args.binding_timeout), "must be at least 1 second")


def _duration(value: int) -> Verbatim:
    return Verbatim(f'"{format_duration(value)}"')


# NodeResourcesFit is missing, as in upstream, whose table has it under the name of its arguments.
VALIDATORS: Final[dict[str, Callable[[Path, Any, FeatureGates], Errors]]] = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "PodTopologySpread": _pod_topology_spread,
    "VolumeBinding": _volume_binding,
}
