"""Networks from which services get their addresses.

Mirrors: pkg/registry/networking/servicecidr/strategy.go, pkg/apis/networking/validation/validation.go
(ValidateServiceCIDR…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import metadata_update
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    keep_metadata,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import check_cidr, parse_cidr

_CIDRS: Final = Path("spec", "cidrs")
_GATE: Final = "ServiceCIDRStatusFieldWiping"
_SAME_FAMILY: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _prepare(cidr: Object, context: Context) -> None:
    if context.features.enabled(_GATE):
        cidr["status"] = {}


def _validate(cidr: Object, _context: Context) -> ErrorList:
    errors = meta.validate(cidr["metadata"], names.name_is_dns_subdomain, namespaced=False)
    return errors + _validate_spec(cidr["spec"])


def _validate_spec(spec: Object) -> ErrorList:
    cidrs: Sequence[str] = spec.get("cidrs") or []
    if not cidrs:
        return [field.required(_CIDRS, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [
            field.invalid(_CIDRS, internal_text("networking.ServiceCIDRSpec", spec), "may only hold up to 2 values")
        ]
    errors: ErrorList = []
    for i, text in enumerate(cidrs):
        errors += check_cidr(_CIDRS.index(i), text)
    families = [None if parsed is None else parsed.address.version for parsed in map(parse_cidr, cidrs)]
    if len(families) == 2 and families[0] is not None and families[0] == families[1]:
        errors.append(field.invalid(_CIDRS, cidrs, _SAME_FAMILY))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    if context.features.enabled(_GATE):
        keep_status(new, old)


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    cidrs: Sequence[str] = new["spec"].get("cidrs") or []
    before: Sequence[str] = old["spec"].get("cidrs") or []
    grows = len(before) == 1 and len(cidrs) == 2
    if len(cidrs) != len(before) and not grows:
        errors.append(field.invalid(_CIDRS, cidrs or None, names.FIELD_IMMUTABLE))
        return errors
    for i, text in enumerate(before):
        errors += meta.validate_immutable(cidrs[i], text, _CIDRS.index(i))
    return errors + _validate_spec(new["spec"]) if grows else errors


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    keep_metadata(new, old)


SERVICE_CIDR: Final = Strategy(
    resource="servicecidrs.networking.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    prepare=_prepare,
    subresources={"status": UpdateStrategy(metadata_update, _prepare_status, (*RESETS_SPEC, ("metadata",)))},
)
