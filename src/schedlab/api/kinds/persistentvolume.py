"""Persistent volumes.

Mirrors: pkg/registry/core/persistentvolume/strategy.go,
pkg/apis/core/validation/validation.go (ValidatePersistentVolume…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_diff, internal_text
from schedlab.api.kinds.pod.defaults import SOURCE_DEFAULTS
from schedlab.api.kinds.resource_lists import round_up
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation import volume_sources as sources
from schedlab.api.validation.claims import VOLUME_MODES, validate_access_modes
from schedlab.api.validation.common import dns_subdomain, messages, one_of, required
from schedlab.api.validation.node_selectors import validate_node_selector
from schedlab.api.validation.resources import validate_positive
from schedlab.api.validation.volume_sources import Source, SourceCheck
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_SPEC: Final = Path("spec")


def _default(volume: Object, _context: Context) -> None:
    spec = volume["spec"]
    volume["status"].setdefault("phase", "Pending")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up(spec.get("capacity"))
    for key, default in SOURCE_DEFAULTS.items():
        if key in spec:
            default(spec[key])


def _prepare(volume: Object, context: Context) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}


def _validate(volume: Object, context: Context) -> ErrorList:
    errors = meta.validate(volume["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = volume["spec"]
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(field.required(_SPEC.child("accessModes")))
    errors += validate_access_modes(modes, _SPEC.child("accessModes"))
    errors += _validate_capacity(spec.get("capacity") or None, _SPEC.child("capacity"))
    if policy := spec.get("persistentVolumeReclaimPolicy"):
        errors += one_of(policy, _RECLAIM_POLICIES, _SPEC.child("persistentVolumeReclaimPolicy"))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        errors += _validate_affinity(affinity, _SPEC.child("nodeAffinity"))
    errors += _validate_source(spec, volume["metadata"].get("name", ""))
    return errors + _validate_classes(spec, context)


def _validate_capacity(capacity: Mapping[str, str] | None, path: Path) -> ErrorList:
    errors: ErrorList = []
    if not capacity:
        errors.append(field.required(path))
    if not capacity or "storage" not in capacity or len(capacity) > 1:
        errors.append(field.not_supported(path, capacity, ("storage",)))
    for name, text in (capacity or {}).items():
        value = parse_cached(text).value()
        if value < 0:
            errors.append(field.invalid(path.key(name), value, "must be a valid resource quantity"))
        errors += validate_positive(text, path.key(name))
    return errors


def _validate_affinity(affinity: Mapping[str, Any], path: Path) -> ErrorList:
    needed = affinity.get("required")
    if needed is None:
        return [field.required(path.child("required"), "must specify required node constraints")]
    return validate_node_selector(needed, path.child("required"))


def _validate_source(spec: Mapping[str, Any], name: str) -> ErrorList:
    errors: ErrorList = []
    found = False
    for key, (shown, check) in _SOURCES.items():
        source = spec.get(key)
        if source is None:
            continue
        if found and key != "flexVolume":
            own = "cephFS" if key == "cephfs" else key
            errors.append(field.forbidden(_SPEC.child(own), sources.ONE_TYPE))
            continue
        found = True
        errors += check(source, _SPEC.child(shown))
        if key == "iscsi":
            errors += _validate_portal(source, name)
        if key == "local" and spec.get("nodeAffinity") is None:
            errors.append(field.required(_SPEC.child("nodeAffinity"), "Local volume requires node affinity"))
    if not found:
        errors.append(field.required(_SPEC, sources.NO_TYPE))
    host_path = spec.get("hostPath")
    is_root = host_path is not None and posixpath.normpath(host_path.get("path", "")) == "/"
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(field.forbidden(_SPEC.child("persistentVolumeReclaimPolicy"), detail))
    return errors


def _validate_portal(source: Source, name: str) -> ErrorList:
    portal = source.get("targetPortal", "")
    if source.get("initiatorName") is None or names.byte_length(f"{name}:{portal}") <= 64:
        return []
    detail = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [field.invalid(_SPEC.child("iscsi", "targetportal"), portal, detail)]


def _glusterfs(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "endpoints", "path")
    namespace = source.get("endpointsNamespace")
    own = path.child("endpointsNamespace")
    if namespace == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(field.invalid(own, namespace, detail))
    elif namespace is not None:
        errors += messages(own, namespace, names.name_is_dns_label(namespace))
    return errors


def _iscsi(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "targetPortal") + sources.iscsi(source, path)
    return errors + sources.secret_name(source, path) + sources.iscsi_initiator(source, path)


def _cinder(source: Source, path: Path) -> ErrorList:
    return required(source, path, "volumeID") + sources.secret_name(source, path, "name", "namespace")


def _azure_file(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "secretName", "shareName")
    if source.get("secretNamespace") == "":
        errors.append(field.required(path.child("secretNamespace")))
    return errors


def _local(source: Source, path: Path) -> ErrorList:
    return required(source, path, "path") or sources.no_backsteps(source["path"], path.child("path"))


def _storage_os(source: Source, path: Path) -> ErrorList:
    return sources.storage_os(source, path) + sources.secret_name(source, path, "name", "namespace")


def _csi(source: Source, path: Path) -> ErrorList:
    errors = sources.csi_driver_name(source.get("driver", ""), path.child("driver"))
    errors += required(source, path, "volumeHandle")
    for key in (
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ):
        if source.get(key) is not None:
            errors += sources.full_secret(source[key], path.child(key))
    return errors


#: Sources in the order in which upstream looks at them: field, name in paths, check.
_SOURCES: Final[Mapping[str, tuple[str, SourceCheck]]] = {
    "hostPath": sources.SHARED["hostPath"],
    "gcePersistentDisk": sources.SHARED["gcePersistentDisk"],
    "awsElasticBlockStore": sources.SHARED["awsElasticBlockStore"],
    "glusterfs": ("glusterfs", _glusterfs),
    "flocker": sources.SHARED["flocker"],
    "nfs": sources.SHARED["nfs"],
    "rbd": sources.SHARED["rbd"],
    "quobyte": sources.SHARED["quobyte"],
    "cephfs": sources.SHARED["cephfs"],
    "iscsi": ("iscsi", _iscsi),
    "cinder": ("cinder", _cinder),
    "fc": sources.SHARED["fc"],
    "flexVolume": sources.SHARED["flexVolume"],
    "azureFile": ("azureFile", _azure_file),
    "vsphereVolume": sources.SHARED["vsphereVolume"],
    "photonPersistentDisk": sources.SHARED["photonPersistentDisk"],
    "portworxVolume": sources.SHARED["portworxVolume"],
    "azureDisk": sources.SHARED["azureDisk"],
    "scaleIO": sources.SHARED["scaleIO"],
    "local": ("local", _local),
    "storageos": ("storageos", _storage_os),
    "csi": ("csi", _csi),
}


def _validate_classes(spec: Mapping[str, Any], context: Context) -> ErrorList:
    errors: ErrorList = []
    if name := spec.get("storageClassName"):
        errors += dns_subdomain(name, _SPEC.child("storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None:
        errors += one_of(mode, VOLUME_MODES, _SPEC.child("volumeMode"))
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None or not context.features.enabled("VolumeAttributesClass"):
        return errors
    path = _SPEC.child("volumeAttributesClassName")
    errors += dns_subdomain(attributes, path) if attributes else [field.required(path, "an empty string is disallowed")]
    if spec.get("csi") is None:
        detail = "has to be specified when using volumeAttributesClassName"
        errors.append(field.required(_SPEC.child("csi"), detail))
    return errors


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    spec, before = new["spec"], old["spec"]
    source, old_source = _source_of(spec, before), _source_of(before, before)
    if source != old_source:
        shown = internal_diff("core.PersistentVolumeSource", old_source, source)
        detail = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        errors.append(field.forbidden(Path("spec", "persistentvolumesource"), detail))
    errors += meta.validate_immutable(spec.get("volumeMode"), before.get("volumeMode"), Path("volumeMode"))
    mutable = context.features.enabled("MutablePVNodeAffinity")
    if not mutable and before.get("nodeAffinity") is not None:
        errors += _validate_same_affinity(spec.get("nodeAffinity"), before["nodeAffinity"])
    attributes, old_attributes = (each.get("volumeAttributesClassName") for each in (spec, before))
    if old_attributes is not None and attributes is None and context.features.enabled("VolumeAttributesClass"):
        path = Path("spec", "volumeAttributesClassName")
        errors.append(field.forbidden(path, "update from non-nil value to nil is forbidden"))
    return errors


def _source_of(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what says where the data is; a secret for expansion may be added to it."""
    found = {key: spec[key] for key in _SOURCES if spec.get(key) is not None}
    csi, old_csi = found.get("csi"), before.get("csi")
    if csi and old_csi and "controllerExpandSecretRef" not in old_csi:
        found["csi"] = {key: value for key, value in csi.items() if key != "controllerExpandSecretRef"}
    return found


