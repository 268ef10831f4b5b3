"""Volume attributes classes.

Mirrors: pkg/registry/storage/volumeattributesclass/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.parameters import validate_parameters, validate_provisioner
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_PARAMETERS: Final = Path("parameters")


def _validate(attributes: Object, _context: Context) -> ErrorList:
    errors = meta.validate(attributes["metadata"], names.name_is_dns_subdomain, namespaced=False)
    errors += validate_provisioner(attributes.get("driverName", ""), Path("driverName"))
    parameters = attributes.get("parameters") or {}
    errors += validate_parameters(parameters, _PARAMETERS)
    if not parameters:
        errors.append(field.required(_PARAMETERS, "must contain at least one key/value pair"))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    for key in ("driverName", "parameters"):
        if (new.get(key) or None) != (old.get(key) or None):
            errors.append(field.forbidden(key, f"updates to {key} are forbidden."))
    return errors + _validate(new, context)


VOLUME_ATTRIBUTES_CLASS: Final = Strategy(
    resource="volumeattributesclasses.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    returns_deleted=True,
)
