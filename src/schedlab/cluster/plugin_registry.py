"""Which plugins a scheduler can use beside its own, and what the user should know about that.

As in kube-scheduler a plugin that is registered runs only in profiles that enable it. Without a configuration there is
no place to do so, therefore plugins that the user names run in the default profile then, at all their extension points.
Installed plugins are never enabled by themselves: installing a package changes no decision.

Mirrors: WithPlugin of cmd/kube-scheduler/app and Registry.Merge of pkg/scheduler/framework/runtime/registry.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from schedlab.cluster.guest_source import fetch
from schedlab.cluster.plugin_loading import PluginLoadError, installed_plugins, load_installed
from schedlab.scheduler.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from schedlab.scheduler.config.types import Plugin, PluginConfig
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.runtime.plugin_lists import needed
from schedlab.scheduler.wasm import is_wasm, wasm_entry

_TO_ENABLE: Final = "plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}"


@dataclass(slots=True)
class PluginRegistry:
    """Entries by name of what does not come with the scheduler; `warnings` are lines for the user."""

    entries: dict[str, PluginEntry] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def registry_for(
    config: KubeSchedulerConfiguration, given: Sequence[PluginEntry], hooks: Iterable[str] = (), *, location: str = ""
) -> PluginRegistry:
    """Return the plugins for a configuration: those given, WebAssembly and installed ones that it enables.

    `hooks` are the names of plugins with hooks around them.
    """
    registry = PluginRegistry({entry.name: entry for entry in given})
    check_names(given)
    wanted = _wanted(config.profiles)
    declared = _wasm_names(config)
    missing = [name for name in wanted if name not in IN_TREE and name not in registry.entries]
    registry.entries |= {name: wasm_entry(name, fetch) for name in missing if name in declared}
    missing = [name for name in missing if name not in registry.entries]
    if missing:
        installed = installed_plugins()
        registry.entries |= {name: load_installed(installed[name]) for name in missing if name in installed}
    registry.warnings += _not_enabled(given, wanted, location)
    registry.warnings += _args_of_nobody(config, registry, location)
    registry.warnings += [
        f"hooks around {name} do nothing: no profile enables such a plugin" for name in hooks if name not in wanted
    ]
    return registry


def check_names(given: Iterable[PluginEntry]) -> None:
    """Refuse names that the scheduler's own plugins have, and names that are given twice."""
    seen: dict[str, None] = {}
    for entry in given:
        if entry.name in IN_TREE or entry.name in seen:
            who = "another plugin" if entry.name in seen else "a plugin of the scheduler"
            raise PluginLoadError(
                f"{who} has this name already", location=f"plugin {entry.name}", hint="give yours another `name`"
            )
        seen[entry.name] = None


def enable(config: KubeSchedulerConfiguration, given: Iterable[PluginEntry]) -> None:
    """Enable plugins in the (only) profile of the default configuration."""
    plugins = config.profiles[0].plugins
    assert plugins is not None
    plugins.multi_point.enabled.extend(Plugin(name=entry.name) for entry in given)


def _wanted(profiles: Iterable[KubeSchedulerProfile]) -> dict[str, None]:
    names: dict[str, None] = {}
    for profile in profiles:
        assert profile.plugins is not None
        names |= needed(profile.plugins)
    return names


def _wasm_names(config: KubeSchedulerConfiguration) -> dict[str, None]:
    """Return the plugins that a configuration declares to be WebAssembly."""
    return {
        entry.name: None
        for profile in config.profiles
        for entry in profile.plugin_config
        if entry.name not in IN_TREE and is_wasm(entry.args)
    }


def _not_enabled(given: Iterable[PluginEntry], wanted: dict[str, None], location: str) -> list[str]:
    where = location or "the scheduler configuration"
    return [
        f"plugin {entry.name} does not run: no profile of {where} enables it; "
        f"add to a profile: {_TO_ENABLE.format(name=entry.name)}"
        for entry in given
        if entry.name not in wanted
    ]


def _nobody(config: PluginConfig) -> str:
    if is_wasm(config.args):
        return f"no profile enables the WebAssembly plugin {config.name}"
    return f"there is no plugin {config.name}"


def _args_of_nobody(config: KubeSchedulerConfiguration, registry: PluginRegistry, location: str) -> list[str]:
    """Arguments for a plugin that nobody knows are ignored by upstream, but hardly meant."""
    prefix = f"{location}: " if location else ""
    return [
        f"{prefix}profiles[{p}].pluginConfig[{c}]: {_nobody(entry)}; its arguments are ignored"
        for p, profile in enumerate(config.profiles)
        for c, entry in enumerate(profile.plugin_config)
        if entry.name not in IN_TREE and entry.name not in registry.entries
    ]
