"""Checks of what the status of a pod says of its containers.

Mirrors: pkg/apis/core/validation/validation.go (validateContainerStatusUsers,
validateContainerStatusAllocatedResourcesStatus, validateVolumeStatus) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.pods.rules import PodRules, Spec
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_LISTS: Final[Mapping[str, str]] = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}
_HEALTHS: Final = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_TEXT_MAX: Final = 1024
_IMAGE_LENGTH_MAX: Final = 256
_NOT_A_CLAIM: Final = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)


def validate_container_statuses(status: Mapping[str, Any], spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    os = (spec.get("os") or {}).get("name", "linux")
    for key in _LISTS:
        for i, entry in enumerate(status.get(key) or ()):
            if "user" in entry:
                errors += _validate_user(entry["user"], os, path.child(key).index(i).child("user", "linux"))
    for key, containers in _LISTS.items():
        for i, entry in enumerate(status.get(key) or ()):
            if not entry.get("allocatedResourcesStatus"):
                continue
            own = path.child(key).index(i).child("allocatedResourcesStatus")
            if key == "ephemeralContainerStatuses":
                errors.append(field.forbidden(own, "must not be specified in container status"))
            else:
                errors += _validate_allocated(entry, spec.get(containers) or (), own)
    if not rules.features.enabled("ImageVolumeWithDigest"):
        return errors
    for key in _LISTS:
        for i, entry in enumerate(status.get(key) or ()):
            for j, mount in enumerate(entry.get("volumeMounts") or ()):
                own = path.child(key).index(i).child("volumeMounts").index(j).child("volumeStatus")
                errors += _validate_volume(mount.get("volumeStatus") or {}, own)
    return errors


def _validate_user(user: Mapping[str, Any], os: str, path: Path) -> ErrorList:
    linux = user.get("linux")
    if linux is None:
        return []
    if os != "linux":
        return [field.forbidden(path, "cannot be set for a windows pod")] if os == "windows" else []
    uid, gid = linux.get("uid", 0), linux.get("gid", 0)
    errors = messages(path.child("uid"), uid, names.check_user_id(uid))
    errors += messages(path.child("gid"), gid, names.check_group_id(gid))
    for i, group in enumerate(linux.get("supplementalGroups") or ()):
        errors += messages(path.child("supplementalGroups").index(i), group, names.check_group_id(group))
    return errors


def _validate_allocated(status: Mapping[str, Any], containers: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    """Check the health of what a container was given; it must have asked for it."""
    errors: ErrorList = []
    container = next((one for one in containers if one.get("name") == status.get("name")), None)
    for i, allocated in enumerate(status["allocatedResourcesStatus"]):
        name = allocated.get("name", "")
        if container is not None and name not in _asked_for(container, name):
            detail = (
                _NOT_A_CLAIM if name.startswith("claim:") else "must match one of the container's resource requests"
            )
            errors.append(field.invalid(path.index(i).child("name"), name, detail))
        errors += _validate_healths(allocated.get("resources") or (), path.index(i).child("resources"))
    return errors


def _asked_for(container: Mapping[str, Any], name: str) -> Sequence[str]:
    resources = container.get("resources") or {}
    if not name.startswith("claim:"):
        return tuple(resources.get("requests") or ())
    return [
        f"claim:{claim.get('name', '')}" + (f"/{claim['request']}" if claim.get("request") else "")
        for claim in resources.get("claims") or ()
    ]


def _validate_healths(resources: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, resource in enumerate(resources):
        own, text, identity = path.index(i), resource.get("message"), resource.get("resourceID", "")
        errors += one_of(resource.get("health", ""), _HEALTHS, own.child("health"))
        if text is not None and not text:
            errors.append(field.required(own.child("message"), "must be non-empty if specified"))
        elif text is not None and names.byte_length(text) > _HEALTH_TEXT_MAX:
            errors.append(field.too_long(own.child("message"), _HEALTH_TEXT_MAX))
        if identity in seen:
            errors.append(field.duplicate(own.child("resourceID"), identity))
        seen.append(identity)
    return errors


def _validate_volume(status: Mapping[str, Any], path: Path) -> ErrorList:
    image, own = status.get("image"), path.child("imageVolumeStatus", "imageRef")
    if image is None:
        return []
    reference = image.get("imageRef", "")
    if not reference:
        return [field.required(own, "imageRef must not be empty")]
    return [field.too_long(own, _IMAGE_LENGTH_MAX)] if names.byte_length(reference) > _IMAGE_LENGTH_MAX else []
