"""Validating and mutating admission policies.

Mirrors: pkg/registry/admissionregistration/{validating,mutating}admissionpolicy/strategy.go,
pkg/apis/admissionregistration/{v1/defaults,validation/validation}.go (v1.36)
Differs: expressions that make patches are not checked; whether the writer may read the parameters is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.plain import first_generation, first_generation_without_status, update_of_spec
from schedlab.api.kinds.strategy import (
    Context,
    Strategy,
    UpdateStrategy,
    bump_generation,
    keep_metadata,
    keep_spec,
)
from schedlab.api.object import Object
from schedlab.api.rules.policy_expressions import ANYTHING, BOOLEAN, TEXT, TEXT_OR_NULL
from schedlab.api.validation import meta
from schedlab.api.validation.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    default_matching,
    default_rules,
    static_name_warnings,
    validate_expression,
    validate_match_conditions,
    validate_match_resources,
    validate_param_kind,
)
from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.conditions import validate_conditions
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES: Final[Mapping[str, str]] = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_AUDIT_ANNOTATIONS_MAX: Final = 20
_VALUE_EXPRESSION_MAX: Final = 5 * 1024
_NOTHING_TO_DO: Final = "validations or auditAnnotations must contain at least one item"
_IDENTIFIER: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = (
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
    "let", "loop", "package", "namespace", "return", "var", "void", "while",
)  # fmt: skip


def default_match_resources(match: Object | None) -> None:
    """Fill in which requests a policy or a binding is about."""
    if match is None:
        return
    default_matching(match)
    for key in ("resourceRules", "excludeResourceRules"):
        default_rules(match.get(key) or ())


def _default(policy: Object, _context: Context) -> None:
    policy["spec"].setdefault("failurePolicy", "Fail")
    default_match_resources(policy["spec"].get("matchConstraints"))


# --- Both -------------------------------------------------------------------------------------------------------------


def _validate_start(policy: Object, old: Object | None, *, mutating: bool) -> ErrorList:
    """Check metadata, the parameters, and which requests a policy is about."""
    errors = meta.validate(policy["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = policy["spec"]
    failure, kind, match = spec.get("failurePolicy"), spec.get("paramKind"), spec.get("matchConstraints")
    own = _SPEC.child("failurePolicy")
    errors += [field.required(own)] if failure is None else one_of(failure, FAILURE_POLICIES, own)
    if kind is not None:
        errors += validate_param_kind(kind, _SPEC.child("paramKind"))
    own = _SPEC.child("matchConstraints")
    if match is None:
        errors.append(field.required(own))
    else:
        errors += validate_match_resources(match, own, mutating=mutating)
        if not match.get("resourceRules"):
            errors.append(field.required(own.child("resourceRules")))
    conditions = spec.get("matchConditions") or ()
    if old is None or any(spec.get(key) != old["spec"].get(key) for key in ("paramKind", "matchConditions")):
        own = _SPEC.child("matchConditions")
        errors += validate_match_conditions(conditions, own, has_params=kind is not None)
    return errors + _validate_variables(spec)


def _validate_variables(spec: Object) -> ErrorList:
    errors: ErrorList = []
    for i, variable in enumerate(spec.get("variables") or ()):
        path, name, expression = (
            _SPEC.child("variables").index(i),
            variable.get("name", ""),
            variable.get("expression", ""),
        )
        if not name.strip():
            errors.append(field.required(path.child("name"), "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            errors.append(field.invalid(path.child("name"), name, "must be a valid CEL identifier"))
        errors += _validate_own_expression(spec, expression, ANYTHING, path.child("expression"))
    return errors


def _validate_own_expression(
    spec: Object, expression: str, results: Sequence[str], path: Path, *, has_authorizer: bool = True
) -> ErrorList:
    """Check an expression that must be there and can use the policy's variables."""
    if not expression.strip():
        return [field.required(path, "expression is not specified")]
    return validate_expression(
        expression,
        results,
        path,
        has_params=spec.get("paramKind") is not None,
        has_authorizer=has_authorizer,
        has_variables=bool(spec.get("variables")),
    )


def _warn(policy: Object, context: Context) -> None:
    context.warnings.extend(static_name_warnings(policy["metadata"]["name"]))


# --- Validating -------------------------------------------------------------------------------------------------------


def _validate(policy: Object, context: Context) -> ErrorList:
    errors = _validate_validating(policy, None)
    if not errors:
        _warn(policy, context)
    return errors


def _validate_validating(policy: Object, old: Object | None) -> ErrorList:
    errors = _validate_start(policy, old, mutating=False)
    spec = policy["spec"]
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or []
    if not validations and not annotations:
        errors += [field.required(_SPEC.child(key), _NOTHING_TO_DO) for key in ("validations", "auditAnnotations")]
        return errors
    for i, validation in enumerate(validations):
        errors += _validate_validation(spec, validation, _SPEC.child("validations").index(i))
    path = _SPEC.child("auditAnnotations")
    if len(annotations) > _AUDIT_ANNOTATIONS_MAX:
        detail = f"must not have more than {_AUDIT_ANNOTATIONS_MAX} auditAnnotations"
        errors.append(field.invalid(path, annotations, detail))
    keys = [annotation.get("key", "") for annotation in annotations]
    for i, annotation in enumerate(annotations):
        errors += _validate_annotation(policy, annotation, path.index(i))
        if keys[i] in keys[:i]:
            errors.append(field.duplicate(path.index(i).child("key"), keys[i]))
    return errors


