"""Checks that webhooks and policies of admission share: which requests they are about, and under which conditions.

Mirrors: pkg/apis/admissionregistration/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from schedlab.api.rules.policy_expressions import BOOLEAN, expression_problem
from schedlab.api.validation.common import messages, one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import validate_label_selector

FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")
_CONDITIONS_MAX: Final = 64
_EXCLUSIVE: Final = "name and selector are mutually exclusive"
#: What names of static configurations end with.
_STATIC_SUFFIX: Final = ".static.k8s.io"


def static_name_warnings(name: str) -> list[str]:
    """Tell of a name that the API does not own."""
    if not name.endswith(_STATIC_SUFFIX):
        return []
    detail = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f'metadata.name: names ending with "{_STATIC_SUFFIX}" {detail}']


def default_rules(rules: Sequence[dict[str, Any]]) -> None:
    """Let rules be about resources of every scope."""
    for rule in rules:
        rule.setdefault("scope", "*")


def default_matching(holder: dict[str, Any]) -> None:
    """Select everything where nothing is said."""
    holder.setdefault("matchPolicy", "Equivalent")
    for key in ("namespaceSelector", "objectSelector"):
        if holder.get(key) is None:
            holder[key] = {}


def validate_match_policy(holder: Mapping[str, Any], path: Path) -> ErrorList:
    policy = holder.get("matchPolicy")
    return [] if policy is None else one_of(policy, _MATCH_POLICIES, path.child("matchPolicy"))


def validate_selectors(holder: Mapping[str, Any], path: Path, *, allow_invalid_values: bool = False) -> ErrorList:
    errors: ErrorList = []
    for key in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(holder.get(key), path.child(key), allow_invalid_values=allow_invalid_values)
    return errors


def validate_rule(rule: Mapping[str, Any], path: Path) -> ErrorList:
    """Check operations and resources."""
    operations, own = rule.get("operations") or [], path.child("operations")
    errors = [] if operations else [field.required(own)]
    if len(operations) > 1 and "*" in operations:
        errors.append(field.invalid(own, operations, "if '*' is present, must not specify other operations"))
    for i, operation in enumerate(operations):
        errors += one_of(operation, _OPERATIONS, own.index(i))
    for key, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(key) or []
        if not values:
            errors.append(field.required(path.child(key)))
        if len(values) > 1 and "*" in values:
            detail = f"if '*' is present, must not specify other {what}"
            errors.append(field.invalid(path.child(key), values, detail))
    versions = enumerate(rule.get("apiVersions") or ())
    errors += [field.required(path.child("apiVersions").index(i)) for i, version in versions if not version]
    errors += _validate_resources(rule.get("resources") or [], path.child("resources"))
    scope = rule.get("scope")
    return errors if scope is None else errors + one_of(scope, _SCOPES, path.child("scope"))


def _validate_resources(resources: Sequence[str], path: Path) -> ErrorList:
    """Check resources and subresources; a wildcard may not be there with what it stands for."""
    errors = [] if resources else [field.required(path)]
    whole: list[str] = []
    everywhere: list[str] = []
    last_is_plain = False
    for i, text in enumerate(resources):
        if not text:
            errors.append(field.required(path.index(i)))
            continue
        resource, slash, sub = text.partition("/")
        if not slash:
            last_is_plain = text != "*"
            continue
        for wildcard, given in ((f"{resource}/*", resource in whole), (f"*/{sub}", sub in everywhere)):
            if given:
                detail = f"if '{wildcard}' is present, must not specify {text}"
                errors.append(field.invalid(path.index(i), text, detail))
        whole += [resource] * (sub == "*")
        everywhere += [sub] * (resource == "*")
    if len(resources) > 1 and "*/*" in resources:
        errors.append(field.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and last_is_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(field.invalid(path, resources, detail))
    return errors


def validate_match_resources(match: Mapping[str, Any], path: Path, *, mutating: bool = False) -> ErrorList:
    """Check which requests a policy or binding is about."""
    errors = [
        field.required(path.child(key))
        for key in ("matchPolicy", "namespaceSelector", "objectSelector")
        if match.get(key) is None
    ]
    errors += validate_match_policy(match, path) + validate_selectors(match, path)
    for key in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(key) or ()):
            own = path.child(key).index(i)
            errors += _validate_names(rule.get("resourceNames") or (), own.child("resourceNames"))
            errors += validate_rule(rule, own)
    for rule in match.get("resourceRules") or () if mutating else ():
        for operation in rule.get("operations") or ():
            errors += one_of(operation, _MUTATING_OPERATIONS, path.child("resourceRules", "operations"))
    return errors


def _validate_names(resource_names: Sequence[str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, name in enumerate(resource_names):
        errors += messages(path.index(i), name, names.check_path_segment_name(name))
        if name in resource_names[:i]:
            errors.append(field.duplicate(path.index(i), name))
    return errors


def validate_match_conditions(
    conditions: Sequence[Mapping[str, Any]], path: Path, *, has_params: bool = False
) -> ErrorList:
    """Check CEL expressions that must all be true."""
    errors: ErrorList = []
    if len(conditions) > _CONDITIONS_MAX:
        errors.append(field.too_many(path, len(conditions), _CONDITIONS_MAX))
    seen: list[str] = []
    for i, condition in enumerate(conditions):
        own, name, expression = path.index(i), condition.get("name", ""), condition.get("expression", "").strip()
        if expression:
            errors += validate_expression(expression, BOOLEAN, own.child("expression"), has_params=has_params)
        else:
            errors.append(field.required(own.child("expression")))
        if not name:
            errors.append(field.required(own.child("name")))
            continue
        errors += messages(own.child("name"), name, names.check_qualified_name(name))
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        seen.append(name)
    return errors


def validate_expression(
    expression: str,
    results: Sequence[str],
    path: Path,
    *,
    has_params: bool,
    has_authorizer: bool = True,
    has_variables: bool = False,
) -> ErrorList:
    """Check a CEL expression."""
    problem = expression_problem(
        expression, results, has_params=has_params, has_authorizer=has_authorizer, has_variables=has_variables
    )
    return [field.invalid(path, expression, problem)] if problem else []


def validate_param_kind(kind: Mapping[str, Any], path: Path) -> ErrorList:
    """Check the kind of a policy's parameters."""
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    own = path.child("kind")
    errors = _validate_api_version(version, path.child("apiVersion"))
    if not name:
        errors.append(field.required(own))
    elif found := names.check_dns1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(found)}"
        errors.append(field.invalid(own, name, detail))
    return errors


