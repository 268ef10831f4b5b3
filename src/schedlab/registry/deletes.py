"""Deleting objects: preconditions, grace periods, finalizers, what becomes of dependents.

    graceful?  ──yes, seconds left──►  deletionTimestamp is set; someone else finishes
        │ no, or 0 seconds
    finalizers? ──yes──►  deletionTimestamp = now, grace 0; the last finalizer's removal finishes
        │ no
    gone

Mirrors: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, registry/generic/registry/store.go (Delete,
DeleteCollection), pkg/registry/core/namespace/storage (Delete) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schedlab.api.kinds.priorityclass import SYSTEM_VALUES
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import field, time
from schedlab.apimachinery.errors import (
    NotFound,
    new_conflict,
    new_details,
    new_forbidden,
    new_invalid,
    new_status,
)
from schedlab.apimachinery.gvk import GroupKind, GroupResource
from schedlab.registry.admission.chain import Attributes
from schedlab.registry.core import Core
from schedlab.registry.request import DeleteOptions, Deletion
from schedlab.registry.resource import Resource

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class _Grace:
    """What the grace period makes of a deletion; `pending` says that one goes on that may not be shortened."""

    graceful: bool
    pending: bool = False
    seconds: int = 0


class Deleter:
    """Deletes objects."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def delete(self, resource: Resource, name: str, namespace: str, options: DeleteOptions) -> Deletion:
        """Delete one object, at once or by marking it."""
        if resource.name == "priorityclasses.scheduling.k8s.io" and name in SYSTEM_VALUES:
            cause = "this is a system priority class and cannot be deleted"
            raise new_forbidden(resource.group_resource, name, cause)
        current = self._core.require(resource, namespace, name)
        if resource.name == "namespaces":
            return self._delete_namespace(resource, current, options)
        return self._delete(resource, current, options)

    def _delete(self, resource: Resource, current: StoredObject, options: DeleteOptions) -> Deletion:
        obj = current.thaw()
        metadata = obj["metadata"]
        grace = self._grace(resource, obj, options)
        if grace.pending:
            return self._answer(resource, current, immediate=False)
        self.admit(resource, current, options)
        finalizers = _finalizers(resource, metadata.get("finalizers") or [], options)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        if not grace.graceful and finalizers:
            _mark(metadata, self._core.now())
        if grace.graceful or finalizers:
            stored = self._update(resource, obj, current, options)
            if finalizers or grace.seconds > 0:
                return Deletion(stored, None, immediate=False)
            if options.dry_run:
                return Deletion(stored, None, immediate=True)
            current = stored
        gone = current if options.dry_run else self._core.store.delete(resource.storage, current.key, current.revision)
        return self._answer(resource, gone, immediate=True)

    def _update(self, resource: Resource, obj: Object, current: StoredObject, options: DeleteOptions) -> StoredObject:
        if obj == current.raw:
            return current
        if options.dry_run:
            return StoredObject.encode(resource.storage, obj, current.revision)
        stored = StoredObject.encode(resource.storage, obj, self._core.store.next_revision)
        if stored.same_content(current):
            return current
        self._core.store.update(stored, current.revision)
        return stored

    def _answer(self, resource: Resource, obj: StoredObject, *, immediate: bool) -> Deletion:
        if resource.strategy.returns_deleted:
            return Deletion(obj, None, immediate)
        kind = resource.type.resource  # yes, the resource
        details = new_details(name=obj.name, group=resource.type.group, kind=kind, uid=obj.uid)
        return Deletion(None, new_status("Success", details=details), immediate)

    def admit(self, resource: Resource, current: StoredObject, options: DeleteOptions) -> None:
        """Ask admission whether an object may be deleted."""
        attributes = Attributes(
            operation="DELETE",
            resource=resource,
            namespace=current.namespace,
            name=current.name,
            obj=None,
            old=current.raw,
            subresource="",
            dry_run=options.dry_run,
            user=options.user,
            warnings=[],
        )
        self._core.admission.mutate(attributes, self._core)
        self._core.admission.validate(attributes, self._core)

    # --- Grace -------------------------------------------------------------------------------------------------------

    def _grace(self, resource: Resource, obj: Object, options: DeleteOptions) -> _Grace:
        """Check options and preconditions; decide on the grace period and note it in the object."""
        metadata = obj["metadata"]
        validate_options(options)
        _check_preconditions(resource, metadata, options)
        wanted = options.grace_period_seconds
        if wanted is not None and wanted < 0:
            wanted = 1
        if metadata.get("deletionGracePeriodSeconds", 0) < 0:
            metadata["deletionGracePeriodSeconds"] = 1
        decide = resource.strategy.grace_period
        if decide is None:
            return _Grace(graceful=False)
        if metadata.get("deletionTimestamp"):
            return self._shorten(metadata, wanted)
        seconds = decide(obj, wanted)
        metadata["deletionTimestamp"] = time.format_time(self._core.clock.now_ns() + seconds * time.SECOND)
        metadata["deletionGracePeriodSeconds"] = seconds
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        return _Grace(graceful=True, seconds=seconds)

    def _shorten(self, metadata: Object, wanted: int | None) -> _Grace:
        """Another deletion of an object that is being deleted can only bring its end nearer."""
        current = metadata.get("deletionGracePeriodSeconds", 0)
        if not current:
            return _Grace(graceful=False)
        if wanted is None or wanted >= current:
            return _Grace(graceful=False, pending=True)
        now_ns = self._core.clock.now_ns()
        end_ns = time.parse_time(metadata["deletionTimestamp"]) + (wanted - current) * time.SECOND
        if end_ns < now_ns:
            # The period is over already, but whoever finishes must still see a graceful deletion.
            end_ns = now_ns
            wanted = 1 if wanted else 0
        metadata["deletionTimestamp"] = time.format_time(end_ns)
        metadata["deletionGracePeriodSeconds"] = wanted
        return _Grace(graceful=True, seconds=wanted)

    # --- Namespaces --------------------------------------------------------------------------------------------------

    def _delete_namespace(self, resource: Resource, current: StoredObject, options: DeleteOptions) -> Deletion:
        """Start the end of a namespace; it is gone only when nothing keeps it any more."""
        _check_stored_preconditions(resource, current, options)
        obj = current.thaw()
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            if obj.get("spec", {}).get("finalizers"):
                return Deletion(current, None, immediate=False)
            return self._delete(resource, current, replace(options, uid=current.uid))
        self.admit(resource, current, options)
        metadata["deletionTimestamp"] = self._core.now()
        obj.setdefault("status", {})["phase"] = "Terminating"
        metadata["finalizers"] = _namespace_finalizers(metadata.get("finalizers") or [], options)
        if not metadata["finalizers"]:
            del metadata["finalizers"]
        return Deletion(self._update(resource, obj, current, options), None, immediate=False)

    # --- Collections -------------------------------------------------------------------------------------------------

    def delete_collection(
        self,
        resource: Resource,
        items: Sequence[StoredObject],
        options: DeleteOptions,
        deleted: Callable[[Deletion], None] | None = None,
    ) -> None:
        """Delete objects one after the other; those that vanish meanwhile are passed over."""
        for item in items:
            try:
                deletion = self.delete(resource, item.name, item.namespace, options)
            except NotFound:
                continue
            if deleted is not None:
                deleted(deletion)


