"""Addresses that services hold.

Mirrors: pkg/registry/networking/ipaddress/strategy.go, pkg/apis/networking/validation/validation.go (ValidateIPAddress…)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.api.validation.references import validate_path_segment
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import check_ip

_PARENT: Final = Path("spec", "parentRef")


def _name_is_address(name: str, *, prefix: bool = False) -> list[str]:  # noqa: ARG001 - a prefix is no address either
    return [error.detail for error in check_ip(None, name)]


def _validate(address: Object, _context: Context) -> ErrorList:
    errors = meta.validate(address["metadata"], _name_is_address, namespaced=False)
    parent = address["spec"].get("parentRef")
    if parent is None:
        errors.append(field.required(_PARENT))
        return errors
    if group := parent.get("group"):
        errors += dns_subdomain(group, _PARENT.child("group"))
    for key in ("resource", "name"):
        errors += validate_path_segment(parent.get(key, ""), _PARENT.child(key))
    if namespace := parent.get("namespace"):
        errors += messages(_PARENT.child("namespace"), namespace, names.check_path_segment_name(namespace))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context) + meta.validate_update(new["metadata"], old["metadata"])
    parent = new["spec"].get("parentRef")
    if parent != old["spec"].get("parentRef"):
        shown = internal_text("*networking.ParentReference", parent)
        errors.append(field.invalid(_PARENT, shown, names.FIELD_IMMUTABLE))
    return errors


IP_ADDRESS: Final = Strategy(
    resource="ipaddresses.networking.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
)
