"""Profiles: one framework per scheduler name, made from the configuration.

Mirrors: pkg/scheduler/profile/profile.go and New in pkg/scheduler/scheduler.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.config.args import NodeResourcesFitArgs
from schedlab.scheduler.config.load import ConfigError
from schedlab.scheduler.config.types import ConfigStruct
from schedlab.scheduler.extender import ignored_resources
from schedlab.scheduler.framework.plugin_args import PluginArgsError
from schedlab.scheduler.runtime.framework import Framework
from schedlab.scheduler.runtime.plugin_lists import ProfileError, needed
from schedlab.scheduler.runtime.timed_framework import TimedFramework

if TYPE_CHECKING:
    from schedlab.scheduler.config.types import KubeSchedulerConfiguration
    from schedlab.scheduler.framework.interface import PluginEntry
    from schedlab.scheduler.runtime.framework import Services

# Plugins of 1.36 that are not here, with what they need; all are alpha and off by default.
_ABSENT: Final = {
    "TopologyPlacementGenerator": "placements of pod groups",
    "PodGroupPodsCount": "placements of pod groups",
}


def build_profiles(
    config: KubeSchedulerConfiguration, registry: Mapping[str, PluginEntry], services: Services
) -> dict[str, Framework]:
    """Return the frameworks by scheduler name; raises ConfigError in upstream's words."""
    _refuse_absent(config, registry)
    if services.features.enabled("WorkloadAwarePreemption"):
        raise ConfigError(
            "the gate WorkloadAwarePreemption is on: preemption for a pod group as a whole is not part of schedlab",
            hint="leave the alpha gate WorkloadAwarePreemption off; each pod of a group may preempt for itself",
        )
    _leave_to_extenders(config)
    _check_args(config, registry)
    made: dict[str, Framework] = {}
    make = Framework if services.metrics is None else TimedFramework
    for profile in config.profiles:
        name = profile.scheduler_name or ""
        try:
            made[name] = make(profile, registry, services)
        except ProfileError as error:
            text = f"initializing profiles: creating profile for scheduler name {name}: {error}"
            raise ConfigError(text, hint=_hint(str(error), registry)) from error
    return made


def _refuse_absent(config: KubeSchedulerConfiguration, registry: Mapping[str, PluginEntry]) -> None:
    for index, profile in enumerate(config.profiles):
        assert profile.plugins is not None
        for name in needed(profile.plugins):
            if name in _ABSENT and name not in registry:
                raise ConfigError(
                    f"profiles[{index}].plugins: {name} is not part of schedlab: {_ABSENT[name]} are missing",
                    hint=f"leave the alpha gate TopologyAwareWorkloadScheduling off, or disable {name} at multiPoint",
                )


def _check_args(config: KubeSchedulerConfiguration, registry: Mapping[str, PluginEntry]) -> None:
    """Name every mistake in the arguments of plugins that do not come with the scheduler; those were checked before."""
    problems: list[str] = []
    hint = ""
    for p, profile in enumerate(config.profiles):
        for c, given in enumerate(profile.plugin_config):
            entry = registry.get(given.name)
            if entry is None or entry.args is None or isinstance(given.args, ConfigStruct):
                continue
            try:
                entry.args({} if given.args is None else given.args)
            except ValueError as error:
                where = f"profiles[{p}].pluginConfig[{c}]"
                found = error if isinstance(error, PluginArgsError) else PluginArgsError([("", str(error))])
                problems += [f"{where}.args{path}: {text}" for path, text in found.problems]
                hint = hint or (f"{where}.{found.hint}" if found.hint.startswith("args") else found.hint)
    if problems:
        raise ConfigError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]", hint=hint)


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
