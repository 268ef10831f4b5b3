"""Makes schedulers as the settings of a cluster want them: its own, those of forks, those of moments of the past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedlab.cluster.plugin_registry import enable, registry_for
from schedlab.scheduler.config import ConfigError, default_configuration, load
from schedlab.scheduler.scheduler import Origin, Scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schedlab.client.listers import Listers
    from schedlab.cluster.cluster import ClusterSettings
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
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


def make_scheduler(
    settings: ClusterSettings, around: Surroundings, raw: Mapping[str, Any] | None, location: str = ""
) -> tuple[Scheduler, Sequence[str]]:
    """Return a scheduler with a decoded configuration (None: the default one), and lines that the user should see."""
    features = settings.feature_gates
    config = default_configuration(features) if raw is None else load(raw, features, location=location)
    if raw is None:
        enable(config, settings.plugins)
    plugins = registry_for(config, settings.plugins, settings.hooks, location=location)
    try:
        scheduler = Scheduler(
            config,
            clock=around.clock,
            random=around.random,
            listers=around.listers,
            features=features,
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
