"""Going back to how a cluster was at a moment: at its start, or when a complete snapshot was taken.

Mirrors: simulator/reset/reset.go of kube-scheduler-simulator
Differs: what has not changed since is left alone; the history of revisions goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import StoredObject
from schedlab.registry import Registry

_Key: TypeAlias = tuple[str, str]

#: Made before everything else, and taken away after it.
FIRST: Final = (DEFINITIONS, "namespaces")


class KeptState:
    """All objects of a cluster at one moment; `restore` brings them back with their uids, and takes away all others."""

    def __init__(self, registry: Registry, objects: Mapping[str, Mapping[_Key, StoredObject]]) -> None:
        self._registry, self._objects = registry, objects

    @classmethod
    def of(cls, registry: Registry) -> KeptState:
        """Return how a cluster is now."""
        return cls(registry, {resource: _by_key(registry, resource) for resource in stored_resources(registry)})

    def restore(self) -> None:
        """Bring everything back at once."""
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        """Bring everything back object by object, so that others can do something in between."""
        yield from self.removals()
        registry = self._registry
        for resource, objects in self._objects.items():
            present = _by_key(registry, resource)
            for key, obj in objects.items():
                known = present.get(key)
                if known is None or not known.same_content(obj):
                    registry.adopt(resource, obj.thaw())
                    yield

    def removals(self) -> Iterator[None]:
        """Take away object by object what was not there."""
        registry = self._registry
        for resource in reversed(stored_resources(registry)):
            kept = self._objects.get(resource, {})
            for key in _by_key(registry, resource):
                if key not in kept:
                    registry.remove(resource, key[1], key[0])
                    yield


def stored_resources(registry: Registry) -> list[str]:
    """Return the stored resources, those that others depend on first."""
    stored = [resource.name for resource in registry.served if resource.storage == resource.name]
    return sorted(stored, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


def _by_key(registry: Registry, resource: str) -> dict[_Key, StoredObject]:
    return {(obj.namespace, obj.name): obj for obj in registry.list(resource).items}
