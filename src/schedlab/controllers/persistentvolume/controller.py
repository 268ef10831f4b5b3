"""The volume binder: binds claims to volumes, asks for volumes to be made, and lets volumes go afterwards.

    claim   Pending ──► a volume fits: both Bound
                    ──► none fits, class with a provisioner: asks it by an annotation
                    ──► class that waits for a pod: waits for the scheduler to choose
    volume  Available ──► Bound ──► its claim is gone: Released; policy Delete: deleted

Mirrors: pkg/controller/volume/persistentvolume/pv_controller.go (v1.36)
Differs: volumes made outside are deleted by whoever made them, all others with the policy Delete fail, as there is no
plugin in here; nothing is recycled.
"""

from __future__ import annotations

from typing import ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    FILESYSTEM,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    access_modes_satisfied,
    claim_class,
    find_matching_volume,
    is_bound_to,
    requested_storage,
    storage_capacity,
    volume_class,
)
from schedlab.api.views.storage import PersistentVolume, PersistentVolumeClaim
from schedlab.apimachinery.gojson import quote
from schedlab.controllers.claim_users import ClaimUsers, claims_of
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, SyncError, ask, split_key
from schedlab.controllers.framework.kinds import PERSISTENT_VOLUME_CLAIM, Kind
from schedlab.controllers.framework.pods import is_finished
from schedlab.controllers.persistentvolume.writes import bind, set_claim_status, set_volume_phase, unbind, update

CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
STORAGE_CLASSES: Final = "storageclasses.storage.k8s.io"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")
VOLUME: Final = Kind(VOLUMES, "v1", "PersistentVolume")

_CLAIM_LOST: Final = "Bound claim has lost {} PersistentVolume. Data on the volume is lost!"


