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
from schedlab.api.validation.common import one_of
from schedlab.api.validation.node_labels import node_label_warning
from schedlab.api.validation.parameters import validate_parameters, validate_provisioner
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_TOPOLOGIES: Final = Path("allowedTopologies")
_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_FIXED: Final = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def _default(storage: Object, _context: Context) -> None:
    storage.setdefault("reclaimPolicy", "Delete")
    storage.setdefault("volumeBindingMode", "Immediate")


def _validate(storage: Object, context: Context) -> ErrorList:
    errors = meta.validate(storage["metadata"], names.name_is_dns_subdomain, namespaced=False)
    errors += validate_provisioner(storage.get("provisioner", ""), Path("provisioner"))
    errors += validate_parameters(storage.get("parameters") or {}, Path("parameters"))
    if policy := storage.get("reclaimPolicy"):
        errors += one_of(policy, _RECLAIM_POLICIES, Path("reclaimPolicy"))
    mode = storage.get("volumeBindingMode")
    if mode is None:
        errors.append(field.required(Path("volumeBindingMode")))
    else:
        errors += one_of(mode, _BINDING_MODES, Path("volumeBindingMode"))
    errors += _validate_topologies(storage.get("allowedTopologies") or (), _TOPOLOGIES)
    if not errors:
        _warn(storage, context)
    return errors


def _validate_topologies(terms: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    # Upstream begins with as many empty terms, so that an empty one is always a repetition.
    seen: list[dict[str, list[str]]] = [{} for _ in terms]
    for i, term in enumerate(terms):
        expressions, own = _validate_term(term, path.index(i))
        errors += own
        errors += [field.duplicate(path.index(i).child("matchLabelExpressions"), "")] * seen.count(expressions)
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


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    for key in _FIXED:
        errors += meta.validate_immutable(new.get(key), old.get(key), Path(key))
    if not errors:
        _warn(new, context)
    return errors


def _warn(storage: Object, context: Context) -> None:
    for i, term in enumerate(storage.get("allowedTopologies") or ()):
        path = _TOPOLOGIES.index(i).child("matchLabelExpressions")
        for j, expression in enumerate(term.get("matchLabelExpressions") or ()):
            if warning := node_label_warning(expression.get("key", "")):
                context.warnings.append(f"{path.index(j).child('key')}: {warning}")


STORAGE_CLASS: Final = Strategy(
    resource="storageclasses.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    default=_default,
    returns_deleted=True,
)
