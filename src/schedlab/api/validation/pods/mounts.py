"""Checks of where containers mount volumes and use them as devices.

Mirrors: pkg/apis/core/validation/validation.go (ValidateVolumeMounts, ValidateVolumeDevices) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from schedlab.api.validation.common import one_of
from schedlab.api.validation.volume_sources import descending_path
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")

#: Names of the volumes of a pod that are in order, with their sources.
Volumes: TypeAlias = Mapping[str, Mapping[str, Any]]


def validate_mounts(container: Mapping[str, Any], volumes: Volumes, path: Path) -> ErrorList:
    """Check volumeMounts and volumeDevices of a container; what is a device cannot be mounted too."""
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    errors: ErrorList = []
    if mounts:
        used = {device.get("name", ""): device.get("devicePath", "") for device in devices}
        privileged = bool((container.get("securityContext") or {}).get("privileged"))
        own, taken = path.child("volumeMounts"), set[str]()
        for i, mount in enumerate(mounts):
            errors += _validate_mount(mount, volumes, used, taken, own.index(i))
            errors += _validate_mount_options(mount, own, own.index(i), privileged=privileged)
            taken.add(mount.get("mountPath", ""))
    if devices:
        used = {mount.get("name", ""): mount.get("mountPath", "") for mount in mounts}
        errors += _validate_devices(devices, volumes, used, path.child("volumeDevices"))
    return errors


def _validate_mount(
    mount: Mapping[str, Any], volumes: Volumes, devices: Mapping[str, str], taken: set[str], path: Path
) -> ErrorList:
    name, target = mount.get("name", ""), mount.get("mountPath", "")
    errors: ErrorList = []
    if not name:
        errors.append(field.required(path.child("name")))
    if name not in volumes:
        errors.append(field.not_found(path.child("name"), name))
    if not target:
        errors.append(field.required(path.child("mountPath")))
    if target in taken:
        errors.append(field.invalid(path.child("mountPath"), target, "must be unique"))
    if name in devices:
        errors.append(field.invalid(path.child("name"), name, "must not already exist in volumeDevices"))
    if target in devices.values():
        detail = "must not already exist as a path in volumeDevices"
        errors.append(field.invalid(path.child("mountPath"), target, detail))
    return errors


def _validate_mount_options(mount: Mapping[str, Any], whole: Path, path: Path, *, privileged: bool) -> ErrorList:
    """Check the rest of a mount; most of these errors name the list rather than the mount."""
    errors: ErrorList = []
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        errors += descending_path(sub_path, whole.child("subPath"))
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(field.invalid(path.child("subPathExpr"), expression, detail))
        errors += descending_path(expression, whole.child("subPathExpr"))
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        own = whole.child("mountPropagation")
        errors += one_of(propagation, _PROPAGATIONS, own)
        if propagation == "Bidirectional" and not privileged:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(field.forbidden(own, detail))
    if "recursiveReadOnly" in mount:
        errors += _validate_recursive_read_only(mount, whole.child("recursiveReadOnly"))
    return errors


def _validate_recursive_read_only(mount: Mapping[str, Any], path: Path) -> ErrorList:
    mode = mount["recursiveReadOnly"]
    if mode not in ("Enabled", "IfPossible"):
        return one_of(mode, _RECURSIVE_READ_ONLY, path)
    errors: ErrorList = []
    if not mount.get("readOnly"):
        errors.append(field.forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        errors.append(field.forbidden(path, detail))
    return errors


def _validate_devices(
    devices: list[Mapping[str, Any]], volumes: Volumes, mounts: Mapping[str, str], path: Path
) -> ErrorList:
    errors: ErrorList = []
    names, targets = set[str](), set[str]()
    for i, device in enumerate(devices):
        name, target, own = device.get("name", ""), device.get("devicePath", ""), path.index(i)
        errors += _validate_device_name(name, names, volumes, own.child("name"))
        if not target:
            errors.append(field.required(own.child("devicePath")))
        if target in targets:
            errors.append(field.invalid(own.child("devicePath"), target, "must be unique"))
        if ".." in target.split("/"):
            errors.append(field.invalid(own.child("devicePath"), target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            errors.append(field.invalid(own.child("name"), name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            errors.append(field.invalid(own.child("devicePath"), target, detail))
        if name:
            names.add(name)
    return errors


def _validate_device_name(name: str, taken: set[str], volumes: Volumes, path: Path) -> ErrorList:
    errors: ErrorList = []
    if not name:
        errors.append(field.required(path))
    if name in taken:
        errors.append(field.invalid(path, name, "must be unique"))
    source = volumes.get(name)
    if source is None:
        errors.append(field.not_found(path, name))
    elif "persistentVolumeClaim" not in source and "ephemeral" not in source:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(field.invalid(path, name, detail))
    return errors