def validate_options(options: DeleteOptions) -> None:
    """Refuse contradictory options; raises Invalid."""
    policy = options.propagation_policy
    errors = []
    if policy is not None and options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(field.invalid("propagationPolicy", policy, detail))
    known = ("Foreground", "Background", "Orphan", "nil")
    if policy is not None and policy not in known[:3]:
        errors.append(field.not_supported("propagationPolicy", policy, known))
    if errors:
        raise new_invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", errors)


def _check_preconditions(resource: Resource, metadata: Object, options: DeleteOptions) -> None:
    # Upstream names the kind here where a resource belongs.
    place = GroupResource(resource.type.group, resource.type.kind)
    uid, revision = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if options.uid is not None and options.uid != uid:
        cause = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise new_conflict(place, metadata.get("name", ""), cause)
    if options.resource_version is not None and options.resource_version != revision:
        cause = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({revision}). The object might have been modified"
        )
        raise new_conflict(place, metadata.get("name", ""), cause)


def _check_stored_preconditions(resource: Resource, current: StoredObject, options: DeleteOptions) -> None:
    """Check as the storage layer does."""
    if options.uid is not None and options.uid != current.uid:
        cause = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {current.uid}"
        raise new_conflict(resource.group_resource, current.name, cause)
    if options.resource_version is not None and options.resource_version != str(current.revision):
        cause = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {current.revision}"
        )
        raise new_conflict(resource.group_resource, current.name, cause)


def _finalizers(resource: Resource, present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers that a deletion leaves: the garbage collector's two as the options ask."""
    orphan = _wants_orphans(resource, present, options)
    foreground = _wants_foreground(resource, present, options)
    kept = [finalizer for finalizer in present if finalizer not in (_ORPHAN, _FOREGROUND)]
    wanted = kept + [_ORPHAN] * orphan + [_FOREGROUND] * foreground
    return present if sorted(wanted) == sorted(present) else wanted


def _wants_orphans(resource: Resource, present: list[str], options: DeleteOptions) -> bool:
    if resource.strategy.no_dependents:
        return False
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    if _ORPHAN in present or _FOREGROUND in present:
        return _ORPHAN in present
    return resource.strategy.orphans_dependents


def _wants_foreground(resource: Resource, present: list[str], options: DeleteOptions) -> bool:
    if resource.strategy.no_dependents or options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    return _FOREGROUND in present


def _namespace_finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    """Finalizers of a namespace follow the options alone; without options they stay."""
    wanted = {
        _ORPHAN: options.propagation_policy == "Orphan" or bool(options.orphan_dependents),
        _FOREGROUND: options.propagation_policy == "Foreground",
    }
    if options.propagation_policy is None and options.orphan_dependents is None:
        wanted = {finalizer: finalizer in present for finalizer in wanted}
    kept = [finalizer for finalizer in present if wanted.get(finalizer, True)]
    return kept + [finalizer for finalizer, needed in wanted.items() if needed and finalizer not in present]


def _mark(metadata: Object, now: str) -> None:
    """Note that a deletion waits for finalizers only."""
    deleted = metadata.get("deletionTimestamp")
    if deleted is None and metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    if deleted is None or deleted > now:
        metadata["deletionTimestamp"] = now
    metadata["deletionGracePeriodSeconds"] = 0
