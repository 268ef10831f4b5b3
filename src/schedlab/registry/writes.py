"""Creating and replacing objects: the one path that every write of an object takes.

    create   default ─► owners ─► admission ─► name, uid, time ─► prepare ─► validate ─► store
    update   (make the new object) ─► owners ─► admission ─► revision ─► prepare ─► validate ─► store

An update that changes nothing is not written and keeps the resourceVersion.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update}.go, registry/generic/registry/store.go,
registry/rest/{create,update}.go (v1.36)
Differs: there is one writer, so no write is ever retried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from schedlab.api.kinds.strategy import Context, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.apimachinery import field, gojson, names
from schedlab.apimachinery.apply.managed import restore_times
from schedlab.apimachinery.errors import (
    new_already_exists,
    new_conflict,
    new_generate_name_conflict,
    new_invalid,
    new_not_found,
    new_unknown,
)
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gvk import GroupKind
from schedlab.registry import metadata as metadata_rules
from schedlab.registry.admission.chain import Attributes, Operation
from schedlab.registry.core import Core
from schedlab.registry.request import WriteOptions, Written
from schedlab.registry.resource import Resource

#: How often another name is tried when a generated one is taken.
_NAME_ATTEMPTS: Final = 8

#: Folders of kube-apiserver's storage that are not called as the resource; they show in one error text.
_STORAGE_FOLDERS: Final = {
    "nodes": "minions",
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "replicationcontrollers": "controllers",
    "ingresses": "ingress",
}

#: Makes the new object of the stored one (None when there is none).
Make = Callable[[Object | None], Object]


class Writer:
    """Creates and replaces objects."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # --- Create ------------------------------------------------------------------------------------------------------

    def create(self, resource: Resource, obj: Object, namespace: str, options: WriteOptions) -> StoredObject:
        """Store a new object."""
        context = self._core.context(options)
        metadata = obj["metadata"]
        resource.strategy.default(obj, context)
        metadata_rules.wipe_system_fields(metadata)
        metadata_rules.match_namespace(metadata, namespace if resource.namespaced else "")
        metadata_rules.drop_repeated_owners(metadata, options.warnings)
        obj = resource.to_stored(resource.managers[""].update(None, obj, options.manager, context.now))
        metadata = obj["metadata"]
        attributes = self._attributes("CREATE", resource, obj, None, "", options)
        self._core.admission.mutate(attributes, self._core)
        metadata_rules.drop_repeated_owners(metadata, options.warnings, after_admission=True)
        return self._insert(resource, obj, context, attributes)

    def _insert(self, resource: Resource, obj: Object, context: Context, attributes: Attributes) -> StoredObject:
        """Complete, check and store an object that admission has let through."""
        metadata = obj["metadata"]
        metadata["creationTimestamp"] = context.now
        metadata["uid"] = self._core.random.uid()
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self._free_name(resource, metadata)
        if begin := self._core.begin.get(resource.storage):
            begin(obj, None)
        strategy = resource.strategy
        strategy.prepare(obj, context)
        self._refuse_invalid(resource, metadata, strategy.validate(obj, context))
        # Kinds check names more strictly than this; what remains is a kind that does not.
        self._refuse_invalid(resource, metadata, _check_path_segments(metadata))
        strategy.canonicalize(obj, context)
        attributes.name = metadata["name"]
        self._core.admission.validate(attributes, self._core)
        if "resourceVersion" in metadata:
            raise new_unknown("resourceVersion should not be set on objects to be created")
        self._refuse_taken(resource, metadata)
        stored = StoredObject.encode(resource.storage, obj, 0 if attributes.dry_run else self._core.store.next_revision)
        if not attributes.dry_run:
            self._core.store.create(stored)
        return stored

    def _free_name(self, resource: Resource, metadata: Object) -> str:
        """Draw names until one is free; the last one stands even if it is taken."""
        name = ""
        for _ in range(_NAME_ATTEMPTS):
            name = metadata_rules.generated_name(metadata["generateName"], self._core.random.suffix())
            if self._core.find(resource.storage, metadata.get("namespace", ""), name) is None:
                break
        return name

    def _refuse_taken(self, resource: Resource, metadata: Object) -> None:
        name = metadata["name"]
        present = self._core.find(resource.storage, metadata.get("namespace", ""), name)
        if present is None:
            return
        if metadata.get("generateName"):
            error = new_generate_name_conflict(resource.group_resource, name, 1)
        else:
            error = new_already_exists(resource.group_resource, name)
        if present.view.metadata.deletion_timestamp:
            error.status["message"] = f"object is being deleted: {error.message}"
        raise error

    # --- Update ------------------------------------------------------------------------------------------------------

    def update(
        self,
        resource: Resource,
        obj: Object,
        name: str,
        namespace: str,
        options: WriteOptions,
        subresource: str = "",
    ) -> Written:
        """Replace an object by one that was sent as a whole."""
        resource.update_strategy(subresource)
        metadata = obj["metadata"]
        resource.strategy.default(obj, self._core.context(options))
        metadata_rules.match_namespace(metadata, namespace if resource.namespaced else "")
        metadata_rules.match_name(metadata, name, namespace)
        metadata_rules.drop_repeated_owners(metadata, options.warnings)

        def make(old: Object | None) -> Object:
            return resource.managers[subresource].update(old, obj, options.manager, self._core.now())

        current = self._core.store.get(resource.storage, resource.key(namespace, name))
        if current is not None:
            resource.settle(obj, current)

        return self.replace(
            resource, name, namespace, make, options, subresource=subresource, uid=metadata.get("uid", "")
        )

    def replace(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        make: Make,
        options: WriteOptions,
        *,
        subresource: str = "",
        uid: str = "",
        may_create: bool = False,
    ) -> Written:
        """Replace an object by what `make` makes of it; `uid` is a precondition when given."""
        strategy = resource.update_strategy(subresource)
        key = resource.key(namespace, name)
        current = self._core.store.get(resource.storage, key)
        may_create = may_create or (resource.strategy.allow_create_on_update and not subresource)
        if current is None and not may_create:
            raise new_not_found(resource.group_resource, name)
        self._refuse_other_uid(resource, name, key, uid, current.uid if current is not None else "")
        old = None if current is None else current.thaw()
        obj = resource.to_stored(make(None if old is None else resource.from_stored(old)))
        operation: Operation = "CREATE" if old is None else "UPDATE"
        attributes = self._attributes(operation, resource, obj, old, subresource, options)
        attributes.name = name
        self._core.admission.mutate(attributes, self._core)
        metadata_rules.drop_repeated_owners(obj["metadata"], options.warnings, after_admission=True)
        context = self._core.context(options)
        if old is None or current is None:
            obj["metadata"].pop("resourceVersion", None)  # of what was once there
            return Written(self._insert(resource, obj, context, attributes), created=True)
        self._settle_revision(resource, obj["metadata"], name, current)
        begin = self._core.begin.get(resource.storage)
        if begin is not None and not subresource:
            begin(obj, old)
        self._prepare_update(resource, strategy, obj, old, context)
        obj = attributes.obj = restore_times(obj, old)
        self._core.admission.validate(attributes, self._core)
        return Written(self._store_update(resource, obj, old, current, options))

    def _settle_revision(self, resource: Resource, metadata: Object, name: str, current: StoredObject) -> None:
        """Compare the revision that the writer saw with the stored one; without one, the newest is meant."""
        seen = metadata.get("resourceVersion", "")
        if seen and not (seen.isascii() and seen.isdigit()):
            raise new_unknown(f"strconv.ParseUint: parsing {gojson.quote(seen)}: invalid syntax")
        if not seen or int(seen) == 0:
            if not resource.strategy.allow_unconditional_update:
                kind = GroupKind(resource.type.group, resource.type.resource)
                detail = "must be specified for an update"
                raise new_invalid(kind, name, [field.invalid(Path("metadata", "resourceVersion"), 0, detail)])
        elif int(seen) != current.revision:
            raise new_conflict(resource.group_resource, name)
        metadata["resourceVersion"] = str(current.revision)
        metadata.pop("selfLink", None)

    def _prepare_update(
        self, resource: Resource, strategy: UpdateStrategy, obj: Object, old: Object, context: Context
    ) -> None:
        """Bring back what an update cannot change, let the kind prepare the object, and check it."""
        metadata, before = obj["metadata"], old["metadata"]
        metadata_rules.match_namespace(metadata, before.get("namespace", ""))
        _copy(metadata, before, "generation")
        strategy.prepare(obj, old, context)
        metadata = obj["metadata"]
        metadata.setdefault("uid", before.get("uid", ""))
        if before.get("creationTimestamp"):
            metadata["creationTimestamp"] = before["creationTimestamp"]
        if before.get("deletionTimestamp"):
            metadata["deletionTimestamp"] = before["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in before:
            metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
        errors = meta.validate_generic(metadata, names.name_is_path_segment, namespaced=resource.namespaced)
        errors += meta.validate_update(metadata, before)
        errors += strategy.validate(obj, old, context)
        self._refuse_invalid(resource, metadata, errors)
        resource.strategy.canonicalize(obj, context)

    def _store_update(
        self, resource: Resource, obj: Object, old: Object, current: StoredObject, options: WriteOptions
    ) -> StoredObject:
        store = self._core.store
        if is_last_update(resource, obj, old):
            # The answer is what was sent, as kube-apiserver gives it, not the state at the deletion.
            answer = StoredObject.encode(resource.storage, obj, current.revision)
            if not options.dry_run:
                store.delete(resource.storage, current.key, current.revision)
            return answer
        if obj == old:
            return current
        if options.dry_run:
            return StoredObject.encode(resource.storage, obj, current.revision)
        stored = StoredObject.encode(resource.storage, obj, store.next_revision)
        store.update(stored, current.revision)
        return stored

    # --- Both --------------------------------------------------------------------------------------------------------

    def _attributes(
        self,
        operation: Operation,
        resource: Resource,
        obj: Object,
        old: Object | None,
        subresource: str,
        options: WriteOptions,
    ) -> Attributes:
        metadata = obj["metadata"]
        return Attributes(
            operation=operation,
            resource=resource,
            namespace=metadata.get("namespace", ""),
            name=metadata.get("name", ""),
            obj=obj,
            old=old,
            subresource=subresource,
            dry_run=options.dry_run,
            user=options.user,
            warnings=options.warnings,
        )

    def _refuse_invalid(self, resource: Resource, metadata: Object, errors: ErrorList) -> None:
        if errors:
            raise new_invalid(resource.group_kind, metadata.get("name", ""), errors)

    def _refuse_other_uid(self, resource: Resource, name: str, key: str, wanted: str, found: str) -> None:
        if wanted and wanted != found:
            cause = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            raise new_conflict(resource.group_resource, name, invalid_object(resource, key, cause))


def invalid_object(resource: Resource, key: str, cause: str) -> str:
    """Word a failed precondition as the storage layer of kube-apiserver does."""
    folder = _STORAGE_FOLDERS.get(resource.type.resource, resource.type.resource)
    place = f"/registry/{folder}/{key}"
    return f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {cause}"


def is_last_update(resource: Resource, obj: Object, old: Object) -> bool:
    """Whether an update takes away the last thing that kept a deleted object."""
    metadata, before = obj["metadata"], old["metadata"]
    if metadata.get("finalizers") or not before.get("deletionTimestamp"):
        return False
    if before.get("deletionGracePeriodSeconds"):
        return False
    kept = resource.strategy.kept_by
    return kept is None or not kept(obj)


def _check_path_segments(metadata: Object) -> ErrorList:
    path = Path("metadata")
    prefix, name = metadata.get("generateName", ""), metadata["name"]
    errors = [
        field.invalid(path.child("generateName"), prefix, message)
        for message in names.name_is_path_segment(prefix, prefix=True)
    ]
    errors += [field.invalid(path.child("name"), name, message) for message in names.name_is_path_segment(name)]
    return errors


def _copy(target: Object, source: Object, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
