"""Checks of environment variables and of references to fields of the pod.

Mirrors: pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom and around),
pkg/apis/core/pods/helpers.go (ConvertDownwardAPIFieldLabel), pkg/fieldpath (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import dns_label, messages, name
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.volume_sources import no_backsteps
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

#: Fields that variables and files may refer to.
ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS: Final = frozenset(
    (*ENV_FIELDS, *FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
_OLD_FIELDS: Final = {"spec.host": "spec.nodeName"}
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS: Final[Sequence[str]] = ("1m", "1")
_BYTE_DIVISORS: Final[Sequence[str]] = (
    "1",
    "1k",
    "1M",
    "1G",
    "1T",
    "1P",
    "1E",
    "1Ki",
    "1Mi",
    "1Gi",
    "1Ti",
    "1Pi",
    "1Ei",
)
_MORE_THAN_ONE: Final = "may not have more than one field specified at a time"


def validate_env(variables: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    for i, variable in enumerate(variables):
        own = variable.get("name", "")
        if not own:
            errors.append(field.required(path.index(i).child("name")))
        elif found := _check_name(rules)(own):
            errors += messages(path.index(i).child("name"), own, found)
        if "valueFrom" in variable:
            errors += _validate_source(variable, path.index(i).child("valueFrom"), rules)
    return errors


def _check_name(rules: PodRules) -> Callable[[str], list[str]]:
    relaxed = rules.features.enabled("RelaxedEnvironmentVariableValidation")
    return names.check_relaxed_env_var_name if relaxed else names.check_env_var_name


def _validate_source(variable: Mapping[str, Any], path: Path, rules: PodRules) -> ErrorList:
    source = variable["valueFrom"]
    errors: ErrorList = []
    count = 0
    for key, check in _SOURCES.items():
        if key in source:
            count += 1
            errors += check(source[key], path.child(key))
    if not count:
        with_files = rules.features.enabled("EnvFiles")
        last = (
            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`" if with_files else "`configMapKeyRef` or `secretKeyRef`"
        )
        errors.append(field.invalid(path, "", f"must specify one of: `fieldRef`, `resourceFieldRef`, {last}"))
    elif variable.get("value"):
        errors.append(field.invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(field.invalid(path, "", _MORE_THAN_ONE))
    return errors


def validate_field_ref(reference: Mapping[str, Any], path: Path, allowed: Sequence[str]) -> ErrorList:
    """Check a reference to a field of the pod; labels and annotations may be referred to one by one."""
    for key in ("apiVersion", "fieldPath"):
        if not reference.get(key):
            return [field.required(path.child(key))]
    label = reference["fieldPath"]
    what, key, subscripted = _split_subscript(label)
    if problem := _conversion_problem(reference["apiVersion"], label, what, subscripted=subscripted):
        return [field.invalid(path.child("fieldPath"), label, f"error converting fieldPath: {problem}")]
    if subscripted:
        shown = key.lower() if what == "metadata.annotations" else key
        return messages(path, shown, names.check_qualified_name(shown))
    converted = _OLD_FIELDS.get(label, label)
    return [] if converted in allowed else [field.not_supported(path.child("fieldPath"), converted, allowed)]


def _split_subscript(label: str) -> tuple[str, str, bool]:
    """Split metadata.labels['key'] into the field and the key."""
    what, bracket, key = label.removesuffix("']").partition("['")
    if not label.endswith("']") or not bracket or not what:
        return label, "", False
    return what, key, True


def _conversion_problem(version: str, label: str, what: str, *, subscripted: bool) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        known = what in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {label}"
    return "" if label in _KNOWN_FIELDS or label in _OLD_FIELDS else f"field label not supported: {label}"


def _env_field_ref(reference: Mapping[str, Any], path: Path) -> ErrorList:
    return validate_field_ref(reference, path, ENV_FIELDS)


def validate_resource_ref(reference: Mapping[str, Any], path: Path, *, in_file: bool = False) -> ErrorList:
    """Check a reference to the requests or limits of a container; files must name the container."""
    resource = reference.get("resource", "")
    errors: ErrorList = []
    if in_file and not reference.get("containerName"):
        errors.append(field.required(path.child("containerName")))
    elif not resource:
        errors.append(field.required(path.child("resource")))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(field.not_supported(path.child("resource"), resource, _RESOURCES))
    return errors + _validate_divisor(resource, reference.get("divisor", "0"), path.child("divisor"))


def _validate_divisor(resource: str, text: str, path: Path) -> ErrorList:
    divisor = parse_cached(text)
    kind = resource.partition(".")[2]
    if not divisor.sign:
        return []
    if resource.startswith(_HUGE_PAGES):
        allowed, what = _BYTE_DIVISORS, "hugepages"
    elif resource not in _RESOURCES:
        return []
    elif kind == "cpu":
        allowed, what = _CPU_DIVISORS, "cpu"
    else:
        allowed, what = _BYTE_DIVISORS, kind.replace("ephemeral-storage", "local ephemeral storage")
    if str(divisor) in allowed:
        return []
    listed = " and ".join(allowed) if kind == "cpu" else ", ".join(allowed)
    return [field.invalid(path, resource, f"only divisor's values {listed} are supported with the {what} resource")]


def _env_resource_ref(reference: Mapping[str, Any], path: Path) -> ErrorList:
    return validate_resource_ref(reference, path)


def _key_ref(reference: Mapping[str, Any], path: Path) -> ErrorList:
    errors = name(reference.get("name", ""), names.name_is_dns_subdomain, path.child("name"))
    key = reference.get("key", "")
    return errors + (
        name(key, names.check_config_map_key, path.child("key")) if key else [field.required(path.child("key"))]
    )


def _file_key_ref(reference: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    for key, check in _FILE_KEY_CHECKS.items():
        value = reference.get(key, "")
        errors += check(value, path.child(key)) if value else [field.required(path.child(key))]
    return errors


def _relaxed_name(value: str, path: Path) -> ErrorList:
    return name(value, names.check_relaxed_env_var_name, path)


_FILE_KEY_CHECKS: Final[Mapping[str, Callable[[str, Path], ErrorList]]] = {
    "key": _relaxed_name,
    "volumeName": dns_label,
    "path": no_backsteps,
}
_SOURCES: Final[Mapping[str, Callable[[Mapping[str, Any], Path], ErrorList]]] = {
    "fieldRef": _env_field_ref,
    "resourceFieldRef": _env_resource_ref,
    "configMapKeyRef": _key_ref,
    "secretKeyRef": _key_ref,
    "fileKeyRef": _file_key_ref,
}


def validate_env_from(sources: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    for i, source in enumerate(sources):
        own = path.index(i)
        if prefix := source.get("prefix"):
            errors += name(prefix, _check_name(rules), own.child("prefix"))
        given = [key for key in ("configMapRef", "secretRef") if key in source]
        for key in given:
            errors += _validate_env_holder(source[key].get("name", ""), own.child(key, "name"))
        if not given:
            errors.append(field.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(field.invalid(path, "", _MORE_THAN_ONE))
    return errors


def _validate_env_holder(holder: str, path: Path) -> ErrorList:
    if not holder:
        return [field.required(path)]
    return messages(path, holder, names.name_is_dns_subdomain(holder, prefix=True))
