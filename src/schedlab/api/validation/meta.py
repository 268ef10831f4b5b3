"""Checks of metadata: names, labels, annotations, owners, finalizers, and what an update may not change.

Mirrors: staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go,
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go (managed fields),
pkg/apis/core/validation/validation.go (ValidateObjectMeta) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from schedlab.api.object import Object
from schedlab.apimachinery import field, gojson, names
from schedlab.apimachinery.field import ErrorList, Path

#: Bytes of all annotations of an object together.
ANNOTATIONS_SIZE_MAX: Final = 256 * 1024

STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")

_FIELD_MANAGER_MAX: Final = 128
_SUBRESOURCE_MAX: Final = 256
#: Operation and fieldsType of entries that can be.
_SOUND_ENTRIES: Final = (("Update", "FieldsV1"), ("Apply", "FieldsV1"), ("Update", ""), ("Apply", ""))

METADATA: Final = Path("metadata")


class NameCheck(Protocol):
    """Messages about a name, or about a prefix to which characters will be added."""

    def __call__(self, name: str, *, prefix: bool = False) -> list[str]: ...


def validate(
    metadata: Mapping[str, Any], check_name: NameCheck, *, namespaced: bool, path: Path = METADATA
) -> ErrorList:
    """Check metadata of an object of a built-in kind, with the additional rule for finalizers."""
    errors = validate_generic(metadata, check_name, namespaced=namespaced, path=path)
    for i, finalizer in enumerate(metadata.get("finalizers") or ()):
        errors.extend(validate_kube_finalizer(finalizer, path.child("finalizers").index(i)))
    return errors


def validate_generic(
    metadata: Mapping[str, Any], check_name: NameCheck, *, namespaced: bool, path: Path = METADATA
) -> ErrorList:
    """Check metadata as a name generator left it."""
    errors: ErrorList = []
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix and (messages := check_name(prefix, prefix=True)):
        errors.extend(field.invalid(path.child("generateName"), prefix, message) for message in messages)
    if not name:
        errors.append(field.required(path.child("name"), "name or generateName is required"))
    elif messages := check_name(name):
        errors.extend(field.invalid(path.child("name"), name, message) for message in messages)
    errors.extend(_validate_namespace(metadata.get("namespace", ""), path, namespaced=namespaced))
    if metadata.get("generation", 0) < 0:
        errors.append(field.invalid(path.child("generation"), metadata["generation"], names.NEGATIVE, "minimum"))
    errors.extend(_validate_common(metadata, path))
    if finalizers := metadata.get("finalizers"):
        errors.extend(_validate_finalizers(finalizers, path.child("finalizers")))
    errors.extend(validate_managed_fields(metadata.get("managedFields") or (), path))
    return errors


def _validate_namespace(namespace: str, path: Path, *, namespaced: bool) -> ErrorList:
    """Check the namespace in the metadata at a path."""
    if namespaced and namespace and _is_dns_label(namespace):
        return []
    own = path.child("namespace")
    if not namespaced:
        return [field.forbidden(own, "not allowed on this type")] if namespace else []
    if not namespace:
        return [field.required(own)]
    return [field.invalid(own, namespace, message) for message in names.name_is_dns_label(namespace)]


@lru_cache(maxsize=4096)
def _is_dns_label(name: str) -> bool:
    return not names.name_is_dns_label(name)


def _validate_common(metadata: Mapping[str, Any], path: Path) -> ErrorList:
    """Check what creation and update look at alike."""
    errors: ErrorList = []
    if labels := metadata.get("labels"):
        errors.extend(names.validate_labels(labels, path.child("labels")))
    if annotations := metadata.get("annotations"):
        errors.extend(validate_annotations(annotations, path.child("annotations")))
    if owners := metadata.get("ownerReferences"):
        errors.extend(_validate_owners(owners, path.child("ownerReferences")))
    return errors


def validate_annotations(annotations: Mapping[str, str], path: Path) -> ErrorList:
    errors: ErrorList = []
    size = 0
    for key, value in annotations.items():
        if messages := names.check_qualified_name(key.lower()):
            errors.extend(field.invalid(path, key, message, "format=k8s-label-key") for message in messages)
        size += names.byte_length(key) + names.byte_length(value)
    if size > ANNOTATIONS_SIZE_MAX:
        errors.append(field.too_long(path, ANNOTATIONS_SIZE_MAX))
    return errors


def _validate_owners(owners: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    controller = ""
    for owner in owners:
        errors.extend(_validate_owner(owner, path))
        if owner.get("controller"):
            own = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {own}'
                )
                errors.append(field.invalid(path, list(owners), detail))
            else:
                controller = own
    return errors


def _validate_owner(owner: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    api_version = owner.get("apiVersion", "")
    if not api_version.rpartition("/")[2]:
        errors.append(field.invalid(path.child("apiVersion"), api_version, "version must not be empty"))
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            errors.append(field.invalid(path.child(key), owner.get(key, ""), "must not be empty"))
    if api_version == "v1" and owner.get("kind") == "Event":
        errors.append(field.invalid(path, dict(owner), "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _validate_finalizers(finalizers: Sequence[str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for finalizer in finalizers:
        errors.extend(validate_finalizer(finalizer, path))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(field.invalid(path, list(finalizers), detail))
    return errors


def validate_finalizer(finalizer: str, path: Path) -> ErrorList:
    return [field.invalid(path, finalizer, message) for message in names.check_qualified_name(finalizer)]


def validate_kube_finalizer(finalizer: str, path: Path) -> ErrorList:
    """A finalizer without a domain must be one of Kubernetes' own."""
    if "/" in finalizer or finalizer in STANDARD_FINALIZERS:
        return []
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [field.invalid(path, finalizer, detail)]


