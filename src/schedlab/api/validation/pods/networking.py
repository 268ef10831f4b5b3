"""Checks of a pod's names and of how it resolves others.

Mirrors: pkg/apis/core/validation/validation.go (validatePodDNSConfig, ValidateHostAliases, validatePodHostName,
validatePodHostNetworkDeps) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.api.validation.pods.rules import PodRules, Spec
from schedlab.apimachinery import field, ip, names
from schedlab.apimachinery.field import ErrorList, Path

_NAME_SERVERS_MAX: Final = 3
_SEARCHES_MAX: Final = 32
_SEARCH_LENGTH_MAX: Final = 2048
_HOSTNAME_LENGTH_MAX: Final = 64


def validate_dns_config(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    config: Mapping[str, Any] | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [field.required(path.child("nameservers"), detail)]
    if config is None:
        return []
    errors: ErrorList = []
    servers = config.get("nameservers") or ()
    if len(servers) > _NAME_SERVERS_MAX:
        detail = f"must not have more than {_NAME_SERVERS_MAX} nameservers"
        errors.append(field.invalid(path.child("nameservers"), servers, detail))
    strict = rules.features.enabled("StrictIPCIDRValidation")
    for i, server in enumerate(servers):
        errors += ip.check_ip_legacy(path.child("nameservers").index(i), server, strict=strict)
    errors += _validate_searches(config.get("searches") or (), path.child("searches"), rules)
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(field.required(path.child("options").index(i), "must not be empty"))
    return errors


def _validate_searches(searches: Sequence[str], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    if len(searches) > _SEARCHES_MAX:
        errors.append(field.invalid(path, searches, f"must not have more than {_SEARCHES_MAX} search paths"))
    if names.byte_length(" ".join(searches)) > _SEARCH_LENGTH_MAX:
        detail = f"must not have more than {_SEARCH_LENGTH_MAX} characters (including spaces) in the search list"
        errors.append(field.invalid(path, searches, detail))
    relaxed = rules.features.enabled("RelaxedDNSSearchValidation")
    check = names.check_dns1123_subdomain_with_underscore if relaxed else names.check_dns1123_subdomain
    for i, search in enumerate(searches):
        if not relaxed or search != ".":
            domain = search.removesuffix(".")
            errors += messages(path.index(i), domain, check(domain))
    return errors


def validate_host_aliases(aliases: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    strict = rules.features.enabled("StrictIPCIDRValidation")
    for i, alias in enumerate(aliases):
        errors += ip.check_ip_legacy(path.index(i).child("ip"), alias.get("ip", ""), strict=strict)
        for j, name in enumerate(alias.get("hostnames") or ()):
            errors += dns_subdomain(name, path.index(i).child("hostnames").index(j))
    return errors


def validate_hostname_override(spec: Spec, path: Path) -> ErrorList:
    name, own = spec.get("hostnameOverride"), path.child("hostnameOverride")
    if name is None:
        return []
    errors: ErrorList = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(field.forbidden(own, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(field.forbidden(own, "may not be specified when hostNetwork is true"))
    if names.byte_length(name) > _HOSTNAME_LENGTH_MAX:
        errors.append(field.too_long(own, _HOSTNAME_LENGTH_MAX))
    return errors + dns_subdomain(name, own)


def validate_host_network_ports(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    """In the host's network a port of a container is one of the host."""
    errors: ErrorList = []
    if not spec.get("hostNetwork"):
        return errors
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            of_host = port.get("hostPort", 0)
            if (rules.is_pod or of_host) and of_host != port.get("containerPort", 0):
                own = path.child("containers").index(i).child("ports").index(j).child("hostPort")
                detail = "must match `containerPort` when `hostNetwork` is true"
                errors.append(field.invalid(own, of_host, detail))
    return errors
