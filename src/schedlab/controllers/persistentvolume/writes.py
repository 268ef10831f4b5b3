"""The writes that bind a volume and a claim, each one only if it changes something.

    volume: claimRef ─► volume: Bound ─► claim: volumeName ─► claim: Bound, capacity

Mirrors: bind, updateClaimStatus, updateVolumePhase, unbindVolume of
pkg/controller/volume/persistentvolume/pv_controller.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.rules.volumes import BIND_COMPLETED, BOUND_BY_CONTROLLER, is_bound_to
from schedlab.apimachinery.quantity import parse_cached
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Asking, ask
from schedlab.controllers.framework.status import new_status

_PRE_RESIZE: Final = "volume.alpha.kubernetes.io/pre-resize-capacity"


def bind(volume: StoredObject, claim: StoredObject) -> Asking[None]:
    """Bind both to each other; what is done already is left as it is."""
    volume = yield from _bind_volume(volume, claim)
    volume = yield from set_volume_phase(volume, "Bound")
    claim = yield from _bind_claim(claim, volume)
    yield from set_claim_status(claim, "Bound", volume)


def _bind_volume(volume: StoredObject, claim: StoredObject) -> Asking[StoredObject]:
    reference = volume.view.spec.claim_ref
    body = volume.thaw()
    if reference is None or reference.uid != claim.uid or not is_bound_to(volume.view, claim.view):
        body["spec"]["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
            "resourceVersion": str(claim.revision),
        }
    elif reference.uid:
        return volume
    if not is_bound_to(volume.view, claim.view):
        _annotate(body, BOUND_BY_CONTROLLER)
    return (yield from ask(update(volume, body)))


def _bind_claim(claim: StoredObject, volume: StoredObject) -> Asking[StoredObject]:
    body = claim.thaw()
    if claim.view.spec.volume_name != volume.name:
        body["spec"]["volumeName"] = volume.name
        _annotate(body, BOUND_BY_CONTROLLER)
    elif BIND_COMPLETED in claim.view.metadata.annotations:
        return claim
    _annotate(body, BIND_COMPLETED)
    return (yield from ask(update(claim, body)))


def set_volume_phase(volume: StoredObject, phase: str, message: str = "") -> Asking[StoredObject]:
    """Note the phase of a volume."""
    if volume.view.status.phase == phase:
        return volume
    status = {key: value for key, value in (volume.raw.get("status") or {}).items() if key != "message"}
    status["phase"] = phase
    if message:
        status["message"] = message
    return (yield from ask(new_status(volume, status)))


def set_claim_status(claim: StoredObject, phase: str, volume: StoredObject | None = None) -> Asking[StoredObject]:
    """Note the phase of a claim, and what it got."""
    before: dict[str, Any] = claim.raw.get("status") or {}
    status = {**before, "phase": phase}
    if volume is None:
        for key in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
            status.pop(key, None)
    else:
        spec = volume.raw["spec"]
        status["accessModes"] = spec.get("accessModes") or []
        if before.get("phase") != phase:
            status["capacity"] = _capacity(volume, before.get("capacity"))
            name = spec.get("volumeAttributesClassName")
            if name is not None:
                status["currentVolumeAttributesClassName"] = name
    return claim if status == before else (yield from ask(new_status(claim, status)))


def _capacity(volume: StoredObject, before: dict[str, str] | None) -> dict[str, str]:
    capacity: dict[str, str] = dict(volume.raw["spec"]["capacity"])
    if _PRE_RESIZE in volume.view.metadata.annotations:
        return {**(before or {}), "storage": volume.view.metadata.annotations[_PRE_RESIZE]}
    if before and "storage" in before and parse_cached(before["storage"]) == parse_cached(capacity["storage"]):
        return before
    return capacity


def unbind(volume: StoredObject) -> Asking[None]:
    """Take a claim away from a volume; what a user meant for a claim stays so."""
    body = volume.thaw()
    if BOUND_BY_CONTROLLER in volume.view.metadata.annotations:
        del body["spec"]["claimRef"]
        del body["metadata"]["annotations"][BOUND_BY_CONTROLLER]
    else:
        body["spec"]["claimRef"].pop("uid", None)
    volume = yield from ask(update(volume, body))
    yield from set_volume_phase(volume, "Available")


def update(stored: StoredObject, body: dict[str, Any]) -> Write:
    """Return the write of a whole object."""
    return Write("update", stored.resource, stored.namespace, stored.name, body)


def _annotate(body: dict[str, Any], key: str) -> None:
    annotations = body["metadata"].setdefault("annotations", {})
    annotations.setdefault(key, "yes")
