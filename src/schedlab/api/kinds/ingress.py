"""Ingresses.

Mirrors: pkg/registry/networking/ingress/strategy.go, pkg/apis/networking/validation/validation.go (ValidateIngress…)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.kinds.plain import first_generation_without_status, update_of_spec, update_of_status
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.api.validation.references import validate_typed_reference
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import check_ip_legacy, ip_warnings, parse_ip

_SPEC: Final = Path("spec")
_LOAD_BALANCER: Final = Path("status", "loadBalancer", "ingress")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is allowed, which depends on what is stored already."""

    any_secret_name: bool = False
    any_wildcard_rule: bool = False
    relaxed_service_names: bool = False


def _validate(ingress: Object, context: Context) -> ErrorList:
    relaxed = context.features.enabled("RelaxedServiceNameValidation")
    errors = _validate_both(ingress, _Rules(relaxed_service_names=relaxed))
    annotation = (ingress["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = ingress["spec"].get("ingressClassName")
    if annotation is None:
        return errors
    if name is not None and annotation != name:
        path = Path("annotations", _CLASS_ANNOTATION)
        errors.append(field.invalid(path, annotation, "must match `ingressClassName` when both are specified"))
    if not errors and name is None:
        advice = "is deprecated, please use 'spec.ingressClassName' instead"
        context.warnings.append(f'annotation "{_CLASS_ANNOTATION}" {advice}')
    return errors


def _validate_both(ingress: Object, rules: _Rules) -> ErrorList:
    errors = meta.validate(ingress["metadata"], names.name_is_dns_subdomain, namespaced=True)
    spec = ingress["spec"]
    backend, given = spec.get("defaultBackend"), spec.get("rules") or ()
    if not given and backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        errors.append(field.invalid(_SPEC, spec.get("rules"), detail))
    if backend is not None:
        errors += _validate_backend(backend, _SPEC.child("defaultBackend"), rules)
    for i, rule in enumerate(given):
        errors += _validate_rule(rule, _SPEC.child("rules").index(i), rules)
    for i, tls in enumerate(spec.get("tls") or ()):
        errors += _validate_tls(tls, _SPEC.child("tls").index(i), rules)
    name = spec.get("ingressClassName")
    if name is not None:
        errors += messages(_SPEC.child("ingressClassName"), name, names.name_is_dns_subdomain(name))
    return errors


def _validate_host(host: str, path: Path) -> ErrorList:
    check = names.check_wildcard_dns1123_subdomain if "*" in host else names.check_dns1123_subdomain
    return messages(path, host, check(host))


def _validate_rule(rule: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    host = rule.get("host", "")
    errors: ErrorList = []
    if host:
        errors += _refuse_address(host, path.child("host")) + _validate_host(host, path.child("host"))
    return errors if "*" in host and rules.any_wildcard_rule else errors + _validate_paths(rule, path, rules)


def _refuse_address(host: str, path: Path) -> ErrorList:
    if parse_ip(host) is None:
        return []
    return [field.invalid(path, host, "must be a DNS name, not an IP address")]


def _validate_paths(rule: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    http = rule.get("http")
    if http is None:
        return []
    own = path.child("http", "paths")
    paths = http.get("paths") or ()
    errors: ErrorList = [] if paths else [field.required(own)]
    for i, entry in enumerate(paths):
        errors += _validate_path(entry, own.index(i), rules)
    return errors


def _validate_path(entry: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    kind, text, own = entry.get("pathType"), entry.get("path", ""), path.child("path")
    if kind is None:
        return [field.required(path.child("pathType"), "pathType must be specified")]
    errors: ErrorList = []
    if kind not in _PATH_TYPES:
        errors.append(field.not_supported(path.child("pathType"), kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(field.invalid(own, text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [field.invalid(own, text, f"must not contain '{bad}'") for bad in _BAD_SEQUENCES if bad in text]
        errors += [field.invalid(own, text, f"cannot end with '{bad}'") for bad in _BAD_ENDS if text.endswith(bad)]
    return errors + _validate_backend(entry.get("backend") or {}, path.child("backend"), rules)


def _validate_backend(backend: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [field.invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_typed_reference(resource, path.child("resource"))
    if service is None:
        return [field.invalid(path, "", "resource or service backend is required")]
    name, own = service.get("name", ""), path.child("service")
    check = names.name_is_dns_label if rules.relaxed_service_names else names.name_is_dns1035_label
    errors = messages(own.child("name"), name, check(name)) if name else [field.required(own.child("name"))]
    port = service.get("port") or {}
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        errors.append(field.invalid(path, "", "cannot set both port name & port number"))
    elif port_name:
        errors += messages(own.child("port", "name"), port_name, names.check_port_name(port_name))
    elif number:
        errors += messages(own.child("port", "number"), number, names.check_port_number(number))
    else:
        errors.append(field.required(path, "port name or number is required"))
    return errors


def _validate_tls(tls: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    errors: ErrorList = []
    for i, host in enumerate(tls.get("hosts") or ()):
        errors += _validate_host(host, path.child("hosts").index(i))
    secret = tls.get("secretName", "")
    if secret and not rules.any_secret_name:
        errors += messages(path.child("secretName"), secret, names.name_is_dns_subdomain(secret))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + _validate_both(new, _rules_after(old["spec"], context))


def _rules_after(spec: Object, context: Context) -> _Rules:
    """Allow what the stored object has already."""
    secrets = [tls.get("secretName", "") for tls in spec.get("tls") or ()]
    wildcards = [rule for rule in spec.get("rules") or () if "*" in rule.get("host", "")]
    relaxed = context.features.enabled("RelaxedServiceNameValidation")
    return _Rules(
        any_secret_name=any(name and names.name_is_dns_subdomain(name) for name in secrets),
        any_wildcard_rule=any(_validate_paths(rule, _SPEC, _Rules()) for rule in wildcards),
        relaxed_service_names=relaxed
        or any(
            not names.name_is_dns_label(name) and names.name_is_dns1035_label(name) for name in _service_names(spec)
        ),
    )


def _service_names(spec: Object) -> Iterator[str]:
    paths = [path for rule in spec.get("rules") or () for path in (rule.get("http") or {}).get("paths") or ()]
    for backend in (spec.get("defaultBackend") or {}, *(path.get("backend") or {} for path in paths)):
        if backend.get("service") is not None:
            yield backend["service"].get("name", "")


def _validate_status(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    entries = _entries(new)
    known = [entry["ip"] for entry in _entries(old) if entry.get("ip")]
    strict = context.features.enabled("StrictIPCIDRValidation")
    for i, entry in enumerate(entries):
        path = _LOAD_BALANCER.index(i)
        if address := entry.get("ip"):
            errors += check_ip_legacy(path.child("ip"), address, strict=strict, old_values=known)
        if host := entry.get("hostname"):
            errors += dns_subdomain(host, path.child("hostname"))
            errors += _refuse_address(host, path.child("hostname"))
    if not errors:
        for i, entry in enumerate(entries):
            context.warnings.extend(ip_warnings(_LOAD_BALANCER.index(i), entry.get("ip", "")))
    return errors


def _entries(ingress: Object) -> Sequence[Mapping[str, Any]]:
    return (ingress["status"].get("loadBalancer") or {}).get("ingress") or ()


INGRESS: Final = Strategy(
    resource="ingresses.networking.k8s.io",
    validate=_validate,
    update=update_of_spec(_validate_update),
    prepare=first_generation_without_status({"loadBalancer": {}}),
    subresources={"status": update_of_status(_validate_status)},
)
