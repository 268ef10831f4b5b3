"""Checks of the volumes of pods.

Mirrors: pkg/apis/core/validation/validation.go (ValidateVolumes, validateVolumeSource) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.validation import volume_sources as sources
from schedlab.api.validation.claims import validate_claim_template
from schedlab.api.validation.common import file_mode, messages, required
from schedlab.api.validation.pods.mounts import Volumes
from schedlab.api.validation.pods.projections import validate_items, validate_pod_file, validate_projected
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.volume_sources import Source, SourceCheck
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.quantity import parse_cached

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_ISCSI_FORMAT: Final = "must be valid format starting with iqn, eui, or naa"
_ISCSI_NAME_MAX: Final = 64
_ISCSI_NAME_RULE: Final = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."


def validate_volumes(
    volumes: Sequence[Mapping[str, Any]], pod_name: str, path: Path, rules: PodRules
) -> tuple[Volumes, ErrorList]:
    """Check volumes; return those that are in order. `pod_name` is empty for templates."""
    errors: ErrorList = []
    sound: dict[str, Mapping[str, Any]] = {}
    created = [f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume]
    for i, volume in enumerate(volumes):
        found = _validate_volume(volume, pod_name, path.index(i), rules)
        name = volume.get("name", "")
        if name in sound:
            found.append(field.duplicate(path.index(i).child("name"), name))
        if found:
            errors += found
        else:
            sound[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(field.invalid(path.index(i).child("persistentVolumeClaim", "claimName"), claim, detail))
    return sound, errors


def _validate_volume(volume: Mapping[str, Any], pod_name: str, path: Path, rules: PodRules) -> ErrorList:
    name = volume.get("name", "")
    errors: ErrorList = []
    given = [key for key in _CHECKS if key in volume]
    if not given:
        errors.append(field.required(path, sources.NO_TYPE))
    for key in given:
        if key != given[0]:
            errors.append(field.forbidden(path.child(_REPEATED_NAMES.get(key, key)), sources.ONE_TYPE))
        elif key == "ephemeral":
            errors += _validate_ephemeral(volume[key], name, pod_name, path, rules)
        elif key == "image":
            errors += _validate_image(volume[key], path.child(key), rules)
        else:
            own, check = _CHECKS[key]
            errors += check(volume[key], path.child(own))
        if key == "iscsi":
            errors += _validate_iscsi_name(volume[key], name, path.child("name"))
    if not name:
        errors.append(field.required(path.child("name")))
    elif found := names.check_dns1123_label(name):
        errors += messages(path.child("name"), name, found)
    return errors


def _validate_iscsi_name(source: Source, name: str, path: Path) -> ErrorList:
    whole = f"{name}:{source.get('targetPortal', '')}"
    if "initiatorName" not in source or names.byte_length(whole) <= _ISCSI_NAME_MAX:
        return []
    return [field.invalid(path, name, _ISCSI_NAME_RULE)]


def _validate_ephemeral(source: Source, name: str, pod_name: str, path: Path, rules: PodRules) -> ErrorList:
    own = path.child("ephemeral", "volumeClaimTemplate")
    template = source.get("volumeClaimTemplate")
    context = Context(rules.features, "")
    errors = [field.required(own)] if template is None else validate_claim_template(template, own, context)
    if pod_name and name:
        claim = f"{pod_name}-{name}"
        found = names.name_is_dns_subdomain(claim)
        errors += messages(path.child("name"), name, (f"PVC name {quote(claim)}: {text}" for text in found))
    return errors


def _validate_image(source: Source, path: Path, rules: PodRules) -> ErrorList:
    errors = required(source, path, "reference") if rules.is_pod else []
    return errors + validate_pull_policy(source.get("pullPolicy", ""), path.child("pullPolicy"))


def validate_pull_policy(policy: str, path: Path) -> ErrorList:
    """When an image is pulled."""
    if policy in _PULL_POLICIES:
        return []
    return [field.not_supported(path, policy, _PULL_POLICIES) if policy else field.required(path)]


def _empty_dir(source: Source, path: Path) -> ErrorList:
    limit = source.get("sizeLimit")
    if limit is None or parse_cached(limit).sign >= 0:
        return []
    return [field.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")]


def _git_repo(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "repository")
    return errors + sources.descending_path(source.get("directory", ""), path.child("directory"))


def _secret(source: Source, path: Path) -> ErrorList:
    return _holder(source, path, "secretName")


def _config_map(source: Source, path: Path) -> ErrorList:
    return _holder(source, path, "name")


def _holder(source: Source, path: Path, key: str) -> ErrorList:
    errors = required(source, path, key)
    errors += file_mode(source, path, "defaultMode")
    return errors + validate_items(source.get("items") or (), path.child("items"))


def _downward_api(source: Source, path: Path) -> ErrorList:
    errors = file_mode(source, path, "defaultMode")
    for file in source.get("items") or ():
        errors += validate_pod_file(file, path)
    return errors


def _iscsi(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "targetPortal")
    errors += sources.iscsi(source, path, unknown_format=_ISCSI_FORMAT)
    return errors + sources.iscsi_initiator(source, path, unknown_format=_ISCSI_FORMAT)


def _cinder(source: Source, path: Path) -> ErrorList:
    return required(source, path, "volumeID") + sources.secret_name(source, path)


def _storage_os(source: Source, path: Path) -> ErrorList:
    return sources.storage_os(source, path) + sources.secret_name(source, path)


def _csi(source: Source, path: Path) -> ErrorList:
    errors = sources.csi_driver_name(source.get("driver", ""), path.child("driver"))
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return errors
    name = secret.get("name", "")
    if not name:
        return [*errors, field.required(path.child("nodePublishSecretRef", "name"))]
    return errors + messages(path.child("name"), name, names.name_is_dns_subdomain(name))


#: The sources of volumes in the order in which they are looked at: name in paths, check.
_CHECKS: Final[Mapping[str, tuple[str, SourceCheck]]] = {
    "emptyDir": ("emptyDir", _empty_dir),
    "hostPath": sources.SHARED["hostPath"],
    "gitRepo": ("gitRepo", _git_repo),
    "gcePersistentDisk": sources.SHARED["gcePersistentDisk"],
    "awsElasticBlockStore": sources.SHARED["awsElasticBlockStore"],
    "secret": ("secret", _secret),
    "nfs": sources.SHARED["nfs"],
    "iscsi": ("iscsi", _iscsi),
    "glusterfs": ("glusterfs", sources.requires("endpoints", "path")),
    "flocker": sources.SHARED["flocker"],
    "persistentVolumeClaim": ("persistentVolumeClaim", sources.requires("claimName")),
    "rbd": sources.SHARED["rbd"],
    "cinder": ("cinder", _cinder),
    "cephfs": sources.SHARED["cephfs"],
    "quobyte": sources.SHARED["quobyte"],
    "downwardAPI": ("downwardAPI", _downward_api),
    "fc": sources.SHARED["fc"],
    "flexVolume": sources.SHARED["flexVolume"],
    "configMap": ("configMap", _config_map),
    "azureFile": ("azureFile", sources.requires("secretName", "shareName")),
    "vsphereVolume": sources.SHARED["vsphereVolume"],
    "photonPersistentDisk": sources.SHARED["photonPersistentDisk"],
    "portworxVolume": sources.SHARED["portworxVolume"],
    "azureDisk": sources.SHARED["azureDisk"],
    "storageos": ("storageos", _storage_os),
    "projected": ("projected", validate_projected),
    "scaleIO": sources.SHARED["scaleIO"],
    "csi": ("csi", _csi),
    "ephemeral": ("ephemeral", sources.requires()),  # these two are checked with the volume
    "image": ("image", sources.requires()),
}
#: What paths call a second source, where that is not its field.
_REPEATED_NAMES: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
