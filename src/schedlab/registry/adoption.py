"""Taking over objects as another API server holds them: with uid, times, owners, managers and status.

What a client may not set is kept here, since the other server has set it. Defaults and checks are those of a create, so
that nothing is stored that this server could not have written; admission has spoken in the other cluster.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import new_bad_request, new_invalid
from schedlab.registry.core import Core
from schedlab.registry.request import NO_OPTIONS
from schedlab.registry.resource import Resource

#: What a pod has only once it runs, so that creates are refused that have it.
_EPHEMERAL: Final = "ephemeralContainers"


class Adopter:
    """Stores and removes objects past the rules for clients."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def adopt(self, resource: Resource, obj: Object) -> StoredObject:
        """Store an object, in place of one of the same name if there is one; raises Invalid, BadRequest."""
        context = replace(self._core.context(NO_OPTIONS), warnings=[], warns=False)
        metadata = obj["metadata"]
        if not metadata.get("name"):
            raise new_bad_request(f"an object of {resource.name} has no name")
        if resource.namespaced == (not metadata.get("namespace")):
            wanted = "needs a namespace" if resource.namespaced else "has no namespace"
            raise new_bad_request(f"{resource.name} {metadata['name']}: this kind {wanted}")
        metadata.setdefault("creationTimestamp", context.now)
        if not metadata.get("uid"):
            metadata["uid"] = self._core.random.uid()
        metadata.pop("resourceVersion", None)
        self._check(resource, obj, context)
        return self._put(resource, resource.to_stored(obj))

    def _check(self, resource: Resource, obj: Object, context: Context) -> None:
        strategy = resource.strategy
        strategy.default(obj, context)
        spec = obj.get("spec")
        later = spec.pop(_EPHEMERAL, None) if resource.name == "pods" and isinstance(spec, dict) else None
        errors = list(strategy.validate(obj, context))
        if errors:
            raise new_invalid(resource.group_kind, obj["metadata"]["name"], errors)
        if later is not None:
            obj["spec"][_EPHEMERAL] = later

    def _put(self, resource: Resource, obj: Object) -> StoredObject:
        store = self._core.store
        stored = StoredObject.encode(resource.storage, obj, store.next_revision)
        present = store.get(resource.storage, stored.key)
        if present is None:
            store.create(stored)
        elif present.same_content(stored):
            return present
        else:
            store.update(stored, present.revision)
        return stored

    def remove(self, resource: Resource, name: str, namespace: str) -> None:
        """Take an object away at once, whatever its finalizers and its grace; nothing happens when it is gone."""
        present = self._core.store.get(resource.storage, resource.key(namespace, name))
        if present is not None:
            self._core.store.delete(resource.storage, present.key, present.revision)
