"""Which claims a pod has, and whether they can be used yet.

Mirrors: foreachPodResourceClaim in dynamicresources.go, staging/src/k8s.io/dynamic-resource-allocation/resourceclaim
(v1.36).
Differs: claims of pod groups (`DRAWorkloadResourceClaims`, an alpha feature) are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.apimachinery.gojson import quote
from schedlab.scheduler.plugins.dynamic_resources.state import PodClaim

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod, PodResourceClaim
    from schedlab.scheduler.dra.claims import ClaimTracker


class ClaimNotReadyError(Exception):
    """A claim of the pod is missing, going, or not the pod's."""


def pod_claims(pod: Pod, claims: ClaimTracker) -> list[PodClaim]:
    """Return the claims of a pod, in order; raises ClaimNotReadyError."""
    found = []
    for reference in pod.spec.resource_claims:
        name, is_generated = _claim_name(pod, reference)
        # A claim that the template needs none of is named by nothing.
        if name is not None:
            found.append(_claim(pod, name, claims, is_generated=is_generated))
    return found


def _claim_name(pod: Pod, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of the claim, and whether it was made from a template."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    key = quote(f"{pod.metadata.namespace}/{pod.metadata.name}")
    if reference.resource_claim_template_name is None:
        name = quote(reference.name)
        raise ClaimNotReadyError(f"pod {key}, spec.resourceClaim {name}: none of the supported fields are set")
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimNotReadyError(f"pod {key}: ResourceClaim not created yet")


def _claim(pod: Pod, name: str, claims: ClaimTracker, *, is_generated: bool) -> PodClaim:
    namespace = pod.metadata.namespace
    stored = claims.get(namespace, name)
    if stored is None:
        raise ClaimNotReadyError(not_found(f"{namespace}/{name}"))
    metadata = stored.view.metadata
    if metadata.deletion_timestamp:
        raise ClaimNotReadyError(f"resourceclaim {quote(name)} is being deleted")
    if is_generated:
        owner = metadata.controller()
        if owner is None or owner.uid != pod.metadata.uid:
            pod_key = f"{namespace}/{pod.metadata.name}"
            raise ClaimNotReadyError(
                f"ResourceClaim {namespace}/{name} was not created for Pod {pod_key} (Pod is not owner)"
            )
    return PodClaim(stored.view, stored)


def not_found(key: str) -> str:
    """Return what is said of a claim that is not known."""
    return f'could not find ResourceClaim "{key}"'
