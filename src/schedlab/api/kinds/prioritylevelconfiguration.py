"""Priority levels: how many requests an API server works on at a time.

Mirrors: pkg/registry/flowcontrol/prioritylevelconfiguration/strategy.go,
pkg/apis/flowcontrol/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing; the levels are stored, no request waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import first_generation_without_status, update_of_spec
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, keep_all_but_status
from schedlab.api.object import Object
from schedlab.api.rules.flow_control import MANDATORY_LEVELS
from schedlab.api.validation import meta
from schedlab.api.validation.conditions import validate_condition_types
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_EXEMPT: Final = "exempt"
_FORBIDDEN_ANNOTATION: Final = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"
_QUEUES_MAX: Final = 10_000_000
#: Bits of the hash that deals a flow its hand of queues.
_HASH_BITS_MAX: Final = 60
_QUEUING_DEFAULTS: Final = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def _default(level: Object, _context: Context) -> None:
    spec = level["spec"]
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if limited is not None:
        if limited.get("nominalConcurrencyShares") is None:
            limited["nominalConcurrencyShares"] = 30
        limited.setdefault("lendablePercent", 0)
        queuing = limited["limitResponse"].get("queuing")
        if queuing is not None:
            queuing.update({key: value for key, value in _QUEUING_DEFAULTS.items() if not queuing.get(key)})
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _validate(level: Object, _context: Context) -> ErrorList:
    metadata, spec = level["metadata"], level["spec"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=False)
    if _FORBIDDEN_ANNOTATION in (metadata.get("annotations") or {}):
        detail = f"annotation '{_FORBIDDEN_ANNOTATION}' is forbidden"
        errors.append(field.forbidden(Path("metadata", "annotations"), detail))
    name = metadata.get("name", "")
    errors += _validate_spec(name, spec)
    errors += _validate_mandatory(name, spec)
    return errors + validate_condition_types(level["status"], _STATUS)


def _validate_mandatory(name: str, spec: Object) -> ErrorList:
    fixed, exception = MANDATORY_LEVELS.get(name), ""
    if fixed is not None and name == _EXEMPT:
        fixed = {key: value for key, value in fixed.items() if key != _EXEMPT}
        if _EXEMPT in spec:
            fixed[_EXEMPT] = spec[_EXEMPT]
        exception = " except the 'spec.exempt' field"
    if fixed is None or spec == fixed:
        return []
    shown = internal_text("flowcontrol.PriorityLevelConfigurationSpec", spec)
    return [field.invalid(_SPEC, shown, f"spec of '{name}'{exception} must equal the fixed value")]


def _validate_spec(name: str, spec: Object) -> ErrorList:
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    errors: ErrorList = []
    if (name == _EXEMPT) != (kind == "Exempt"):
        errors.append(field.invalid(_SPEC.child("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            errors.append(field.forbidden(_SPEC.child("limited"), "must be nil if the type is not Limited"))
        return errors if exempt is None else errors + _validate_exempt(exempt, _SPEC.child("exempt"))
    if kind != "Limited":
        return [*errors, field.not_supported(_SPEC.child("type"), kind, ("Exempt", "Limited"))]
    if exempt is not None:
        errors.append(field.forbidden(_SPEC.child("exempt"), "must be nil if the type is Limited"))
    if limited is None:
        return [*errors, field.required(_SPEC.child("limited"), "must not be empty when type is Limited")]
    return errors + _validate_limited(limited, _SPEC.child("limited"))


def _validate_exempt(exempt: Mapping[str, Any], path: Path) -> ErrorList:
    return _validate_shares(exempt, path) + _validate_lendable(exempt, path)


def _validate_shares(level: Mapping[str, Any], path: Path) -> ErrorList:
    shares = level.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        return [field.invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer")]
    return []


def _validate_lendable(level: Mapping[str, Any], path: Path) -> ErrorList:
    percent = level.get("lendablePercent")
    if percent is not None and not 0 <= percent <= 100:
        return [field.invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]
    return []


def _validate_limited(limited: Mapping[str, Any], path: Path) -> ErrorList:
    errors = _validate_shares(limited, path)
    errors += _validate_response(limited["limitResponse"], path.child("limitResponse"))
    errors += _validate_lendable(limited, path)
    percent = limited.get("borrowingLimitPercent")
    if percent is not None and percent < 0:
        detail = "if specified, must be a non-negative integer"
        errors.append(field.invalid(path.child("borrowingLimitPercent"), percent, detail))
    return errors


def _validate_response(response: Mapping[str, Any], path: Path) -> ErrorList:
    kind, queuing, own = response.get("type", ""), response.get("queuing"), path.child("queuing")
    if kind == "Reject":
        detail = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [field.forbidden(own, detail)]
    if kind != "Queue":
        return [field.not_supported(path.child("type"), kind, ("Queue", "Reject"))]
    if queuing is None:
        return [field.required(own, "must not be empty if limited.limitResponse.type is Limited")]
    return _validate_queuing(queuing, own)


def _validate_queuing(queuing: Mapping[str, Any], path: Path) -> ErrorList:
    limit, queues, hand = (queuing.get(key, 0) for key in ("queueLengthLimit", "queues", "handSize"))
    errors: ErrorList = []
    if limit <= 0:
        errors.append(field.invalid(path.child("queueLengthLimit"), limit, "must be positive"))
    if queues <= 0:
        errors.append(field.invalid(path.child("queues"), queues, "must be positive"))
    elif queues > _QUEUES_MAX:
        errors.append(field.invalid(path.child("queues"), queues, f"must not be greater than {_QUEUES_MAX}"))
    if problem := _hand_problem(queues, hand):
        errors.append(field.invalid(path.child("handSize"), hand, problem))
    return errors


def _hand_problem(queues: int, hand: int) -> str:
    """Say why a flow cannot be dealt that many of the queues."""
    if hand <= 0:
        return "must be positive"
    if hand > queues:
        return f"should not be greater than queues ({queues})"
    if math.ceil(math.log2(queues) * hand) > _HASH_BITS_MAX:
        return (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
            f"{_HASH_BITS_MAX}"
        )
    return ""


def _validate_update(new: Object, _old: Object, context: Context) -> ErrorList:
    return _validate(new, context)


def _validate_status(new: Object, _old: Object, _context: Context) -> ErrorList:
    return validate_condition_types(new["status"], _STATUS)


PRIORITY_LEVEL_CONFIGURATION: Final = Strategy(
    resource="prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    validate=_validate,
    update=update_of_spec(_validate_update),
    default=_default,
    prepare=first_generation_without_status({}),
    subresources={"status": UpdateStrategy(_validate_status, keep_all_but_status, (("spec",), ("metadata",)))},
)
