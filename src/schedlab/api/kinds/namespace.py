"""Namespaces.

Mirrors: pkg/registry/core/namespace/strategy.go, pkg/apis/core/validation/validation.go (ValidateNamespace…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, keep, keep_spec, keep_status
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_FINALIZERS: Final = Path("spec", "finalizers")


def _default(namespace: Object, _context: Context) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**metadata.get("labels", {}), _NAME_LABEL: metadata["name"]}
    namespace["status"].setdefault("phase", "Active")


def _prepare(namespace: Object, _context: Context) -> None:
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].get("finalizers", [])
    if "kubernetes" not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, "kubernetes"]


def _canonicalize(namespace: Object, _context: Context) -> None:
    # A generated name is known only now.
    metadata = namespace["metadata"]
    if metadata.get("generateName"):
        metadata["labels"] = {**metadata.get("labels", {}), _NAME_LABEL: metadata["name"]}


def _validate(namespace: Object, _context: Context) -> ErrorList:
    errors = meta.validate(namespace["metadata"], names.name_is_dns_label, namespaced=False)
    for finalizer in namespace["spec"].get("finalizers") or ():
        errors += _validate_finalizer(finalizer, _FINALIZERS)
    return errors


def _validate_finalizer(finalizer: str, path: Path) -> ErrorList:
    return meta.validate_finalizer(finalizer, path) + meta.validate_kube_finalizer(finalizer, path)


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep(new["spec"], old["spec"], "finalizers")
    keep_status(new, old)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    return _validate(new, context) + meta.validate_update(new["metadata"], old["metadata"])


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    phase = new["status"].get("phase", "")
    path = Path("status", "Phase")
    if not new["metadata"].get("deletionTimestamp"):
        if phase != "Active":
            errors.append(field.invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
    elif phase != "Terminating":
        errors.append(field.invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
    return errors


def _prepare_finalize(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _validate_finalize(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    for i, finalizer in enumerate(new["spec"].get("finalizers") or ()):
        errors += _validate_finalizer(finalizer, _FINALIZERS.index(i))
    return errors


def _is_kept(namespace: Object) -> bool:
    return bool(namespace["spec"].get("finalizers"))


def _field_values(namespace: StoredObject) -> dict[str, str]:
    return {"status.phase": namespace.view.status.phase}


NAMESPACE: Final = Strategy(
    resource="namespaces",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, reset_fields=(("status",),)),
    default=_default,
    prepare=_prepare,
    canonicalize=_canonicalize,
    subresources={
        "status": UpdateStrategy(_validate_status, _prepare_status, reset_fields=(("spec",),)),
        "finalize": UpdateStrategy(_validate_finalize, _prepare_finalize, reset_fields=(("status",),)),
    },
    kept_by=_is_kept,
    returns_deleted=True,
    field_labels=FieldLabels(frozenset(("metadata.name", "status.phase"))),
    field_values=_field_values,
)
