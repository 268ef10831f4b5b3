"""Nodes.

Mirrors: pkg/registry/core/node/strategy.go, pkg/apis/core/validation/validation.go (ValidateNode…) (v1.36)
Differs: the deprecated configSource is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.resource_lists import round_up
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object, StoredObject
from schedlab.api.rules.likeness import LABEL, NETWORK, SUBDOMAIN, Likeness, Place
from schedlab.api.validation import meta
from schedlab.api.validation.common import positive
from schedlab.api.validation.resources import validate_quantity
from schedlab.apimachinery import field, ip, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.gojson import quote

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CIDRS: Final = Path("spec", "podCIDRs")
_ONE_CIDR: Final = 'node updates may not change podCIDR except from "" to valid'
_ONE_PROVIDER: Final = 'node updates may not change providerID except from "" to valid'
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_LENGTH_MAX: Final = 253


def _default(node: Object, _context: Context) -> None:
    status, spec = node["status"], node["spec"]
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))
    round_up(status.get("capacity"))
    round_up(status.get("allocatable"))
    # The singular field is what old clients know; it wins where the two differ.
    if cidr := spec.get("podCIDR"):
        if (spec.get("podCIDRs") or [""])[0] != cidr:
            spec["podCIDRs"] = [cidr]
    elif cidrs := spec.get("podCIDRs"):
        spec["podCIDR"] = cidrs[0]


def _prepare(node: Object, context: Context) -> None:
    if not context.features.enabled("NodeDeclaredFeatures"):
        node["status"].pop("declaredFeatures", None)


def _validate(node: Object, _context: Context) -> ErrorList:
    errors = meta.validate(node["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec, status = node["spec"], node["status"]
    errors += validate_taints(spec.get("taints") or (), Path("metadata", "taints"))
    errors += _validate_resources(status)
    swap = (status.get("nodeInfo") or {}).get("swap") or {}
    if "capacity" in swap:
        errors += positive(swap["capacity"], Path("metadata", "nodeSwapStatus", "capacity"))
    errors += _validate_features(status.get("declaredFeatures") or (), Path("status", "declaredFeatures"))
    return errors + _validate_cidrs(spec.get("podCIDRs") or ())


def validate_taints(taints: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[tuple[str, str]] = []
    for i, taint in enumerate(taints):
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        own = path.index(i)
        errors += names.validate_label_name(key, own.child("key"))
        if found := names.check_label_value(value):
            errors.append(field.invalid(own.child("value"), value, ";".join(found)))
        if not effect:
            errors.append(field.required(own.child("effect")))
        elif effect not in _EFFECTS:
            errors.append(field.not_supported(own.child("effect"), effect, _EFFECTS))
        if (key, effect) in seen:
            shown = internal_text("core.Taint", taint)
            detail = "taints must be unique by key and effect pair"
            errors.append(replace(field.duplicate(own, shown), detail=detail))
        seen.append((key, effect))
    return errors


def _validate_resources(status: Object) -> ErrorList:
    errors: ErrorList = []
    for key in ("capacity", "allocatable"):
        for name, text in (status.get(key) or {}).items():
            errors += validate_quantity(name, text, Path("status", key, name))
    return errors


def _validate_features(features: Sequence[str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, feature in enumerate(features):
        if problem := _feature_error(feature):
            errors.append(field.invalid(path.index(i), feature, f"invalid feature name {quote(feature)}: {problem}"))
        if i and feature == features[i - 1]:
            errors.append(field.duplicate(path.index(i), feature))
        elif i and feature < features[i - 1]:
            errors.append(field.invalid(path.index(i), feature, "list must be sorted alphabetically"))
    return errors


def _feature_error(feature: str) -> str:
    if names.byte_length(feature) > _FEATURE_LENGTH_MAX:
        return f"must be no more than {_FEATURE_LENGTH_MAX} characters"
    if _FEATURE.fullmatch(feature):
        return ""
    return (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
        "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )


def _validate_cidrs(cidrs: Sequence[str]) -> ErrorList:
    errors: ErrorList = []
    for i, cidr in enumerate(cidrs):
        errors += ip.check_cidr_legacy(_CIDRS.index(i), cidr, strict=False)
    if len(cidrs) < 2:
        return errors
    parsed = [ip.parse_cidr(cidr) for cidr in cidrs]
    families = {cidr.address.version for cidr in parsed if cidr is not None}
    if None in parsed:
        bad = next(text for text, cidr in zip(cidrs, parsed, strict=True) if cidr is None)
        cause = f"[invalid CIDR address: {bad}]"
        problem = f"invalid PodCIDRs. failed to check with dual stack with error:{cause}"
        errors.append(field.internal_error(_CIDRS, problem))
    if len(families) < 2 or len(cidrs) > 2:
        detail = "may specify no more than one CIDR for each IP family"
        errors.append(field.invalid(_CIDRS, list(cidrs), detail))
    return errors


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    errors += meta.validate_update(new["metadata"], old["metadata"])
    spec, before, status = new["spec"], old["spec"], new["status"]
    errors += _validate_resources(status)
    errors += _validate_features(status.get("declaredFeatures") or (), Path("status", "declaredFeatures"))
    addresses = status.get("addresses") or []
    for i, address in enumerate(addresses):
        if address in addresses[:i]:
            shown = internal_text("core.NodeAddress", address)
            errors.append(field.duplicate(Path("status", "addresses").index(i), shown))
    cidrs, old_cidrs = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if old_cidrs and len(cidrs) != len(old_cidrs):
        errors.append(field.forbidden(_CIDRS, _ONE_CIDR))
    elif old_cidrs:
        errors += [field.forbidden(_CIDRS, _ONE_CIDR) for a, b in zip(cidrs, old_cidrs, strict=True) if a != b]
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        errors.append(field.forbidden(Path("spec", "providerID"), _ONE_PROVIDER))
    errors += validate_taints(spec.get("taints") or (), Path("metadata", "taints"))
    if spec.get("externalID") != before.get("externalID"):
        errors.append(field.forbidden(Path("spec", "externalID"), "may not be updated"))
    return errors


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    if not context.features.enabled("NodeDeclaredFeatures") and "declaredFeatures" not in old["status"]:
        new["status"].pop("declaredFeatures", None)


def _validate_status(new: Object, old: Object, context: Context) -> ErrorList:
    return _validate_update(new, old, context)


def _field_values(node: StoredObject) -> dict[str, str]:
    return {"spec.unschedulable": "true" if node.view.spec.unschedulable else "false"}


_LIKENESS: Final = Likeness(
    name=re.compile(LABEL),
    places=(
        Place(b'"address":"', SUBDOMAIN),
        Place(b'"podCIDR":"', NETWORK),
        Place(b'"podCIDRs":["', NETWORK, b'"]'),
    ),
    managed_places=(Place(b'"v:\\"', NETWORK, b'\\""'),),
    metadata_places=(Place(b'"kubernetes.io/hostname":"', LABEL),),
)

NODE: Final = Strategy(
    resource="nodes",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, RESETS_SPEC)},
    field_labels=FieldLabels(frozenset(("metadata.name", "spec.unschedulable"))),
    field_values=_field_values,
    likeness=_LIKENESS,
)
