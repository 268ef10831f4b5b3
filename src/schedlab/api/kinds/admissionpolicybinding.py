"""Bindings of validating and mutating admission policies.

Mirrors: pkg/registry/admissionregistration/{validating,mutating}admissionpolicybinding/strategy.go,
pkg/apis/admissionregistration/{v1/defaults,validation/validation}.go (v1.36)
Differs: whether the writer may read the parameters is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.api.kinds.admissionpolicy import default_match_resources
from schedlab.api.kinds.plain import first_generation
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, ValidateCreate, bump_generation
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.admission_rules import (
    static_name_warnings,
    validate_match_resources,
    validate_param_ref,
)
from schedlab.api.validation.common import messages, one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_DENY_AND_WARN: Final = (
    "must not contain both Deny and Warn "
    "(repeating the same validation failure information in the API response and headers serves no purpose)"
)


def _default(binding: Object, _context: Context) -> None:
    default_match_resources(binding["spec"].get("matchResources"))


def _validate_start(binding: Object, *, mutating: bool) -> ErrorList:
    errors = meta.validate(binding["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec, path = binding["spec"], _SPEC.child("policyName")
    policy = spec.get("policyName", "")
    errors += messages(path, policy, names.name_is_dns_subdomain(policy)) if policy else [field.required(path)]
    if spec.get("paramRef") is not None:
        errors += validate_param_ref(spec["paramRef"], _SPEC.child("paramRef"))
    if spec.get("matchResources") is not None:
        errors += validate_match_resources(spec["matchResources"], _SPEC.child("matchResources"), mutating=mutating)
    return errors


def _validate_actions(actions: Sequence[str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, action in enumerate(actions):
        errors += one_of(action, _ACTIONS, path.index(i))
        if action in actions[:i]:
            errors.append(field.duplicate(path.index(i), action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(field.invalid(path, actions, _DENY_AND_WARN))
    if not actions:
        errors.append(field.required(path, "at least one validation action is required"))
    return errors


def _validate_validating(binding: Object, context: Context) -> ErrorList:
    errors = _validate_start(binding, mutating=False)
    errors += _validate_actions(binding["spec"].get("validationActions") or [], _SPEC.child("validationActions"))
    return errors or _warn(binding, context)


def _validate_mutating(binding: Object, context: Context) -> ErrorList:
    return _validate_start(binding, mutating=True) or _warn(binding, context)


def _warn(binding: Object, context: Context) -> ErrorList:
    """Tell what there is to tell of a binding in which nothing is wrong."""
    context.warnings.extend(static_name_warnings(binding["metadata"]["name"]))
    return []


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


def _strategy(resource: str, validate: ValidateCreate) -> Strategy:
    def validate_update(new: Object, _old: Object, context: Context) -> ErrorList:
        return validate(new, context)

    return Strategy(
        resource=resource,
        validate=validate,
        update=UpdateStrategy(validate_update, _prepare_update),
        default=_default,
        prepare=first_generation,
        allow_unconditional_update=False,
    )


VALIDATING_ADMISSION_POLICY_BINDING: Final = _strategy(
    "validatingadmissionpolicybindings.admissionregistration.k8s.io", _validate_validating
)
MUTATING_ADMISSION_POLICY_BINDING: Final = _strategy(
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io", _validate_mutating
)
