"""Ingress classes.

Mirrors: pkg/registry/networking/ingressclass/strategy.go,
pkg/apis/networking/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.plain import first_generation
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.api.validation.references import validate_typed_reference
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_CONTROLLER_MAX: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


def _default(ingress_class: Object, _context: Context) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def _validate(ingress_class: Object, _context: Context) -> ErrorList:
    errors = meta.validate(ingress_class["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = ingress_class["spec"]
    controller, path = spec.get("controller", ""), _SPEC.child("controller")
    if names.byte_length(controller) > _CONTROLLER_MAX:
        errors.append(field.too_long(path, _CONTROLLER_MAX))
    errors += names.check_domain_prefixed_path(path, controller)
    parameters = spec.get("parameters")
    return errors if parameters is None else errors + _validate_parameters(parameters, _SPEC.child("parameters"))


def _validate_parameters(parameters: Mapping[str, Any], path: Path) -> ErrorList:
    errors = validate_typed_reference(parameters, path)
    scope, namespace, own = parameters.get("scope"), parameters.get("namespace"), path.child("namespace")
    if scope is None:
        errors.append(field.required(path.child("scope")))
    elif scope not in _SCOPES:
        errors.append(field.not_supported(path.child("scope"), scope, _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(field.forbidden(own, "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(field.required(own, "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += messages(own, namespace, names.name_is_dns_label(namespace))
    return errors


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    controller, before = new["spec"].get("controller", ""), old["spec"].get("controller", "")
    errors += meta.validate_immutable(controller, before, _SPEC.child("controller"))
    return errors + _validate(new, context)


INGRESS_CLASS: Final = Strategy(
    resource="ingressclasses.networking.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=first_generation,
)
