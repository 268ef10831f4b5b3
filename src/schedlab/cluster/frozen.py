"""What the listers of a cluster know at one moment, for schedulers of forks: it stays as it is whatever happens there.

Objects can be put in place of others (`put`, `drop`), for whoever tries changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.api.object import StoredObject
from schedlab.client.informers import Informers
from schedlab.store import Store

Key = tuple[str, str]


class FrozenLister:
    """The objects of one resource by namespace and name (client.listers.Lister)."""

    def __init__(self, objects: Mapping[Key, StoredObject]) -> None:
        self._objects = dict(objects)

    def get(self, name: str, namespace: str = "") -> Any | None:
        """Return the typed view of one object, or None."""
        found = self._objects.get((namespace, name))
        return None if found is None else found.view

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        """Return the typed views of all objects (of one namespace)."""
        return [obj.view for obj in self.all_stored(namespace)]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        """Return one whole object, or None."""
        return self._objects.get((namespace, name))

    def all_stored(self, namespace: str | None = None) -> Sequence[StoredObject]:
        """Return all whole objects (of one namespace)."""
        return [obj for (own, _), obj in self._objects.items() if namespace is None or own == namespace]

    def put(self, obj: StoredObject) -> None:
        """Let an object be there, in the place of an older state of it."""
        self._objects[obj.namespace, obj.name] = obj

    def drop(self, obj: StoredObject) -> None:
        """Let an object be gone."""
        self._objects.pop((obj.namespace, obj.name), None)


class FrozenListers:
    """One frozen lister per resource (client.listers.Listers).

    With `informers` they are as those are now, in the order in which objects were first seen; resources that these do
    not follow, and all without, come from the store, in the order of their names.
    """

    def __init__(self, store: Store, informers: Informers | None = None) -> None:
        self._store = store
        self._listers: dict[str, FrozenLister] = {}
        if informers is not None:
            for resource in informers.resources():
                self._listers[resource] = FrozenLister(informers.lister(resource).by_name())

    def lister(self, resource: str) -> FrozenLister:
        """Return the lister of a resource; every caller gets the same one."""
        found = self._listers.get(resource)
        if found is None:
            objects = {(obj.namespace, obj.name): obj for obj in self._store.list(resource)}
            found = self._listers[resource] = FrozenLister(objects)
        return found
