"""Profiles: one framework per scheduler name, made from the configuration.

Mirrors: pkg/scheduler/profile/profile.go and New in pkg/scheduler/scheduler.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from schedlab.scheduler.config.args import NodeResourcesFitArgs
from schedlab.scheduler.config.load import ConfigError
from schedlab.scheduler.extender import ignored_resources
from schedlab.scheduler.runtime.framework import Framework
from schedlab.scheduler.runtime.plugin_lists import ProfileError

if TYPE_CHECKING:
    from schedlab.scheduler.config.types import KubeSchedulerConfiguration
    from schedlab.scheduler.framework.interface import PluginEntry
    from schedlab.scheduler.runtime.framework import Services


def build_profiles(
    config: KubeSchedulerConfiguration, registry: Mapping[str, PluginEntry], services: Services
) -> dict[str, Framework]:
    """Return the frameworks by scheduler name; raises ConfigError in upstream's words."""
    _leave_to_extenders(config)
    made: dict[str, Framework] = {}
    for profile in config.profiles:
        name = profile.scheduler_name or ""
        try:
            made[name] = Framework(profile, registry, services)
        except ProfileError as error:
            text = f"initializing profiles: creating profile for scheduler name {name}: {error}"
            raise ConfigError(text, hint=_hint(str(error), registry)) from error
    return made


def _leave_to_extenders(config: KubeSchedulerConfiguration) -> None:
    """Resources that an extender looks after alone are not looked at by NodeResourcesFit."""
    ignored = ignored_resources(config.extenders)
    if not ignored:
        return
    for profile in config.profiles:
        args = profile.args_of("NodeResourcesFit")
        if not isinstance(args, NodeResourcesFitArgs):
            raise ConfigError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
        args.ignored_resources = ignored


def _hint(message: str, registry: Mapping[str, PluginEntry]) -> str:
    if "does not exist" in message:
        return f"plugins are: {', '.join(sorted(registry))}"
    return ""