#: Labels of old releases, and what they are called now.
_NEW_LABELS: Final = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _validate_same_affinity(affinity: Mapping[str, Any] | None, before: Mapping[str, Any]) -> ErrorList:
    """An affinity may only exchange old label keys for new ones."""
    if affinity == before or (affinity is not None and _renames(affinity, before)):
        return []
    detail = f"{names.FIELD_IMMUTABLE}, except for updating from beta label to GA"
    return [field.invalid(Path("nodeAffinity"), internal_text("*core.VolumeNodeAffinity", affinity), detail)]


def _renames(new: Any, old: Any) -> bool:
    """Whether two values differ in nothing but label keys that got their new name."""
    if isinstance(new, dict) and isinstance(old, dict):
        if new.keys() != old.keys():
            return False
        return all(
            new[key] == old[key]
            or (key == "key" and _NEW_LABELS.get(old[key]) == new[key])
            or _renames(new[key], old[key])
            for key in new
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(a == b or _renames(a, b) for a, b in zip(new, old, strict=True))
    return False


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    status, before = new["status"], old["status"]
    if status.get("phase") != before.get("phase"):
        given, known = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if given is None or given == known:
            status["lastPhaseTransitionTime"] = context.now


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"])


PERSISTENT_VOLUME: Final = Strategy(
    resource="persistentvolumes",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, RESETS_SPEC)},
    returns_deleted=True,
)