class PersistentVolumeController(Controller):
    """Keys are `claim:NAMESPACE/NAME` and `volume:NAME`."""

    name: ClassVar[str] = "persistentvolume-binder-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="persistentvolume-controller")
        self._claims = context.lister(CLAIMS)
        self._volumes = context.lister(VOLUMES)
        self._classes = context.lister(STORAGE_CLASSES)
        pods = context.lister("pods")
        self._users = ClaimUsers(pods)
        self._claims.on_change(self._on_claim)
        self._volumes.on_change(self._on_volume)
        self._classes.on_change(self._on_class)
        pods.on_change(self._on_pod)

    # --- Hearing -----------------------------------------------------------------------------------------------------

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.object
        if event.type != "DELETED":
            self.queue.add(f"claim:{claim.key}")
        if claim.view.spec.volume_name:
            self.queue.add(f"volume:{claim.view.spec.volume_name}")

    def _on_volume(self, event: WatchEvent) -> None:
        volume = event.object
        if event.type != "DELETED":
            self.queue.add(f"volume:{volume.name}")
        reference = volume.view.spec.claim_ref
        if reference is not None:
            self.queue.add(f"claim:{reference.namespace}/{reference.name}")
        elif event.type != "DELETED" and volume.view.status.phase == "Available":
            self._look_at_pending()

    def _on_class(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self._look_at_pending()

    def _on_pod(self, event: WatchEvent) -> None:
        """A claim that waits tells for which pods."""
        if event.type == "ADDED":
            for name in claims_of(event.object):
                self.queue.add(f"claim:{event.object.namespace}/{name}")

    def _look_at_pending(self) -> None:
        for claim in self._claims.all_stored():
            if claim.view.status.phase == "Pending":
                self.queue.add(f"claim:{claim.key}")

    def sync(self, key: str) -> Steps:
        """Look at one claim or one volume."""
        kind, _, place = key.partition(":")
        namespace, name = split_key(place)
        stored = (self._claims if kind == "claim" else self._volumes).stored(name, namespace)
        if stored is None:
            return
        if kind == "volume":
            yield from self._sync_volume(stored)
        elif BIND_COMPLETED in stored.view.metadata.annotations:
            yield from self._sync_bound(stored)
        elif stored.view.spec.volume_name:
            yield from self._sync_wanting(stored)
        else:
            yield from self._sync_unbound(stored)

    # --- Claims ------------------------------------------------------------------------------------------------------

    def _sync_unbound(self, stored: StoredObject) -> Steps:
        claim: PersistentVolumeClaim = stored.view
        found = self._best_match(claim)
        if found is not None:
            yield from bind(found, stored)
            return
        if self._is_delayed(claim) and SELECTED_NODE not in claim.metadata.annotations:
            self._tell_of_waiting(stored)
        elif claim_class(claim):
            yield from self._ask_for_volume(stored)
            return
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self.events.normal(PERSISTENT_VOLUME_CLAIM, stored, "FailedBinding", text)
        yield from set_claim_status(stored, "Pending")

    def _best_match(self, claim: PersistentVolumeClaim) -> StoredObject | None:
        """Return the smallest volume that fits, of those with the fewest access modes; only one meant for the claim if
        the claim waits for a pod.
        """
        delayed = self._is_delayed(claim)
        volumes: list[PersistentVolume] = sorted(
            (each for each in self._volumes.list() if access_modes_satisfied(claim, each)),
            key=lambda each: (len(each.spec.access_modes), storage_capacity(each)),
        )
        for count in sorted({len(each.spec.access_modes) for each in volumes}):
            same = [each for each in volumes if len(each.spec.access_modes) == count]
            candidates = [each for each in same if not delayed or is_bound_to(each, claim)]
            found = find_matching_volume(claim, candidates, (), lambda _volume: True)
            if found is not None:
                return self._volumes.stored(found.metadata.name)
        return None

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        found = self._classes.get(claim_class(claim))
        return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    def _tell_of_waiting(self, claim: StoredObject) -> None:
        pods = self._users.of(claim.namespace, claim.name)
        names = [pod.name for pod in pods if not pod.view.spec.node_name and not is_finished(pod.view)]
        if not names:
            text = "waiting for first consumer to be created before binding"
            self.events.normal(PERSISTENT_VOLUME_CLAIM, claim, "WaitForFirstConsumer", text)
            return
        plural = "s" if len(names) > 1 else ""
        text = f"waiting for pod{plural} {','.join(names)} to be scheduled"
        self.events.normal(PERSISTENT_VOLUME_CLAIM, claim, "WaitForPodScheduled", text)

    def _ask_for_volume(self, claim: StoredObject) -> Steps:
        """Ask the provisioner of the class, by the annotation for which it waits."""
        name = claim_class(claim.view)
        found = self._classes.get(name)
        if found is None:
            text = f"storageclass.storage.k8s.io {quote(name)} not found"
            self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, "ProvisioningFailed", text)
            return
        if found.provisioner == NO_PROVISIONER:
            return
        annotations = claim.view.metadata.annotations
        if any(annotations.get(key) != found.provisioner for key in PROVISIONER):
            body = claim.thaw()
            own = body["metadata"].setdefault("annotations", {})
            own |= dict.fromkeys(PROVISIONER, found.provisioner)
            claim = yield from ask(update(claim, body))
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{found.provisioner}' or manually "
            "by the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered."
        )
        self.events.normal(PERSISTENT_VOLUME_CLAIM, claim, "ExternalProvisioning", text)

    def _sync_wanting(self, claim: StoredObject) -> Steps:
        """Give a claim the very volume that it names."""
        volume = self._volumes.stored(claim.view.spec.volume_name)
        if volume is None:
            yield from set_claim_status(claim, "Pending")
            return
        reference = volume.view.spec.claim_ref
        if reference is not None and not is_bound_to(volume.view, claim.view):
            text = f"volume {quote(volume.name)} already bound to a different claim."
            self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, "FailedBinding", text)
            if BOUND_BY_CONTROLLER in claim.view.metadata.annotations:
                raise SyncError(f"claim {claim.key}: {text}")
            yield from set_claim_status(claim, "Pending")
            return
        fault = "" if reference is not None else _mismatch(volume.view, claim.view)
        if fault:
            text = f"Cannot bind to requested volume {quote(volume.name)}: {fault}"
            self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, "VolumeMismatch", text)
            yield from set_claim_status(claim, "Pending")
            return
        yield from bind(volume, claim)

    def _sync_bound(self, claim: StoredObject) -> Steps:
        name = claim.view.spec.volume_name
        volume = self._volumes.stored(name) if name else None
        if volume is None:
            yield from self._lose(claim, "ClaimLost", _CLAIM_LOST.format("its" if name else "reference to"))
            return
        reference = volume.view.spec.claim_ref
        if reference is None or reference.uid == claim.uid:
            yield from bind(volume, claim)
            return
        text = "Two claims are bound to the same volume, this one is bound incorrectly"
        yield from self._lose(claim, "ClaimMisbound", text)

    def _lose(self, claim: StoredObject, reason: str, text: str) -> Steps:
        if claim.view.status.phase != "Lost":
            claim = yield from set_claim_status(claim, "Lost")
            self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, reason, text)

    # --- Volumes -----------------------------------------------------------------------------------------------------

    def _sync_volume(self, volume: StoredObject) -> Steps:
        reference = volume.view.spec.claim_ref
        if reference is None or not reference.uid:
            yield from set_volume_phase(volume, "Available")
            return
        claim = self._claims.stored(reference.name, reference.namespace)
        if claim is None or claim.uid != reference.uid:
            yield from self._release(volume)
            return
        wanted = claim.view.spec.volume_name
        if not wanted:
            if _mode(claim.view) != _mode(volume.view):
                self._tell_of_modes(volume, claim)
            else:
                self.queue.add(f"claim:{claim.key}")
        elif wanted == volume.name:
            yield from set_volume_phase(volume, "Bound")
        elif PROVISIONED_BY in volume.view.metadata.annotations and _policy(volume) == "Delete":
            yield from self._release(volume)
        else:
            yield from unbind(volume)

    def _tell_of_modes(self, volume: StoredObject, claim: StoredObject) -> None:
        why = "due to incompatible volumeMode."
        text = f"Cannot bind PersistentVolume to requested PersistentVolumeClaim {quote(claim.name)} {why}"
        self.events.warning(VOLUME, volume, "VolumeMismatch", text)
        text = f"Cannot bind PersistentVolume {quote(volume.name)} to requested PersistentVolumeClaim {why}"
        self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, "VolumeMismatch", text)

    def _release(self, volume: StoredObject) -> Steps:
        """Let go a volume whose claim is gone."""
        if volume.view.status.phase not in ("Released", "Failed"):
            volume = yield from set_volume_phase(volume, "Released")
        if _policy(volume) != "Delete" or PROVISIONED_BY in volume.view.metadata.annotations:
            return
        if volume.view.status.phase != "Failed":
            text = f"error getting deleter volume plugin for volume {quote(volume.name)}: no deletable volume plugin matched"
            volume = yield from set_volume_phase(volume, "Failed", text)
            self.events.warning(VOLUME, volume, "VolumeFailedDelete", text)


def _policy(volume: StoredObject) -> str:
    policy: str = volume.raw["spec"].get("persistentVolumeReclaimPolicy", "")
    return policy


def _mode(view: PersistentVolume | PersistentVolumeClaim) -> str:
    return view.spec.volume_mode or FILESYSTEM


def _mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Say why a volume is not what the claim that names it asks for."""
    if volume.metadata.deletion_timestamp is not None:
        return f"the volume is marked for deletion {quote(volume.metadata.name)}"
    if storage_capacity(volume) < requested_storage(claim):
        return "requested PV is too small"
    if volume_class(volume) != claim_class(claim):
        return "storageClassName does not match"
    if (claim.spec.volume_attributes_class_name or "") != (volume.spec.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    return "" if access_modes_satisfied(claim, volume) else "incompatible accessMode"
