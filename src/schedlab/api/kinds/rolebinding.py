"""Bindings of roles and of cluster roles.

Mirrors: pkg/registry/rbac/{rolebinding,clusterrolebinding}/strategy.go,
pkg/apis/rbac/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.role import name_is_free
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, ValidateCreate, ValidateUpdate
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.references import validate_path_segment
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_GROUP: Final = "rbac.authorization.k8s.io"
_ROLE: Final = Path("roleRef")
_ROLE_KINDS: Final = ("Role", "ClusterRole")
_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")


def _default(binding: Object, _context: Context) -> None:
    reference = binding["roleRef"]
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _validate(binding: Object, *, namespaced: bool) -> ErrorList:
    errors = meta.validate(binding["metadata"], name_is_free, namespaced=namespaced)
    reference = binding["roleRef"]
    errors += one_of(reference.get("apiGroup", ""), (_GROUP,), _ROLE.child("apiGroup"))
    kinds: Sequence[str] = _ROLE_KINDS if namespaced else _ROLE_KINDS[1:]
    errors += one_of(reference.get("kind", ""), kinds, _ROLE.child("kind"))
    errors += validate_path_segment(reference.get("name", ""), _ROLE.child("name"))
    for i, subject in enumerate(binding.get("subjects") or ()):
        errors += _validate_subject(subject, Path("subjects").index(i), namespaced=namespaced)
    return errors


def _validate_subject(subject: Mapping[str, Any], path: Path, *, namespaced: bool) -> ErrorList:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    errors = [] if name else [field.required(path.child("name"))]
    if kind not in _SUBJECT_KINDS:
        errors.append(field.not_supported(path.child("kind"), kind, _SUBJECT_KINDS))
        return errors
    if kind != "ServiceAccount":
        return errors + one_of(group, (_GROUP,), path.child("apiGroup"))
    if name:
        errors += messages(path.child("name"), name, names.name_is_dns_subdomain(name))
    errors += one_of(group, ("",), path.child("apiGroup"))
    if not namespaced and not subject.get("namespace"):
        errors.append(field.required(path.child("namespace")))
    return errors


def _checks(*, namespaced: bool) -> tuple[ValidateCreate, ValidateUpdate]:
    """Return the checks of creation and update."""

    def create(binding: Object, _context: Context) -> ErrorList:
        return _validate(binding, namespaced=namespaced)

    def update(new: Object, old: Object, _context: Context) -> ErrorList:
        errors = _validate(new, namespaced=namespaced) + meta.validate_update(new["metadata"], old["metadata"])
        if new["roleRef"] != old["roleRef"]:
            errors.append(field.invalid(_ROLE, internal_text("rbac.RoleRef", new["roleRef"]), "cannot change roleRef"))
        return errors

    return create, update


def _strategy(resource: str, *, namespaced: bool) -> Strategy:
    create, update = _checks(namespaced=namespaced)
    return Strategy(resource, create, UpdateStrategy(update), default=_default, allow_create_on_update=True)


ROLE_BINDING: Final = _strategy("rolebindings.rbac.authorization.k8s.io", namespaced=True)
CLUSTER_ROLE_BINDING: Final = _strategy("clusterrolebindings.rbac.authorization.k8s.io", namespaced=False)
