"""Binding what was found: first in memory, then by writes, then by waiting for the volume controller.

    assume -> write volumes, one after the other -> write claims -> all bound? -> done
                              |                                        |  ^
                           error: what is not                       no |  | a volume or claim changed, a second is over
                           written yet is restored                     wait, at most until the deadline

Mirrors: AssumePodVolumes, RevertAssumedPodVolumes, BindPodVolumes and checkBindings in
pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36).
Differs: looks at once and after changes, too, not only every second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace as changed

from schedlab.api.rules import csi_migration
from schedlab.api.rules.csi_migration import TranslationError
from schedlab.api.rules.volumes import (
    SELECTED_NODE,
    affinity_mismatch,
    bind_volume,
    claim_key,
    is_fully_bound,
)
from schedlab.client.protocol import Write
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.events import EventResource
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.status import Status, error
from schedlab.scheduler.plugins.volume_binding.claims import CLAIMS, VOLUMES
from schedlab.scheduler.plugins.volume_binding.finding import PodVolumes, Provision, StaticBinding, migrated_plugin

if TYPE_CHECKING:
    from schedlab.api.object import Object, StoredObject
    from schedlab.api.views.core import Node, Pod
    from schedlab.api.views.storage import CSINode, PersistentVolume, PersistentVolumeClaim
    from schedlab.client.protocol import Outcome
    from schedlab.scheduler.plugins.volume_binding.claims import Storage

_WAIT_FOR: Final = (
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
)
_LOOK_EVERY_NS: Final = SECOND_NS
_TIMED_OUT: Final = "context deadline exceeded"


# --- In memory ---


def assume(storage: Storage, volumes: PodVolumes, node_name: str) -> PodVolumes | Status:
    """Let what was found count as done; return it as it will be written, or an error when the objects have changed."""
    done = PodVolumes()
    for binding in volumes.static:
        bound = bind_volume(binding.volume, binding.claim)
        fault = None if bound is binding.volume else storage.volumes.assume(bound)
        if fault is not None:
            revert(storage, done)
            return error(fault)
        done = replace(done, static=(*done.static, StaticBinding(bound, binding.claim)))
    for provision in volumes.provisions:
        claim = provision.claim
        annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
        asking = changed(claim, metadata=changed(claim.metadata, annotations=annotations))
        fault = storage.claims.assume(asking)
        if fault is not None:
            revert(storage, done)
            return error(fault)
        done = replace(done, provisions=(*done.provisions, Provision(asking)))
    return done


def revert(storage: Storage, volumes: PodVolumes) -> None:
    """Take back what was assumed."""
    for binding in volumes.static:
        storage.volumes.restore(binding.volume)
    for provision in volumes.provisions:
        storage.claims.restore(provision.claim)


# --- By writes ---


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the binding of a pod's volumes is: what is assumed, and the revisions of what is written of it."""

    pod: Pod
    node_name: str
    volumes: PodVolumes
    revisions: tuple[int, ...] = ()
    deadline_ns: int = 0

    @property
    def is_written(self) -> bool:
        """Whether only waiting is left."""
        return len(self.revisions) == len(self.volumes.static) + len(self.volumes.provisions)

    def until(self, deadline_ns: int) -> Progress:
        """Return the same, to be given up at a time."""
        return replace(self, deadline_ns=deadline_ns)


def next_write(storage: Storage, progress: Progress) -> Work:
    """Return the next write: volumes before claims."""
    at, volumes = len(progress.revisions), progress.volumes
    if at < len(volumes.static):
        write = _write_volume(storage, volumes.static[at].volume)
    else:
        write = _write_claim(storage, volumes.provisions[at - len(volumes.static)].claim)
    return Work(writes=(write,), note=progress)


def written(storage: Storage, progress: Progress, outcome: Outcome) -> Progress | Status:
    """Take the answer to a write; after an error nothing else is written, and what is not written is restored."""
    if outcome.error is not None:
        at, volumes = len(progress.revisions), progress.volumes
        left = PodVolumes(volumes.static[at:], volumes.provisions[max(0, at - len(volumes.static)) :])
        revert(storage, left)
        return error(outcome.error.message)
    assert outcome.object is not None, "an update is answered with the object"
    return replace(progress, revisions=(*progress.revisions, outcome.object.revision))


def _write_volume(storage: Storage, volume: PersistentVolume) -> Write:
    name = volume.metadata.name
    body = _body(storage.volumes.lister.stored(name), volume, "PersistentVolume")
    body["spec"]["claimRef"] = msgspec.to_builtins(volume.spec.claim_ref)
    return Write("update", VOLUMES, "", name, body)


def _write_claim(storage: Storage, claim: PersistentVolumeClaim) -> Write:
    name, namespace = claim.metadata.name, claim.metadata.namespace
    body = _body(storage.claims.lister.stored(name, namespace), claim, "PersistentVolumeClaim")
    return Write("update", CLAIMS, namespace, name, body)


