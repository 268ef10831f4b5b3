"""Flow schemas: which requests belong to which priority level.

Mirrors: pkg/registry/flowcontrol/flowschema/strategy.go, pkg/apis/flowcontrol/{v1/defaults,validation/validation}.go
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import first_generation_without_status, update_of_spec
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, keep_all_but_status
from schedlab.api.object import Object
from schedlab.api.rules.flow_control import MANDATORY_SCHEMAS
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.api.validation.conditions import validate_condition_types
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_DEFAULT_PRECEDENCE: Final = 1000
_HIGHEST_PRECEDENCE: Final = 10_000
_METHODS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
#: Kinds of subjects with the field that holds the subject, in the order in which other fields are forbidden.
_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


def _default(schema: Object, _context: Context) -> None:
    if not schema["spec"].get("matchingPrecedence"):
        schema["spec"]["matchingPrecedence"] = _DEFAULT_PRECEDENCE


def _validate(schema: Object, _context: Context) -> ErrorList:
    errors = meta.validate(schema["metadata"], names.name_is_dns_subdomain, namespaced=False)
    name, spec = schema["metadata"].get("name", ""), schema["spec"]
    errors += _validate_spec(name, spec)
    if spec != MANDATORY_SCHEMAS.get(name, spec):
        shown = internal_text("flowcontrol.FlowSchemaSpec", spec)
        errors.append(field.invalid(_SPEC, shown, f"spec of '{name}' must equal the fixed value"))
    return errors + validate_condition_types(schema["status"], _STATUS)


def _validate_spec(name: str, spec: Object) -> ErrorList:
    errors = _validate_precedence(name, spec.get("matchingPrecedence", 0), _SPEC.child("matchingPrecedence"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = internal_text("flowcontrol.FlowDistinguisherMethod", method)
        errors.append(field.not_supported(_SPEC.child("distinguisherMethod", "type"), shown, _METHODS))
    level, path = spec["priorityLevelConfiguration"].get("name", ""), _SPEC.child("priorityLevelConfiguration", "name")
    if level:
        errors += messages(path, level, names.name_is_dns_subdomain(level))
    else:
        errors.append(field.required(path, "must reference a priority level"))
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += _validate_rule(rule, _SPEC.child("rules").index(i))
    return errors


def _validate_precedence(name: str, precedence: int, path: Path) -> ErrorList:
    errors: ErrorList = []
    if precedence <= 0:
        errors.append(field.invalid(path, precedence, "must be a positive value"))
    if precedence > _HIGHEST_PRECEDENCE:
        errors.append(field.invalid(path, precedence, f"must not be greater than {_HIGHEST_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(field.invalid(path, precedence, detail))
    return errors


def _validate_rule(rule: Mapping[str, Any], path: Path) -> ErrorList:
    subjects = rule.get("subjects") or ()
    resources, urls = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    errors: ErrorList = []
    for i, subject in enumerate(subjects):
        errors += _validate_subject(subject, path.child("subjects").index(i))
    if not subjects:
        errors.append(field.required(path.child("subjects"), "subjects must contain at least one value"))
    if not resources and not urls:
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(field.required(path, detail))
    for i, part in enumerate(resources):
        errors += _validate_resources(part, path.child("resourceRules").index(i))
    for i, part in enumerate(urls):
        errors += _validate_urls(part, path.child("nonResourceRules").index(i))
    return errors


def _validate_subject(subject: Mapping[str, Any], path: Path) -> ErrorList:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [field.not_supported(path.child("kind"), kind, sorted(_SUBJECTS))]
    own = _SUBJECTS[kind]
    value = subject.get(own)
    if value is None:
        errors = [field.required(path.child(own), f"{own} is required when subject kind is '{kind}'")]
    else:
        errors = _SUBJECT_CHECKS[kind](value, path.child(own))
    for other, key in _SUBJECTS.items():
        if other != kind and subject.get(key) is not None:
            errors.append(field.forbidden(path.child(key), f"{key} is forbidden when subject kind is not '{other}'"))
    return errors


def _validate_named(subject: Mapping[str, Any], path: Path) -> ErrorList:
    return [] if subject.get("name") else [field.required(path.child("name"))]


def _validate_service_account(account: Mapping[str, Any], path: Path) -> ErrorList:
    errors = _validate_named(account, path)
    name, namespace = account.get("name", ""), account.get("namespace", "")
    if name and name != "*":
        errors += messages(path.child("name"), name, names.name_is_dns_subdomain(name))
    if not namespace:
        return [*errors, field.required(path.child("namespace"), "must specify namespace for service account")]
    return errors + messages(path.child("namespace"), namespace, names.name_is_dns_label(namespace))


_SUBJECT_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], Path], ErrorList]]] = {
    "ServiceAccount": _validate_service_account,
    "User": _validate_named,
    "Group": _validate_named,
}


def _validate_resources(rule: Mapping[str, Any], path: Path) -> ErrorList:
    errors = _validate_verbs(rule.get("verbs") or [], path.child("verbs"))
    for key, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(key) or []
        if not values:
            errors.append(field.required(path.child(key), f"resource rules must supply at least one {one}"))
        errors += _alone(values, many, path.child(key))
    namespaces, own = rule.get("namespaces") or [], path.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(field.required(own, detail))
    elif "*" in namespaces:
        errors += _alone(namespaces, "namespaces", own)
    else:
        for i, name in enumerate(namespaces):
            found = [
                f"each member of this list must be '*' or a DNS-1123 label; {text}"
                for text in names.name_is_dns_label(name)
            ]
            errors += messages(own.index(i), name, found)
    return errors


def _validate_urls(rule: Mapping[str, Any], path: Path) -> ErrorList:
    errors = _validate_verbs(rule.get("verbs") or [], path.child("verbs"))
    urls, own = rule.get("nonResourceURLs") or [], path.child("nonResourceURLs")
    if not urls:
        errors.append(field.required(own, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        errors += _alone(urls, "non-resource URLs", own)
    else:
        for i, url in enumerate(urls):
            if problem := _url_problem(url):
                errors.append(field.invalid(own.index(i), url, problem))
    return errors


def _url_problem(url: str) -> str:
    """Say what is wrong with the path of a URL; nothing where it is sound."""
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _validate_verbs(verbs: Sequence[str], path: Path) -> ErrorList:
    if not verbs:
        return [field.required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return _alone(verbs, "verbs", path)
    return [] if set(verbs) <= set(_VERBS) else [field.not_supported(path, verbs, _VERBS)]


def _alone(values: Sequence[str], what: str, path: Path) -> ErrorList:
    """Where everything is meant, nothing else may be named."""
    if len(values) > 1 and "*" in values:
        return [field.invalid(path, values, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_update(new: Object, _old: Object, context: Context) -> ErrorList:
    return _validate(new, context)


def _validate_status(new: Object, _old: Object, _context: Context) -> ErrorList:
    return validate_condition_types(new["status"], _STATUS)


FLOW_SCHEMA: Final = Strategy(
    resource="flowschemas.flowcontrol.apiserver.k8s.io",
    validate=_validate,
    update=update_of_spec(_validate_update),
    default=_default,
    prepare=first_generation_without_status({}),
    subresources={"status": UpdateStrategy(_validate_status, keep_all_but_status, (("metadata",), ("spec",)))},
)
