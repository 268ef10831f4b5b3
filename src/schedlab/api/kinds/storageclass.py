"""Storage classes.

Mirrors: pkg/registry/storage/storageclass/strategy.go, pkg/apis/storage/{validation,v1}/*.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_PARAMETERS_MAX: Final = 512
_PARAMETERS_SIZE_MAX: Final = 256 * 1024
_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_FIXED: Final = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def _default(storage: Object, _context: Context) -> None:
    storage.setdefault("reclaimPolicy", "Delete")
    storage.setdefault("volumeBindingMode", "Immediate")


def _validate(storage: Object, _context: Context) -> ErrorList:
    errors = meta.validate(storage["metadata"], names.name_is_dns_subdomain, namespaced=False)
    errors += _validate_provisioner(storage.get("provisioner", ""), Path("provisioner"))
    errors += _validate_parameters(storage.get("parameters") or {}, Path("parameters"))
    if policy := storage.get("reclaimPolicy"):
        errors += one_of(policy, _RECLAIM_POLICIES, Path("reclaimPolicy"))
    mode = storage.get("volumeBindingMode")
    if mode is None:
        errors.append(field.required(Path("volumeBindingMode")))
    else:
        errors += one_of(mode, _BINDING_MODES, Path("volumeBindingMode"))
    return errors + _validate_topologies(storage.get("allowedTopologies") or (), Path("allowedTopologies"))


def _validate_provisioner(provisioner: str, path: Path) -> ErrorList:
    if not provisioner:
        return [field.required(path)]
    return messages(path, provisioner, names.check_qualified_name(provisioner.lower()))


def _validate_parameters(parameters: Mapping[str, str], path: Path) -> ErrorList:
    errors: ErrorList = []
    if len(parameters) > _PARAMETERS_MAX:
        errors.append(field.too_long(path, _PARAMETERS_MAX))
    errors += [field.invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(names.byte_length(text) for pair in parameters.items() for text in pair) > _PARAMETERS_SIZE_MAX:
        errors.append(field.too_long(path, _PARAMETERS_SIZE_MAX))
    return errors


def _validate_topologies(terms: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[dict[str, list[str]]] = []
    for i, term in enumerate(terms):
        expressions, own = _validate_term(term, path.index(i))
        errors += own
        if expressions in seen:
            errors.append(field.duplicate(path.index(i).child("matchLabelExpressions"), ""))
        seen.append(expressions)
    return errors


def _validate_term(term: Mapping[str, Any], path: Path) -> tuple[dict[str, list[str]], ErrorList]:
    """Check a topology selector term; return its sets of values by key, too."""
    errors: ErrorList = []
    by_key: dict[str, list[str]] = {}
    expressions = path.child("matchLabelExpressions")
    for i, expression in enumerate(term.get("matchLabelExpressions") or ()):
        own = expressions.index(i)
        key, values = expression.get("key", ""), expression.get("values") or []
        if not values:
            errors.append(field.required(own.child("values")))
        errors += [
            field.duplicate(own.child("values").index(j), value)
            for j, value in enumerate(values)
            if value in values[:j]
        ]
        errors += names.validate_label_name(key, own.child("key"))
        if key in by_key:
            errors.append(field.duplicate(own.child("key"), key))
        by_key[key] = sorted(dict.fromkeys(values))
    return by_key, errors


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    for key in _FIXED:
        errors += meta.validate_immutable(new.get(key), old.get(key), Path(key))
    return errors + _validate_topologies(new.get("allowedTopologies") or (), Path("allowedTopologies"))


STORAGE_CLASS: Final = Strategy(
    resource="storageclasses.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    default=_default,
    returns_deleted=True,
)
