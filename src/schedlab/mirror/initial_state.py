"""Going back to how a cluster was at its start.

Mirrors: simulator/reset/reset.go of kube-scheduler-simulator
Differs: what has not changed since is left alone; the history of revisions goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from schedlab.api.object import StoredObject
from schedlab.registry import Registry

_Key: TypeAlias = tuple[str, str]

#: Made before everything else, and taken away after it.
_FIRST: Final = ("customresourcedefinitions.apiextensions.k8s.io", "namespaces")


class InitialState:
    """All objects of a cluster at one moment; `restore` brings them back with their uids, and takes away all others."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._objects = {resource: _by_key(registry, resource) for resource in _resources(registry)}

    def restore(self) -> None:
        """Bring everything back at once."""
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        """Bring everything back object by object, so that others can do something in between."""
        registry = self._registry
        for resource in reversed(_resources(registry)):
            kept = self._objects.get(resource, {})
            for key in _by_key(registry, resource):
                if key not in kept:
                    registry.remove(resource, key[1], key[0])
                    yield
        for resource, objects in self._objects.items():
            present = _by_key(registry, resource)
            for key, obj in objects.items():
                known = present.get(key)
                if known is None or not known.same_content(obj):
                    registry.adopt(resource, obj.thaw())
                    yield


def _resources(registry: Registry) -> list[str]:
    """Return the stored resources, those that others depend on first."""
    stored = [resource.name for resource in registry.served if resource.storage == resource.name]
    return sorted(stored, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))


def _by_key(registry: Registry, resource: str) -> dict[_Key, StoredObject]:
    return {(obj.namespace, obj.name): obj for obj in registry.list(resource).items}
