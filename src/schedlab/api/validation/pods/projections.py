"""Checks of files that a volume is made of: keys of config maps and secrets, fields of the pod, tokens, certificates.

Mirrors: pkg/apis/core/validation/validation.go (validateKeyToPath, validateDownwardAPIVolumeFile,
validateProjectionSources), pkg/apis/certificates/validation (ValidateSignerName) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, Final

from schedlab.api.validation.certificates import (
    check_bundle_name,
    expiration_seconds_max,
    validate_signer_name,
    validate_user_annotations,
)
from schedlab.api.validation.common import file_mode, required
from schedlab.api.validation.pods.environment import FILE_FIELDS, validate_field_ref, validate_resource_ref
from schedlab.api.validation.sound_values import SoundValues
from schedlab.api.validation.volume_sources import non_reserved_path
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import validate_label_selector

_TOKEN_SECONDS_MIN: Final = 600
_TOKEN_SECONDS_MAX: Final = 2**32
_CERTIFICATE_SECONDS_MIN: Final = 3600
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")


def validate_items(items: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    """Check which keys become which files."""
    errors: ErrorList = []
    for i, item in enumerate(items):
        errors += _validate_item(item, path.index(i))
    return errors


def _validate_item(item: Mapping[str, Any], path: Path) -> ErrorList:
    errors = required(item, path, "key", "path")
    errors += non_reserved_path(item.get("path", ""), path.child("path"))
    return errors + file_mode(item, path, "mode")


def validate_pod_file(file: Mapping[str, Any], path: Path) -> ErrorList:
    """Check a file with a field of the pod."""
    errors = required(file, path, "path")
    errors += non_reserved_path(file.get("path", ""), path.child("path"))
    if "fieldRef" in file:
        errors += validate_field_ref(file["fieldRef"], path.child("fieldRef"), FILE_FIELDS)
        if "resourceFieldRef" in file:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field.invalid(path, "resource", detail))
    elif "resourceFieldRef" in file:
        errors += validate_resource_ref(file["resourceFieldRef"], path.child("resourceFieldRef"), in_file=True)
    else:
        errors.append(field.required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + file_mode(file, path, "mode")


@dataclass(slots=True)
class _Files:
    """The paths of a projected volume that are taken."""

    path: Path
    taken: set[str] = member(default_factory=set)

    def claim(self, target: str, owner: str | None = None) -> ErrorList:
        """Take a path; an error shows the owner, or else the path."""
        if target not in self.taken:
            self.taken.add(target)
            return []
        return [field.invalid(self.path, target if owner is None else owner, "conflicting duplicate paths")]


#: Every pod has the volume with the token of its account.
_sound_sources: Final = SoundValues()


def validate_projected(source: Mapping[str, Any], path: Path) -> ErrorList:
    return _sound_sources.look(source, lambda: _validate_projected(source, path))


def _validate_projected(source: Mapping[str, Any], path: Path) -> ErrorList:
    errors = file_mode(source, path, "defaultMode")
    files = _Files(path)
    for i, projection in enumerate(source.get("sources") or ()):
        own = path.child("sources").index(i)
        given = [key for key in _PROJECTIONS if key in projection]
        for key in given:
            errors += _PROJECTIONS[key](projection[key], own.child(key), files)
        if len(given) > 1:
            errors.append(field.forbidden(own, "may not specify more than 1 volume type per source"))
    return errors


def _validate_holder(source: Mapping[str, Any], path: Path, files: _Files) -> ErrorList:
    """Check a secret or a config map."""
    errors = required(source, path, "name")
    for i, item in enumerate(source.get("items") or ()):
        errors += _validate_item(item, path.child("items").index(i))
        if item.get("path"):
            errors += files.claim(item["path"], source.get("name", ""))
    return errors


def _validate_pod_files(source: Mapping[str, Any], path: Path, files: _Files) -> ErrorList:
    errors: ErrorList = []
    for file in source.get("items") or ():
        errors += validate_pod_file(file, path)
        if file.get("path"):
            errors += files.claim(file["path"])
    return errors


def _validate_token(source: Mapping[str, Any], path: Path, files: _Files) -> ErrorList:
    errors: ErrorList = []
    seconds, target = source.get("expirationSeconds", 0), source.get("path", "")
    if seconds < _TOKEN_SECONDS_MIN:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(field.invalid(path.child("expirationSeconds"), seconds, detail))
    if seconds > _TOKEN_SECONDS_MAX:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(field.invalid(path.child("expirationSeconds"), seconds, detail))
    own = files.path.child("path")
    return errors + (non_reserved_path(target, own) if target else [field.required(own)])


def _validate_trust_bundle(source: Mapping[str, Any], path: Path, files: _Files) -> ErrorList:
    name, signer, selector = (source.get(key) for key in ("name", "signerName", "labelSelector"))
    errors: ErrorList = []
    if name is not None and signer is not None:
        errors.append(field.invalid(path, source, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(field.required(path.child("name"), "must be a valid object name"))
        for text in check_bundle_name(name):
            errors.append(field.invalid(path.child("name"), name, f"not a valid clustertrustbundlename: {text}"))
        if selector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(field.invalid(path.child("labelSelector"), selector, detail))
    elif signer is not None:
        if not signer:
            errors.append(field.required(path.child("signerName"), "must be a valid signer name"))
        errors += validate_signer_name(signer, path.child("signerName"))
        errors += validate_label_selector(selector, path.child("labelSelector"))
    else:
        errors.append(field.required(path, "either name or signerName must be specified"))
    target = source.get("path", "")
    errors += required(source, path, "path")
    errors += non_reserved_path(target, path.child("path"))
    return errors + files.claim(target)


def _validate_certificate(source: Mapping[str, Any], path: Path, files: _Files) -> ErrorList:
    signer = source.get("signerName", "")
    errors = validate_signer_name(signer, path.child("signerName"))
    if annotations := source.get("userAnnotations"):
        errors += validate_user_annotations(annotations, path.child("userAnnotations"))
    if source.get("keyType", "") not in _KEY_TYPES:
        errors.append(field.not_supported(path.child("keyType"), source.get("keyType", ""), _KEY_TYPES))
    seconds, longest = source.get("maxExpirationSeconds"), expiration_seconds_max(signer)
    own = path.child("maxExpirationSeconds")
    if seconds is not None and seconds < _CERTIFICATE_SECONDS_MIN:
        errors.append(
            field.invalid(own, seconds, f"if provided, maxExpirationSeconds must be >= {_CERTIFICATE_SECONDS_MIN}")
        )
    if seconds is not None and seconds > longest:
        errors.append(field.invalid(own, seconds, f"if provided, maxExpirationSeconds must be <= {longest}"))
    given = [key for key in _CERTIFICATE_PATHS if source.get(key)]
    for key in given:
        errors += non_reserved_path(source[key], path.child(key))
        errors += files.claim(source[key])
    if not given:
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(field.required(path, detail))
    return errors


_PROJECTIONS: Final = {
    "secret": _validate_holder,
    "configMap": _validate_holder,
    "downwardAPI": _validate_pod_files,
    "serviceAccountToken": _validate_token,
    "clusterTrustBundle": _validate_trust_bundle,
    "podCertificate": _validate_certificate,
}
