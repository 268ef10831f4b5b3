"""The wire form of a configuration, as Go's JSON encoder writes the v1 types: empty optional fields are left out.

Mirrors: the json tags of staging/src/k8s.io/kube-scheduler/config/v1 and staging/src/k8s.io/component-base/config/v1alpha1
(v1.36); plugin weights are always written, as the configuration went through the internal types.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from schedlab.api.views.core import (
    NodeSelector,
    NodeSelectorRequirement,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from schedlab.apimachinery.time import format_duration
from schedlab.scheduler.config.args import (
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    ResourceSpec,
    UtilizationShapePoint,
)
from schedlab.scheduler.config.types import (
    API_VERSION,
    ClientConnectionConfiguration,
    ConfigStruct,
    Extender,
    ExtenderManagedResource,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
)

# Attributes that are written even when they are empty.
_ALWAYS: Final[dict[type[Any], tuple[str, ...]]] = {
    ClientConnectionConfiguration: ClientConnectionConfiguration.__struct_fields__,
    Extender: ("url_prefix", "http_timeout"),
    ExtenderManagedResource: ("name",),
    InterPodAffinityArgs: ("ignore_preferred_terms_of_existing_pods",),
    KubeSchedulerConfiguration: ("leader_election", "client_connection"),
    LeaderElectionConfiguration: LeaderElectionConfiguration.__struct_fields__,
    NodeSelector: ("node_selector_terms",),
    NodeSelectorRequirement: ("key", "operator"),
    Plugin: ("name", "weight"),
    PluginConfig: ("name",),
    Plugins: Plugins.__struct_fields__,
    PreferredSchedulingTerm: ("weight", "preference"),
    ResourceSpec: ("name",),
    TopologySpreadConstraint: ("max_skew", "topology_key", "when_unsatisfiable"),
    UtilizationShapePoint: ("utilization", "score"),
}
_DURATIONS: Final[dict[type[Any], tuple[str, ...]]] = {
    DynamicResourcesArgs: ("filter_timeout", "binding_timeout"),
    Extender: ("http_timeout",),
    LeaderElectionConfiguration: ("lease_duration", "renew_deadline", "retry_period"),
}
# Pointers in Go: written whenever they are set, zero or not.
_POINTERS: Final = {
    "added_affinity",
    "bind_timeout_seconds",
    "enable_contention_profiling",
    "enable_profiling",
    "hard_pod_affinity_weight",
    "min_candidate_nodes_absolute",
    "min_candidate_nodes_percentage",
    "parallelism",
    "percentage_of_nodes_to_score",
    "pod_initial_backoff_seconds",
    "pod_max_backoff_seconds",
    "required_during_scheduling_ignored_during_execution",
}


def encode(value: msgspec.Struct) -> dict[str, Any]:
    """Return a struct of the configuration as its wire form."""
    type_ = type(value)
    always, durations = _ALWAYS.get(type_, ()), _DURATIONS.get(type_, ())
    wire: dict[str, Any] = {}
    for field in msgspec.structs.fields(type_):
        name = field.name
        here = getattr(value, name)
        if name in durations and here is not None:
            here = format_duration(here)
        if here is None or (not here and name not in always and name not in _POINTERS):
            continue
        if isinstance(value, PluginConfig) and isinstance(here, ConfigStruct):
            kind = type(here).__name__
            wire[field.encode_name] = {"apiVersion": API_VERSION, "kind": kind, **encode(here)}
        else:
            wire[field.encode_name] = _plain(here)
    return wire


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return encode(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
