"""Checks of annotations of pods that mean something to Kubernetes, and of the fields that took their place.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePodSpecificAnnotations, ValidateSeccompPodAnnotations,
ValidateAppArmorPodAnnotations, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate) (v1.36)
Differs: tolerations in an annotation, which nothing reads any more, are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.validation.pods.rules import PodRules, Spec, each_container
from schedlab.api.validation.volume_sources import descending_path
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

MIRROR: Final = "kubernetes.io/config.mirror"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"

_RUNTIME_DEFAULT: Final = "runtime/default"
_DOCKER_DEFAULT: Final = "docker/default"
_UNCONFINED: Final = "unconfined"
_LOCALHOST: Final = "localhost/"
_COST: Final = re.compile("0|-?[0-9]+")
_COST_WITH_ZEROS: Final = re.compile("0[0-9]")


def validate_annotations(annotations: Mapping[str, str], spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(field.invalid(path.key(MIRROR), annotations[MIRROR], detail))
    cost = annotations.get(DELETION_COST)
    if cost is not None and rules.features.enabled("PodDeletionCost") and not _is_cost(cost):
        errors.append(field.invalid(path.key(DELETION_COST), cost, "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == SECCOMP or key.startswith(SECCOMP_OF_CONTAINER):
            errors += _validate_seccomp(value, path.child(key))
        elif key.startswith(APP_ARMOR):
            errors += _validate_app_armor(key, value, spec, path.key(key))
    return errors


def _is_cost(text: str) -> bool:
    if not _COST.fullmatch(text) or _COST_WITH_ZEROS.match(text):
        return False
    return -(2**31) <= int(text) < 2**31


def _validate_seccomp(profile: str, path: Path) -> ErrorList:
    if profile in (_RUNTIME_DEFAULT, _DOCKER_DEFAULT, _UNCONFINED):
        return []
    if profile.startswith(_LOCALHOST):
        return descending_path(profile.removeprefix(_LOCALHOST), path)
    return [field.invalid(path, profile, "must be a valid seccomp profile")]


def _validate_app_armor(key: str, profile: str, spec: Spec, path: Path) -> ErrorList:
    errors: ErrorList = []
    name = key.removeprefix(APP_ARMOR)
    if all(container.get("name", "") != name for container, _ in each_container(spec, path)):
        errors.append(field.invalid(path, name, "container not found"))
    if profile not in ("", _RUNTIME_DEFAULT, _UNCONFINED) and not profile.startswith(_LOCALHOST):
        errors.append(field.invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors


def validate_annotation_changes(new: Mapping[str, str], old: Mapping[str, str], path: Path) -> ErrorList:
    """Check annotations that may not change."""
    errors: ErrorList = []
    for key, what in ((key, _fixed(key)) for key in old if old[key] != new.get(key)):
        if what:
            errors.append(field.forbidden(path.key(key), f"may not remove or update {what}"))
    for key, what in ((key, _fixed(key)) for key in new if key not in old):
        if what:
            errors.append(field.forbidden(path.key(key), f"may not add {what}"))
    return errors


def _fixed(key: str) -> str:
    if key.startswith(APP_ARMOR):
        return "AppArmor annotations"
    return "mirror pod annotation" if key == MIRROR else ""


def validate_profiles_match(annotations: Mapping[str, str], spec: Spec, path: Path) -> ErrorList:
    """Annotations and fields that say the same must not contradict each other."""
    if not any("seccomp" in key or "apparmor" in key for key in annotations):
        return []
    errors: ErrorList = []
    context = spec.get("securityContext") or {}
    docker = (_RUNTIME_DEFAULT, _DOCKER_DEFAULT)
    if SECCOMP in annotations and "seccompProfile" in context:
        own = path.child("securityContext", "seccompProfile")
        errors += _validate_match(annotations[SECCOMP], context["seccompProfile"], docker, "seccomp", own)
    for container, container_path in each_container(spec, path):
        key = SECCOMP_OF_CONTAINER + container.get("name", "")
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        if profile is not None and key in annotations:
            own = container_path.child("securityContext", "seccompProfile")
            errors += _validate_match(annotations[key], profile, docker, "seccomp", own)
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for container, container_path in each_container(spec, path):
        key = APP_ARMOR + container.get("name", "")
        profile = (container.get("securityContext") or {}).get("appArmorProfile", context.get("appArmorProfile"))
        if profile is not None and key in annotations:
            own = container_path.child("securityContext", "appArmorProfile")
            errors += _validate_match(annotations[key], profile, (_RUNTIME_DEFAULT,), "apparmor", own)
    return errors


def _validate_match(
    annotation: str, profile: Mapping[str, Any], defaults: tuple[str, ...], what: str, path: Path
) -> ErrorList:
    kind = profile.get("type", "")
    matches = {
        "Unconfined": annotation == _UNCONFINED,
        "RuntimeDefault": annotation in defaults,
        "Localhost": annotation.startswith(_LOCALHOST),
    }
    if not matches.get(kind, True):
        return [field.forbidden(path.child("type"), f"{what} type in annotation and field must match")]
    if kind == "Localhost" and profile.get("localhostProfile") != annotation.removeprefix(_LOCALHOST):
        detail = f"{what} profile in annotation and field must match"
        return [field.forbidden(path.child("localhostProfile"), detail)]
    return []
