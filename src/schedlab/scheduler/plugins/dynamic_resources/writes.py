"""Writes of claims and of the pod's status.

Mirrors: the requests of bindClaim, PostFilter, Unreserve and deleteClaim in
pkg/scheduler/framework/plugins/dynamicresources (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from schedlab.client.protocol import Write

if TYPE_CHECKING:
    from schedlab.api.object import Object, StoredObject
    from schedlab.api.views.core import Pod
    from schedlab.api.views.meta import View
    from schedlab.api.views.resource import AllocationResult, ResourceClaim
    from schedlab.scheduler.plugins.dynamic_resources.extended import Mappings

CLAIMS: Final = "resourceclaims.resource.k8s.io"
#: Keeps a claim from going while a pod uses its devices.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def create_claim(claim: ResourceClaim) -> Write:
    """Create the claim for extended resources, which so far is in memory only."""
    metadata = _wire(claim.metadata)
    for key in ("name", "uid"):
        metadata.pop(key, None)
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": _wire(claim.spec),
    }
    return Write("create", CLAIMS, claim.metadata.namespace, "", body)


def add_finalizer(claim: StoredObject) -> Write:
    """Protect a claim."""
    body = claim.thaw()
    body["metadata"]["finalizers"] = [*(body["metadata"].get("finalizers") or ()), FINALIZER]
    return _update(claim, body)


def remove_finalizer(claim: StoredObject) -> Write:
    """Let a claim go."""
    body = claim.thaw()
    finalizers = [each for each in body["metadata"].get("finalizers") or () if each != FINALIZER]
    body["metadata"].pop("finalizers", None)
    if finalizers:
        body["metadata"]["finalizers"] = finalizers
    return _update(claim, body)


def reserve_claim(claim: StoredObject, pod: Pod, allocation: AllocationResult | None) -> Write:
    """Give a claim its allocation, if it still needs one, and let the pod use it."""
    body = claim.thaw()
    status = body["status"] = body.get("status") or {}
    if allocation is not None:
        status["allocation"] = _wire(allocation)
    consumer = {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
    status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer]
    return _update(claim, body, "status")


def deallocate_claim(claim: StoredObject) -> Write:
    """Take a claim's devices and consumers away."""
    body = claim.thaw()
    status = body.get("status") or {}
    body["status"] = {
        key: value for key, value in status.items() if key not in {"allocation", "reservedFor", "devices"}
    }
    return _update(claim, body, "status")


def release_claim(claim: ResourceClaim, pod: Pod) -> Write:
    """Take the pod from the consumers of a claim."""
    metadata = claim.metadata
    body = {
        "metadata": {"uid": metadata.uid},
        "status": {"reservedFor": [{"$patch": "delete", "uid": pod.metadata.uid}]},
    }
    return Write("patch", CLAIMS, metadata.namespace, metadata.name, body, "status", "strategic")


def delete_claim(claim: StoredObject) -> Write:
    """Delete a claim."""
    return Write("delete", CLAIMS, claim.namespace, claim.name)


def name_claim_in_pod(pod: Pod, claim_name: str, mappings: Mappings) -> Write:
    """Tell in the pod's status which claim its extended resources come from."""
    status = {"requestMappings": [_wire(each) for each in mappings], "resourceClaimName": claim_name}
    body = {"status": {"extendedResourceClaimStatus": status}}
    return Write("patch", "pods", pod.metadata.namespace, pod.metadata.name, body, "status", "strategic")


def _update(claim: StoredObject, body: Object, subresource: str = "") -> Write:
    return Write("update", CLAIMS, claim.namespace, claim.name, body, subresource)


def _wire(view: View) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(view))
    return built
