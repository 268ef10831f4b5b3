"""Volume attachments.

Mirrors: pkg/registry/storage/volumeattachment/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: inline volume specs are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.plain import update_of_status
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Strategy, UpdateStrategy, keep_status
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.api.validation.volume_sources import csi_driver_name
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")


def _prepare(attachment: Object, _context: Context) -> None:
    attachment["status"] = {"attached": False}


def _validate(attachment: Object, _context: Context) -> ErrorList:
    errors = meta.validate(attachment["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = attachment["spec"]
    attacher, node = spec.get("attacher", ""), spec.get("nodeName", "")
    if not attacher:
        errors.append(field.required(_SPEC.child("attacher")))
    else:
        errors += messages(_SPEC.child("attacher"), attacher, names.check_qualified_name(attacher.lower()))
    errors += _validate_source(spec.get("source") or {}, _SPEC.child("source"))
    errors += dns_subdomain(node, _SPEC.child("nodeName"))
    return errors + csi_driver_name(attacher, _SPEC.child("attacher")) if attacher else errors


def _validate_source(source: Mapping[str, Any], path: Path) -> ErrorList:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        return [field.required(path, detail)]
    if name is not None and inline is not None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        return [field.forbidden(path, detail)]
    if name is None:
        return []
    own = path.child("persistentVolumeName")
    return dns_subdomain(name, own) if name else [field.required(own, "must specify non empty persistentVolumeName")]


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    if new["spec"] != old["spec"]:
        errors.append(field.invalid(_SPEC, new["spec"], names.FIELD_IMMUTABLE))
    return errors


VOLUME_ATTACHMENT: Final = Strategy(
    resource="volumeattachments.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    prepare=_prepare,
    subresources={"status": update_of_status()},
    allow_unconditional_update=False,
    returns_deleted=True,
)
