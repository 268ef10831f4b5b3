"""VolumeBinding: the pod's claims, finding volumes for them, binding them, and the plugin that puts it together."""

from schedlab.scheduler.plugins.volume_binding.plugin import ENTRY, VolumeBinding

__all__ = ["ENTRY", "VolumeBinding"]
