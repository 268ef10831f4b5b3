"""Arguments of the plugins that come with the scheduler.

Mirrors: staging/src/k8s.io/kube-scheduler/config/v1/types_pluginargs.go (v1.36).
"""

from __future__ import annotations

from typing import Final

from schedlab.api.views.core import NodeAffinity, TopologySpreadConstraint
from schedlab.scheduler.config.types import ConfigStruct, DurationNs


class ResourceSpec(ConfigStruct):
    """A resource and how much it counts."""

    name: str = ""
    weight: int = 0


class UtilizationShapePoint(ConfigStruct):
    """A point of a scoring function: utilization in percent, score 0 to 10."""

    utilization: int = 0
    score: int = 0


class RequestedToCapacityRatioParam(ConfigStruct):
    """The scoring function of RequestedToCapacityRatio."""

    shape: list[UtilizationShapePoint] = []


class ScoringStrategy(ConfigStruct):
    """How NodeResourcesFit scores."""

    type: str = ""
    resources: list[ResourceSpec] = []
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(ConfigStruct):
    """How many candidates a dry run of preemption looks for."""

    min_candidate_nodes_percentage: int | None = None
    min_candidate_nodes_absolute: int | None = None


class DynamicResourcesArgs(ConfigStruct):
    """Limits of the device search and of waiting for binding conditions."""

    filter_timeout: DurationNs | None = None
    binding_timeout: DurationNs | None = None


class InterPodAffinityArgs(ConfigStruct):
    """Weights of pod affinity scoring."""

    hard_pod_affinity_weight: int | None = None
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct):
    """Node affinity added to every pod of the profile."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(ConfigStruct):
    """Which resources are balanced."""

    resources: list[ResourceSpec] = []


class NodeResourcesFitArgs(ConfigStruct):
    """Which resources are not looked at, and how the rest is scored."""

    ignored_resources: list[str] = []
    ignored_resource_groups: list[str] = []
    scoring_strategy: ScoringStrategy | None = None


class PodTopologySpreadArgs(ConfigStruct):
    """Constraints of pods that have none of their own."""

    default_constraints: list[TopologySpreadConstraint] = []
    defaulting_type: str = ""


class VolumeBindingArgs(ConfigStruct):
    """How long binding of volumes may take, and how capacity is scored."""

    bind_timeout_seconds: int | None = None
    shape: list[UtilizationShapePoint] | None = None


ARGS: Final[dict[str, type[ConfigStruct]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
