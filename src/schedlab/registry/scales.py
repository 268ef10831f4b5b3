"""Reading and writing the subresource `scale`.

    object ─► its Scale ─► changed Scale ─► object with other replicas ─► the path of every update

Mirrors: scaleUpdatedObjectInfo in pkg/registry/{apps,core}/…/storage/storage.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from schedlab.api.kinds.scales import ScaleRules, scale_of, validate_scale
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.apply import scale as fields_of_scale
from schedlab.apimachinery.apply.managed import ManagedFieldsError
from schedlab.apimachinery.apply.manager import FieldManager
from schedlab.apimachinery.errors import new_conflict, new_invalid, new_not_found, new_unknown
from schedlab.apimachinery.gvk import GroupKind, GroupResource
from schedlab.apimachinery.patch import request as patching
from schedlab.apimachinery.schema import schema_for
from schedlab.registry import metadata as metadata_rules
from schedlab.registry.core import Core
from schedlab.registry.request import WriteOptions, Written
from schedlab.registry.resource import SCALE, Resource
from schedlab.registry.writes import Writer

_KIND: Final = GroupKind("autoscaling", "Scale")

#: Makes the new Scale of the present one.
Change = Callable[[Object], Object]


class Scaler:
    """Scales objects of all kinds that can be scaled."""

    def __init__(self, core: Core, writer: Writer) -> None:
        self._core = core
        self._writer = writer

    def get(self, resource: Resource, name: str, namespace: str) -> StoredObject:
        """Return the Scale of an object; raises NotFound."""
        return _scale(resource, self._core.require(resource, namespace, name))

    def update(self, resource: Resource, scale: Object, name: str, namespace: str, options: WriteOptions) -> Written:
        """Replace the Scale of an object."""
        metadata, manager = scale["metadata"], _manager(resource)
        metadata_rules.match_namespace(metadata, namespace)
        metadata_rules.match_name(metadata, name, namespace)

        def change(old: Object) -> Object:
            return manager.update(old, scale, options.manager, self._core.now())

        return self._write(resource, name, namespace, change, options, uid=metadata.get("uid", ""))

    def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch_type: patching.PatchType,
        body: patching.PatchBody,
        options: WriteOptions,
    ) -> Written:
        """Change the Scale of an object by a patch."""
        manager = _manager(resource)
        schema = schema_for(*manager.gvk)

        def change(old: Object) -> Object:
            patched = patching.apply(old, patch_type, body, manager.gvk, schema, options.field_validation)
            options.warnings.extend(patched.warnings)
            return manager.update(old, patched.object, options.manager, self._core.now())

        return self._write(resource, name, namespace, change, options)

    def apply(
        self, resource: Resource, name: str, namespace: str, configuration: Mapping[str, Any], options: WriteOptions
    ) -> Written:
        """Bring the Scale of an object to what a manager wants of it."""
        manager = _manager(resource)

        def change(old: Object) -> Object:
            return manager.apply(old, configuration, options.field_manager, self._core.now(), force=options.force)

        return self._write(resource, name, namespace, change, options)

    def _write(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        change: Change,
        options: WriteOptions,
        *,
        uid: str = "",
    ) -> Written:
        place = GroupResource(resource.type.group, f"{resource.type.resource}/{SCALE}")

        def make(old: Object | None) -> Object:
            if old is None:
                raise new_not_found(place, name)
            scale = scale_of(old, _rules(resource))
            _set_managed_fields(scale, _managed_fields_of_scale(resource, old))
            scale = change(scale)
            metadata_rules.match_namespace(scale["metadata"], namespace)
            metadata_rules.match_name(scale["metadata"], name, namespace)
            if errors := validate_scale(scale):
                raise new_invalid(_KIND, name, errors)
            wanted, found = scale["metadata"].get("uid", ""), old["metadata"]["uid"]
            if wanted and wanted != found:
                cause = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
                raise new_conflict(place, name, cause)
            return _scaled(resource, old, scale)

        written = self._writer.replace(
            resource, name, namespace, make, options, subresource=SCALE, uid=uid, may_create=True
        )
        return Written(_scale(resource, written.object))


def _rules(resource: Resource) -> ScaleRules:
    rules = resource.strategy.scale
    if rules is None:
        raise resource.not_supported("update")
    return rules


def _manager(resource: Resource) -> FieldManager:
    manager = resource.managers.get(SCALE)
    if manager is None:
        raise resource.not_supported("update")
    return manager


def _scale(resource: Resource, stored: StoredObject) -> StoredObject:
    return StoredObject.encode(resource.name, scale_of(stored.raw, _rules(resource)), stored.revision)


def _managed_fields_of_scale(resource: Resource, obj: Object) -> list[dict[str, Any]]:
    try:
        return fields_of_scale.to_scale(obj["metadata"].get("managedFields") or (), _rules(resource).paths)
    except ManagedFieldsError as error:
        raise new_unknown(str(error)) from None


def _scaled(resource: Resource, old: Object, scale: Object) -> Object:
    """Return an object with the replicas of a Scale."""
    metadata = dict(old["metadata"])
    metadata.pop("resourceVersion", None)
    if revision := scale["metadata"].get("resourceVersion"):
        metadata["resourceVersion"] = revision
    obj = _rules(resource).with_replicas({**old, "metadata": metadata}, scale["spec"].get("replicas", 0))
    entries, wanted = metadata.get("managedFields") or (), scale["metadata"].get("managedFields") or ()
    try:
        owned = fields_of_scale.to_parent(entries, wanted, resource.type.api_version, _rules(resource).paths)
    except ManagedFieldsError as error:
        raise new_unknown(str(error)) from None
    _set_managed_fields(obj, owned)
    return obj


def _set_managed_fields(obj: Object, entries: list[dict[str, Any]]) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)
