"""Resource claims and their templates.

Mirrors: pkg/registry/resource/{resourceclaim,resourceclaimtemplate}/strategy.go, pkg/apis/resource/v1/defaults.go,
pkg/apis/resource/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.gated_fields import GatedFields, drop_gated
from schedlab.api.kinds.plain import without_status
from schedlab.api.kinds.strategy import (
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
from schedlab.api.validation.claims import validate_template_metadata
from schedlab.api.validation.device_claims import (
    allocated_devices,
    device_id,
    validate_claim_spec,
    validate_claim_status,
)
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_REQUESTS: Final = ("devices", "requests", "*")
_RESULTS: Final = ("allocation", "devices", "results", "*")
_GATED: Final[GatedFields] = {
    ("DRADeviceTaints",): (
        (*_REQUESTS, "exactly", "tolerations"),
        (*_REQUESTS, "firstAvailable", "*", "tolerations"),
    ),
    ("DRAPrioritizedList",): ((*_REQUESTS, "firstAvailable"),),
    ("DRAConsumableCapacity",): (
        ("devices", "constraints", "*", "distinctAttribute"),
        (*_REQUESTS, "exactly", "capacity"),
        (*_REQUESTS, "firstAvailable", "*", "capacity"),
    ),
}
_GATED_STATUS: Final[GatedFields] = {
    ("DRAResourceClaimDeviceStatus",): (("devices",),),
    ("DRAConsumableCapacity",): (
        (*_RESULTS, "shareID"),
        (*_RESULTS, "consumedCapacity"),
        ("devices", "*", "shareID"),
    ),
    ("DRADeviceBindingConditions",): ((*_RESULTS, "bindingConditions"), (*_RESULTS, "bindingFailureConditions")),
}


def _default_claim(claim: Object, _context: Context) -> None:
    default_claim_spec(claim["spec"])
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        _default_tolerations(result)


def default_claim_spec(spec: Object) -> None:
    """Fill in the requests of a claim."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_request(request: Object) -> None:
    request.setdefault("allocationMode", "ExactCount")
    if request["allocationMode"] == "ExactCount":
        request.setdefault("count", 1)
    _default_tolerations(request)


def _default_tolerations(holder: Object) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


def _default_template(template: Object, _context: Context) -> None:
    default_claim_spec(template["spec"]["spec"])


# --- Claims -----------------------------------------------------------------------------------------------------------


def _prepare(claim: Object, context: Context) -> None:
    without_status(claim, context)
    drop_gated(claim["spec"], {}, _GATED, context.features)


def _validate(claim: Object, context: Context) -> ErrorList:
    errors = meta.validate(claim["metadata"], names.name_is_dns_subdomain, namespaced=True)
    return errors + validate_claim_spec(claim["spec"], _SPEC, context)


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    drop_gated(new["spec"], old["spec"], _GATED, context.features)


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate(new["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += meta.validate_update(new["metadata"], old["metadata"])
    return errors + _validate_fixed(new["spec"], old["spec"], "resource.ResourceClaimSpec")


def _validate_fixed(spec: Mapping[str, Any], before: Mapping[str, Any], kind: str) -> ErrorList:
    return [] if spec == before else [field.invalid(_SPEC, internal_text(kind, spec), names.FIELD_IMMUTABLE)]


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    keep_metadata(new, old)
    drop_gated(new["status"], old["status"], _GATED_STATUS, context.features)
    _forget_deallocated(new["status"], old["status"])


def _forget_deallocated(status: Object, old: Object) -> None:
    """Drop what is said of devices that the claim no longer has."""
    if not status.get("devices"):
        return
    kept = allocated_devices(status)
    gone = [device for device in allocated_devices(old) if device not in kept]
    status["devices"] = [device for device in status["devices"] if device_id(device) not in gone]
    if not status["devices"]:
        del status["devices"]


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"]) + validate_claim_status(new, old)


# --- Templates --------------------------------------------------------------------------------------------------------


def _prepare_template(template: Object, context: Context) -> None:
    drop_gated(template["spec"]["spec"], {}, _GATED, context.features)


def _validate_template(template: Object, context: Context) -> ErrorList:
    errors = meta.validate(template["metadata"], names.name_is_dns_subdomain, namespaced=True)
    spec = template["spec"]
    errors += validate_template_metadata(spec.get("metadata") or {}, _SPEC.child("metadata"))
    return errors + validate_claim_spec(spec["spec"], _SPEC.child("spec"), context)


def _prepare_template_update(new: Object, old: Object, context: Context) -> None:
    drop_gated(new["spec"]["spec"], old["spec"]["spec"], _GATED, context.features)


def _validate_template_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate_template(new, context) + meta.validate_update(new["metadata"], old["metadata"])
    return errors + _validate_fixed(new["spec"], old["spec"], "resource.ResourceClaimTemplateSpec")


RESOURCE_CLAIM: Final = Strategy(
    resource="resourceclaims.resource.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default_claim,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, (("metadata",), ("spec",)))},
    returns_deleted=True,
)
RESOURCE_CLAIM_TEMPLATE: Final = Strategy(
    resource="resourceclaimtemplates.resource.k8s.io",
    validate=_validate_template,
    update=UpdateStrategy(_validate_template_update, _prepare_template_update),
    default=_default_template,
    prepare=_prepare_template,
    returns_deleted=True,
)
