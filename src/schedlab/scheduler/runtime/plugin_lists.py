"""Which plugins of a profile run at which extension point, in which order and with which weight.

Mirrors: pkg/scheduler/framework/runtime/framework.go (v1.36), NewFramework, expandMultiPointPlugins and
getValidScoreWeights.
Differs: a plugin takes part in an extension point when it has the point's method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from schedlab.scheduler.config.types import KubeSchedulerProfile, Plugins, PluginSet

_MAX_TOTAL_SCORE: Final = (1 << 63) - 1


class ProfileError(Exception):
    """A profile's plugins cannot be put together."""


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """A place where plugins are called: its name here and in records, upstream's interface, the method it needs."""

    name: str
    interface: str
    method: str


# In upstream's order, in which mistakes are found.
POINTS: Final = (
    ExtensionPoint("pre_filter", "PreFilterPlugin", "pre_filter"),
    ExtensionPoint("filter", "FilterPlugin", "filter"),
    ExtensionPoint("post_filter", "PostFilterPlugin", "post_filter"),
    ExtensionPoint("reserve", "ReservePlugin", "reserve"),
    ExtensionPoint("pre_score", "PreScorePlugin", "pre_score"),
    ExtensionPoint("score", "ScorePlugin", "score"),
    ExtensionPoint("pre_bind", "PreBindPlugin", "pre_bind"),
    ExtensionPoint("bind", "BindPlugin", "bind"),
    ExtensionPoint("post_bind", "PostBindPlugin", "post_bind"),
    ExtensionPoint("permit", "PermitPlugin", "permit"),
    ExtensionPoint("pre_enqueue", "PreEnqueuePlugin", "pre_enqueue"),
    ExtensionPoint("queue_sort", "QueueSortPlugin", "sort_key"),
    ExtensionPoint("placement_generate", "PlacementGeneratePlugin", "generate_placements"),
    ExtensionPoint("placement_score", "PlacementScorePlugin", "score_placement"),
)
_METHODS: Final = {point.name: point.method for point in POINTS}


def takes_part(plugin: object, point: str) -> bool:
    """Whether the plugin has the method of the extension point."""
    return hasattr(plugin, _METHODS[point])


def needed(plugins: Plugins) -> dict[str, None]:
    """Return the names of all enabled plugins."""
    sets = [getattr(plugins, point.name) for point in POINTS] + [plugins.multi_point]
    return {plugin.name: None for each in sets for plugin in each.enabled}


def expand(profile: KubeSchedulerProfile, made: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the plugins of each extension point, in order; raises ProfileError."""
    plugins = profile.plugins
    assert plugins is not None
    chosen = {point.name: _enabled(point, getattr(plugins, point.name), made) for point in POINTS}
    if plugins.multi_point.enabled:
        for point in POINTS:
            own: PluginSet = getattr(plugins, point.name)
            if not own.disables("*"):
                chosen[point.name] = _merge(point, own, plugins.multi_point, chosen[point.name], made)
    _check(profile.scheduler_name or "", chosen)
    return {name: tuple(made[plugin] for plugin in names) for name, names in chosen.items()}


def _enabled(point: ExtensionPoint, own: PluginSet, made: Mapping[str, Any]) -> list[str]:
    names: list[str] = []
    for entry in own.enabled:
        plugin = _find(point, entry.name, made)
        if not hasattr(plugin, point.method):
            raise ProfileError(f'plugin "{entry.name}" does not extend {point.interface} plugin')
        if entry.name in names:
            raise ProfileError(f'plugin "{entry.name}" already registered as "{point.interface}"')
        names.append(entry.name)
    return names


def _find(point: ExtensionPoint, name: str, made: Mapping[str, Any]) -> Any:
    if name not in made:
        raise ProfileError(f'{point.interface} "{name}" does not exist')
    return made[name]


def _merge(
    point: ExtensionPoint, own: PluginSet, multi: PluginSet, specific: list[str], made: Mapping[str, Any]
) -> list[str]:
    """Order: overrides of multiPoint plugins, then the other multiPoint plugins, then what is only enabled here."""
    overrides: list[str] = []
    from_multi: list[str] = []
    for entry in multi.enabled:
        plugin = _find(point, entry.name, made)
        if not hasattr(plugin, point.method) or own.disables(entry.name):
            continue
        if entry.name in specific:
            overrides.append(entry.name)
        elif entry.name in from_multi:
            raise ProfileError(f'plugin "{entry.name}" already registered as "{point.interface}"')
        else:
            from_multi.append(entry.name)
    return [
        *(name for name in specific if name in overrides),
        *from_multi,
        *(name for name in specific if name not in overrides),
    ]


def _check(profile: str, chosen: Mapping[str, list[str]]) -> None:
    if len(chosen["queue_sort"]) != 1:
        raise ProfileError(
            f'only one queue sort plugin required for profile with scheduler name "{profile}", '
            f"but got {len(chosen['queue_sort'])}"
        )
    if not chosen["bind"]:
        raise ProfileError(f'at least one bind plugin is needed for profile with scheduler name "{profile}"')
    if len(chosen["placement_generate"]) > 1:
        raise ProfileError(
            f'at most one placement generate plugin is allowed for profile with scheduler name "{profile}"'
        )


def score_weights(plugins: Plugins, made: Mapping[str, Any]) -> dict[str, int]:
    """Return the weights of score plugins; what stands at the score point wins over multiPoint."""
    weights: dict[str, int] = {}
    total = 0
    for entry in (*plugins.score.enabled, *plugins.multi_point.enabled):
        if entry.name in weights or not takes_part(made[entry.name], "score"):
            continue
        weight = weights[entry.name] = entry.weight or 1
        if weight * MAX_NODE_SCORE > _MAX_TOTAL_SCORE - total:
            raise ProfileError("score plugins: total score of Score plugins could overflow")
        total += weight * MAX_NODE_SCORE
    return weights
