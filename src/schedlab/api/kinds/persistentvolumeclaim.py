"""Persistent volume claims.

Mirrors: pkg/registry/core/persistentvolumeclaim/strategy.go, pkg/api/persistentvolumeclaim/util.go,
pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaim…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_diff
from schedlab.api.kinds.pod.defaults import default_claim_spec
from schedlab.api.kinds.resource_lists import round_up
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    keep,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.rules.resource_names import is_native_resource
from schedlab.api.validation import meta
from schedlab.api.validation.claims import validate_claim_spec
from schedlab.api.validation.common import messages
from schedlab.api.validation.pods.warnings import claim_spec_warnings
from schedlab.api.validation.resources import validate_quantity
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

_SPEC: Final = Path("spec")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def _default(claim: Object, _context: Context) -> None:
    claim["status"].setdefault("phase", "Pending")
    default_claim_spec(claim["spec"])
    round_up(claim["status"].get("capacity"))
    round_up(claim["status"].get("allocatedResources"))


def _prepare(claim: Object, context: Context) -> None:
    claim["status"] = {"phase": "Pending"}
    _settle(claim["spec"], {}, context)


def _settle(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    """Drop what is switched off and write the data source into both of its fields."""
    _drop_disabled(spec, old, context)
    in_use = "dataSource" in old or "dataSourceRef" in old
    if not in_use and "dataSourceRef" not in spec and not _is_known_source(spec.get("dataSource")):
        # Other kinds of sources were always ignored in the old field.
        spec.pop("dataSource", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _drop_disabled(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    if not context.features.enabled("AnyVolumeDataSource") and "dataSourceRef" not in old:
        spec.pop("dataSourceRef", None)
    namespace = (spec.get("dataSourceRef") or {}).get("namespace")
    if namespace and not context.features.enabled("CrossNamespaceVolumeDataSource") and "dataSourceRef" not in old:
        spec.pop("dataSourceRef")
    if not context.features.enabled("VolumeAttributesClass") and "volumeAttributesClassName" not in old:
        spec.pop("volumeAttributesClassName", None)


def _is_known_source(source: Mapping[str, Any] | None) -> bool:
    if source is None:
        return False
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    return (kind, group) in (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))


def _validate(claim: Object, context: Context) -> ErrorList:
    errors = meta.validate(claim["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += validate_claim_spec(claim["spec"], _SPEC, context)
    if not errors:
        _warn(claim, context)
    return errors


def _warn(claim: Object, context: Context) -> None:
    if _annotation(claim) is not None:
        path = Path("metadata", "annotations").key(_BETA_CLASS)
        context.warnings.append(f'{path}: deprecated since v1.8; use "storageClassName" attribute instead')
    context.warnings.extend(claim_spec_warnings(claim["spec"], _SPEC))


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    _settle(new["spec"], old["spec"], context)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    errors += meta.validate_update(new["metadata"], old["metadata"])
    errors += _validate(new, context)
    spec, before = new["spec"], old["spec"]
    errors += _validate_beta_class(new, old)
    errors += _validate_fixed_part(new, old)
    errors += _validate_size(new, old)
    errors += meta.validate_immutable(spec.get("volumeMode"), before.get("volumeMode"), Path("volumeMode"))
    return errors + _validate_attributes_class(spec, old, context)


def _annotation(claim: Object) -> str | None:
    value: str | None = (claim["metadata"].get("annotations") or {}).get(_BETA_CLASS)
    return value


def _class_moves_to_field(new: Object, old: Object) -> bool:
    """Whether an update moves the class from the old annotation to the field."""
    annotation, name = _annotation(old), new["spec"].get("storageClassName")
    if annotation is None or "storageClassName" in old["spec"] or name != annotation:
        return False
    return _annotation(new) in (None, annotation)


def _validate_beta_class(new: Object, old: Object) -> ErrorList:
    given, known = _annotation(new) or "", _annotation(old) or ""
    if _class_moves_to_field(new, old) or given == known:
        return []
    path = Path("metadata", "annotations", _BETA_CLASS)
    return [field.invalid(path, given, names.FIELD_IMMUTABLE)]


def _validate_fixed_part(new: Object, old: Object) -> ErrorList:
    """Refuse changes of what cannot change; what can is made equal first."""
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        keep(before, spec, "volumeName")
    name, annotation = spec.get("storageClassName"), _annotation(old)
    appears = name is not None and "storageClassName" not in before and annotation in (None, name)
    if appears or _class_moves_to_field(new, old):
        spec.pop("storageClassName", None)
    if new["status"].get("phase") == "Bound":
        requests = (spec.get("resources") or {}).get("requests")
        if requests is not None:
            size = (before["resources"].get("requests") or {}).get("storage", "0")
            spec["resources"] = {**spec["resources"], "requests": {**requests, "storage": size}}
        keep(spec, before, "volumeAttributesClassName")
    if _without_empty(spec) == _without_empty(before):
        return []
    detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
    shown = internal_diff("core.PersistentVolumeClaimSpec", before, spec)
    return [field.forbidden(_SPEC, f"{detail}\n{shown}")]


def _without_empty(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a spec in a form in which nothing that is absent differs from what is empty."""
    return {key: value for key, value in spec.items() if value not in (None, {}, [])}


