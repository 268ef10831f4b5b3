"""Makes schedulers as the settings of a cluster want them: its own, those of forks, those of moments of the past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from schedlab.cluster.plugin_registry import enable, registry_for
from schedlab.scheduler.config import ConfigError, KubeSchedulerConfiguration, load
from schedlab.scheduler.scheduler import Origin, Scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.listers import Listers
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler.framework.hooks import HooksFactory
    from schedlab.scheduler.framework.interface import PluginEntry
    from schedlab.scheduler.framework.record import Observer
    from schedlab.scheduler.metrics import SchedulerMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a scheduler is put into; see `Scheduler`."""

    clock: Clock
    random: RandomSource
    listers: Listers
    observer: Observer
    origin: Origin | None = None
    metrics: SchedulerMetrics | None = None


class SchedulerSettings(Protocol):
    """What is chosen for a scheduler beside its configuration; see `ClusterSettings`."""

    @property
    def feature_gates(self) -> FeatureGates: ...

    @property
    def plugins(self) -> tuple[PluginEntry, ...]: ...

    @property
    def hooks(self) -> Mapping[str, HooksFactory]: ...

    @property
    def full(self) -> bool: ...


def configuration_of(
    settings: SchedulerSettings, raw: Mapping[str, Any] | None, location: str
) -> KubeSchedulerConfiguration:
    """Return what a decoded configuration stands for (None: the default one, with all plugins of the settings)."""
    config = load(raw, settings.feature_gates, location=location)
    if raw is None:
        enable(config, settings.plugins)
    return config


def make_scheduler(
    settings: SchedulerSettings, around: Surroundings, raw: Mapping[str, Any] | None, location: str = ""
) -> tuple[Scheduler, Sequence[str]]:
    """Return a scheduler with a decoded configuration, and lines that the user should see."""
    config = configuration_of(settings, raw, location)
    plugins = registry_for(config, settings.plugins, settings.hooks, location=location)
    try:
        scheduler = Scheduler(
            config,
            clock=around.clock,
            random=around.random,
            listers=around.listers,
            features=settings.feature_gates,
            registry=plugins.entries,
            hooks=settings.hooks,
            observer=around.observer,
            full=settings.full,
            origin=around.origin,
            metrics=around.metrics,
        )
    except ConfigError as error:
        # What is wrong with a profile shows only when its plugins are made, and they do not know the file.
        error.location = error.location or location
        raise
    return scheduler, tuple(plugins.warnings)