def _validate_validation(spec: Object, validation: Mapping[str, Any], path: Path) -> ErrorList:
    errors = _validate_own_expression(spec, validation.get("expression", ""), BOOLEAN, path.child("expression"))
    maker, own = validation.get("messageExpression", ""), path.child("messageExpression")
    if maker and not maker.strip():
        errors.append(field.invalid(own, maker, "must be non-empty if specified"))
    elif maker:
        errors += _validate_own_expression(spec, maker, TEXT, own, has_authorizer=False)
    message, own = validation.get("message", ""), path.child("message")
    if message and not message.strip():
        errors.append(field.invalid(own, message, "must be non-empty if specified"))
    elif re.search("[\n\r]", message.strip()):
        errors.append(field.invalid(own, message, "must not contain line breaks"))
    reason = validation.get("reason")
    return errors if reason is None else errors + one_of(reason, _REASONS, path.child("reason"))


def _validate_annotation(policy: Object, annotation: Mapping[str, Any], path: Path) -> ErrorList:
    name, key, own = policy["metadata"].get("name", ""), annotation.get("key", ""), path.child("key")
    if name:
        errors = messages(own, f"{name}/{key}", names.check_qualified_name(f"{name}/{key}"))
    else:
        errors = [field.invalid(own, key, "requires metadata.name be non-empty")]
    expression, own = annotation.get("valueExpression", ""), path.child("valueExpression")
    if not expression.strip():
        errors.append(field.required(own, "valueExpression is not specified"))
    elif names.byte_length(expression.strip()) > _VALUE_EXPRESSION_MAX:
        errors.append(field.required(own, f"must not exceed {_VALUE_EXPRESSION_MAX} bytes in length"))
    else:
        errors += _validate_own_expression(policy["spec"], expression, TEXT_OR_NULL, own)
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate_validating(new, old)
    if not errors:
        _warn(new, context)
    return errors


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    keep_metadata(new, old)


def _validate_status(new: Object, _old: Object, _context: Context) -> ErrorList:
    status, path = new["status"], Path("status")
    errors: ErrorList = []
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    for i, warning in enumerate(warnings):
        own = path.child("typeChecking", "expressionWarnings").index(i)
        if not warning.get("warning"):
            errors.append(field.required(own.child("warning")))
        if not warning.get("fieldRef", "").strip():
            errors.append(field.required(own.child("fieldRef")))
    return errors + validate_conditions(status.get("conditions") or (), path.child("conditions"))


VALIDATING_ADMISSION_POLICY: Final = Strategy(
    resource="validatingadmissionpolicies.admissionregistration.k8s.io",
    validate=_validate,
    update=update_of_spec(_validate_update),
    default=_default,
    prepare=first_generation_without_status({}),
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, (("spec",), ("metadata",)))},
    allow_unconditional_update=False,
)


# --- Mutating ---------------------------------------------------------------------------------------------------------


def _validate_mutating(policy: Object, context: Context) -> ErrorList:
    errors = _validate_mutating_policy(policy, None)
    if not errors:
        _warn(policy, context)
    return errors


def _validate_mutating_policy(policy: Object, old: Object | None) -> ErrorList:
    errors = _validate_start(policy, old, mutating=True)
    spec = policy["spec"]
    mutations, path = spec.get("mutations") or (), _SPEC.child("mutations")
    if not mutations:
        errors.append(field.required(path, "mutations must contain at least one item"))
    for i, mutation in enumerate(mutations):
        errors += _validate_mutation(mutation, path.index(i))
    policy_text, own = spec.get("reinvocationPolicy", ""), _SPEC.child("reinvocationPolicy")
    return errors + (one_of(policy_text, REINVOCATION_POLICIES, own) if policy_text else [field.required(own)])


def _validate_mutation(mutation: Mapping[str, Any], path: Path) -> ErrorList:
    kind = mutation.get("patchType", "")
    if not kind:
        return [field.required(path.child("patchType"))]
    if kind not in _PATCH_TYPES:
        return [field.not_supported(path.child("patchType"), kind, _PATCH_TYPES)]
    wanted = _PATCH_TYPES[kind]
    errors: ErrorList = []
    if mutation.get(wanted) is None:
        errors.append(field.required(path.child(wanted), f"must be specified when patchType is {kind}"))
    elif not mutation[wanted].get("expression", "").strip():
        errors.append(field.required(path.child(wanted, "expression")))
    for other in _PATCH_TYPES.values():
        if other != wanted and mutation.get(other) is not None:
            detail = f"must not be specified when patchType is {kind}"
            errors.append(field.invalid(path.child(other), f"{{{other}}}", detail))
    return errors


def _prepare_mutating_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


def _validate_mutating_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate_mutating_policy(new, old)
    if not errors:
        _warn(new, context)
    return errors


MUTATING_ADMISSION_POLICY: Final = Strategy(
    resource="mutatingadmissionpolicies.admissionregistration.k8s.io",
    validate=_validate_mutating,
    update=UpdateStrategy(_validate_mutating_update, _prepare_mutating_update),
    default=_default,
    prepare=first_generation,
    allow_unconditional_update=False,
)
