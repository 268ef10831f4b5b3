"""Defaults of the configuration: what is filled in where the file says nothing.

Mirrors: pkg/scheduler/apis/config/v1/{defaults,default_plugins}.go and staging/src/k8s.io/component-base/config/v1alpha1
(v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config.args import (
    ARGS,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from schedlab.scheduler.config.types import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

# In order; 0 where a plugin does not score or leaves its weight to the runtime.
_DEFAULT_PLUGINS: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
    ("GangScheduling", 0),
    ("TopologyPlacementGenerator", 0),
    ("PodGroupPodsCount", 1),
)
_GATED: Final = {
    "DynamicResources": "DynamicResourceAllocation",
    "NodeDeclaredFeatures": "NodeDeclaredFeatures",
    "GangScheduling": "GangScheduling",
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
}
POINTS: Final = Plugins.__struct_fields__


def default_plugins(features: FeatureGates) -> Plugins:
    """Return the plugins of a profile that says nothing of its plugins."""
    enabled = [
        Plugin(name=name, weight=weight)
        for name, weight in _DEFAULT_PLUGINS
        if name not in _GATED or features.enabled(_GATED[name])
    ]
    return Plugins(multi_point=PluginSet(enabled=enabled))


def set_defaults(config: KubeSchedulerConfiguration, features: FeatureGates) -> None:
    """Fill in everything the file left out."""
    if config.parallelism is None:
        config.parallelism = 16
    if not config.profiles:
        config.profiles = [KubeSchedulerProfile()]
    if len(config.profiles) == 1 and config.profiles[0].scheduler_name is None:
        config.profiles[0].scheduler_name = DEFAULT_SCHEDULER_NAME
    for profile in config.profiles:
        _set_profile_defaults(profile, features)
    if config.percentage_of_nodes_to_score is None:
        config.percentage_of_nodes_to_score = 0
    _set_component_defaults(config)
    if config.pod_initial_backoff_seconds is None:
        config.pod_initial_backoff_seconds = 1
    if config.pod_max_backoff_seconds is None:
        config.pod_max_backoff_seconds = 10
    if config.enable_profiling is None:
        config.enable_profiling = True
    if config.enable_contention_profiling is None:
        config.enable_contention_profiling = config.enable_profiling


def _set_component_defaults(config: KubeSchedulerConfiguration) -> None:
    election, connection = config.leader_election, config.client_connection
    election.resource_lock = election.resource_lock or "leases"
    election.resource_namespace = election.resource_namespace or "kube-system"
    election.resource_name = election.resource_name or "kube-scheduler"
    election.lease_duration = election.lease_duration or 15 * SECOND_NS
    election.renew_deadline = election.renew_deadline or 10 * SECOND_NS
    election.retry_period = election.retry_period or 2 * SECOND_NS
    if election.leader_elect is None:
        election.leader_elect = True
    connection.content_type = connection.content_type or "application/vnd.kubernetes.protobuf"
    connection.qps = connection.qps or 50
    connection.burst = connection.burst or 100


def _set_profile_defaults(profile: KubeSchedulerProfile, features: FeatureGates) -> None:
    profile.plugins = _merge(default_plugins(features), profile.plugins)
    for config in profile.plugin_config:
        set_args_defaults(config.args, features)
    given = {config.name: None for config in profile.plugin_config}
    for name in _enabled_names(profile.plugins):
        if name not in given and name in ARGS:
            args = ARGS[name]()
            set_args_defaults(args, features)
            profile.plugin_config.append(PluginConfig(name=name, args=args))


def _enabled_names(plugins: Plugins) -> list[str]:
    return sorted({plugin.name: None for point in POINTS for plugin in getattr(plugins, point).enabled})


def _merge(defaults: Plugins, custom: Plugins | None) -> Plugins:
    if custom is None:
        return defaults
    return Plugins(**{point: _merge_set(getattr(defaults, point), getattr(custom, point)) for point in POINTS})


def _merge_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Replace defaults in place where they are configured anew, leave out disabled ones, append the rest."""
    disabled = [Plugin(name=plugin.name) for plugin in (*custom.disabled, *defaults.disabled)]
    off = {plugin.name: None for plugin in disabled}
    # Of a plugin that is named twice the last one replaces the default; the others stay, and fail later.
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replaced: dict[int, None] = {}
    if "*" not in off:
        for plugin in defaults.enabled:
            if plugin.name in off:
                continue
            index = last.get(plugin.name)
            if index is not None:
                replaced[index] = None
            enabled.append(plugin if index is None else custom.enabled[index])
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(enabled=enabled, disabled=disabled)


# --- Arguments ---


def set_args_defaults(args: Any, features: FeatureGates) -> None:
    """Fill in a plugin's arguments, in place; arguments of other plugins are theirs."""
    fill = _FILL.get(type(args))
    if fill is not None:
        fill(args, features)


def _default_resources() -> list[ResourceSpec]:
    return [ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1)]


def _weigh(resources: list[ResourceSpec]) -> None:
    for resource in resources:
        resource.weight = resource.weight or 1


def _fill_preemption(args: DefaultPreemptionArgs, _: FeatureGates) -> None:
    if args.min_candidate_nodes_percentage is None:
        args.min_candidate_nodes_percentage = 10
    if args.min_candidate_nodes_absolute is None:
        args.min_candidate_nodes_absolute = 100


def _fill_devices(args: DynamicResourcesArgs, features: FeatureGates) -> None:
    if args.filter_timeout is None and features.enabled("DRASchedulerFilterTimeout"):
        args.filter_timeout = 10 * SECOND_NS
    binding = features.enabled("DRADeviceBindingConditions") and features.enabled("DRAResourceClaimDeviceStatus")
    if args.binding_timeout is None and binding:
        args.binding_timeout = 600 * SECOND_NS


def _fill_pod_affinity(args: InterPodAffinityArgs, _: FeatureGates) -> None:
    if args.hard_pod_affinity_weight is None:
        args.hard_pod_affinity_weight = 1


def _fill_balance(args: NodeResourcesBalancedAllocationArgs, _: FeatureGates) -> None:
    args.resources = args.resources or _default_resources()
    _weigh(args.resources)


def _fill_fit(args: NodeResourcesFitArgs, _: FeatureGates) -> None:
    if args.scoring_strategy is None:
        args.scoring_strategy = ScoringStrategy(type="LeastAllocated")
    args.scoring_strategy.resources = args.scoring_strategy.resources or _default_resources()
    _weigh(args.scoring_strategy.resources)


def _fill_spread(args: PodTopologySpreadArgs, _: FeatureGates) -> None:
    args.defaulting_type = args.defaulting_type or "System"


def _fill_volumes(args: VolumeBindingArgs, features: FeatureGates) -> None:
    if args.bind_timeout_seconds is None:
        args.bind_timeout_seconds = 600
    if not args.shape and features.enabled("StorageCapacityScoring"):
        args.shape = [UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0)]


_FILL: Final[dict[type[Any], Callable[[Any, FeatureGates], None]]] = {
    DefaultPreemptionArgs: _fill_preemption,
    DynamicResourcesArgs: _fill_devices,
    InterPodAffinityArgs: _fill_pod_affinity,
    NodeResourcesBalancedAllocationArgs: _fill_balance,
    NodeResourcesFitArgs: _fill_fit,
    PodTopologySpreadArgs: _fill_spread,
    VolumeBindingArgs: _fill_volumes,
}
