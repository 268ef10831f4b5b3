"""Checks of where the data of a volume is: the sources that pods and persistent volumes share.

Each function gets the source and its path. What only one of the two has is in `volumes` and in the kind itself.

Mirrors: pkg/apis/core/validation/validation.go (validateHostPathVolumeSource … validateCSIPersistentVolumeSource) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from schedlab.api.validation.common import dns_label, dns_subdomain, messages, one_of, required
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

Source: TypeAlias = Mapping[str, Any]
SourceCheck: TypeAlias = Callable[[Source, Path], ErrorList]

ONE_TYPE: Final = "may not specify more than 1 volume type"
NO_TYPE: Final = "must specify a volume type"

_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_INITIATOR_FORMATS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_URI: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_DRIVER_LENGTH_MAX: Final = 63


def requires(*keys: str) -> SourceCheck:
    """Return a check that these fields are not empty."""

    def check(source: Source, path: Path) -> ErrorList:
        return required(source, path, *keys)

    return check


# --- Paths -----------------------------------------------------------------------------------------------------------


def no_backsteps(target: str, path: Path) -> ErrorList:
    return [field.invalid(path, target, "must not contain '..'")] if ".." in target.split("/") else []


def descending_path(target: str, path: Path) -> ErrorList:
    """A relative path that never goes up."""
    errors = [field.invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return errors + no_backsteps(target, path)


def non_reserved_path(target: str, path: Path) -> ErrorList:
    """A descending path that does not begin with two dots."""
    errors = descending_path(target, path)
    if target.startswith("..") and not target.startswith("../"):
        errors.append(field.invalid(path, target, "must not start with '..'"))
    return errors


# --- Sources ---------------------------------------------------------------------------------------------------------


def host_path(source: Source, path: Path) -> ErrorList:
    if errors := required(source, path, "path"):
        return errors
    errors = no_backsteps(source["path"], path.child("path"))
    kind = source.get("type")
    return errors if kind is None else errors + one_of(kind, _HOST_PATH_TYPES, path.child("type"))


def disk(key: str) -> SourceCheck:
    """Return the check of a disk of a cloud with partitions, named by the field `key`."""

    def check(source: Source, path: Path) -> ErrorList:
        errors = required(source, path, key)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(field.invalid(path.child("partition"), partition, names.inclusive_range_error(1, 255)))
        return errors

    return check


def nfs(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "server", "path")
    target = source.get("path", "")
    if not target.startswith("/"):
        errors.append(field.invalid(path.child("path"), target, "must be an absolute path"))
    return errors


def quobyte(source: Source, path: Path) -> ErrorList:
    registry = source.get("registry", "")
    pair = "must be a host:port pair or multiple pairs separated by commas"
    errors: ErrorList = []
    if not registry:
        errors.append(field.required(path.child("registry"), pair))
    elif names.byte_length(source.get("tenant", "")) >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(field.required(path.child("tenant"), detail))
    else:
        wrong = [one for one in registry.split(",") if not _is_host_port(one)]
        errors += [field.invalid(path.child("registry"), registry, pair) for _ in wrong]
    return errors + required(source, path, "volume")


def _is_host_port(text: str) -> bool:
    host, colon, _ = text.rpartition(":")
    if not colon:
        return False
    if host.startswith("["):
        return host.endswith("]") and "[" not in host[1:] and "]" not in host[:-1]
    return not any(char in host for char in ":[]")


def flocker(source: Source, path: Path) -> ErrorList:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: ErrorList = []
    if not name and not uuid:
        errors.append(field.required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(field.invalid(path, "resource", detail))
    if "/" in name:
        errors.append(field.invalid(path.child("datasetName"), name, "must not contain '/'"))
    return errors


def iscsi(source: Source, path: Path, *, unknown_format: str = "must be valid format") -> ErrorList:
    """Check what the two kinds of iSCSI volumes share; they word an unknown format differently."""
    errors: ErrorList = []
    iqn = source.get("iqn", "")
    errors += _initiator(iqn, path.child("iqn"), unknown_format) if iqn else [field.required(path.child("iqn"))]
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        errors.append(field.invalid(path.child("lun"), lun, names.inclusive_range_error(0, 255)))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        errors.append(field.required(path.child("secretRef")))
    return errors


def iscsi_initiator(source: Source, path: Path, *, unknown_format: str = "must be valid format") -> ErrorList:
    initiator = source.get("initiatorName")
    return [] if initiator is None else _initiator(initiator, path.child("initiatorname"), unknown_format)


def _initiator(name: str, path: Path, unknown_format: str) -> ErrorList:
    pattern = _INITIATOR_FORMATS.get(name[:3])
    if pattern is None:
        return [field.invalid(path, name, unknown_format)]
    return [] if pattern.search(name) else [field.invalid(path, name, "must be valid format")]


def fc(source: Source, path: Path) -> ErrorList:
    targets, wwids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    errors: ErrorList = []
    if not targets and not wwids:
        detail = "must specify either targetWWNs or wwids, but not both"
        errors.append(field.required(path.child("targetWWNs"), detail))
    if targets and wwids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(field.invalid(path.child("targetWWNs"), targets, detail))
    if targets:
        if lun is None:
            errors.append(field.required(path.child("lun"), "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            errors.append(field.invalid(path.child("lun"), lun, names.inclusive_range_error(0, 255)))
    return errors


def flex_volume(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "driver")
    for key in source.get("options") or {}:
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(field.invalid(path.child("options").key(key), key, detail))
    return errors


def azure_disk(source: Source, path: Path) -> ErrorList:
    errors = required(source, path, "diskName", "diskURI")
    mode, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if mode is not None:
        errors += one_of(mode, _CACHING_MODES, path.child("cachingMode"))
    if kind is not None:
        errors += one_of(kind, _DISK_KINDS, path.child("kind"))
        start, form = ("/subscriptions/", _MANAGED_URI) if kind == "Managed" else ("https://", _BLOB_URI)
        if not uri.startswith(start):
            errors.append(field.not_supported(path.child("diskURI"), uri, (form,)))
    return errors


def storage_os(source: Source, path: Path) -> ErrorList:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    errors = required(source, path, "volumeName")
    if name:
        errors += dns_label(name, path.child("volumeName"))
    if namespace:
        errors += dns_label(namespace, path.child("volumeNamespace"))
    return errors


def secret_name(source: Source, path: Path, *keys: str) -> ErrorList:
    """Check that a secret, if one is referred to, is named by all these fields."""
    secret = source.get("secretRef")
    return [] if secret is None else required(secret, path.child("secretRef"), *(keys or ("name",)))


def full_secret(reference: Source, path: Path) -> ErrorList:
    """A reference to a secret in any namespace."""
    name, namespace = reference.get("name", ""), reference.get("namespace", "")
    errors = dns_subdomain(name, path.child("name")) if name else [field.required(path.child("name"))]
    return errors + (dns_label(namespace, path.child("namespace")) if namespace else required({}, path, "namespace"))


def csi_driver_name(name: str, path: Path) -> ErrorList:
    if not name:
        return [field.required(path)]
    errors: ErrorList = []
    if names.byte_length(name) > _DRIVER_LENGTH_MAX:
        errors.append(field.too_long(path, _DRIVER_LENGTH_MAX))
    return errors + messages(path, name, names.check_dns1123_subdomain(name.lower()))


#: Sources that pods and persistent volumes check alike: field, name in paths, check.
SHARED: Final[Mapping[str, tuple[str, SourceCheck]]] = {
    "hostPath": ("hostPath", host_path),
    "gcePersistentDisk": ("persistentDisk", disk("pdName")),
    "awsElasticBlockStore": ("awsElasticBlockStore", disk("volumeID")),
    "nfs": ("nfs", nfs),
    "flocker": ("flocker", flocker),
    "rbd": ("rbd", requires("monitors", "image")),
    "quobyte": ("quobyte", quobyte),
    "cephfs": ("cephfs", requires("monitors")),
    "fc": ("fc", fc),
    "flexVolume": ("flexVolume", flex_volume),
    "vsphereVolume": ("vsphereVolume", requires("volumePath")),
    "photonPersistentDisk": ("photonPersistentDisk", requires("pdID")),
    "portworxVolume": ("portworxVolume", requires("volumeID")),
    "azureDisk": ("azureDisk", azure_disk),
    "scaleIO": ("scaleIO", requires("gateway", "system", "volumeName")),
}
