"""Wires what simulated containers use: the definitions of KWOK's resources, measurements, and who checks expressions."""

from __future__ import annotations

from collections.abc import Callable

from schedlab.client.informers import Informers
from schedlab.kernel.clock import Clock
from schedlab.kubelet.usage.checker import UsageChecker
from schedlab.kubelet.usage.definition import CLUSTER_USAGES, USAGES, usage_definitions
from schedlab.kubelet.usage.measurements import Measurements
from schedlab.kubelet.usage.usages import Usages
from schedlab.registry import Registry
from schedlab.registry.custom.provided import provide


def install_usages(registry: Registry) -> None:
    """Serve ResourceUsage and ClusterResourceUsage, unless definitions of them are there already."""
    for definition in usage_definitions():
        provide(registry, definition)


def usage_parts(
    informers: Informers, clock: Clock, is_running: Callable[[str], bool]
) -> tuple[Measurements, UsageChecker]:
    """Return who measures, and who reads what users say of usage."""
    nodes, pods = informers.lister("nodes"), informers.lister("pods")
    own, cluster = informers.lister(USAGES), informers.lister(CLUSTER_USAGES)
    measurements = Measurements(clock, nodes, pods, Usages(nodes, own, cluster), is_running)
    return measurements, UsageChecker(clock, own, cluster)
