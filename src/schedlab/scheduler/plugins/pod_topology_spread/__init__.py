"""PodTopologySpread: constraints, filtering, scoring, and the plugin that puts them together."""

from schedlab.scheduler.plugins.pod_topology_spread.plugin import ENTRY, PodTopologySpread

__all__ = ["ENTRY", "PodTopologySpread"]
