"""VolumeBinding: finds, assumes and binds the volumes of a pod's claims."""

from schedlab.scheduler.plugins.volume_binding.plugin import ENTRY, VolumeBinding

__all__ = ["ENTRY", "VolumeBinding"]
