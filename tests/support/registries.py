"""Registries for tests of admission."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.registry.admission.plugins import DEFAULT_NAMES
from schedlab.store import Store


def new_registry(*, without: Sequence[str] = (), features: FeatureGates | None = None) -> Registry:
    """Return a registry as a server has it at its start, with all default admission but what is named."""
    admission = tuple(name for name in DEFAULT_NAMES if name not in without)
    registry = Registry(Store(), VirtualClock(), SeededRandom(1), features, admission=admission)
    bootstrap(registry)
    return registry
