"""The namespace controller: empties a namespace that is being deleted, then lets it go.

    Terminating ──► delete its pods ──► delete everything else ──► nothing left: take the finalizer `kubernetes` away

Mirrors: pkg/controller/namespace (v1.36)
Differs: conditions on what remains are not written; an object that will not go is waited for, not polled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.resources import ResourceType
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.protocol import Outcome, Write

_FINALIZER: Final = "kubernetes"


class Contents(Protocol):
    """The cache of one resource."""

    def stored(self, name: str, namespace: str = "") -> StoredObject | None: ...
    def all_stored(self, namespace: str | None = None) -> Sequence[StoredObject]: ...
    def on_change(self, handler: Callable[[WatchEvent], None]) -> None: ...


class ContentInformers(Protocol):
    """Where the controller hears of changes."""

    def lister(self, resource: str) -> Contents: ...


class NamespaceController:
    """Finishes the deletion of namespaces (client.effects.Part)."""

    def __init__(self, informers: ContentInformers, resources: Iterable[ResourceType]) -> None:
        self._informers = informers
        # Pods first: what they use must outlive them.
        names = [each.full_name for each in resources if each.namespaced and "delete" in each.verbs]
        stored = dict.fromkeys(name for name in sorted(names) if name != "events.events.k8s.io")
        self._resources = ("pods", *(name for name in stored if name != "pods"))
        self._namespaces = informers.lister("namespaces")
        self._contents: dict[str, Contents] = {}
        self._queue: dict[str, None] = {}
        self._namespaces.on_change(self._on_namespace)

    def ready(self) -> bool:
        """Whether a namespace waits for the next step of its end."""
        return bool(self._queue)

    def step(self) -> Sequence[Effect]:
        """Bring the namespace that has waited longest one step further."""
        name = next(iter(self._queue))
        del self._queue[name]
        return [WriteEffect(name, write) for write in self._reconcile(name)]

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Look at the namespace again after a refused write, unless what was to go is gone already."""
        assert isinstance(outcome, Outcome)
        if outcome.error is not None and outcome.error.reason == "Conflict":
            self._queue[effect.token] = None
        return ()

    def _on_namespace(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.object.view.metadata.deletion_timestamp:
            self._queue[event.object.name] = None

    def _on_content(self, event: WatchEvent) -> None:
        namespace = self._namespaces.stored(event.object.namespace)
        if namespace is not None and namespace.view.metadata.deletion_timestamp:
            self._queue[namespace.name] = None

    def _reconcile(self, name: str) -> Sequence[Write]:
        """Return what is to be written for a namespace now; what follows comes when this has happened."""
        namespace = self._namespaces.stored(name)
        if namespace is None or not namespace.view.metadata.deletion_timestamp:
            return ()
        for resources in (self._resources[:1], self._resources[1:]):
            remaining = [each for resource in resources for each in self._content(resource).all_stored(name)]
            if remaining:
                return [_delete(each) for each in remaining if not each.view.metadata.deletion_timestamp]
        return self._finalize(namespace)

    def _content(self, resource: str) -> Contents:
        """Return the cache of a resource; it is begun when the first namespace is deleted."""
        known = self._contents.get(resource)
        if known is None:
            known = self._contents[resource] = self._informers.lister(resource)
            known.on_change(self._on_content)
        return known

    def _finalize(self, namespace: StoredObject) -> Sequence[Write]:
        finalizers: Sequence[str] = namespace.raw["spec"].get("finalizers") or ()
        if _FINALIZER not in finalizers:
            # Somebody else's finalizer holds it, or only the last deletion is missing.
            return () if finalizers else [Write("delete", "namespaces", "", namespace.name)]
        body = namespace.thaw()
        body["spec"] = {"finalizers": [each for each in finalizers if each != _FINALIZER]}
        return [Write("update", "namespaces", "", namespace.name, body, subresource="finalize")]


def _delete(stored: StoredObject) -> Write:
    body = {"preconditions": {"uid": stored.uid}, "propagationPolicy": "Background"}
    return Write("delete", stored.resource, stored.namespace, stored.name, body)