def _validate_size(new: Object, old: Object) -> ErrorList:
    """A claim may shrink again, but not to what its volume already has."""
    sizes = [(claim["spec"]["resources"].get("requests") or {}).get("storage", "0") for claim in (new, old)]
    if parse_cached(sizes[0]) >= parse_cached(sizes[1]):
        return []
    capacity = (old["status"].get("capacity") or {}).get("storage", "0")
    if parse_cached(sizes[0]) > parse_cached(capacity):
        return []
    path = Path("spec", "resources", "requests", "storage")
    return [field.forbidden(path, "field can not be less than status.capacity")]


def _validate_attributes_class(spec: Mapping[str, Any], old: Object, context: Context) -> ErrorList:
    name, before = spec.get("volumeAttributesClassName"), old["spec"].get("volumeAttributesClassName")
    if name == before:
        return []
    path = Path("spec", "volumeAttributesClassName")
    if not context.features.enabled("VolumeAttributesClass"):
        detail = "update is forbidden when the VolumeAttributesClass feature gate is disabled"
        return [field.forbidden(path, detail)]
    if old["status"].get("currentVolumeAttributesClassName") is None or name:
        return []
    what = "nil" if name is None else "empty string"
    return [
        field.forbidden(path, f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil")
    ]


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    if not new["spec"].get("accessModes"):
        errors.append(field.required(Path("Spec", "accessModes")))
    status, path = new["status"], Path("status")
    for name, text in (status.get("capacity") or {}).items():
        errors += _validate_basic(text, path.child("capacity").key(name))
    states = path.child("allocatedResourceStatuses")
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        errors += _validate_resource(name, states)
        if state not in _RESIZE_STATES:
            errors.append(field.not_supported(states, name, sorted(_RESIZE_STATES)))
    allocated = path.child("allocatedResources")
    for name, text in (status.get("allocatedResources") or {}).items():
        found = _validate_resource(name, allocated) or _validate_basic(text, allocated.key(name))
        errors += found or validate_quantity("storage", text, allocated.key(name))
    return errors


def _validate_basic(text: str, path: Path) -> ErrorList:
    value = parse_cached(text).value()
    return [field.invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _validate_resource(name: str, path: Path) -> ErrorList:
    if errors := messages(path, name, names.check_qualified_name(name)):
        return errors
    if is_native_resource(name) and name != "storage":
        return [field.not_supported(path, name, ("storage",))]
    return []


PERSISTENT_VOLUME_CLAIM: Final = Strategy(
    resource="persistentvolumeclaims",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, RESETS_SPEC)},
    returns_deleted=True,
)
