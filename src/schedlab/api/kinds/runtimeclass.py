"""Runtime classes.

Mirrors: pkg/registry/node/runtimeclass/strategy.go, pkg/apis/node/validation/validation.go, pkg/api/node/util.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.resource_lists import round_up
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.api.validation.node_labels import node_label_warning
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.scheduling import validate_tolerations
from schedlab.api.validation.resources import validate_container_requirements
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_HANDLER: Final = Path("handler")
_SCHEDULING: Final = Path("scheduling")
_TOLERATION_KEYS: Final = ("key", "operator", "value", "effect")


def _default(runtime: Object, _context: Context) -> None:
    round_up((runtime.get("overhead") or {}).get("podFixed"))


def _validate(runtime: Object, context: Context) -> ErrorList:
    errors = meta.validate(runtime["metadata"], names.name_is_dns_subdomain, namespaced=False)
    handler, overhead, scheduling = runtime.get("handler", ""), runtime.get("overhead"), runtime.get("scheduling")
    if handler:
        errors += messages(_HANDLER, handler, names.name_is_dns_label(handler))
    else:
        errors.append(field.required(_HANDLER))
    if overhead is not None:
        errors += validate_container_requirements({"limits": overhead.get("podFixed")}, (), Path("overhead"))
    if scheduling is not None:
        errors += names.validate_labels(scheduling.get("nodeSelector"), _SCHEDULING.child("nodeSelector"))
        errors += _validate_tolerations(scheduling.get("tolerations") or (), context)
    if not errors:
        _warn(scheduling or {}, context)
    return errors


def _validate_tolerations(tolerations: Sequence[Mapping[str, Any]], context: Context) -> ErrorList:
    path = _SCHEDULING.child("tolerations")
    errors = validate_tolerations(tolerations, path, PodRules(context.features))
    seen: list[tuple[str, ...]] = []
    for i, toleration in enumerate(tolerations):
        identity = tuple(toleration.get(key, "") for key in _TOLERATION_KEYS)
        if identity in seen:
            errors.append(field.duplicate(path.index(i), internal_text("core.Toleration", toleration)))
        seen.append(identity)
    return errors


def _warn(scheduling: Mapping[str, Any], context: Context) -> None:
    for key in scheduling.get("nodeSelector") or ():
        if warning := node_label_warning(key):
            context.warnings.append(f"{_SCHEDULING.child('nodeSelector')}: {warning}")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context) + meta.validate_update(new["metadata"], old["metadata"])
    return errors + meta.validate_immutable(new.get("handler", ""), old.get("handler", ""), _HANDLER)


RUNTIME_CLASS: Final = Strategy(
    resource="runtimeclasses.node.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    default=_default,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
