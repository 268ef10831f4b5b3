"""What every part of the registry works with: the store, the clock, the dice, the resources, admission."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Notes:
    """What an outcome depended on besides its request."""

    #: Resource, and key or prefix, of everything that was read from the store.
    reads: dict[tuple[str, str], None] = field(default_factory=dict)
    #: The random endings of names that were drawn, in order.
    suffixes: list[str] = field(default_factory=list)
    #: Something else was drawn, other than uids.
    other_draws: bool = False
    #: The resources that were read, and the state in which they were.
    states: tuple[tuple[str, int], ...] = ()
    #: Something was written meanwhile.
    wrote: bool = False


class _NotedRandom:
    """Dice that note what they give."""

    def __init__(self, source: RandomSource, notes: Notes) -> None:
        self._source = source
        self._notes = notes

    @property
    def state(self) -> int:
        """Tell the state of the dice themselves."""
        return self._source.state

    def below(self, n: int) -> int:
        """Draw an integer."""
        self._notes.other_draws = True
        return self._source.below(n)

    def fraction(self) -> float:
        """Draw a float."""
        self._notes.other_draws = True
        return self._source.fraction()

    def uid(self) -> str:
        """Draw a uid."""
        return self._source.uid()

    def suffix(self, length: int = 5) -> str:
        """Draw the end of a name."""
        drawn = self._source.suffix(length)
        self._notes.suffixes.append(drawn)
        return drawn

    def split(self, label: str) -> RandomSource:
        """Split off dice of which nothing is noted."""
        self._notes.other_draws = True
        return self._source.split(label)


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
        #: The same dice where they name an object, which is not noted: names are always drawn anew.
        self.naming = random
        self.features = features
        self.admission = admission
        self.resources = resources
        #: Resources whose objects need values that no other object may have.
        self.begin: dict[str, Begin] = {}
        #: Makes the account `default` of a namespace at once, where a controller would soon do so anyway.
        self.provide_account: Callable[[str], None] = _no_account

    @contextmanager
    def noting(self) -> Iterator[Notes]:
        """Note what is read from the store and drawn from the dice meanwhile."""
        notes = Notes()
        random, on_read, revision = self.random, self.store.on_read, self.store.revision

        def read(resource: str, key: str) -> None:
            notes.reads[resource, key] = None
            if on_read is not None:
                on_read(resource, key)

        self.random, self.store.on_read = _NotedRandom(random, notes), read
        try:
            yield notes
        finally:
            self.random, self.store.on_read = random, on_read
            notes.wrote = self.store.revision != revision
            resources = dict.fromkeys(resource for resource, _ in notes.reads)
            notes.states = tuple((resource, self.store.stamp(resource)) for resource in resources)

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
