"""Requests for certificates: who asks is recorded, others approve, deny and sign.

Mirrors: pkg/registry/certificates/certificates/strategy.go, pkg/apis/certificates/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, FieldPath, Strategy, UpdateStrategy, keep, keep_spec, keep_status
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.certificates import validate_signer_name
from schedlab.api.validation.x509 import certificates_problem, request_problem
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.gojson import quote

_SPEC: Final = Path("spec")
_CONDITIONS: Final = Path("status", "conditions")
_CERTIFICATE: Final = Path("status", "certificate")
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SHORTEST_LIFE_S: Final = 600
_DECISIONS: Final = ("Approved", "Denied")
_FINAL_CONDITIONS: Final = (*_DECISIONS, "Failed")
_STATUSES: Final = ("False", "True", "Unknown")
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
#: Fields of the spec that say who asked.
_REQUESTER: Final = ("username", "uid", "groups", "extra")


def _prepare(request: Object, context: Context) -> None:
    spec, user = request["spec"], context.user
    for key in _REQUESTER:
        spec.pop(key, None)
    extra = {key: list(values) for key, values in user.extra.items()}
    known = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    spec.update({key: value for key, value in known.items() if value})
    request["status"] = {}


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    keep_status(new, old)


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    for kind in _DECISIONS:
        _keep_conditions(new, old, kind)
    _set_times(new, old, context)


def _prepare_approval(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    _set_times(new, old, context)
    conditions = new["status"]
    keep_status(new, old)
    new["status"] = dict(new["status"])
    keep(new["status"], conditions, "conditions")


def _keep_conditions(new: Object, old: Object, kind: str) -> None:
    """Undo changes of conditions of a type, where none came or went."""
    conditions, before = _conditions(new), _of_type(old, kind)
    places = [i for i, condition in enumerate(conditions) if condition.get("type") == kind]
    if len(places) == len(before):
        for i, condition in zip(places, before, strict=True):
            conditions[i] = condition


def _set_times(new: Object, old: Object, context: Context) -> None:
    """Complete the times of conditions."""
    for condition in _conditions(new):
        condition.setdefault("lastUpdateTime", context.now)
        if condition.get("lastTransitionTime") is None:
            same = (
                before["lastTransitionTime"]
                for before in _of_type(old, condition.get("type", ""))
                if before.get("status") == condition.get("status") and before.get("lastTransitionTime")
            )
            condition["lastTransitionTime"] = next(same, context.now)


def _conditions(request: Object) -> list[dict[str, Any]]:
    return request["status"].get("conditions") or []


def _of_type(request: Object, kind: str) -> list[dict[str, Any]]:
    return [condition for condition in _conditions(request) if condition.get("type") == kind]


def _any_name(name: str, *, prefix: bool = False) -> list[str]:  # noqa: ARG001 - no name is wrong
    return []


def _validate(request: Object, _context: Context) -> ErrorList:
    return _validate_all(request, None)


def _validate_all(request: Object, old: Object | None) -> ErrorList:
    """Check a whole object; what is wrong with the old one already may stay so."""
    errors = meta.validate(request["metadata"], _any_name, namespaced=False)
    spec = request["spec"]
    text = spec.get("request", "")
    if problem := request_problem(base64.b64decode(text or "")):
        errors.append(field.invalid(_SPEC.child("request"), text, problem))
    errors += _validate_usages(spec.get("usages") or (), () if old is None else old["spec"].get("usages") or ())
    signer, own = spec.get("signerName", ""), _SPEC.child("signerName")
    if signer == _LEGACY_SIGNER and (old is None or old["spec"].get("signerName") != _LEGACY_SIGNER):
        errors.append(field.invalid(own, signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += validate_signer_name(signer, own)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_LIFE_S:
        detail = f"may not specify a duration less than {_SHORTEST_LIFE_S} seconds (10 minutes)"
        errors.append(field.invalid(_SPEC.child("expirationSeconds"), seconds, detail))
    errors += _validate_conditions(_conditions(request), [] if old is None else _conditions(old))
    return errors + _validate_certificate(_certificate(request), None if old is None else _certificate(old))


def _validate_usages(usages: Sequence[str], before: Sequence[str]) -> ErrorList:
    path = _SPEC.child("usages")
    errors: ErrorList = [] if usages else [field.required(path)]
    if set(before) <= set(_USAGES):
        errors += [
            field.not_supported(path.index(i), usage, _USAGES) for i, usage in enumerate(usages) if usage not in _USAGES
        ]
    if len(set(before)) == len(before):
        errors += [field.duplicate(path.index(i), usage) for i, usage in enumerate(usages) if usage in usages[:i]]
    return errors


def _validate_conditions(conditions: Sequence[Object], before: Sequence[Object]) -> ErrorList:
    old_types = [condition.get("type", "") for condition in before]
    types: list[str] = []
    errors: ErrorList = []
    for i, condition in enumerate(conditions):
        path, kind = _CONDITIONS.index(i), condition.get("type", "")
        if not kind and "" not in old_types:
            errors.append(field.required(path.child("type")))
        errors += _validate_condition_status(kind, condition.get("status", ""), path.child("status"))
        opposite = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if opposite in types and not set(_DECISIONS) <= set(old_types):
            errors.append(field.invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in types and len(set(old_types)) == len(old_types):
            errors.append(field.duplicate(path.child("type"), kind))
        types.append(kind)
    return errors


def _validate_condition_status(kind: str, status: str, path: Path) -> ErrorList:
    supported = ("True",) if kind in _FINAL_CONDITIONS else _STATUSES
    if not status:
        return [field.required(path)]
    return [] if status in supported else [field.not_supported(path, status, supported)]


def _certificate(request: Object) -> str:
    """The issued certificate as it is on the wire."""
    return request["status"].get("certificate") or ""


def _validate_certificate(certificate: str, before: str | None) -> ErrorList:
    if certificate == before or (before and certificates_problem(base64.b64decode(before))):
        return []
    problem = certificates_problem(base64.b64decode(certificate))
    return [field.invalid(_CERTIFICATE, "<certificate data>", problem)] if problem else []


def _validate_change(new: Object, old: Object, *, may_decide: bool = False, may_sign: bool = False) -> ErrorList:
    errors = _validate_all(new, old)
    for kind in _FINAL_CONDITIONS:
        if len(_of_type(new, kind)) < len(_of_type(old, kind)):
            detail = f"updates may not remove a condition of type {quote(kind)}"
            errors.append(field.forbidden(_CONDITIONS, detail))
    for kind in () if may_decide else _DECISIONS:
        if len(_of_type(new, kind)) > len(_of_type(old, kind)):
            errors.append(field.forbidden(_CONDITIONS, f"updates may not add a condition of type {quote(kind)}"))
    if _certificate(new) != _certificate(old):
        if not may_sign:
            errors.append(field.forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif _certificate(old):
            errors.append(field.forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return errors + meta.validate_update(new["metadata"], old["metadata"])


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    return _validate_change(new, old)


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    return _validate_change(new, old, may_sign=True)


def _validate_approval(new: Object, old: Object, _context: Context) -> ErrorList:
    return _validate_change(new, old, may_decide=True)


def _field_values(request: StoredObject) -> dict[str, str]:
    return {"spec.signerName": request.raw["spec"].get("signerName", "")}


def _resets(*last: str) -> tuple[FieldPath, ...]:
    return ("spec",), ("status", *last)


CERTIFICATE_SIGNING_REQUEST: Final = Strategy(
    resource="certificatesigningrequests.certificates.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, _resets()),
    prepare=_prepare,
    subresources={
        "status": UpdateStrategy(_validate_status, _prepare_status, _resets("conditions")),
        "approval": UpdateStrategy(_validate_approval, _prepare_approval, _resets("certificate")),
    },
    field_labels=FieldLabels(frozenset(("metadata.name", "spec.signerName"))),
    field_values=_field_values,
)
