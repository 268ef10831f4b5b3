"""Who owns the claims of a StatefulSet's pods, so that they go when their policy says so.

    whenDeleted: Delete   the set owns the claims of pods that are wanted
    whenScaled:  Delete   a pod that is one too many owns its claims

Mirrors: isClaimOwnerUpToDate and updateClaimOwnerRefForSetAndPod of pkg/controller/statefulset/stateful_set_utils.go
(v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.api.object import StoredObject
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.kinds import Kind
from schedlab.controllers.statefulset.identity import is_in_range

Reference = Mapping[str, Any]


class PodIdentity:
    """A pod that may not have been made yet: then it has no uid."""

    def __init__(self, name: str, uid: str) -> None:
        self.name = name
        self.uid = uid


class ClaimOwners:
    """The owners of the claims of one pod."""

    def __init__(self, found: StoredObject, pod: PodIdentity) -> None:
        self._set, self._pod = found, pod
        policy = found.view.spec.persistent_volume_claim_retention_policy
        self.deletes_scaled = policy is not None and policy.when_scaled == "Delete"
        self._deletes_deleted = policy is not None and policy.when_deleted == "Delete"
        self._is_surplus = not is_in_range(found.view, pod.name)

    def is_stale(self, claim: StoredObject) -> bool:
        """Whether the claim belongs to an earlier pod of that name and will go with it."""
        return self._stale(_references(claim), kinds.POD, self._pod.name, self._pod.uid)

    def conflict(self, claim: StoredObject) -> bool:
        """Whether somebody else controls the claim."""
        if not self.deletes_scaled and not self._deletes_deleted:
            return False
        return any(self._is_foreign(reference) for reference in _references(claim))

    def up_to_date(self, claim: StoredObject) -> bool:
        """Whether the claim has the owners that it should have."""
        references = _references(claim)
        if self._stale(references, kinds.STATEFUL_SET, self._set.name, self._set.uid) or self.is_stale(claim):
            return True  # It will go; nothing can be done for it.
        owned_by_set = any(each["uid"] == self._set.uid for each in references)
        owned_by_pod = any(each["uid"] == self._pod.uid for each in references)
        if self.conflict(claim):
            return not owned_by_set and not owned_by_pod
        own = (each for each in references if each["uid"] in (self._set.uid, self._pod.uid))
        if any(not each.get("controller") for each in own):
            return False
        return (owned_by_set, owned_by_pod) == (self._wants_set, self._wants_pod)

    def references(self, claim: StoredObject) -> list[Reference]:
        """Return the owners that the claim should have."""
        references: list[Reference] = [
            each
            for each in _references(claim)
            if not _means(each, kinds.STATEFUL_SET, self._set.name) and not _means(each, kinds.POD, self._pod.name)
        ]
        if self.conflict(claim):
            return references
        if self._wants_pod:
            references.append({**kinds.POD.reference(self._set), "name": self._pod.name, "uid": self._pod.uid})
        if self._wants_set:
            references.append(kinds.STATEFUL_SET.reference(self._set))
        return references

    @property
    def _wants_set(self) -> bool:
        return self._deletes_deleted and not (self.deletes_scaled and self._is_surplus)

    @property
    def _wants_pod(self) -> bool:
        return self.deletes_scaled and self._is_surplus

    def _is_foreign(self, reference: Reference) -> bool:
        for kind, owner in ((kinds.STATEFUL_SET, self._set), (kinds.POD, self._pod)):
            if _means(reference, kind, owner.name):
                return bool(reference["uid"] != owner.uid)
        return bool(reference.get("controller"))

    @staticmethod
    def _stale(references: Sequence[Reference], kind: Kind, name: str, uid: str) -> bool:
        found = next((each for each in references if _means(each, kind, name)), None)
        return found is not None and found["uid"] != uid


def _means(reference: Reference, kind: Kind, name: str) -> bool:
    return (reference["apiVersion"], reference["kind"], reference["name"]) == (kind.api_version, kind.kind, name)


def _references(claim: StoredObject) -> Sequence[Reference]:
    references: Sequence[Reference] = claim.raw["metadata"].get("ownerReferences") or ()
    return references
