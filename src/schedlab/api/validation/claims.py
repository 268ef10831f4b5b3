"""Checks of volume claims and of the claim templates inside pods.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaimSpec and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain, messages, one_of, required
from schedlab.api.validation.resources import validate_positive
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim, quote
from schedlab.apimachinery.selectors import validate_label_selector

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")

#: Fields of metadata that a template inside another object may have.
_TEMPLATE_METADATA: Final = ("annotations", "labels")


def validate_access_modes(modes: Sequence[str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for mode in modes:
        errors += one_of(mode, ACCESS_MODES, path)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        errors.append(field.forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def validate_claim_spec(spec: Mapping[str, Any], path: Path, context: Context, *, old_group: bool = False) -> ErrorList:
    """Check the spec of a claim; `old_group` says that the stored one may have a bad group in its data source."""
    errors: ErrorList = []
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(field.required(path.child("accessModes"), "at least 1 access mode is required"))
    errors += validate_label_selector(spec.get("selector"), path.child("selector"))
    errors += validate_access_modes(modes, path.child("accessModes"))
    storage = (spec.get("resources", {}).get("requests") or {}).get("storage")
    storage_path = path.child("resources").key("storage")
    errors += [field.required(storage_path)] if storage is None else validate_positive(storage, storage_path)
    if name := spec.get("storageClassName"):
        errors += dns_subdomain(name, path.child("storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None:
        errors += one_of(mode, VOLUME_MODES, path.child("volumeMode"))
    errors += _validate_data_sources(spec, path, old_group=old_group)
    attributes = spec.get("volumeAttributesClassName")
    if attributes and context.features.enabled("VolumeAttributesClass"):
        errors += dns_subdomain(attributes, path.child("volumeAttributesClassName"))
    return errors


def _validate_data_sources(spec: Mapping[str, Any], path: Path, *, old_group: bool) -> ErrorList:
    """Check where a new volume's content comes from; the two fields must not contradict each other."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors: ErrorList = []
    if source is not None:
        errors += _validate_data_source(source, path.child("dataSource"), old_group=old_group)
    if reference is None:
        return errors
    errors += _validate_data_source(reference, path.child("dataSourceRef"), old_group=old_group)
    shown = Verbatim(quote(str(path.child("dataSource"))))
    if namespace := reference.get("namespace"):
        namespace_path = path.child("dataSourceRef").child("namespace")
        errors += messages(namespace_path, namespace, names.name_is_dns_label(namespace))
        if source is not None:
            detail = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(field.invalid(path, shown, detail))
    elif source is not None and any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(field.invalid(path, shown, "must match dataSourceRef"))
    return errors


def _validate_data_source(source: Mapping[str, Any], path: Path, *, old_group: bool) -> ErrorList:
    errors = required(source, path, "name", "kind")
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(field.invalid(path, kind, detail))
    if group and not old_group:
        errors += dns_subdomain(group, path.child("apiGroup"))
    return errors


def validate_claim_template(template: Mapping[str, Any], path: Path, context: Context) -> ErrorList:
    """Check the claim template of an ephemeral volume."""
    errors = validate_template_metadata(template.get("metadata") or {}, path.child("metadata"))
    return errors + validate_claim_spec(template.get("spec") or {}, path.child("spec"), context)


def validate_template_metadata(metadata: Mapping[str, Any], path: Path) -> ErrorList:
    """Check metadata of a template, which can only have labels and annotations."""
    errors = meta.validate_annotations(metadata.get("annotations") or {}, path.child("annotations"))
    errors += names.validate_labels(metadata.get("labels"), path.child("labels"))
    extra = [key for key, value in metadata.items() if value and key not in _TEMPLATE_METADATA]
    return errors + [field.forbidden(path.child(key), "cannot be set") for key in extra]
