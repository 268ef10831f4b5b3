"""Device classes.

Mirrors: pkg/registry/resource/deviceclass/strategy.go, pkg/apis/resource/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from schedlab.api.kinds.gated_fields import GatedFields, drop_gated
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.api.rules.resource_names import is_extended_resource
from schedlab.api.validation import meta
from schedlab.api.validation.device_claims import validate_configuration, validate_selectors
from schedlab.api.validation.device_names import validate_list
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_CONFIGS_MAX: Final = 32
_GATED: Final[GatedFields] = {("DRAExtendedResource",): (("extendedResourceName",),)}


def _prepare(device_class: Object, context: Context) -> None:
    device_class["metadata"]["generation"] = 1
    drop_gated(device_class["spec"], {}, _GATED, context.features)


def _validate(device_class: Object, _context: Context) -> ErrorList:
    return _validate_both(device_class, same_config=False)


def _validate_both(device_class: Object, *, same_config: bool) -> ErrorList:
    errors = meta.validate(device_class["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = device_class["spec"]
    errors += validate_selectors(spec.get("selectors") or (), _SPEC.child("selectors"))
    check = partial(validate_configuration, stored=same_config)
    errors += validate_list(spec.get("config") or (), _CONFIGS_MAX, check, _SPEC.child("config"))
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        path = _SPEC.child("extendedResourceName")
        errors.append(field.invalid(path, name, "must be a valid extended resource name"))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    drop_gated(new["spec"], old["spec"], _GATED, context.features)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = _validate_both(new, same_config=new["spec"].get("config") == old["spec"].get("config"))
    return errors + meta.validate_update(new["metadata"], old["metadata"])


DEVICE_CLASS: Final = Strategy(
    resource="deviceclasses.resource.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    prepare=_prepare,
    returns_deleted=True,
)
