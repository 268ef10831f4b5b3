"""The garbage collector: what becomes of objects whose owners go.

    owner gone ──────────────────► dependents without another owner are deleted
    owner waits (foreground) ────► dependents are deleted first; those that block it are waited for
    owner waits (orphan) ────────► its references are taken out of the dependents, then it may go

A graph over all resources, custom ones as they are defined, knows the dependents of each uid, also of one that was
never seen.

Mirrors: pkg/controller/garbagecollector (v1.36).
Differs: owners are looked up in caches, not at the server; so an owner must be seen before a dependent is judged, as it
is in process. There are no virtual nodes: a reference to what is not there is a reason to look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.meta import OwnerReference
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.resources import ResourceType
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, SyncError, attempt
from schedlab.controllers.framework.definitions import served_types
from schedlab.controllers.framework.kinds import Kind

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_IGNORED: Final = ("events", "events.events.k8s.io")
_DELETE_KEY: Final = "delete/"
_ORPHAN_KEY: Final = "orphan/"
_DEFINITION_KEY: Final = "definition/"


class _Node:
    """An object in the graph, always its newest version."""

    __slots__ = ("obj", "type")

    def __init__(self, obj: StoredObject, type_: ResourceType) -> None:
        self.obj = obj
        self.type = type_

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        owners: tuple[OwnerReference, ...] = self.obj.view.metadata.owner_references
        return owners

    @property
    def is_deleted(self) -> bool:
        return bool(self.obj.view.metadata.deletion_timestamp)

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_deleted and _FOREGROUND in self.obj.view.metadata.finalizers


class _References:
    """The owners of an object by what they are: there, not there, waiting for their dependents."""

    def __init__(self) -> None:
        self.solid: list[OwnerReference] = []
        self.dangling: list[OwnerReference] = []
        self.waiting: list[OwnerReference] = []


class GarbageCollector(Controller):
    """Deletes and orphans dependents; keys are uids with what is to be done, or names of definitions."""

    name: ClassVar[str] = "garbage-collector-controller"
    workers: ClassVar[int] = 20

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes: dict[str, _Node] = {}
        self._dependents: dict[str, dict[str, _Node]] = {}
        self._types: dict[tuple[str, str], ResourceType] = {}
        self._followed: dict[str, None] = {}
        #: Custom resources: they know no strategic patches.
        self._custom: dict[str, None] = {}
        for each in context.resources:
            self._types[each.api_version, each.kind] = each
        for each in context.resources:
            if {"delete", "list", "watch"} <= set(each.verbs) and each.full_name not in _IGNORED:
                self._follow(each)
        context.lister(DEFINITIONS).on_change(self._on_definition)

    def _follow(self, type_: ResourceType) -> None:
        if type_.full_name not in self._followed:
            self._followed[type_.full_name] = None
            self.context.lister(type_.full_name).on_change(lambda event: self._on_object(event, type_))

    def _on_definition(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            # The resource is served only after its definition has been told.
            self.queue.add(_DEFINITION_KEY + event.object.name)

    def _learn(self, name: str) -> None:
        """Follow the resource of a definition, as soon as it is served."""
        stored = self.context.lister(DEFINITIONS).stored(name)
        for type_ in () if stored is None else served_types(stored):
            self._types[type_.api_version, type_.kind] = type_
            self._custom[type_.full_name] = None
            self._follow(type_)

    # --- The graph ---------------------------------------------------------------------------------------------------

    def _on_object(self, event: WatchEvent, type_: ResourceType) -> None:
        obj = event.object
        if event.type == "DELETED":
            self._forget(obj)
            return
        known = self._nodes.get(obj.uid)
        if known is None:
            known = self._nodes[obj.uid] = _Node(obj, type_)
            self._link(known, known.owners)
            self._judge_dependents(known)
            before = None
        else:
            before, known.obj = known.obj, obj
            if before.view.metadata.owner_references != known.owners:
                self._relink(known, before.view.metadata.owner_references)
        if known.is_deleted:
            self._on_deletion(known, before)

    def _link(self, node: _Node, owners: Sequence[OwnerReference]) -> None:
        """Make the node a dependent; look at it if an owner is not there or not what the reference says."""
        doubtful = False
        for reference in owners:
            self._dependents.setdefault(reference.uid, {})[node.obj.uid] = node
            owner = self._nodes.get(reference.uid)
            if owner is None or not self._is_meant(owner, reference):
                doubtful = True
            elif owner.obj.namespace and owner.obj.namespace != node.obj.namespace:
                doubtful = True
                self._tell_of_namespace(node, reference)
        if doubtful:
            self._look_at(node)

    def _judge_dependents(self, owner: _Node) -> None:
        """Look at dependents that came before their owner and mean another one by its uid."""
        for dependent in self._dependents.get(owner.obj.uid, {}).values():
            references = [each for each in dependent.owners if each.uid == owner.obj.uid]
            elsewhere = bool(owner.obj.namespace) and owner.obj.namespace != dependent.obj.namespace
            if elsewhere:
                self._tell_of_namespace(dependent, references[0])
            if elsewhere or not all(self._is_meant(owner, reference) for reference in references):
                self._look_at(dependent)

    def _is_meant(self, owner: _Node, reference: OwnerReference) -> bool:
        """Whether a reference with the uid of an object also has its kind and name."""
        type_ = self._types.get((reference.api_version, reference.kind))
        return type_ is not None and type_.full_name == owner.type.full_name and reference.name == owner.obj.name

    def _relink(self, node: _Node, before: Sequence[OwnerReference]) -> None:
        old, new = {each.uid: each for each in before}, {each.uid: each for each in node.owners}
        for uid, reference in old.items():
            kept = new.get(uid)
            if kept is None:
                self._unlink(node, uid)
            if reference.block_owner_deletion and (kept is None or not kept.block_owner_deletion):
                self._look_at(self._nodes.get(uid))
        self._link(node, [each for uid, each in new.items() if uid not in old])

    def _unlink(self, node: _Node, owner_uid: str) -> None:
        dependents = self._dependents.get(owner_uid, {})
        dependents.pop(node.obj.uid, None)
        if not dependents:
            self._dependents.pop(owner_uid, None)

    def _on_deletion(self, node: _Node, before: StoredObject | None) -> None:
        """Begin with what a finalizer asks for, when the deletion does or the finalizer comes later."""
        metadata = node.obj.view.metadata
        earlier: Sequence[str] = ()
        if before is not None and before.view.metadata.deletion_timestamp:
            earlier = before.view.metadata.finalizers
        if _ORPHAN in metadata.finalizers and _ORPHAN not in earlier:
            self.queue.add(_ORPHAN_KEY + node.obj.uid)
        elif _FOREGROUND in metadata.finalizers and _FOREGROUND not in earlier:
            for dependent in self._dependents.get(node.obj.uid, {}).values():
                self._look_at(dependent)
            self._look_at(node)

    def _forget(self, obj: StoredObject) -> None:
        node = self._nodes.pop(obj.uid, None)
        if node is None:
            return
        for reference in node.owners:
            self._unlink(node, reference.uid)
            owner = self._nodes.get(reference.uid)
            if owner is not None and owner.waits_for_dependents:
                self._look_at(owner)
        for dependent in self._dependents.get(obj.uid, {}).values():
            self._look_at(dependent)

    def _look_at(self, node: _Node | None) -> None:
        if node is not None:
            self.queue.add(_DELETE_KEY + node.obj.uid)

    def _tell_of_namespace(self, node: _Node, reference: OwnerReference) -> None:
        where = f"{reference.api_version}/{reference.kind}, namespace: {node.obj.namespace}"
        identity = f"[{where}, name: {reference.name}, uid: {reference.uid}]"
        message = f'ownerRef {identity} does not exist in namespace "{node.obj.namespace}"'
        kind = Kind(node.obj.resource, node.type.api_version, node.type.kind)
        self.events.warning(kind, node.obj, "OwnerRefInvalidNamespace", message)

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Delete an object that nobody owns any more, finish one that waits for dependents, or orphan dependents."""
        action, _, uid = key.partition("/")
        if action == "definition":
            self._learn(uid)
            return
        node = self._nodes.get(uid)
        if node is None:
            return
        if action == "orphan":
            yield from self._orphan(node)
        elif node.waits_for_dependents:
            yield from self._let_go(node)
        elif not node.is_deleted and node.owners:
            yield from self._collect(node)

    def _collect(self, node: _Node) -> Steps:
        references = self._classify(node)
        if references is None:
            return
        gone = [*references.dangling, *references.waiting]
        if references.solid:
            if gone:
                yield from self._write(self._disown(node, [each.uid for each in gone]))
        elif references.waiting and (dependents := self._dependents.get(node.obj.uid)):
            if any(each.waits_for_dependents for each in dependents.values()):
                # A circle of owners that wait for each other: let nobody be blocked by this one.
                yield from self._write(self._unblock(node))
            yield from self._delete(node, "Foreground")
        else:
            finalizers = node.obj.view.metadata.finalizers
            policy = "Background"
            if _ORPHAN in finalizers:
                policy = "Orphan"
            elif _FOREGROUND in finalizers:
                policy = "Foreground"
            yield from self._delete(node, policy)

    def _classify(self, node: _Node) -> _References | None:
        """Sort the owners; None for a cluster-wide object that names one in a namespace, which means nothing."""
        found = _References()
        for reference in node.owners:
            type_ = self._types.get((reference.api_version, reference.kind))
            if type_ is None:
                raise SyncError(f'no matches for kind "{reference.kind}" in version "{reference.api_version}"')
            if type_.namespaced and not node.obj.namespace:
                return None
            namespace = node.obj.namespace if type_.namespaced else ""
            owner = self.context.lister(type_.full_name).stored(reference.name, namespace)
            if owner is None or owner.uid != reference.uid:
                found.dangling.append(reference)
            elif _Node(owner, type_).waits_for_dependents:
                found.waiting.append(reference)
            else:
                found.solid.append(reference)
        return found

    def _let_go(self, node: _Node) -> Steps:
        """Let a waiting object go when nothing that blocks it is left."""
        blocking = [each for each in self._dependents.get(node.obj.uid, {}).values() if _blocks(each, node)]
        if not blocking:
            yield from self._take_finalizer(node, _FOREGROUND)
        for dependent in blocking:
            if not dependent.waits_for_dependents:
                self._look_at(dependent)

    def _orphan(self, node: _Node) -> Steps:
        dependents = tuple(self._dependents.get(node.obj.uid, {}).values())
        outcomes = yield [self._disown(each, [node.obj.uid]) for each in dependents]
        for outcome in outcomes:
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error
        yield from self._take_finalizer(node, _ORPHAN)

    # --- Writes ------------------------------------------------------------------------------------------------------

    def _take_finalizer(self, node: _Node, finalizer: str) -> Steps:
        obj = node.obj
        finalizers = [each for each in obj.view.metadata.finalizers if each != finalizer]
        metadata = {"resourceVersion": str(obj.revision), "finalizers": finalizers}
        yield from self._write(Write("patch", obj.resource, obj.namespace, obj.name, {"metadata": metadata}))

    def _disown(self, node: _Node, owners: Sequence[str]) -> Write:
        """Return the removal of owners."""
        if node.obj.resource in self._custom:
            return self._replace_owners(node, [each for each in _owners(node) if each["uid"] not in owners])
        references = [{"$patch": "delete", "uid": uid} for uid in owners]
        return self._patch_owners(node, references)

    def _unblock(self, node: _Node) -> Write:
        """Return the change after which the object blocks none of its owners."""
        if node.obj.resource in self._custom:
            return self._replace_owners(node, [{**each, "blockOwnerDeletion": False} for each in _owners(node)])
        blocking = [each for each in _owners(node) if each.get("blockOwnerDeletion")]
        return self._patch_owners(node, [{**each, "blockOwnerDeletion": False} for each in blocking])

    @staticmethod
    def _patch_owners(node: _Node, references: Sequence[Mapping[str, Any]]) -> Write:
        obj = node.obj
        body = {"metadata": {"uid": obj.uid, "ownerReferences": references}}
        return Write("patch", obj.resource, obj.namespace, obj.name, body, patch_type="strategic")

    @staticmethod
    def _replace_owners(node: _Node, references: Sequence[Mapping[str, Any]]) -> Write:
        obj = node.obj
        body = {"metadata": {"resourceVersion": str(obj.revision), "ownerReferences": references or None}}
        return Write("patch", obj.resource, obj.namespace, obj.name, body)

    def _delete(self, node: _Node, policy: str) -> Steps:
        obj, owners = node.obj, node.owners
        preconditions = {"uid": obj.uid, "resourceVersion": str(obj.revision)}
        error = yield from self._try_delete(obj, policy, preconditions)
        if error is not None and error.reason == "Conflict" and node.obj.uid == obj.uid and node.owners == owners:
            # It changed, but not its owners: the verdict stands.
            error = yield from self._try_delete(obj, policy, {"uid": obj.uid})
        if error is not None and error.reason != "NotFound":
            raise error

    def _try_delete(self, obj: StoredObject, policy: str, preconditions: dict[str, str]) -> Asking[StatusError | None]:
        body = {"preconditions": preconditions, "propagationPolicy": policy}
        outcome = yield from attempt(Write("delete", obj.resource, obj.namespace, obj.name, body))
        return outcome.error

    def _write(self, write: Write) -> Steps:
        outcome = yield from attempt(write)
        if outcome.error is not None and outcome.error.reason != "NotFound":
            raise outcome.error


def _blocks(dependent: _Node, owner: _Node) -> bool:
    return any(each.uid == owner.obj.uid and each.block_owner_deletion for each in dependent.owners)


def _owners(node: _Node) -> Sequence[Mapping[str, Any]]:
    references: Sequence[Mapping[str, Any]] = node.obj.raw["metadata"].get("ownerReferences") or ()
    return references
