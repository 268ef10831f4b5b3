"""Creating and replacing objects: the one path that every write of an object takes.

    create   default ─► owners ─► admission ─► name, uid, time ─► prepare ─► validate ─► store
    update   (make the new object) ─► owners ─► admission ─► revision ─► prepare ─► validate ─► store

An update that changes nothing is not written and keeps the resourceVersion.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update}.go, registry/generic/registry/store.go,
registry/rest/{create,update}.go (v1.36)
Differs: there is one writer, so no write is ever retried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from schedlab.api.kinds.strategy import Context, UpdateStrategy
from schedlab.api.object import Object, Segments, StoredObject
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
from schedlab.registry.repeats import Form, Outcome, Patch, Repeats, Request
from schedlab.registry.request import WriteOptions, Written
from schedlab.registry.resource import Resource
from schedlab.store.errors import KeyExists

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
#: Puts drawn endings, name and uid into what is stored.
Fill: TypeAlias = Callable[[Sequence[str], str, str], Segments]


class Writer:
    """Creates and replaces objects."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._repeats = Repeats(core)

    # --- Create ------------------------------------------------------------------------------------------------------

    def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        namespace: str,
        options: WriteOptions,
        form: Form = "canonical",
        decode: Callable[[], Object] | None = None,
    ) -> StoredObject:
        """Store a new object; `decode` brings one that is not canonical into that form, which is not always needed."""
        now = self._core.now()
        known = self._repeats.mould(resource, obj, namespace, options, now, form)
        if known is not None:
            mould, values, outcome = known
            return self._add_again(resource, obj["metadata"], namespace, partial(mould.fill, values), outcome, options)
        request = self._repeats.creation(resource, obj, namespace, options, now, form)
        found = None if request is None else self._repeats.find(request)
        if request is not None and found is not None:
            fill = partial(self._repeats.fill, request, found)
            return self._add_again(resource, obj["metadata"], namespace, fill, found, options)
        told, is_second = len(options.warnings), request is not None and self._repeats.is_second(request)
        decoded = dict(obj) if decode is None else decode()
        context = self._core.context(options)
        if request is None or not is_second:
            return self._add(resource, self._made(resource, decoded, namespace, context, options))
        with self._core.noting() as notes:
            attributes = self._made(resource, decoded, namespace, context, options)
        stored = self._add(resource, attributes)
        self._repeats.remember(request, notes, stored, options.warnings[told:])
        return stored

    def _made(
        self, resource: Resource, obj: Object, namespace: str, context: Context, options: WriteOptions
    ) -> Attributes:
        """Make the object that is to be stored of the one that was sent."""
        metadata = obj["metadata"]
        resource.strategy.default(obj, context)
        metadata_rules.wipe_system_fields(metadata)
        metadata_rules.match_namespace(metadata, namespace if resource.namespaced else "")
        metadata_rules.drop_repeated_owners(metadata, options.warnings)
        obj = resource.to_stored(resource.managers[""].update(None, obj, options.manager, context.now))
        attributes = self._attributes("CREATE", resource, obj, None, "", options)
        self._core.admission.mutate(attributes, self._core)
        metadata_rules.drop_repeated_owners(obj["metadata"], options.warnings, after_admission=True)
        self._complete(resource, obj, context, attributes)
        return attributes

    def _add_again(
        self,
        resource: Resource,
        written: Mapping[str, Any],
        namespace: str,
        fill: Fill,
        outcome: Outcome,
        options: WriteOptions,
    ) -> StoredObject:
        """Store what the long way would make of an object that is like an earlier one."""
        random, store = self._core.random, self._core.store
        suffixes = [random.suffix() for _ in range(outcome.suffixes)] if outcome.suffixes else ()
        uid = random.uid()
        place = namespace if resource.namespaced else ""
        name = written.get("name") or self._free_name(resource, written["generateName"], place)
        segments = fill(suffixes, name, uid)
        stored = StoredObject(resource.storage, place, name, uid, store.next_revision, *segments)
        try:
            store.create(stored)
        except KeyExists:
            self._refuse_taken(resource, place, name, generated=bool(written.get("generateName")))
        options.warnings.extend(outcome.warnings)
        return stored

    def _complete(self, resource: Resource, obj: Object, context: Context, attributes: Attributes) -> None:
        """Complete and check an object that admission has let through."""
        metadata = obj["metadata"]
        metadata["creationTimestamp"] = context.now
        metadata["uid"] = self._core.random.uid()
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self._free_name(resource, metadata["generateName"], metadata.get("namespace", ""))
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

    def _add(self, resource: Resource, attributes: Attributes) -> StoredObject:
        """Store a new object that is complete."""
        obj = attributes.obj
        assert obj is not None, "admission takes no object away"
        metadata = obj["metadata"]
        place, is_generated = metadata.get("namespace", ""), bool(metadata.get("generateName"))
        self._refuse_taken(resource, place, metadata["name"], generated=is_generated)
        stored = StoredObject.encode(resource.storage, obj, 0 if attributes.dry_run else self._core.store.next_revision)
        if not attributes.dry_run:
            self._core.store.create(stored)
        return stored

    def _free_name(self, resource: Resource, prefix: str, namespace: str) -> str:
        """Draw names until one is free; the last one stands even if it is taken."""
        name = ""
        for _ in range(_NAME_ATTEMPTS):
            name = metadata_rules.generated_name(prefix, self._core.naming.suffix())
            if self._present(resource, namespace, name) is None:
                break
        return name

    def _refuse_taken(self, resource: Resource, namespace: str, name: str, *, generated: bool) -> None:
        present = self._present(resource, namespace, name)
        if present is None:
            return
        if generated:
            error = new_generate_name_conflict(resource.group_resource, name, 1)
        else:
            error = new_already_exists(resource.group_resource, name)
        if present.view.metadata.deletion_timestamp:
            error.status["message"] = f"object is being deleted: {error.message}"
        raise error

    def _present(self, resource: Resource, namespace: str, name: str) -> StoredObject | None:
        return self._core.store.peek(resource.storage, self._core.resources[resource.storage].key(namespace, name))

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

        current = self._core.store.peek(resource.storage, resource.key(namespace, name))
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
        patch: Patch | None = None,
    ) -> Written:
        """Replace an object by what `make` makes of it; `uid` is a precondition when given.

        `patch` is what `make` puts on the object, if that is all it depends on.
        """
        strategy = resource.update_strategy(subresource)
        key = resource.key(namespace, name)
        current = self._core.store.peek(resource.storage, key)
        may_create = may_create or (resource.strategy.allow_create_on_update and not subresource)
        if current is None and not may_create:
            raise new_not_found(resource.group_resource, name)
        self._refuse_other_uid(resource, name, key, uid, current.uid if current is not None else "")
        if current is None:
            attributes = self._admitted(resource, name, None, make, options, subresource)
            created = attributes.obj
            assert created is not None, "admission takes no object away"
            created["metadata"].pop("resourceVersion", None)  # of what was once there
            self._complete(resource, created, self._core.context(options), attributes)
            return Written(self._add(resource, attributes), created=True)
        request = patch and self._repeats.patch(resource, subresource, *patch, current, options, self._core.now())
        outcome = None if request is None else self._repeats.find(request)
        if request is not None and outcome is not None:
            return Written(self._replace_again(current, request, outcome, options))
        if request is None or not self._repeats.is_second(request):
            obj, old = self._replacement(resource, name, current, make, options, subresource, strategy)
            return Written(self._store_update(resource, obj, old, current, options))
        told = len(options.warnings)
        with self._core.noting() as notes:
            obj, old = self._replacement(resource, name, current, make, options, subresource, strategy)
        stored = self._store_update(resource, obj, old, current, options)
        if self._core.store.peek(resource.storage, key) is stored and stored is not current:
            self._repeats.remember(request, notes, stored, options.warnings[told:])
        return Written(stored)

    def _admitted(
        self,
        resource: Resource,
        name: str,
        old: Object | None,
        make: Make,
        options: WriteOptions,
        subresource: str,
    ) -> Attributes:
        """Make the new object and let admission change it."""
        obj = resource.to_stored(make(None if old is None else resource.from_stored(old)))
        operation: Operation = "CREATE" if old is None else "UPDATE"
        attributes = self._attributes(operation, resource, obj, old, subresource, options)
        attributes.name = name
        self._core.admission.mutate(attributes, self._core)
        metadata_rules.drop_repeated_owners(obj["metadata"], options.warnings, after_admission=True)
        return attributes

    def _replacement(
        self,
        resource: Resource,
        name: str,
        current: StoredObject,
        make: Make,
        options: WriteOptions,
        subresource: str,
        strategy: UpdateStrategy,
    ) -> tuple[Object, Object]:
        """Make the object that a stored one is replaced by; returns both."""
        old = current.thaw()
        attributes = self._admitted(resource, name, old, make, options, subresource)
        obj = attributes.obj
        assert obj is not None, "admission takes no object away"
        self._settle_revision(resource, obj["metadata"], name, current)
        begin = self._core.begin.get(resource.storage)
        if begin is not None and not subresource:
            begin(obj, old)
        self._prepare_update(resource, strategy, obj, old, self._core.context(options))
        obj = attributes.obj = restore_times(obj, old)
        self._core.admission.validate(attributes, self._core)
        return obj, old

    def _replace_again(
        self, current: StoredObject, request: Request, outcome: Outcome, options: WriteOptions
    ) -> StoredObject:
        """Store what the long way would make of a patch that is like an earlier one."""
        store = self._core.store
        segments = self._repeats.fill(request, outcome, (), current.name, current.uid)
        stored = StoredObject(*current.identity, store.next_revision, *segments)
        store.update(stored, current.revision)
        options.warnings.extend(outcome.warnings)
        return stored

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
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    errors = [
        field.invalid(path.child("generateName"), prefix, message)
        for message in names.name_is_path_segment(prefix, prefix=True)
    ]
    if not name:
        return [*errors, field.required(path.child("name"), "name or generateName is required")]
    errors += [field.invalid(path.child("name"), name, message) for message in names.name_is_path_segment(name)]
    return errors


def _copy(target: Object, source: Object, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
