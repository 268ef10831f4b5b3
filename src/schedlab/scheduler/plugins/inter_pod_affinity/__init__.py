"""InterPodAffinity: terms, filtering, scoring, and the plugin that puts them together."""

from schedlab.scheduler.plugins.inter_pod_affinity.plugin import ENTRY, InterPodAffinity

__all__ = ["ENTRY", "InterPodAffinity"]
