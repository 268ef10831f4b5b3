"""One served resource: its place in the API and the rules of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from schedlab.api.kinds.strategy import FieldPath, Strategy, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import strict
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.manager import FieldManager
from schedlab.apimachinery.body import not_handled
from schedlab.apimachinery.errors import MethodNotAllowed, new_method_not_supported
from schedlab.apimachinery.gvk import GroupKind, GroupResource, GroupVersionKind
from schedlab.apimachinery.resources import ResourceType
from schedlab.apimachinery.schema import Struct, schema_for

#: The subresource that is no part of its object, but another form of it.
SCALE: Final = "scale"


def nothing_to_settle(obj: Object, current: StoredObject) -> None:
    """Keep an object as it was sent."""


def decoded(
    obj: Mapping[str, Any], gvk: GroupVersionKind, schema: Struct, known: Mapping[str, Any] | None = None
) -> Object:
    """Bring an object as a user writes it into canonical form, in a new dict; raises BadRequest.

    What is the very same value in `known` is in that form already (apimachinery.strict.decode).
    """
    try:
        made = strict.decode(dict(obj), schema, known).value
    except strict.DecodeError as error:
        raise not_handled(gvk, gvk.kind, str(error)) from None
    made["kind"], made["apiVersion"] = gvk.kind, gvk.api_version
    return made


@dataclass(frozen=True, slots=True)
class Overlay:
    """Values that are not stored but derived when an object is read, and how they come out of what is sent back.

    `shown` must make the same of an object each time, but for what depends on the time of reading.
    """

    shown: Callable[[StoredObject], StoredObject]
    settle: Callable[[Object, StoredObject], None] = nothing_to_settle


@dataclass(frozen=True)
class Resource:
    """What the registry knows of a resource."""

    type: ResourceType
    strategy: Strategy
    schema: Struct
    #: Who owns which fields, by subresource; "" for the object itself.
    managers: Mapping[str, FieldManager] = field(default_factory=dict)
    #: What is derived when objects are read.
    overlays: list[Overlay] = field(default_factory=list)

    @cached_property
    def name(self) -> str:
        """Name with group, as kubectl prints it."""
        return self.strategy.resource

    @cached_property
    def storage(self) -> str:
        """The store's name for the key space."""
        conversion = self.strategy.conversion
        return self.strategy.resource if conversion is None else conversion.stored_as

    def to_stored(self, obj: Object) -> Object:
        """Turn an object into the form in which it is stored."""
        conversion = self.strategy.conversion
        return obj if conversion is None else conversion.to_stored(obj)

    def from_stored(self, obj: Object) -> Object:
        """Turn an object from the form in which it is stored."""
        conversion = self.strategy.conversion
        return obj if conversion is None else conversion.from_stored(obj)

    def present(self, stored: StoredObject) -> StoredObject:
        """Return a stored version as this resource shows it."""
        conversion = self.strategy.conversion
        if conversion is None:
            return stored
        if conversion.keeps_metadata:
            return stored.converted(self.name, conversion.from_stored)
        return StoredObject.encode(self.name, conversion.from_stored(stored.thaw()), stored.revision)

    def shown(self, obj: StoredObject) -> StoredObject:
        """Return an object as readers of the API see it, with what is derived at that moment."""
        for overlay in self.overlays:
            obj = overlay.shown(obj)
        return obj

    def settle(self, obj: Object, current: StoredObject) -> None:
        """Take what is derived out of an object that somebody has read and sends back."""
        for overlay in self.overlays:
            overlay.settle(obj, current)

    @cached_property
    def namespaced(self) -> bool:
        return self.type.namespaced

    @cached_property
    def group_resource(self) -> GroupResource:
        return self.type.group_resource

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.type.group, self.type.kind)

    def key(self, namespace: str, name: str) -> str:
        return f"{namespace}/{name}" if self.namespaced else name

    def prefix(self, namespace: str) -> str:
        return f"{namespace}/" if self.namespaced and namespace else ""

    def update_strategy(self, subresource: str) -> UpdateStrategy:
        if not subresource or (subresource == SCALE and self.strategy.scale is not None):
            return self.strategy.update
        found = self.strategy.subresources.get(subresource)
        if found is None:
            raise self.not_supported("update")
        return found

    def not_supported(self, action: str) -> MethodNotAllowed:
        return new_method_not_supported(self.group_resource, action)


def make_resource(entry: ResourceType, strategy: Strategy, schema: Struct) -> Resource:
    """Put together what is known of a resource."""
    ways = {"": strategy.update, **strategy.subresources}
    managers = {
        name: FieldManager(entry.gvk, schema, name, _ignored(entry, way.reset_fields)) for name, way in ways.items()
    }
    if strategy.scale is not None:
        scale = entry.subresource(SCALE)
        assert scale is not None, f"{entry.resource} is served with its subresource {SCALE}"
        managers[SCALE] = FieldManager(scale.gvk, schema_for(*scale.gvk), SCALE)
    return Resource(entry, strategy, schema, managers)


def _ignored(entry: ResourceType, paths: Sequence[FieldPath]) -> Mapping[str, fieldset.FieldSet]:
    return {entry.api_version: fieldset.of_paths(paths)} if paths else {}
