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
    return provide_accounts(registry)


def provide_accounts(registry: Registry) -> Registry:
    """Let a registry make the account of a namespace when the first pod needs it, as a cluster does."""

    def provide(namespace: str) -> None:
        account = registry.decode("serviceaccounts", {"metadata": {"name": "default"}})
        registry.create("serviceaccounts", account, namespace)

    registry.provide_accounts(provide)
    return registry
