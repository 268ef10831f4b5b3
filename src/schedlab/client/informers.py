"""Caches of what an API server has, kept up to date by watches, and handlers that hear of every change.

    informers = Informers(client)
    pods = informers.lister("pods")            reads; the first use lists the resource and begins to watch it
    informers.on_change("pods", handler)       ADDED for all that is there, then every change; the cache knows it first

Mirrors: shared informers of staging/src/k8s.io/client-go/tools/cache (v1.36).
Differs: handlers are called at once and in the order in which they came; no resync; a change of nothing but the revision
is not told; a resource that the server does not serve has no objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from schedlab.api.object import EventType, StoredObject, WatchEvent
from schedlab.apimachinery.errors import NotFound
from schedlab.client.protocol import Client, Watch

Handler: TypeAlias = Callable[[WatchEvent], None]
#: Says under which value an object is indexed; "" leaves it out.
KeyOf: TypeAlias = Callable[[StoredObject], str]
#: The objects under each value, by (namespace, name).
Groups: TypeAlias = dict[str, dict[tuple[str, str], StoredObject]]


class _Index(NamedTuple):
    """Objects by another value: `values` has that of each object that has one."""

    key_of: KeyOf
    groups: Groups
    values: dict[tuple[str, str], str]

    def put(self, key: tuple[str, str], obj: StoredObject) -> None:
        value = self.key_of(obj)
        before = self.values.get(key)
        if before is not None and before != value:
            self.drop(key)
        if value:
            self.values[key] = value
            self.groups.setdefault(value, {})[key] = obj

    def drop(self, key: tuple[str, str]) -> None:
        value = self.values.pop(key, None)
        if value is not None:
            group = self.groups[value]
            del group[key]
            if not group:
                del self.groups[value]


class Informer:
    """The objects of one resource (client.listers.Lister), in the order in which they were first seen."""

    def __init__(self, client: Client, resource: str) -> None:
        self.resource = resource
        self._objects: dict[tuple[str, str], StoredObject] = {}
        self._of_namespace: dict[str, dict[str, StoredObject]] = {}
        self._indexes: dict[str, _Index] = {}
        self._handlers: tuple[Handler, ...] = ()
        self._watch: Watch | None = None
        self._start(client)

    def _start(self, client: Client) -> None:
        try:
            found, revision = client.list(self.resource)
        except NotFound:
            return
        for obj in found:
            self._put((obj.namespace, obj.name), obj)
        self._watch = client.watch(self.resource, revision, self._changed)

    # --- Reading ---

    def get(self, name: str, namespace: str = "") -> Any | None:
        """Return the typed view of one object, or None."""
        found = self._objects.get((namespace, name))
        return None if found is None else found.view

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        """Return the typed views of all objects (of one namespace)."""
        if namespace is None:
            return [obj.view for obj in self._objects.values()]
        return [obj.view for obj in self._of_namespace.get(namespace, {}).values()]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        """Return one whole object, or None."""
        return self._objects.get((namespace, name))

    def all_stored(self, namespace: str | None = None) -> Sequence[StoredObject]:
        """Return all whole objects (of one namespace)."""
        if namespace is None:
            return tuple(self._objects.values())
        return tuple(self._of_namespace.get(namespace, {}).values())

    @property
    def count(self) -> int:
        """How many objects there are."""
        return len(self._objects)

    def add_index(self, name: str, key_of: KeyOf) -> None:
        """Keep the objects by another value, too; an index of that name that is there already stays."""
        if name in self._indexes:
            return
        index = self._indexes[name] = _Index(key_of, {}, {})
        for key, obj in self._objects.items():
            index.put(key, obj)

    def indexed(self, name: str, value: str) -> Iterable[StoredObject]:
        """Return the whole objects that an index keeps under a value, in the order in which they came there."""
        return tuple(self._indexes[name].groups.get(value, {}).values())

    # --- Changes ---

    def by_name(self) -> Mapping[tuple[str, str], StoredObject]:
        """Return all whole objects by namespace and name, in the order in which they were first seen."""
        return self._objects

    def on_change(self, handler: Handler, *, from_now: bool = False) -> None:
        """Tell `handler` what is there, unless it is told `from_now` on, then of every change."""
        if not from_now:
            for obj in self.all_stored():
                handler(WatchEvent("ADDED", obj))
        self._handlers = (*self._handlers, handler)

    def forget(self, handler: Handler) -> None:
        """Tell `handler` no more."""
        self._handlers = tuple(one for one in self._handlers if one != handler)

    def stop(self) -> None:
        """Follow no more changes."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _changed(self, event: WatchEvent) -> None:
        obj = event.object
        key = obj.namespace, obj.name
        known = self._objects.get(key)
        if event.type == "DELETED":
            if known is None:
                return
            self._drop(key)
            told = WatchEvent("DELETED", obj, known)
        elif known is not None and obj.same_content(known):
            self._renew(key, obj)
            return
        else:
            self._put(key, obj)
            kind: EventType = "ADDED" if known is None else "MODIFIED"
            told = event if event.previous is known and event.type == kind else WatchEvent(kind, obj, known)
        for handler in self._handlers:
            handler(told)

    def _put(self, key: tuple[str, str], obj: StoredObject) -> None:
        for index in self._indexes.values():
            index.put(key, obj)
        self._objects[key] = obj
        siblings = self._of_namespace.get(obj.namespace)
        if siblings is None:
            siblings = self._of_namespace[obj.namespace] = {}
        siblings[obj.name] = obj

    def _renew(self, key: tuple[str, str], obj: StoredObject) -> None:
        """Take over an object of which only the revision is new: that changes nothing for anybody who listens."""
        for _, groups, values in self._indexes.values():
            value = values.get(key)
            if value is not None:
                groups[value][key] = obj
        self._objects[key] = obj
        self._of_namespace[obj.namespace][obj.name] = obj

    def _drop(self, key: tuple[str, str]) -> None:
        namespace, name = key
        for index in self._indexes.values():
            index.drop(key)
        del self._objects[key]
        siblings = self._of_namespace[namespace]
        del siblings[name]
        if not siblings:
            del self._of_namespace[namespace]


class Informers:
    """One informer per resource, begun at its first use (client.listers.Listers)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._informers: dict[str, Informer] = {}

    def lister(self, resource: str) -> Informer:
        """Return the objects of a resource; every caller gets the same informer."""
        informer = self._informers.get(resource)
        if informer is None:
            informer = self._informers[resource] = Informer(self._client, resource)
        return informer

    def on_change(self, resource: str, handler: Handler, *, from_now: bool = False) -> None:
        """Call `handler` with ADDED for every object that is there, unless `from_now`, and with every later change."""
        self.lister(resource).on_change(handler, from_now=from_now)

    def resources(self) -> tuple[str, ...]:
        """Return the resources that somebody listens to, in the order in which they were first asked for."""
        return tuple(self._informers)

    def stop(self) -> None:
        """Follow no more changes."""
        for informer in self._informers.values():
            informer.stop()


class Unheard:
    """The objects of informers for a part that is not to act: it is told of no change."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    def lister(self, resource: str) -> Informer:
        """See Informers."""
        return self._informers.lister(resource)

    def on_change(self, resource: str, handler: Handler) -> None:
        """Do nothing."""
