"""The protection of claims: a deleted claim stays while a pod that is on a node uses it.

Mirrors: pkg/controller/volume/pvcprotection/pvc_protection_controller.go (v1.36)
Differs: the cache is never behind, so there is no live list; the Unused condition (an alpha feature) is not kept.
"""

from __future__ import annotations

from typing import ClassVar

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.volumes import not_made_for_pod
from schedlab.api.views.core import Pod
from schedlab.api.views.storage import PersistentVolumeClaim
from schedlab.controllers.claim_users import ClaimUsers, claims_of
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.protection import ProtectionController


class PVCProtectionController(ProtectionController):
    """Lets claims go that no pod uses."""

    name: ClassVar[str] = "persistentvolumeclaim-protection-controller"
    resource: ClassVar[str] = "persistentvolumeclaims"
    finalizer: ClassVar[str] = "kubernetes.io/pvc-protection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        pods = context.lister("pods")
        self._users = ClaimUsers(pods)
        pods.on_change(self._on_pod)
        self.start()

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        for name in claims_of(pod):
            claim = self.objects.stored(name, pod.namespace)
            if claim is not None and self.is_leaving(claim):
                self.queue.add(claim.key)

    def is_used(self, obj: StoredObject) -> bool:
        """Whether a pod that has a node uses the claim."""
        return any(_uses(pod.view, obj.view) for pod in self._users.of(obj.namespace, obj.name))


def _uses(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    # A kubelet starts no pod whose claim is being deleted, so pods without a node do not count.
    if not pod.spec.node_name:
        return False
    name = claim.metadata.name
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name == name:
            return True
        is_its_volume = volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == name
        if is_its_volume and not _is_shut_down(pod) and not_made_for_pod(pod, claim) is None:
            return True
    return False


def _is_shut_down(pod: Pod) -> bool:
    """Whether the kubelet is done with the pod, or it was deleted by force: only finalizers keep it."""
    return bool(pod.metadata.deletion_timestamp) and pod.metadata.deletion_grace_period_seconds == 0
