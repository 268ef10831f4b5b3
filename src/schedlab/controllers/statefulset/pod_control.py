"""Making, mending and deleting the pods of a StatefulSet together with their claims.

Mirrors: pkg/controller/statefulset/stateful_pod_control.go (v1.36).
Differs: an update that meets a conflict is made by the next sync.
"""

from __future__ import annotations

from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import StatusError
from schedlab.client.event_recorder import EventRecorder
from schedlab.client.informers import Informer
from schedlab.client.protocol import Write
from schedlab.controllers.framework import kinds, ownership
from schedlab.controllers.framework.controller import Asking, Steps, SyncError, ask, attempt
from schedlab.controllers.statefulset import identity
from schedlab.controllers.statefulset.retention import ClaimOwners, PodIdentity

_CLAIMS = kinds.PERSISTENT_VOLUME_CLAIM.resource


class StatefulPodControl:
    """Writes pods and claims, and tells of it."""

    def __init__(self, claims: Informer, events: EventRecorder) -> None:
        self._claims = claims
        self._events = events

    def create(self, found: StoredObject, pod: Object) -> Steps:
        """Make a pod's claims and the pod."""
        name: str = pod["metadata"]["name"]
        try:
            yield from self.create_claims(found, name)
        except (StatusError, SyncError) as error:
            self._tell("create", found, name, error)
            raise
        outcome = yield from attempt(Write("create", "pods", found.namespace, name, pod))
        if outcome.error is not None and outcome.error.reason == "AlreadyExists":
            raise outcome.error
        uid = "" if outcome.object is None else outcome.object.uid
        yield from self._own_claims(found, PodIdentity(name, uid))
        self._tell("create", found, name, outcome.error)
        if outcome.error is not None:
            raise outcome.error

    def delete(self, found: StoredObject, pod: StoredObject) -> Steps:
        """Delete a pod."""
        error = (yield from attempt(Write("delete", "pods", pod.namespace, pod.name))).error
        gone = error is not None and error.reason == "NotFound"
        self._tell("delete", found, pod.name, None if gone else error)
        if error is not None and not gone:
            raise error

    def mend(self, found: StoredObject, pod: StoredObject) -> Steps:
        """Give a pod its identity, its storage, and its claims their owners."""
        consistent = True
        body: Object = dict(pod.raw)
        if not identity.has_identity(pod):
            labels = {**pod.labels, **identity.identity_labels(pod.name)}
            body["metadata"] = {**body["metadata"], "labels": labels}
            consistent = False
        try:
            if not identity.has_storage(found, pod):
                volumes = identity.volumes_of(found, pod.name, body["spec"].get("volumes") or ())
                body["spec"] = {**body["spec"], "volumes": volumes}
                yield from self.create_claims(found, pod.name)
                consistent = False
            if not self.claims_are_owned(found, PodIdentity(pod.name, pod.uid)):
                yield from self._own_claims(found, PodIdentity(pod.name, pod.uid))
            if not consistent:
                yield from ask(Write("update", "pods", pod.namespace, pod.name, body))
        except (StatusError, SyncError) as error:
            self._tell("update", found, pod.name, error)
            raise
        if not consistent:
            self._tell("update", found, pod.name, None)

    # --- Claims ------------------------------------------------------------------------------------------------------

    def create_claims(self, found: StoredObject, pod_name: str) -> Steps:
        """Make the claims that a pod lacks; raises when one cannot be made or is on its way out."""
        problems = []
        for claim in identity.claims_of(found, pod_name).values():
            name: str = claim["metadata"]["name"]
            known = self._claims.stored(name, found.namespace)
            if known is None:
                error = (yield from attempt(Write("create", _CLAIMS, found.namespace, name, claim))).error
                if error is not None:
                    problems.append(f"failed to create PVC {name}: {error}")
                if error is None or error.reason != "AlreadyExists":
                    self._tell_of_claim(found, pod_name, name, error)
            elif ownership.is_deleted(known):
                problems.append(f"pvc {name} is being deleted")
        if problems:
            raise SyncError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def complete_claims(self, found: StoredObject, pod: StoredObject) -> Steps:
        """Make the claims that a waiting pod lacks, and give them their owners."""
        yield from self.create_claims(found, pod.name)
        yield from self._own_claims(found, PodIdentity(pod.name, pod.uid))

    def claims_are_owned(self, found: StoredObject, pod: PodIdentity) -> bool:
        """Whether all claims of a pod have the owners that they should have."""
        owners = ClaimOwners(found, pod)
        return all(owners.up_to_date(claim) for claim in self._existing(found, pod.name))

    def own_claims(self, found: StoredObject, pod: StoredObject) -> Steps:
        """Give the claims of a pod the owners that they should have."""
        yield from self._own_claims(found, PodIdentity(pod.name, pod.uid))

    def has_stale_claim(self, found: StoredObject, pod_name: str) -> bool:
        """Whether a claim of the pod is about to go with an earlier pod of that name."""
        owners = ClaimOwners(found, PodIdentity(pod_name, ""))
        return owners.deletes_scaled and any(map(owners.is_stale, self._existing(found, pod_name)))

    def _existing(self, found: StoredObject, pod_name: str) -> list[StoredObject]:
        names = (claim["metadata"]["name"] for claim in identity.claims_of(found, pod_name).values())
        claims = (self._claims.stored(name, found.namespace) for name in names)
        return [claim for claim in claims if claim is not None]

    def _own_claims(self, found: StoredObject, pod: PodIdentity) -> Asking[None]:
        owners = ClaimOwners(found, pod)
        for claim in self._existing(found, pod.name):
            if owners.conflict(claim):
                message = (
                    f"PersistentVolumeClaim {claim.name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                self._events.warning(kinds.STATEFUL_SET, found, "ConflictingController", message)
            if not owners.up_to_date(claim):
                metadata = {**claim.raw["metadata"], "ownerReferences": owners.references(claim)}
                body = {**claim.raw, "metadata": metadata}
                yield from ask(Write("update", _CLAIMS, claim.namespace, claim.name, body))

    # --- Events ------------------------------------------------------------------------------------------------------

    def _tell(self, verb: str, found: StoredObject, pod_name: str, error: Exception | None) -> None:
        title = verb.title()
        what = f"{title} Pod {pod_name} in StatefulSet {found.name}"
        if error is None:
            self._events.normal(kinds.STATEFUL_SET, found, f"Successful{title}", f"{what} successful")
        else:
            self._events.warning(kinds.STATEFUL_SET, found, f"Failed{title}", f"{what} failed error: {error}")

    def _tell_of_claim(self, found: StoredObject, pod_name: str, claim: str, error: StatusError | None) -> None:
        if error is None:
            message = f"Create Claim {claim} Pod {pod_name} in StatefulSet {found.name} success"
            self._events.normal(kinds.STATEFUL_SET, found, "SuccessfulCreate", message)
        else:
            message = f"Create Claim {claim} for Pod {pod_name} in StatefulSet {found.name} failed error: {error}"
            self._events.warning(kinds.STATEFUL_SET, found, "FailedCreate", message)
