"""Makes the claims of generic ephemeral volumes: each pod has its own, and the garbage collector deletes them with it.

Mirrors: pkg/controller/volume/ephemeral/controller.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.rules.volumes import not_made_for_pod
from schedlab.client.protocol import Write
from schedlab.controllers.claim_users import ClaimUsers
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import (
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    attempt,
    split_key,
)
from schedlab.controllers.framework.ownership import is_deleted

_CLAIMS: Final = kinds.PERSISTENT_VOLUME_CLAIM


class EphemeralVolumeController(Controller):
    """Keys are those of pods."""

    name: ClassVar[str] = "ephemeral-volume-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="ephemeral_volume")
        self._pods = context.lister("pods")
        self._claims = context.lister(_CLAIMS.resource)
        self._users = ClaimUsers(self._pods)
        self._pods.on_change(self._on_pod)
        self._claims.on_change(self._on_claim)

    def _on_pod(self, event: WatchEvent) -> None:
        if event.type == "ADDED":
            self._look_at(event.object)

    def _on_claim(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            for pod in self._users.of(event.object.namespace, event.object.name):
                self._look_at(pod)

    def _look_at(self, pod: StoredObject) -> None:
        if not is_deleted(pod) and any(volume.ephemeral is not None for volume in pod.view.spec.volumes):
            self.queue.add(pod.key)

    def sync(self, key: str) -> Steps:
        """Make the claims that a pod lacks."""
        namespace, name = split_key(key)
        pod = self._pods.stored(name, namespace)
        if pod is None or is_deleted(pod):
            return
        for volume in pod.raw["spec"].get("volumes") or ():
            if volume.get("ephemeral") is None:
                continue
            fault = self._fault_of(pod, f"{name}-{volume['name']}")
            if fault is None:
                write = Write("create", _CLAIMS.resource, namespace, "", _claim(pod, volume))
                error = (yield from attempt(write)).error
                fault = "" if error is None else f"create PVC {name}-{volume['name']}: {error}"
            if fault:
                text = f"ephemeral volume {volume['name']}: {fault}"
                self.events.warning(kinds.POD, pod, "FailedBinding", text)
                raise SyncError(f"pod {key}, {text}")

    def _fault_of(self, pod: StoredObject, claim_name: str) -> str | None:
        """Say why the claim that is there cannot be used, "" if it can, None if there is none."""
        claim = self._claims.get(claim_name, pod.namespace)
        return None if claim is None else not_made_for_pod(pod.view, claim) or ""


def _claim(pod: StoredObject, volume: Object) -> Object:
    template: dict[str, Any] = volume["ephemeral"].get("volumeClaimTemplate") or {}
    metadata: Object = {
        "name": f"{pod.name}-{volume['name']}",
        "namespace": pod.namespace,
        "ownerReferences": [kinds.POD.reference(pod)],
    }
    for key in ("annotations", "labels"):
        if (template.get("metadata") or {}).get(key):
            metadata[key] = dict(template["metadata"][key])
    kind = kinds.PERSISTENT_VOLUME_CLAIM
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": template.get("spec") or {}}
