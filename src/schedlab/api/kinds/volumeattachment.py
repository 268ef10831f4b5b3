"""Volume attachments.

Mirrors: pkg/registry/storage/volumeattachment/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: the source of an inline volume spec is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    keep_metadata,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.claims import validate_access_modes
from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.api.validation.volume_sources import csi_driver_name
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_METADATA_SIZE_MAX: Final = 256 * 1024
_MESSAGE_MAX: Final = 1024
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_INLINE: Final = "in the context of inline volumes"


def _prepare(attachment: Object, _context: Context) -> None:
    attachment["status"] = {"attached": False}


def _validate(attachment: Object, _context: Context) -> ErrorList:
    errors = meta.validate(attachment["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec, status = attachment["spec"], attachment["status"]
    errors += csi_driver_name(spec.get("attacher", ""), _SPEC.child("attacher"))
    errors += _validate_source(spec.get("source") or {}, _SPEC.child("source"))
    node = spec.get("nodeName", "")
    errors += messages(_SPEC.child("nodeName"), node, names.name_is_dns_subdomain(node))
    size = sum(names.byte_length(text) for pair in (status.get("attachmentMetadata") or {}).items() for text in pair)
    if size > _METADATA_SIZE_MAX:
        errors.append(field.too_long(_STATUS.child("attachmentMetadata"), _METADATA_SIZE_MAX))
    for key in ("attachError", "detachError"):
        errors += _validate_error(status.get(key) or {}, _STATUS.child(key))
    name = (spec.get("source") or {}).get("persistentVolumeName")
    return errors if name is None else errors + dns_subdomain(name, _SPEC.child("source", "persistentVolumeName"))


def _validate_source(source: Mapping[str, Any], path: Path) -> ErrorList:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        return [field.required(path, _ONE_SOURCE)]
    if name is not None and inline is not None:
        return [field.forbidden(path, _ONE_SOURCE)]
    if inline is not None:
        return _validate_inline(inline, path.child("inlineVolumeSpec"))
    own = path.child("persistentVolumeName")
    return [] if name else [field.required(own, "must specify non empty persistentVolumeName")]


def _validate_inline(spec: Mapping[str, Any], path: Path) -> ErrorList:
    """Check a volume that exists nowhere else: a CSI volume for one pod."""
    errors = [
        field.forbidden(path.child(key), f"may not be specified {_INLINE}")
        for key in ("claimRef", "capacity", "nodeAffinity")
        if spec.get(key)
    ]
    if spec.get("csi") is None:
        errors.append(field.required(path.child("csi"), f"has to be specified {_INLINE}"))
    modes = spec.get("accessModes") or ()
    errors += validate_access_modes(modes, path.child("accessModes"))
    if not modes:
        errors.append(field.required(path.child("accessModes")))
    if spec.get("persistentVolumeReclaimPolicy", "Retain") != "Retain":
        errors.append(field.forbidden(path.child("persistentVolumeReclaimPolicy"), f"may only be Retain {_INLINE}"))
    return errors


def _validate_error(error: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    if names.byte_length(error.get("message", "")) > _MESSAGE_MAX:
        # Upstream names another limit than the one it checks.
        errors.append(field.too_long(path.child("message"), _METADATA_SIZE_MAX))
    code = error.get("errorCode") or 0
    if code < 0:
        errors.append(field.invalid(path.child("errorCode"), code, names.inclusive_range_error(0, 2**31 - 1)))
    return errors


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    if new["spec"] != old["spec"]:
        shown = internal_text("storage.VolumeAttachmentSpec", new["spec"])
        errors.append(field.invalid(_SPEC, shown, names.FIELD_IMMUTABLE))
    return errors


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    keep_metadata(new, old)


VOLUME_ATTACHMENT: Final = Strategy(
    resource="volumeattachments.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_update, _prepare_status, (("metadata",), *RESETS_SPEC))},
    allow_unconditional_update=False,
    returns_deleted=True,
)
