"""Resource claims and their templates.

Mirrors: pkg/registry/resource/{resourceclaim,resourceclaimtemplate}/strategy.go, pkg/apis/resource/v1/defaults.go (v1.36)
Differs: of the spec nothing is checked but that it stays as it is.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import metadata_only, metadata_update, without_status
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
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path


def _default_claim(claim: Object, _context: Context) -> None:
    default_claim_spec(claim["spec"])
    for result in _results(claim):
        _default_tolerations(result)


def _results(claim: Object) -> list[Object]:
    allocation = (claim["status"] or {}).get("allocation") or {}
    results: list[Object] = (allocation.get("devices") or {}).get("results") or []
    return results


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


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    keep_metadata(new, old)


def _validate_claim_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + meta.validate_immutable(new["spec"], old["spec"], Path("spec"))


def _validate_template_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + meta.validate_immutable(new["spec"], old["spec"], Path("spec"))


RESOURCE_CLAIM: Final = Strategy(
    resource="resourceclaims.resource.k8s.io",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=UpdateStrategy(_validate_claim_update, _prepare_update, RESETS_STATUS),
    default=_default_claim,
    prepare=without_status,
    subresources={"status": UpdateStrategy(metadata_update, _prepare_status, (("metadata",), ("spec",)))},
    returns_deleted=True,
)
RESOURCE_CLAIM_TEMPLATE: Final = Strategy(
    resource="resourceclaimtemplates.resource.k8s.io",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=UpdateStrategy(_validate_template_update),
    default=_default_template,
    returns_deleted=True,
)
