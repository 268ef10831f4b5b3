"""Leases.

Mirrors: pkg/registry/coordination/lease/strategy.go, pkg/apis/coordination/validation/validation.go (v1.36)
Differs: coordinated leader election is off, so its fields are dropped.
"""

from __future__ import annotations

import re
from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.rules.likeness import LABEL, SUBDOMAIN, UID, Likeness, Place
from schedlab.api.validation import meta
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path


def _prepare(lease: Object, _context: Context) -> None:
    for key in ("strategy", "preferredHolder"):
        lease["spec"].pop(key, None)


def _prepare_update(new: Object, _old: Object, context: Context) -> None:
    _prepare(new, context)


def _validate(lease: Object, _context: Context) -> ErrorList:
    errors = meta.validate(lease["metadata"], names.name_is_dns_subdomain, namespaced=True)
    return errors + _validate_spec(lease["spec"])


def _validate_spec(spec: Object) -> ErrorList:
    errors: ErrorList = []
    path = Path("spec")
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(field.invalid(path.child("leaseDurationSeconds"), duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        errors.append(field.invalid(path.child("leaseTransitions"), transitions, "must be greater than or equal to 0"))
    return errors


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"]) + _validate_spec(new["spec"])


_LIKENESS: Final = Likeness(
    name=re.compile(SUBDOMAIN),
    places=(Place(b'"holderIdentity":"', LABEL),),
    # The only owner: of several the order counts.
    metadata_places=(Place(b'"name":"', LABEL, b'","uid":"'), Place(b'"uid":"', UID, b'"}]')),
    managed_places=(Place(b'"k:{\\"uid\\":\\"', UID, b'\\"}"'),),
    unlike=(b'"},{"',),
)

LEASE: Final = Strategy(
    resource="leases.coordination.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    prepare=_prepare,
    allow_create_on_update=True,
    allow_unconditional_update=False,
    likeness=_LIKENESS,
)
