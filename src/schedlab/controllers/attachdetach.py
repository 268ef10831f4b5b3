"""Attaches the CSI volumes of pods to their nodes, and detaches them when no pod there uses them any more.

    pod has a node ──► VolumeAttachment ──attacher──► attached ──► node.status.volumesAttached, volumesInUse
    pod ended      ──► VolumeAttachment deleted

A volume that only one node may use is not attached to a second one before it is detached from the first.

Mirrors: pkg/controller/volume/attachdetach, pkg/volume/csi/csi_attacher.go (v1.36), in what users of the API see.
Differs: a pod's containers do not wait for its volumes; volumesInUse, which a kubelet reports, is written along; a volume
counts as unmounted when its pods have ended; volumes that are not CSI are not attached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.views.core import Pod
from schedlab.api.views.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim
from schedlab.apimachinery.gojson import quote
from schedlab.client.protocol import Write
from schedlab.controllers.claim_users import ClaimUsers, claims_of
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask, attempt
from schedlab.controllers.framework.ownership import is_deleted
from schedlab.controllers.framework.pods import is_finished

ATTACHMENTS: Final = "volumeattachments.storage.k8s.io"
_SHARED_MODES: Final = ("ReadWriteMany", "ReadOnlyMany")
_NODE_INDEX: Final = "node"
_ATTACHMENT_NODE: Final = "node"
_ATTACHMENT_VOLUME: Final = "volume"


class AttachDetachController(Controller):
    """Keys are names of nodes."""

    name: ClassVar[str] = "persistentvolume-attach-detach-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="attachdetach-controller")
        self._pods = context.lister("pods")
        self._nodes = context.lister("nodes")
        self._claims = context.lister("persistentvolumeclaims")
        self._volumes = context.lister("persistentvolumes")
        self._drivers = context.lister("csidrivers.storage.k8s.io")
        self._attachments = context.lister(ATTACHMENTS)
        self._users = ClaimUsers(self._pods)
        self._pods.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))
        self._attachments.add_index(_ATTACHMENT_NODE, lambda each: str(each.view.spec.node_name))
        self._attachments.add_index(_ATTACHMENT_VOLUME, _volume_of)
        #: Attachments of which pods were told.
        self._told = {each.name: None for each in self._attachments.all_stored() if _is_attached(each)}
        self._pods.on_change(self._on_pod)
        self._claims.on_change(self._on_claim)
        self._attachments.on_change(self._on_attachment)

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object.view
        if pod.spec.node_name and pod.spec.volumes and next(claims_of(event.object), None) is not None:
            self.queue.add(pod.spec.node_name)

    def _on_claim(self, event: WatchEvent) -> None:
        for pod in self._users.of(event.object.namespace, event.object.name):
            if pod.view.spec.node_name:
                self.queue.add(pod.view.spec.node_name)

    def _on_attachment(self, event: WatchEvent) -> None:
        found = event.object
        if event.type == "DELETED":
            self._told.pop(found.name, None)
            # Whoever waits for the volume can have it now.
            for pod in self._users_of_volume(_volume_of(found)):
                self.queue.add(pod.view.spec.node_name)
        self.queue.add(found.view.spec.node_name)

    def sync(self, key: str) -> Steps:
        """Bring the attachments of one node to what its pods use."""
        wanted = self._wanted(key)
        existing = self._attachments.indexed(_ATTACHMENT_NODE, key)
        for attachment in existing:
            if attachment.name not in wanted and not is_deleted(attachment) and _is_ours(attachment, self._volumes):
                outcome = yield from attempt(Write("delete", ATTACHMENTS, "", attachment.name))
                if outcome.error is not None and outcome.error.reason != "NotFound":
                    raise outcome.error
        known = {attachment.name for attachment in existing}
        for name, (volume, pods) in wanted.items():
            if name not in known:
                yield from self._attach(name, volume, pods, key)
        self._tell(wanted, key)
        yield from self._report(wanted, key)

    def _wanted(self, node: str) -> dict[str, tuple[StoredObject, list[StoredObject]]]:
        """Return the volumes that pods of a node use, with those pods, by the names of their attachments."""
        wanted: dict[str, tuple[StoredObject, list[StoredObject]]] = {}
        for pod in self._pods.indexed(_NODE_INDEX, node):
            if is_finished(pod.view):
                continue
            for volume in self._volumes_of(pod):
                name = attachment_name(volume.view, node)
                wanted.setdefault(name, (volume, []))[1].append(pod)
        return wanted

    def _volumes_of(self, pod: StoredObject) -> Iterator[StoredObject]:
        for name in claims_of(pod):
            claim: PersistentVolumeClaim | None = self._claims.get(name, pod.namespace)
            volume = None if claim is None else self._volumes.stored(claim.spec.volume_name)
            if volume is not None and volume.view.spec.csi is not None and self._is_attachable(volume.view):
                yield volume

    def _is_attachable(self, volume: PersistentVolume) -> bool:
        assert volume.spec.csi is not None
        driver: CSIDriver | None = self._drivers.get(volume.spec.csi.driver)
        return driver is None or driver.spec.attach_required is not False

    def _attach(self, name: str, volume: StoredObject, pods: Sequence[StoredObject], node: str) -> Steps:
        view: PersistentVolume = volume.view
        elsewhere = [
            each
            for each in self._attachments.indexed(_ATTACHMENT_VOLUME, volume.name)
            if each.view.spec.node_name != node
        ]
        if elsewhere and not any(mode in _SHARED_MODES for mode in view.spec.access_modes):
            self._refuse(volume, pods, elsewhere[0])
            return
        assert view.spec.csi is not None
        spec = {"attacher": view.spec.csi.driver, "nodeName": node, "source": {"persistentVolumeName": volume.name}}
        head = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name}}
        outcome = yield from attempt(Write("create", ATTACHMENTS, "", name, {**head, "spec": spec}))
        if outcome.error is not None and outcome.error.reason != "AlreadyExists":
            raise outcome.error

    def _refuse(self, volume: StoredObject, pods: Sequence[StoredObject], other: StoredObject) -> None:
        """Tell pods that another node has their volume."""
        for pod in pods:
            users = [
                each.name
                for each in self._users_of_volume(volume.name)
                if each.view.spec.node_name == other.view.spec.node_name and each.namespace == pod.namespace
            ]
            why = "Volume is already exclusively attached to one node and can't be attached to another"
            if users:
                why = f"Volume is already used by pod(s) {', '.join(users)}"
            text = f"Multi-Attach error for volume {quote(volume.name)} {why}"
            self.events.warning(kinds.POD, pod, "FailedAttachVolume", text)

    def _users_of_volume(self, name: str) -> list[StoredObject]:
        volume: PersistentVolume | None = self._volumes.get(name)
        claim = None if volume is None else volume.spec.claim_ref
        if claim is None:
            return []
        return [pod for pod in self._users.of(claim.namespace, claim.name) if pod.view.spec.node_name]

    def _tell(self, wanted: Mapping[str, tuple[StoredObject, Sequence[StoredObject]]], node: str) -> None:
        for attachment in self._attachments.indexed(_ATTACHMENT_NODE, node):
            if not _is_attached(attachment) or attachment.name in self._told or attachment.name not in wanted:
                continue
            self._told[attachment.name] = None
            volume, pods = wanted[attachment.name]
            for pod in pods:
                text = f"AttachVolume.Attach succeeded for volume {quote(volume.name)} "
                self.events.normal(kinds.POD, pod, "SuccessfulAttachVolume", text)

    def _report(self, wanted: Mapping[str, tuple[StoredObject, Sequence[StoredObject]]], name: str) -> Steps:
        """Write down at the node what is attached to it and in use."""
        node = self._nodes.stored(name)
        if node is None:
            return
        attached: list[Object] = []
        used: list[str] = []
        for each in sorted(self._attachments.indexed(_ATTACHMENT_NODE, name), key=lambda each: each.name):
            volume: PersistentVolume | None = self._volumes.get(_volume_of(each))
            if not _is_attached(each) or is_deleted(each) or volume is None or volume.spec.csi is None:
                continue
            unique = f"kubernetes.io/csi/{volume.spec.csi.driver}^{volume.spec.csi.volume_handle}"
            attached.append({"name": unique, "devicePath": ""})
            if each.name in wanted and any(pod.view.status.phase == "Running" for pod in wanted[each.name][1]):
                used.append(unique)
        status: Mapping[str, Any] = node.raw.get("status") or {}
        if (status.get("volumesAttached") or []) == attached and (status.get("volumesInUse") or []) == used:
            return
        body = {"metadata": {"uid": node.uid}, "status": {"volumesAttached": attached, "volumesInUse": used}}
        yield from ask(Write("patch", "nodes", "", name, body, subresource="status"))


def attachment_name(volume: PersistentVolume, node: str) -> str:
    """Return the name of the attachment of a volume to a node."""
    assert volume.spec.csi is not None
    text = f"{volume.spec.csi.volume_handle}{volume.spec.csi.driver}{node}"
    return f"csi-{hashlib.sha256(text.encode()).hexdigest()}"


def _volume_of(attachment: StoredObject) -> str:
    return attachment.view.spec.source.persistent_volume_name or ""


def _is_attached(attachment: StoredObject) -> bool:
    return bool((attachment.raw.get("status") or {}).get("attached"))


def _is_ours(attachment: StoredObject, volumes: Any) -> bool:
    """Whether an attachment has the name that this controller would give it; others belong to somebody else."""
    volume = volumes.get(_volume_of(attachment))
    if volume is None or volume.spec.csi is None:
        return attachment.name.startswith("csi-")
    return attachment.name == attachment_name(volume, attachment.view.spec.node_name)
