"""Revisions of stateful and daemon sets.

Mirrors: pkg/registry/apps/controllerrevision/strategy.go, pkg/apis/apps/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.apimachinery import field, gojson, names
from schedlab.apimachinery.field import ErrorList, Path

_DATA: Final = Path("data")


def _validate(revision: Object, _context: Context) -> ErrorList:
    errors = _validate_both(revision)
    data = revision.get("data")
    if data is None:
        errors.append(field.required(_DATA, "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(field.required(_DATA, "data must be a valid JSON object"))
    return errors


def _validate_both(revision: Object) -> ErrorList:
    errors = meta.validate(revision["metadata"], names.name_is_dns_subdomain, namespaced=True)
    return errors + names.validate_nonnegative(revision.get("revision", 0), Path("revision"))


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"]) + _validate_both(new)
    if new.get("data") != old.get("data"):
        shown = gojson.Verbatim(gojson.marshal(new.get("data"), sort_keys=False))
        errors.append(field.invalid(_DATA, shown, names.FIELD_IMMUTABLE))
    return errors


CONTROLLER_REVISION: Final = Strategy(
    resource="controllerrevisions.apps",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
)
