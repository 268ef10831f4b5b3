"""NodeVolumeLimits: how many volumes of a CSI driver a node takes."""

from schedlab.scheduler.plugins.node_volume_limits.plugin import ENTRY, NodeVolumeLimits

__all__ = ["ENTRY", "NodeVolumeLimits"]
