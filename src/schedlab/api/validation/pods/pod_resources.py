"""Checks of what a pod asks for as a whole, and of its resource claims.

Mirrors: pkg/apis/core/validation/validation.go (validatePodResources, validatePodResourceConsistency,
validatePodResourceClaims) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.resource_lists import aggregate, is_huge_page
from schedlab.api.validation.common import messages
from schedlab.api.validation.pods.rules import Spec
from schedlab.api.validation.resources import validate_pod_requirements
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached


def validate_pod_resources(spec: Spec, claims: Collection[str], path: Path) -> ErrorList:
    resources = spec["resources"]
    if (spec.get("os") or {}).get("name") == "windows":
        return [field.forbidden(path, "may not be set for a windows pod")]
    errors: ErrorList = []
    if "claims" in resources:
        errors.append(field.forbidden(path.child("claims"), "claims may not be set for Resources at pod-level"))
    errors += validate_pod_requirements(resources, claims, path)
    return errors + _validate_consistency(spec, path)


def _validate_consistency(spec: Spec, path: Path) -> ErrorList:
    """What containers ask for must fit into what the pod asks for."""
    resources = spec["resources"]
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    errors: ErrorList = []
    for name, total in aggregate(spec, "requests").items():
        if name in requests and total > parse_cached(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(field.invalid(path.child("requests").key(name), requests[name], detail))
    for name, total in aggregate(spec, "limits").items():
        if is_huge_page(name) and name in limits and total > parse_cached(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(field.invalid(path.child("limits").key(name), limits[name], detail))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in (container["resources"].get("limits") or {}).items():
            if name in limits and parse_cached(limit) > parse_cached(limits[name]):
                own = path.child("containers").index(i).key(name).child("limits")
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(field.invalid(own, limit, detail))
    return errors


def validate_claims(claims: Sequence[Mapping[str, Any]], path: Path, *, is_mirror: bool) -> ErrorList:
    """Check the claims of a pod; a mirror shows a pod that only its node knows."""
    errors: ErrorList = []
    seen: list[str] = []
    for i, claim in enumerate(claims):
        if is_mirror:
            errors.append(field.forbidden(Path(""), "static pods do not support resource claims"))
        else:
            errors += _validate_claim(claim, seen, path.index(i))
    return errors


def _validate_claim(claim: Mapping[str, Any], seen: list[str], path: Path) -> ErrorList:
    name = claim.get("name", "")
    errors: ErrorList = []
    if not name:
        errors.append(field.required(path.child("name")))
    elif name in seen:
        errors.append(field.duplicate(path.child("name"), name))
    else:
        errors += messages(path.child("name"), name, names.check_dns1123_label(name))
        seen.append(name)
    sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
    if len(sources) != 1:
        detail = (
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            if sources
            else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        )
        errors.append(field.invalid(path, internal_text("core.PodResourceClaim", claim), detail))
    for key in sources:
        errors += messages(path.child(key), claim[key], names.name_is_dns_subdomain(claim[key]))
    return errors
