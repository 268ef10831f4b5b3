"""The resource claim controller: makes the claims that pods have templates for, and takes back what is used no longer.

    pod with a template      ──► a claim that the pod owns, its name in the pod's status
    pod that has ended       ──► its reservation goes; with the last one the allocation; then the claim made for it
    pod that came to a node without the scheduler ──► its reservation

Mirrors: pkg/controller/resourceclaim/controller.go (v1.36)
Differs: pod groups have no claims. The cache is never behind, so nothing is looked up twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Pod, PodResourceClaim
from schedlab.apimachinery.gojson import quote
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    ask,
    attempt,
    split_key,
)
from schedlab.controllers.framework.kinds import POD
from schedlab.controllers.framework.ownership import controller_of
from schedlab.controllers.framework.pods import FINISHED
from schedlab.controllers.framework.status import new_status

CLAIMS: Final = "resourceclaims.resource.k8s.io"
TEMPLATES: Final = "resourceclaimtemplates.resource.k8s.io"

_MANAGER: Final = "ResourceClaimController"
_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
_OWNER_INDEX: Final = "pod"
_PREFIX_LENGTH_MAX: Final = 57
_CONSUMERS_MAX: Final = 256
_POD: Final = "pod:"
_CLAIM: Final = "claim:"


class ResourceClaimController(Controller):
    """Keys are `pod:` or `claim:` with the key of the object."""

    name: ClassVar[str] = "resourceclaim-controller"
    workers: ClassVar[int] = 50

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="resource_claim")
        self._pods = context.lister("pods")
        self._claims = context.lister(CLAIMS)
        self._claims.add_index(_OWNER_INDEX, _owner_uid)
        self._templates = context.lister(TEMPLATES)
        self._waiting: dict[str, dict[str, None]] = {}
        self._pods.on_change(self._on_pod)
        self._claims.on_change(self._on_claim)
        self._templates.on_change(self._on_template)

    # --- Hearing -----------------------------------------------------------------------------------------------------

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object.view
        extended = self._claims.indexed(_OWNER_INDEX, event.object.uid)
        if event.type == "DELETED" or _is_done(pod):
            names = (name for each in pod.spec.resource_claims if (name := _claim_name(pod, each)) is not None)
            for name in dict.fromkeys((*names, *(claim.name for claim in extended))):
                self.queue.add(f"{_CLAIM}{event.object.namespace}/{name}")
        elif pod.spec.resource_claims:
            self.queue.add(_POD + event.object.key)

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.object
        if event.type != "DELETED":
            self.queue.add(_CLAIM + claim.key)
            return
        owner = controller_of(claim)
        if owner is not None and owner.kind == POD.kind:
            self.queue.add(f"{_POD}{claim.namespace}/{owner.name}")

    def _on_template(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            for key in self._waiting.pop(event.object.key, {}):
                self.queue.add(_POD + key)

    def sync(self, key: str) -> Steps:
        """Look at one pod or one claim."""
        kind, _, place = key.partition(":")
        namespace, name = split_key(place)
        informer = self._pods if kind == "pod" else self._claims
        found = informer.stored(name, namespace)
        if found is None:
            return
        if kind == "pod":
            yield from self._sync_pod(found)
        else:
            yield from self._sync_claim(found)

    # --- Claims for pods ---------------------------------------------------------------------------------------------

    def _sync_pod(self, stored: StoredObject) -> Steps:
        pod: Pod = stored.view
        if pod.metadata.deletion_timestamp or _is_done(pod):
            return
        made: dict[str, str] = {}
        for wanted in pod.spec.resource_claims:
            name = yield from self._make(stored, wanted)
            if name is not None:
                made[wanted.name] = name
        if made:
            yield from ask(_names_of_claims(stored, made))
        if pod.spec.node_name:
            yield from self._reserve(stored)

    def _make(self, stored: StoredObject, wanted: PodResourceClaim) -> Asking[str | None]:
        """Make the claim of a template; returns its name if the pod does not know it yet."""
        pod: Pod = stored.view
        template_name = wanted.resource_claim_template_name
        known = _claim_name(pod, wanted)
        if template_name is None or (known is None and _is_settled(pod, wanted)):
            return None
        if known is not None:
            present = self._claims.stored(known, stored.namespace)
            if present is not None and _owner_uid(present) == stored.uid:
                return None
        for claim in self._claims.indexed(_OWNER_INDEX, stored.uid):
            if claim.view.metadata.annotations.get(_ANNOTATION) == wanted.name:
                return claim.name
        template = self._templates.stored(template_name, stored.namespace)
        if template is None:
            self._waiting.setdefault(f"{stored.namespace}/{template_name}", {})[stored.key] = None
            missing = f"resourceclaimtemplate.resource.k8s.io {quote(template_name)} not found"
            raise self._failure(stored, wanted, f"resource claim template {quote(template_name)}: {missing}")
        write = Write("create", CLAIMS, stored.namespace, "", _new_claim(stored, wanted, template.raw["spec"]))
        outcome = yield from attempt(write)
        if outcome.error is not None:
            raise self._failure(stored, wanted, f"create ResourceClaim : {outcome.error}")
        assert outcome.object is not None
        return outcome.object.name

    def _failure(self, stored: StoredObject, wanted: PodResourceClaim, problem: str) -> SyncError:
        text = f"PodResourceClaim {wanted.name}: {problem}"
        self.events.warning(POD, stored, "FailedResourceClaimCreation", text)
        return SyncError(f"pod {stored.key}, {text}")

    def _reserve(self, stored: StoredObject) -> Steps:
        """Reserve the allocated claims of a pod that has a node already."""
        for wanted in stored.view.spec.resource_claims:
            name = _claim_name(stored.view, wanted)
            claim = None if name is None else self._claims.stored(name, stored.namespace)
            if claim is None:
                continue
            status: Mapping[str, Any] = claim.raw.get("status") or {}
            consumers = list(status.get("reservedFor") or ())
            is_reserved = any(each.get("uid") == stored.uid for each in consumers)
            if not status.get("allocation") or is_reserved or len(consumers) >= _CONSUMERS_MAX:
                continue
            consumers.append({"resource": "pods", "name": stored.name, "uid": stored.uid})
            yield from ask(new_status(claim, {**status, "reservedFor": consumers}))

    # --- Claims that are used no longer ------------------------------------------------------------------------------

    def _sync_claim(self, claim: StoredObject) -> Steps:
        status: Mapping[str, Any] = claim.raw.get("status") or {}
        consumers = list(status.get("reservedFor") or ())
        remaining = [each for each in consumers if self._is_used_by(claim.namespace, each)]
        protected = _FINALIZER in claim.view.metadata.finalizers
        is_leaving = protected and bool(claim.view.metadata.deletion_timestamp) and not remaining
        if len(remaining) < len(consumers) or (is_leaving and status.get("allocation")):
            kept = {key: value for key, value in status.items() if key != "reservedFor"}
            if remaining:
                kept["reservedFor"] = remaining
            elif protected:
                kept.pop("allocation", None)
            claim = yield from ask(new_status(claim, kept))
        is_free = not remaining and not (claim.raw.get("status") or {}).get("allocation")
        if protected and is_free and (consumers or is_leaving):
            body = claim.thaw()
            body["metadata"]["finalizers"] = [each for each in body["metadata"]["finalizers"] if each != _FINALIZER]
            yield from ask(Write("update", CLAIMS, claim.namespace, claim.name, body))
        if not remaining:
            yield from self._delete_if_done(claim)

    def _is_used_by(self, namespace: str, consumer: Mapping[str, Any]) -> bool:
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            # What is not known is not taken away.
            return True
        pod = self._pods.stored(consumer.get("name", ""), namespace)
        return pod is not None and pod.uid == consumer.get("uid") and not _is_done(pod.view)

    def _delete_if_done(self, claim: StoredObject) -> Steps:
        """Delete a claim made for a pod that will not run (any more); of a deleted pod the garbage collector does it."""
        owner = controller_of(claim)
        if owner is None or owner.kind != POD.kind or claim.view.metadata.deletion_timestamp:
            return
        pod = self._pods.stored(owner.name, claim.namespace)
        if pod is not None and (pod.uid != owner.uid or _is_done(pod.view)):
            outcome = yield from attempt(Write("delete", CLAIMS, claim.namespace, claim.name))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error


def _is_done(pod: Pod) -> bool:
    return pod.status.phase in FINISHED or (bool(pod.metadata.deletion_timestamp) and not pod.spec.node_name)


def _claim_name(pod: Pod, wanted: PodResourceClaim) -> str | None:
    """Return the name of the claim behind an entry of a pod; None when there is none, or none yet."""
    if wanted.resource_claim_name is not None:
        return wanted.resource_claim_name
    known = (each for each in pod.status.resource_claim_statuses if each.name == wanted.name)
    return next((each.resource_claim_name for each in known), None)


def _is_settled(pod: Pod, wanted: PodResourceClaim) -> bool:
    """Whether it was decided that an entry needs no claim."""
    return any(each.name == wanted.name for each in pod.status.resource_claim_statuses)


def _owner_uid(claim: StoredObject) -> str:
    owner = controller_of(claim)
    return owner.uid if owner is not None and owner.kind == POD.kind else ""


def _new_claim(pod: StoredObject, wanted: PodResourceClaim, template: Mapping[str, Any]) -> dict[str, Any]:
    source: Mapping[str, Any] = template.get("metadata") or {}
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata: dict[str, Any] = {
        "generateName": _prefix(pod.name, wanted.name),
        "annotations": {**(source.get("annotations") or {}), _ANNOTATION: wanted.name},
        "ownerReferences": [reference],
    }
    if source.get("labels"):
        metadata["labels"] = source["labels"]
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
    return {**body, "spec": template.get("spec") or {}}


def _prefix(pod: str, claim: str) -> str:
    """Join two names; both are shortened alike when they are too long together."""
    joined = f"{pod}-{claim}-"
    if len(joined) <= _PREFIX_LENGTH_MAX:
        return joined
    return "-".join(name[: len(name) * _PREFIX_LENGTH_MAX // len(joined)] for name in (pod, claim))


def _names_of_claims(pod: StoredObject, names: Mapping[str, str]) -> Write:
    statuses: Iterable[dict[str, str]] = ({"name": key, "resourceClaimName": name} for key, name in names.items())
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "status": {"resourceClaimStatuses": list(statuses)},
    }
    options = {"fieldManager": _MANAGER, "force": "true"}
    return Write(
        "patch", "pods", pod.namespace, pod.name, body, subresource="status", patch_type="apply", options=options
    )