def _body(stored: StoredObject | None, view: PersistentVolume | PersistentVolumeClaim, kind: str) -> Object:
    """Return the whole object with the assumed annotations, under the version that was decided on.

    Has another version come meanwhile, or the object gone, then the API server refuses the write.
    """
    body: Object = {
        "apiVersion": "v1",
        "kind": kind,
        **(msgspec.to_builtins(view) if stored is None else stored.thaw()),
    }
    body["metadata"]["annotations"] = dict(view.metadata.annotations)
    body["metadata"]["resourceVersion"] = view.metadata.resource_version
    return body


# --- Until the controller is done ---


def wait_on(progress: Progress, waiting: Work | None, now_ns: int) -> Work:
    """Return the work of waiting for the next change or the next look; the same work as long as its time has not come.

    Volumes and claims end most bindings. A node or a pod that goes is noticed at the next look, or every pod of the
    cluster would wake every binding.
    """
    if waiting is not None and waiting.deadline_ns is not None and now_ns < waiting.deadline_ns:
        return waiting
    return Work(wait_for=_WAIT_FOR, deadline_ns=min(progress.deadline_ns, now_ns + _LOOK_EVERY_NS), note=progress)


def check_bindings(storage: Storage, progress: Progress, now_ns: int) -> bool | Status:
    """Return whether all volumes are bound, or the error that makes the pod start anew."""
    if now_ns >= progress.deadline_ns:
        return _failed(_TIMED_OUT)
    pod = progress.pod.metadata
    node: Node | None = storage.nodes.get(progress.node_name)
    if node is None:
        return _failed(f'failed to get node "{progress.node_name}": node "{progress.node_name}" not found')
    if storage.pods.get(pod.name, pod.namespace) is None:
        return _failed(f'pod does not exist any more: pod "{pod.name}" not found')
    check = _Check(storage, node, storage.csi_nodes.get(progress.node_name))
    volumes = progress.volumes
    for binding, revision in zip(volumes.static, progress.revisions, strict=False):
        verdict = check.binding(binding, revision)
        if verdict is not None:
            return verdict
    for provision, revision in zip(volumes.provisions, progress.revisions[len(volumes.static) :], strict=True):
        verdict = check.provision(provision.claim, revision)
        if verdict is not None:
            return verdict
    return True


def _failed(text: str) -> Status:
    return error(f"binding volumes: {text}")


@dataclass(frozen=True, slots=True)
class _Check:
    """Looks at single volumes and claims as the API server has them: None when bound, False when not yet."""

    storage: Storage
    node: Node
    csi_node: CSINode | None

    def binding(self, binding: StaticBinding, revision: int) -> Status | bool | None:
        """Look at a volume that was there, and at its claim."""
        name, key = binding.volume.metadata.name, claim_key(binding.claim)
        volume: PersistentVolume | None = self.storage.volumes.lister.get(name)
        if volume is None:
            return _failed(f'failed to check binding: persistentvolumes "{name}" not found')
        claim = self._claim(binding.claim)
        if claim is None:
            return _failed(f'failed to check binding: persistentvolumeclaims "{key}" not found')
        if _is_older(volume, revision):
            return False
        fault = self._affinity_fault(volume, "failed to translate pv to csi: ")
        if fault is not None:
            return fault
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return _failed(f'ClaimRef got reset for pv "{name}"')
        return None if is_fully_bound(claim) else False

    def provision(self, assumed: PersistentVolumeClaim, revision: int) -> Status | bool | None:
        """Look at a claim that a volume is made for."""
        claim = self._claim(assumed)
        if claim is None:
            key = claim_key(assumed)
            return _failed(f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found')
        if _is_older(claim, revision):
            return False
        name, annotations = claim.metadata.name, claim.metadata.annotations
        if not annotations:
            return _failed(f'selectedNode annotation reset for PVC "{name}"')
        if annotations.get(SELECTED_NODE) != self.node.metadata.name:
            # That is how a provisioner says that it cannot make the volume there.
            return _failed(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume: PersistentVolume | None = self.storage.volumes.lister.get(claim.spec.volume_name)
            if volume is None:
                return False
            fault = self._affinity_fault(volume, "")
            if fault is not None:
                return fault
        return None if is_fully_bound(claim) else False

    def _claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        found: PersistentVolumeClaim | None
        found = self.storage.claims.lister.get(claim.metadata.name, claim.metadata.namespace)
        return found

    def _affinity_fault(self, volume: PersistentVolume, prefix: str) -> Status | None:
        plugin = migrated_plugin(volume)
        if plugin is not None and csi_migration.is_migrated_on(plugin, self.csi_node):
            try:
                volume = csi_migration.as_csi(volume)
            except TranslationError as fault:
                return _failed(f"{prefix}could not translate pv: {fault}")
        mismatch = affinity_mismatch(volume.spec.node_affinity, self.node.metadata.labels)
        if mismatch is None:
            return None
        names = f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{self.node.metadata.name}"'
        return _failed(f"{names}: {mismatch}")


def _is_older(view: PersistentVolume | PersistentVolumeClaim, revision: int) -> bool:
    return int(view.metadata.resource_version or 0) < revision
