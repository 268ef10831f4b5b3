"""The claims of a pod: whether they can be used at all, which are bound, and which wait for a node.

Mirrors: podHasPVCs in pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, GetPodVolumeClaims in binder.go
(v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from schedlab.api.rules.volumes import (
    LOST,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_name,
    is_fully_bound,
    not_made_for_pod,
    volume_class,
)
from schedlab.scheduler.framework.status import Status, error, unresolvable
from schedlab.scheduler.plugins.volume_binding.assume_cache import AssumeCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedlab.api.views.core import Pod, Volume
    from schedlab.api.views.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
    from schedlab.client.listers import Listers

VOLUMES: Final = "persistentvolumes"
CLAIMS: Final = "persistentvolumeclaims"
REASON_UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod in the order of its volumes, and all volumes of the classes of those that wait."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    waiting: list[PersistentVolumeClaim] = field(default_factory=list)
    volumes: dict[str, list[PersistentVolume]] = field(default_factory=dict)


class Storage:
    """Everything that storage classes, claims and volumes are asked about; volumes and claims as assumed."""

    def __init__(self, listers: Listers) -> None:
        self.volumes: AssumeCache[PersistentVolume] = AssumeCache(listers.lister(VOLUMES), VOLUMES)
        self.claims: AssumeCache[PersistentVolumeClaim] = AssumeCache(listers.lister(CLAIMS), CLAIMS)
        self.classes = listers.lister("storageclasses.storage.k8s.io")
        self.csi_nodes = listers.lister("csinodes.storage.k8s.io")
        self.drivers = listers.lister("csidrivers.storage.k8s.io")
        self.capacities = listers.lister("csistoragecapacities.storage.k8s.io")
        self.nodes = listers.lister("nodes")
        self.pods = listers.lister("pods")

    def claims_of(self, pod: Pod) -> PodClaims | Status:
        """Return the claims of a pod that has some, or why it cannot be placed with them."""
        for volume, name in _names(pod):
            fault = self._fault(pod, volume, name)
            if fault is not None:
                return unresolvable(fault)
        return self._sorted(pod)

    def all_bound(self, pod: Pod) -> bool:
        """Whether every claim of the pod is bound."""
        found = (self.claims.get(name, pod.metadata.namespace) for _, name in _names(pod))
        return all(claim is not None and is_fully_bound(claim) for claim in found)

    def _fault(self, pod: Pod, volume: Volume, name: str) -> str | None:
        claim: PersistentVolumeClaim | None = self.claims.lister.get(name, pod.metadata.namespace)
        if claim is None:
            if volume.persistent_volume_claim is None:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == LOST:
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        return not_made_for_pod(pod, claim) if volume.persistent_volume_claim is None else None

    def _sorted(self, pod: Pod) -> PodClaims | Status:
        claims = PodClaims()
        has_unbound = False
        for _, name in _names(pod):
            claim = self.claims.get(name, pod.metadata.namespace)
            assert claim is not None, f"claim {name} was there a moment ago"
            if is_fully_bound(claim):
                claims.bound.append(claim)
                continue
            waits = self._waits_for_node(claim)
            if isinstance(waits, Status):
                return waits
            if waits and not claim.spec.volume_name:
                claims.waiting.append(claim)
            else:
                has_unbound = True
        if has_unbound:
            return unresolvable(REASON_UNBOUND)
        claims.volumes = {claim_class(claim): [] for claim in claims.waiting}
        if claims.volumes:
            for volume in self.volumes:
                of_class = claims.volumes.get(volume_class(volume))
                if of_class is not None:
                    of_class.append(volume)
        return claims

    def _waits_for_node(self, claim: PersistentVolumeClaim) -> bool | Status:
        name = claim_class(claim)
        found: StorageClass | None = self.classes.get(name) if name else None
        if found is None:
            return False
        if found.volume_binding_mode is None:
            return error(f'VolumeBindingMode not set for StorageClass "{name}"')
        return found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _names(pod: Pod) -> Iterator[tuple[Volume, str]]:
    """Yield the volumes that are behind claims, with the claims' names."""
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is not None:
            yield volume, name