def _validate_api_version(text: str, path: Path) -> ErrorList:
    if not text:
        return [field.required(path)]
    if text.count("/") > 1:
        return [field.invalid(path, text, f"unexpected GroupVersion string: {text}")]
    group, _slash, version = text.rpartition("/")
    errors: ErrorList = []
    if group and (found := names.check_dns1123_subdomain(group)):
        errors.append(field.invalid(path, group, ",".join(found)))
    if not version:
        errors.append(field.invalid(path, text, "version must be specified"))
    elif found := names.check_dns1035_label(version):
        errors.append(field.invalid(path, version, ",".join(found)))
    return errors


def validate_param_ref(reference: Mapping[str, Any], path: Path) -> ErrorList:
    """Check which objects are a binding's parameters."""
    name, selector, action = (
        reference.get("name", ""),
        reference.get("selector"),
        reference.get("parameterNotFoundAction"),
    )
    errors = messages(path.child("name"), name, names.check_path_segment_name(name)) if name else []
    errors += validate_label_selector(selector, path.child("selector"))
    if name and selector is not None:
        errors += [field.forbidden(path.child(key), _EXCLUSIVE) for key in ("name", "selector")]
    if not name and selector is None:
        errors.append(field.required(path, "one of name or selector must be specified"))
    own = path.child("parameterNotFoundAction")
    return errors + (one_of(action, _NOT_FOUND_ACTIONS, own) if action else [field.required(own)])


def unique(values: Collection[str]) -> bool:
    return len(dict.fromkeys(values)) == len(values)
