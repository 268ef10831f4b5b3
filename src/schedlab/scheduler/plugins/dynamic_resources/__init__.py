"""DynamicResources: devices for pods, through claims and through extended resources that a device class backs."""

from schedlab.scheduler.plugins.dynamic_resources.plugin import ENTRY, DynamicResources

__all__ = ["ENTRY", "DynamicResources"]
