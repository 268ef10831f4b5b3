"""The scheduler's configuration file: KubeSchedulerConfiguration v1, its defaults, its validation and its wire form.

`load(raw, features)` is the way in: a decoded document becomes a `KubeSchedulerConfiguration` with every default filled
in, or a `ConfigError` that names every mistake. It makes no plugin.
"""

from schedlab.scheduler.config.load import ConfigError, default_configuration, dump, load
from schedlab.scheduler.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile

__all__ = [
    "ConfigError",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "default_configuration",
    "dump",
    "load",
]
