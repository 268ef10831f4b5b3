"""Which changes of claims and pods may help a pod that waits for its claims.

Mirrors: isSchedulableAfterClaimChange and isSchedulableAfterPodChange in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.scheduler.dra.claims import is_allocated
from schedlab.scheduler.framework.events import QueueingHint
from schedlab.scheduler.plugins.dynamic_resources.podclaims import ClaimNotReadyError, pod_claims

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.api.views.resource import ResourceClaim
    from schedlab.scheduler.dra.claims import ClaimTracker
    from schedlab.scheduler.framework.types import PodInfo


class ClaimHints:
    """The hints."""

    def __init__(self, claims: ClaimTracker) -> None:
        self._claims = claims

    def after_claim_change(self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim) -> QueueingHint:
        """A claim was added or changed: one of the pod's own, or one that gave its devices back."""
        try:
            own = pod_claims(pod.pod, self._claims)
        except ClaimNotReadyError:
            return QueueingHint.SKIP
        if is_allocated(old) and not is_allocated(new):
            return QueueingHint.QUEUE
        if all(claim.view.metadata.uid != new.metadata.uid for claim in own):
            return QueueingHint.SKIP
        if old is not None and old.status == new.status:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    def after_pod_change(self, pod: PodInfo, _old: Pod | None, new: Pod) -> QueueingHint:
        """The pod's status names the claims that were made for it."""
        if pod.uid != new.metadata.uid:
            return QueueingHint.SKIP
        try:
            pod_claims(new, self._claims)
        except ClaimNotReadyError:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE
