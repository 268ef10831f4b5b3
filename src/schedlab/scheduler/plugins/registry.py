"""Every plugin that comes with the scheduler, by name.

Mirrors: pkg/scheduler/framework/plugins/registry.go (v1.36).
"""

from __future__ import annotations

from typing import Final

from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.plugins import (
    default_binder,
    default_preemption,
    dynamic_resources,
    gang_scheduling,
    image_locality,
    inter_pod_affinity,
    node_affinity,
    node_declared_features,
    node_name,
    node_ports,
    node_unschedulable,
    node_volume_limits,
    pod_topology_spread,
    priority_sort,
    scheduling_gates,
    taint_toleration,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from schedlab.scheduler.plugins.node_resources import balanced_allocation, fit

IN_TREE: Final[dict[str, PluginEntry]] = {
    entry.name: entry
    for entry in (
        scheduling_gates.ENTRY,
        priority_sort.ENTRY,
        node_unschedulable.ENTRY,
        node_name.ENTRY,
        taint_toleration.ENTRY,
        node_affinity.ENTRY,
        node_ports.ENTRY,
        fit.ENTRY,
        volume_restrictions.ENTRY,
        node_volume_limits.ENTRY,
        volume_binding.ENTRY,
        volume_zone.ENTRY,
        pod_topology_spread.ENTRY,
        inter_pod_affinity.ENTRY,
        dynamic_resources.ENTRY,
        balanced_allocation.ENTRY,
        image_locality.ENTRY,
        default_preemption.ENTRY,
        default_binder.ENTRY,
        node_declared_features.ENTRY,
        gang_scheduling.ENTRY,
    )
}
