"""What every part of the registry works with: the store, the clock, the dice, the resources, admission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import time
from schedlab.apimachinery.errors import new_not_found
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.registry.admission.chain import Chain
from schedlab.registry.request import WriteOptions
from schedlab.registry.resource import Resource
from schedlab.store import Store

#: Completes an object before it is checked, given what is stored; may raise a StatusError.
Begin: TypeAlias = Callable[[Object, Object | None], None]


class Core:
    """The shared state of a registry."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        random: RandomSource,
        features: FeatureGates,
        admission: Chain,
        resources: Mapping[str, Resource],
    ) -> None:
        self.store = store
        self.clock = clock
        self.random = random
        self.features = features
        self.admission = admission
        self.resources = resources
        #: Resources whose objects need values that no other object may have.
        self.begin: dict[str, Begin] = {}
        #: Makes the account `default` of a namespace at once, where a controller would soon do so anyway.
        self.provide_account: Callable[[str], None] = _no_account

    def now(self) -> str:
        """The time as the wire has it."""
        return time.format_time(self.clock.now_ns())

    def context(self, options: WriteOptions) -> Context:
        return Context(self.features, self.now(), options.warnings, options.user)

    def find(self, resource: str, namespace: str, name: str) -> StoredObject | None:
        """Return an object, or None."""
        return self.store.get(resource, self.resources[resource].key(namespace, name))

    def require(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """Return an object; raises NotFound."""
        found = self.store.get(resource.storage, resource.key(namespace, name))
        if found is None:
            raise new_not_found(resource.group_resource, name)
        return found


def _no_account(_namespace: str) -> None:
    """Leave it to users to make accounts: no controller runs."""
