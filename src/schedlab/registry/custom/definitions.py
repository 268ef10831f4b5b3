"""Serves what CustomResourceDefinitions define, and says in their status what became of them.

    created ─► names accepted? ─► established: served ─► deleted: objects go first ─► gone
                    │ no
                    └─► waits until nobody else has the name

Everything happens with the write that causes it, so that there is never a moment in which a definition is established
and not served.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,finalizer}, pkg/registry
/customresourcedefinition/etcd.go (v1.36)
Differs: nothing takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import StatusError, new_conflict
from schedlab.apimachinery.field import aggregate
from schedlab.apimachinery.gojson import quote
from schedlab.registry.core import Core
from schedlab.registry.custom.resource import CustomResource, is_true, make_resources
from schedlab.registry.deletes import Deleter
from schedlab.registry.request import DeleteOptions, Deletion, WriteOptions
from schedlab.registry.resource import Resource
from schedlab.registry.writes import Writer

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")
_NAME_FIELDS: Final = (("Plural", "plural"), ("Singular", "singular"))
_KIND_FIELDS: Final = (("Kind", "kind"), ("ListKind", "listKind"))


class Definitions:
    """Keeps the resources of a registry in step with its definitions."""

    def __init__(self, core: Core, resources: dict[str, Resource], writer: Writer, deleter: Deleter) -> None:
        self._core = core
        self._resources = resources
        self._writer = writer
        self._deleter = deleter
        #: Per definition what its resources were made of, and the resources.
        self._made: dict[str, tuple[bytes, list[CustomResource]]] = {}
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever other resources are served than before."""
        self._listeners.append(listener)

    def written(self, resource: Resource) -> None:
        """Look at the definitions after a write of one, or of an object whose definition waits for it to go."""
        if resource.name == DEFINITIONS or (isinstance(resource, CustomResource) and self._is_going(resource)):
            self.settle()

    def _is_going(self, resource: CustomResource) -> bool:
        found = self._core.store.get(DEFINITIONS, resource.storage)
        return found is not None and bool(found.view.metadata.deletion_timestamp)

    def settle(self) -> None:
        """Bring status and resources of all definitions up to date."""
        for stored in self._all():
            self._clean_up(stored)
        # A name that one definition gives up is free for the next; two rounds see all of them.
        for _ in range(2):
            for stored in self._all():
                self._accept_names(stored)
        self._serve()

    def _all(self) -> Iterable[StoredObject]:
        """Return the definitions, the oldest first: who came first has the names."""
        return sorted(self._core.store.list(DEFINITIONS), key=_age)

    # --- names -------------------------------------------------------------------------------------------------------

    def _accept_names(self, stored: StoredObject) -> None:
        crd = stored.thaw()
        wanted, status = crd["spec"]["names"], crd["status"]
        accepted = {key: value for key, value in (status.get("acceptedNames") or {}).items() if value}
        if wanted == accepted and is_true(crd, "Established"):
            return
        names, reason, message = _judge_names(wanted, accepted, *self._names_of_others(crd))
        status["acceptedNames"] = names
        good = reason == "NoConflicts"
        self._set(crd, "NamesAccepted", status_is(good), reason, message)
        if good and not is_true(crd, "Established"):
            self._set(crd, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
        elif not is_true(crd, "Established"):
            self._set(crd, "Established", "False", "NotAccepted", "not all names are accepted")
        if crd != stored.thaw():
            self._write_status(crd)

    def _names_of_others(self, crd: Object) -> tuple[set[str], set[str]]:
        resources: set[str] = set()
        kinds: set[str] = set()
        for other in self._all():
            raw = other.raw
            if raw["spec"]["group"] != crd["spec"]["group"] or other.name == crd["metadata"]["name"]:
                continue
            names = raw["status"].get("acceptedNames") or {}
            resources.update((names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())))
            kinds.update((names.get("kind", ""), names.get("listKind", "")))
        return resources, kinds

    # --- status ------------------------------------------------------------------------------------------------------

    def _set(self, crd: Object, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition; its time changes with its status."""
        conditions: list[Object] = list(crd["status"].get("conditions") or ())
        wanted = {"type": kind, "status": status, "reason": reason, "message": message}
        wanted["lastTransitionTime"] = self._core.now()
        for at, condition in enumerate(conditions):
            if condition["type"] == kind:
                if condition["status"] == status:
                    wanted["lastTransitionTime"] = condition["lastTransitionTime"]
                conditions[at] = wanted
                break
        else:
            conditions.append(wanted)
        crd["status"]["conditions"] = conditions

    def _write_status(self, crd: Object) -> None:
        known = self._resources[DEFINITIONS]
        self._writer.update(known, crd, crd["metadata"]["name"], "", _OPTIONS, "status")

    # --- serving -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        made: dict[str, tuple[bytes, list[CustomResource]]] = {}
        for stored in self._all():
            raw = stored.raw
            if not is_true(raw, "Established"):
                continue
            source = orjson.dumps((raw["spec"], raw["status"].get("acceptedNames"), is_true(raw, "Terminating")))
            known = self._made.get(stored.name)
            made[stored.name] = known if known and known[0] == source else (source, list(make_resources(raw)))
        if made == self._made:
            return
        for _, resources in self._made.values():
            for resource in resources:
                del self._resources[resource.name]
        for _, resources in made.values():
            self._resources.update({resource.name: resource for resource in resources})
        self._made = made
        for listener in self._listeners:
            listener()

    # --- deletion ----------------------------------------------------------------------------------------------------

    def delete(self, resource: Resource, name: str, options: DeleteOptions) -> Deletion:
        """Mark a definition for deletion; its objects have to go first."""
        current = self._core.require(resource, "", name)
        crd = current.thaw()
        metadata = crd["metadata"]
        if metadata.get("deletionTimestamp"):
            return self._deleter.delete(resource, name, "", options)
        _check_preconditions(resource, current, options)
        self._deleter.admit(resource, current, options)
        metadata["deletionTimestamp"] = self._core.now()
        metadata["finalizers"] = list(dict.fromkeys((*(metadata.get("finalizers") or ()), FINALIZER)))
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        self._set(crd, "Terminating", "True", "InstanceDeletionPending", message)
        revision = current.revision if options.dry_run else self._core.store.next_revision
        stored = StoredObject.encode(resource.storage, crd, revision)
        if not options.dry_run:
            self._core.store.update(stored, current.revision)
        return Deletion(stored, None, immediate=False)

    def _clean_up(self, stored: StoredObject) -> None:
        """Delete the objects of a definition that is going, and then the definition."""
        crd = stored.thaw()
        metadata = crd["metadata"]
        if not metadata.get("deletionTimestamp") or FINALIZER not in (metadata.get("finalizers") or ()):
            return
        if not is_true(crd, "Established"):
            self._set(crd, "Terminating", "False", "NeverEstablished", "resource was never established")
        elif self._delete_objects(stored.name):
            self._set(crd, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
        else:
            message = "CustomResource deletion is in progress"
            self._set(crd, "Terminating", "True", "InstanceDeletionInProgress", message)
            if crd != stored.thaw():
                self._write_status(crd)
            return
        metadata["finalizers"] = [finalizer for finalizer in metadata["finalizers"] if finalizer != FINALIZER]
        known = self._resources[DEFINITIONS]
        self._writer.update(known, crd, stored.name, "", _OPTIONS)

    def _delete_objects(self, name: str) -> bool:
        """Delete all objects of a definition; whether none is left."""
        resource = self._resources.get(name)
        if resource is None:
            return True
        for stored in self._core.store.list(name):
            if not stored.view.metadata.deletion_timestamp:
                try:
                    self._deleter.delete(resource, stored.name, stored.namespace, DeleteOptions())
                except StatusError:
                    # Admission wants to keep it; it is tried again with the next write.
                    continue
        return not self._core.store.list(name)


def status_is(holds: bool) -> str:  # noqa: FBT001 - what it is about
    """Write a truth as a condition does."""
    return "True" if holds else "False"


def _age(stored: StoredObject) -> tuple[str, str]:
    return stored.view.metadata.creation_timestamp or "", stored.name


def _check_preconditions(resource: Resource, current: StoredObject, options: DeleteOptions) -> None:
    for what, wanted, found in (
        ("UID", options.uid, current.uid),
        ("ResourceVersion", options.resource_version, str(current.revision)),
    ):
        if wanted is not None and wanted != found:
            cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            raise new_conflict(resource.group_resource, current.name, cause)


def _judge_names(
    wanted: Mapping[str, Any], accepted: Mapping[str, Any], resources: set[str], kinds: set[str]
) -> tuple[Object, str, str]:
    """Say which names a definition gets, and what the condition about them says."""
    names: Object = {"plural": "", "kind": "", **accepted}
    reason, message = "NoConflicts", "no conflicts found"
    for title, key in _NAME_FIELDS:
        if problem := _taken(wanted.get(key, ""), accepted.get(key, ""), resources):
            reason, message = f"{title}Conflict", problem
        else:
            names[key] = wanted.get(key, "")
    short, own = wanted.get("shortNames") or [], accepted.get("shortNames") or ()
    if problems := [problem for name in short if name not in own and (problem := _taken(name, "", resources))]:
        reason, message = "ShortNamesConflict", aggregate(problems)
    else:
        names["shortNames"] = short
    for title, key in _KIND_FIELDS:
        if problem := _taken(wanted.get(key, ""), accepted.get(key, ""), kinds):
            reason, message = f"{title}Conflict", problem
        else:
            names[key] = wanted.get(key, "")
    names["categories"] = wanted.get("categories") or []
    kept = {key: value for key, value in names.items() if value or key in ("plural", "kind")}
    return kept, reason, message


def _taken(name: str, own: str, used: set[str]) -> str:
    return f"{quote(name)} is already in use" if name != own and name in used else ""
