"""Taking over objects as another API server holds them: with uid, times, owners, managers and status.

What a client may not set is kept here, since the other server has set it. Defaults and checks are those of a create, so
that nothing is stored that this server could not have written; admission has spoken in the other cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation.pods.known_specs import KnownSpecs
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.views.sharing import SharedParts
from schedlab.apimachinery.errors import new_bad_request, new_invalid
from schedlab.registry.core import Core
from schedlab.registry.request import NO_OPTIONS
from schedlab.registry.resource import Resource, decoded

#: What a pod has only once it runs, so that creates are refused that have it.
_EPHEMERAL: Final = "ephemeralContainers"
_PODS: Final = "pods"


class Adopter:
    """Stores and removes objects past the rules for clients."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._rules = PodRules(core.features, is_pod=True)
        #: Specs of pods that are as they would be stored.
        self._settled = KnownSpecs()
        self._parts = SharedParts()

    def adopt(self, resource: Resource, source: Mapping[str, Any]) -> StoredObject:
        """Store an object, in place of one of the same name if there is one; raises Invalid, BadRequest."""
        obj = self._settle(resource, source)
        return self._put(resource, resource.to_stored(obj))

    def _settle(self, resource: Resource, source: Mapping[str, Any]) -> Object:
        """Return an object in the form in which it is stored, checked."""
        kind, spec = resource.type.gvk, source.get("spec")
        key = self._key(spec) if resource.name == _PODS else None
        if key in self._settled:
            obj = decoded(source, kind, resource.schema, {"spec": spec})
            self._check(resource, obj)
        else:
            obj = decoded(source, kind, resource.schema)
            self._check(resource, obj)
            if key is not None and orjson.dumps(obj["spec"]) == orjson.dumps(spec):
                self._settled.add(key)
        return obj

    def _key(self, spec: object) -> Any:
        try:
            return self._settled.key(spec, self._rules) if isinstance(spec, dict) else None
        except TypeError:
            return None  # a file can hold values that JSON has not

    def _check(self, resource: Resource, obj: Object) -> None:
        """Fill in what is lacking and refuse what this server could not have written."""
        context = msgspec.structs.replace(self._core.context(NO_OPTIONS), warnings=[], warns=False)
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
        self._validate(resource, obj, context)

    def _validate(self, resource: Resource, obj: Object, context: Context) -> None:
        strategy = resource.strategy
        strategy.default(obj, context)
        spec = obj.get("spec")
        later = spec.pop(_EPHEMERAL, None) if resource.name == _PODS and isinstance(spec, dict) else None
        errors = list(strategy.validate(obj, context))
        if errors:
            raise new_invalid(resource.group_kind, obj["metadata"]["name"], errors)
        if later is not None:
            obj["spec"][_EPHEMERAL] = later

    def _put(self, resource: Resource, obj: Object) -> StoredObject:
        store = self._core.store
        stored = StoredObject.encode(resource.storage, obj, store.next_revision)
        present = store.get(resource.storage, stored.key)
        if present is not None and present.same_content(stored):
            return present
        self._look_at(resource, stored)
        if present is None:
            store.create(stored)
        else:
            store.update(stored, present.revision)
        return stored

    def _look_at(self, resource: Resource, stored: StoredObject) -> None:
        """Make the view now: what parts of the cluster could not read must not come in, and most of it is not new."""
        try:
            self._parts.put_into(stored.view)
        except msgspec.ValidationError as error:
            raise new_bad_request(f"{resource.name} {stored.name} cannot be read: {error}") from error

    def remove(self, resource: Resource, name: str, namespace: str) -> None:
        """Take an object away at once, whatever its finalizers and its grace; nothing happens when it is gone."""
        present = self._core.store.get(resource.storage, resource.key(namespace, name))
        if present is not None:
            self._core.store.delete(resource.storage, present.key, present.revision)
