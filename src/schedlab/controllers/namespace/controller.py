"""The namespace controller: empties a namespace that is being deleted, then lets it go.

    Terminating ──► delete its pods ──► delete everything else ──► nothing left: take the finalizer `kubernetes` away
                         └─ what will not go is told by conditions ─┘

Mirrors: pkg/controller/namespace (v1.36)
Differs: an object that will not go is waited for, not polled; so conditions follow it by a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.time import format_time
from schedlab.client.informers import Informer
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, SyncError, ask
from schedlab.controllers.framework.definitions import served_types
from schedlab.controllers.framework.status import new_status
from schedlab.controllers.namespace.conditions import new_conditions
from schedlab.kernel.clock import SECOND_NS

_FINALIZER: Final = "kubernetes"
_PODS: Final = "pods"
#: What of a namespace changes meanwhile is looked at together.
_GATHER_NS: Final = SECOND_NS
#: A deletion that comes to nothing because of these is none of ours any more.
_SETTLED: Final = ("Conflict", "NotFound")


class NamespaceController(Controller):
    """Finishes the deletion of namespaces; keys are their names."""

    name: ClassVar[str] = "namespace-controller"
    workers: ClassVar[int] = 10

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        names = [each.full_name for each in context.resources if each.namespaced and "delete" in each.verbs]
        stored = dict.fromkeys(name for name in sorted(names) if name != "events.events.k8s.io")
        # Pods first: what they use must outlive them.
        self._others = tuple(name for name in stored if name != _PODS)
        self._definitions = context.lister(DEFINITIONS)
        self._contents: dict[str, Informer] = {}
        self._namespaces = context.lister("namespaces")
        self._namespaces.on_change(self._on_namespace)

    def _on_namespace(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.object.view.metadata.deletion_timestamp:
            self.queue.add(event.object.name)

    def _on_content(self, event: WatchEvent) -> None:
        name = event.object.namespace
        namespace = self._namespaces.stored(name)
        if namespace is None or not namespace.view.metadata.deletion_timestamp:
            return
        if event.type == "ADDED" or not self._contents[event.object.resource].all_stored(name):
            self.queue.add(name)
        else:
            self.queue.add_after(name, _GATHER_NS)

    def sync(self, key: str) -> Steps:
        """Take a namespace one step nearer to its end; the next one comes when this has been heard of."""
        namespace = self._namespaces.stored(key)
        if namespace is None or not namespace.view.metadata.deletion_timestamp:
            return
        remaining: Sequence[StoredObject] = ()
        failures: Sequence[str] = ()
        for resources in ((_PODS,), self._all_others()):
            remaining = [each for resource in resources for each in self._content(resource).all_stored(key)]
            living = [each for each in remaining if not each.view.metadata.deletion_timestamp]
            if living:
                failures = yield from _delete(living)
                if not failures:
                    return
            if remaining:
                break
        if (yield from self._tell(namespace, remaining, failures)):
            return
        if failures:
            raise SyncError(failures[0])
        if not remaining:
            yield from self._finalize(namespace)

    def _all_others(self) -> Sequence[str]:
        """Return every resource but pods, those that definitions have added among them."""
        types = [each for stored in self._definitions.all_stored() for each in served_types(stored)]
        return (*self._others, *dict.fromkeys(each.full_name for each in types if each.namespaced))

    def _content(self, resource: str) -> Informer:
        """Return the cache of a resource; it is begun when the first namespace is deleted."""
        known = self._contents.get(resource)
        if known is None:
            known = self._contents[resource] = self.context.lister(resource)
            known.on_change(self._on_content)
        return known

    def _tell(
        self, namespace: StoredObject, remaining: Sequence[StoredObject], failures: Sequence[str]
    ) -> Asking[bool]:
        """Write what is left into the conditions; returns whether that changed them."""
        status = namespace.raw.get("status") or {}
        known = status.get("conditions") or ()
        conditions = new_conditions(known, remaining, failures, format_time(self.clock.now_ns()))
        if list(conditions) == list(known):
            return False
        yield from ask(new_status(namespace, {**status, "conditions": conditions}))
        return True

    def _finalize(self, namespace: StoredObject) -> Steps:
        finalizers: Sequence[str] = namespace.raw["spec"].get("finalizers") or ()
        if _FINALIZER in finalizers:
            body = namespace.thaw()
            body["spec"] = {"finalizers": [each for each in finalizers if each != _FINALIZER]}
            yield from ask(Write("update", "namespaces", "", namespace.name, body, subresource="finalize"))
        elif not finalizers:
            # Only the last deletion is missing; otherwise somebody else's finalizer holds it.
            yield from ask(Write("delete", "namespaces", "", namespace.name))


def _delete(living: Sequence[StoredObject]) -> Asking[Sequence[str]]:
    """Delete objects; returns why those stay that cannot be deleted."""
    outcomes = yield [
        Write(
            "delete",
            each.resource,
            each.namespace,
            each.name,
            {"preconditions": {"uid": each.uid}, "propagationPolicy": "Background"},
        )
        for each in living
    ]
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return [error.message for error in errors if error.reason not in _SETTLED]