def validate_managed_fields(entries: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    """Check who owns the fields of an object, in the metadata at a path."""
    errors: ErrorList = []
    for i, entry in enumerate(entries):
        about = entry.get("operation", ""), entry.get("fieldsType", "")
        if about in _SOUND_ENTRIES and _is_sound_manager(entry.get("manager", ""), entry.get("subresource", "")):
            continue
        errors.extend(_validate_entry(entry, path.child("managedFields").index(i)))
    return errors


@lru_cache(maxsize=4096)
def _is_sound_manager(manager: str, subresource: str) -> bool:
    return not validate_field_manager(manager, METADATA) and names.byte_length(subresource) <= _SUBRESOURCE_MAX


def _validate_entry(entry: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    operation, kind = entry.get("operation", ""), entry.get("fieldsType", "")
    if operation not in ("Apply", "Update"):
        errors.append(field.invalid(path.child("operation"), operation, "must be `Apply` or `Update`"))
    if kind and kind != "FieldsV1":
        errors.append(field.invalid(path.child("fieldsType"), kind, "must be `FieldsV1`"))
    errors.extend(validate_field_manager(entry.get("manager", ""), path.child("manager")))
    if names.byte_length(entry.get("subresource", "")) > _SUBRESOURCE_MAX:
        errors.append(field.too_long(path.child("subresource"), _SUBRESOURCE_MAX))
    return errors


def validate_field_manager(manager: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    if names.byte_length(manager) > _FIELD_MANAGER_MAX:
        errors.append(field.too_long(path, _FIELD_MANAGER_MAX))
    for i, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character {_rune(char)} (at position {i})"
            errors.append(field.invalid(path, manager, detail))
    return errors


def _rune(char: str) -> str:
    """Render %#U of a character that cannot be printed."""
    return f"U+{ord(char):04X}"


def validate_update(new: Object, old: Object, path: Path = METADATA) -> ErrorList:
    """Check what an update does to metadata; both arguments are metadata."""
    errors: ErrorList = []
    if old.get("deletionTimestamp"):
        errors.extend(_no_new_finalizers(new.get("finalizers") or (), old.get("finalizers") or (), path))
    if not new.get("resourceVersion"):
        errors.append(field.invalid(path.child("resourceVersion"), "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(field.invalid(path.child("generation"), new.get("generation", 0), "must not be decremented"))
    for key, zero in _IMMUTABLE:
        if new.get(key) != old.get(key):
            errors.append(field.invalid(path.child(key), new.get(key, zero), names.FIELD_IMMUTABLE))
    errors.extend(_validate_common(new, path))
    errors.extend(validate_managed_fields(new.get("managedFields") or (), path))
    return errors


#: Fields that never change once set, with what Go prints for an absent one.
_IMMUTABLE: Final = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def _no_new_finalizers(new: Sequence[str], old: Sequence[str], path: Path) -> ErrorList:
    added = sorted(dict.fromkeys(finalizer for finalizer in new if finalizer not in old))
    if not added:
        return []
    listed = "[]string{" + ", ".join(map(gojson.quote, added)) + "}"
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}"
    return [field.forbidden(path.child("finalizers"), detail)]


def validate_immutable(new: object, old: object, path: Path) -> ErrorList:
    """A field that may not change."""
    return [] if new == old else [field.invalid(path, new, names.FIELD_IMMUTABLE)]
