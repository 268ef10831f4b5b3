"""Who controls what: finding the objects of an owner, adopting orphans that match, releasing what matches no longer.

Mirrors: pkg/controller/controller_ref_manager.go, FilterPodsByOwner and PodControllerIndex of controller_utils.go
(v1.36).
Differs: whether the owner may still adopt is looked up in the cache, which is as fresh as a read in process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.meta import OwnerReference
from schedlab.apimachinery.errors import StatusError
from schedlab.client.informers import Informer
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Asking, SyncError, attempt
from schedlab.controllers.framework.kinds import Kind

CONTROLLER_INDEX: Final = "controller"
ORPHAN_INDEX: Final = "orphan"


def index_by_controller(informer: Informer) -> None:
    """Keep the objects of a resource by the uid of their controller, and those without one by their namespace."""
    informer.add_index(CONTROLLER_INDEX, _controller_uid)
    informer.add_index(ORPHAN_INDEX, _orphan_namespace)


def controlled_by(informer: Informer, uid: str) -> Sequence[StoredObject]:
    """Return the objects that the owner of that uid controls."""
    return tuple(informer.indexed(CONTROLLER_INDEX, uid))


def orphans(informer: Informer, namespace: str) -> Sequence[StoredObject]:
    """Return the objects of a namespace that nobody controls."""
    return tuple(informer.indexed(ORPHAN_INDEX, namespace))


def controller_of(obj: StoredObject) -> OwnerReference | None:
    """Return the reference to the controller of an object."""
    reference: OwnerReference | None = obj.view.metadata.controller()
    return reference


def is_foreign(event: WatchEvent, kind: Kind) -> bool:
    """Whether a change is about an object that belongs to a controller of another kind, and did before."""
    owner = controller_of(event.object)
    if owner is None or owner.kind == kind.kind:
        return False
    former = None if event.previous is None else controller_of(event.previous)
    return former is None or former.kind != kind.kind


def is_controlled_by(obj: StoredObject, owner: StoredObject) -> bool:
    """Whether that owner controls the object."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.uid


def resolve(informer: Informer, kind: Kind, namespace: str, reference: OwnerReference | None) -> StoredObject | None:
    """Return the controller that a reference means, if it is of the kind and still the same object."""
    if reference is None or reference.kind != kind.kind:
        return None
    found = informer.stored(reference.name, namespace)
    return found if found is not None and found.uid == reference.uid else None


def is_deleted(obj: StoredObject) -> bool:
    """Whether the object is on its way out."""
    return bool(obj.view.metadata.deletion_timestamp)


class Claim:
    """The claims of one owner during one sync."""

    def __init__(
        self,
        kind: Kind,
        owner: StoredObject,
        owners: Informer,
        matches: Callable[[StoredObject], bool],
        *,
        finalizers: Sequence[str] = (),
    ) -> None:
        self._kind, self._owner, self._owners = kind, owner, owners
        self._matches = matches
        self._finalizers = finalizers

    def all(self, objects: Iterable[StoredObject]) -> Asking[list[StoredObject]]:
        """Return the objects that the owner controls now; raises the first error after trying all."""
        claimed: list[StoredObject] = []
        first_error: StatusError | SyncError | None = None
        uid = self._owner.uid
        for obj in objects:
            reference = controller_of(obj)
            if reference is not None and reference.uid == uid and self._matches(obj):
                claimed.append(obj)
                continue
            try:
                mine = yield from self._one(obj)
            except (StatusError, SyncError) as error:
                first_error = first_error or error
                continue
            if mine is not None:
                claimed.append(mine)
        if first_error is not None:
            raise first_error
        return claimed

    def _one(self, obj: StoredObject) -> Asking[StoredObject | None]:
        reference = controller_of(obj)
        if reference is not None:
            if reference.uid == self._owner.uid and not is_deleted(self._owner):
                yield from self._release(obj)
            return None
        if is_deleted(self._owner) or is_deleted(obj) or not self._matches(obj):
            return None
        return (yield from self._adopt(obj))

    def _adopt(self, obj: StoredObject) -> Asking[StoredObject | None]:
        self._refuse_if_going(obj)
        metadata: dict[str, Any] = {"uid": obj.uid, "ownerReferences": [self._kind.reference(self._owner)]}
        if self._finalizers:
            metadata["finalizers"] = list(self._finalizers)
        outcome = yield from attempt(_patch(obj, metadata))
        if outcome.error is not None and outcome.error.reason != "NotFound":
            raise outcome.error
        return outcome.object

    def _release(self, obj: StoredObject) -> Asking[None]:
        metadata: dict[str, Any] = {
            "uid": obj.uid,
            "ownerReferences": [{"$patch": "delete", "uid": self._owner.uid}],
        }
        if self._finalizers:
            metadata["$deleteFromPrimitiveList/finalizers"] = list(self._finalizers)
        outcome = yield from attempt(_patch(obj, metadata))
        # Invalid: the object has no owners, or is another one of the same name. Both mean that it is released.
        if outcome.error is not None and outcome.error.reason not in {"NotFound", "Invalid"}:
            raise outcome.error

    def _refuse_if_going(self, obj: StoredObject) -> None:
        owner = self._owner
        fresh = self._owners.stored(owner.name, owner.namespace)
        if fresh is None or fresh.uid != owner.uid or is_deleted(fresh):
            raise SyncError(f"can't adopt {obj.resource} {obj.key} ({obj.uid}): {owner.key} has just been deleted")


def _patch(obj: StoredObject, metadata: dict[str, Any]) -> Write:
    return Write("patch", obj.resource, obj.namespace, obj.name, {"metadata": metadata}, patch_type="strategic")


def _controller_uid(obj: StoredObject) -> str:
    reference = controller_of(obj)
    return "" if reference is None else reference.uid


def _orphan_namespace(obj: StoredObject) -> str:
    return obj.namespace if controller_of(obj) is None else ""
