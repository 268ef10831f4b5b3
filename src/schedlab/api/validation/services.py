"""Checks of services.

Mirrors: pkg/apis/core/validation/validation.go (validateService, ValidateServiceUpdate and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.cluster_ips import is_headless, validate_cluster_ips, validate_cluster_ips_update
from schedlab.api.validation.common import dns_label, dns_subdomain, messages, one_of
from schedlab.api.validation.pods.handlers import port_or_name
from schedlab.apimachinery import field, ip, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_ANNOTATIONS: Final = Path("metadata", "annotations")
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_AFFINITIES: Final = ("ClientIP", "None")
_POLICIES: Final = ("Cluster", "Local")
_MODES: Final = ("Proxy", "VIP")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_AFFINITY_SECONDS_MAX: Final = 86_400
_ONLY_LOAD_BALANCERS: Final = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"


def needs_cluster_ip(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_port(spec: Mapping[str, Any]) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True) is not False


def needs_health_check(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_external(spec: Mapping[str, Any]) -> bool:
    """Whether a service can be reached from outside."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def validate_new_service(service: Object, context: Context) -> ErrorList:
    relaxed = context.features.enabled("RelaxedServiceNameValidation")
    check = names.name_is_dns_label if relaxed else names.name_is_dns1035_label
    return meta.validate(service["metadata"], check, namespaced=True) + _validate(service, None, context)


def validate_service_update(new: Object, old: Object, context: Context) -> ErrorList:
    spec, before = new["spec"], old["spec"]
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_cluster_ips_update(spec, before)
    balances = spec.get("type") == before.get("type") == "LoadBalancer"
    if balances and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        detail = "may not change once set"
        errors.append(field.invalid(_SPEC.child("loadBalancerClass"), spec.get("loadBalancerClass"), detail))
    errors += _validate_balancer_class(spec)
    checked = needs_health_check(spec) and needs_health_check(before)
    if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        errors.append(field.forbidden(_SPEC.child("healthCheckNodePort"), names.FIELD_IMMUTABLE))
    return errors + _validate(new, old, context)


def _validate(service: Object, old: Object | None, context: Context) -> ErrorList:
    spec, before = service["spec"], old["spec"] if old is not None else {}
    annotations = service["metadata"].get("annotations") or {}
    errors = _validate_topology(annotations)
    errors += _validate_type_fields(spec)
    ports = spec.get("ports") or ()
    seen: list[str] = []
    for i, port in enumerate(ports):
        errors += _validate_port(port, _SPEC.child("ports").index(i), seen, named=len(ports) > 1)
    errors += names.validate_labels(spec.get("selector"), _SPEC.child("selector"))
    errors += _validate_session_affinity(spec)
    strict = context.features.enabled("StrictIPCIDRValidation")
    errors += validate_cluster_ips(spec, before, strict=strict)
    errors += _validate_external_ips(spec, before, strict=strict)
    errors += _validate_choice(spec.get("type", ""), _TYPES, _SPEC.child("type"))
    errors += _validate_port_numbers(spec)
    errors += _validate_source_ranges(service, old, strict=strict)
    balances = spec.get("type") == "LoadBalancer"
    if "allocateLoadBalancerNodePorts" in spec and not balances:
        errors.append(field.forbidden(_SPEC.child("allocateLoadBalancerNodePorts"), _ONLY_LOAD_BALANCERS))
    if balances and "allocateLoadBalancerNodePorts" not in spec:
        errors.append(field.required(Path("allocateLoadBalancerNodePorts")))
    errors += _validate_balancer_class(spec)
    return errors + _validate_traffic(spec)


def _validate_topology(annotations: Mapping[str, str]) -> ErrorList:
    if _MODE not in annotations or _HINTS not in annotations or annotations[_MODE] == annotations[_HINTS]:
        return []
    detail = f"must match annotations[{_HINTS}] when both are specified"
    return [field.invalid(_ANNOTATIONS.key(_MODE), annotations[_MODE], detail)]


def _validate_type_fields(spec: Mapping[str, Any]) -> ErrorList:
    """Check what the types of services must and must not have."""
    kind, headless = spec.get("type"), is_headless(spec)
    errors: ErrorList = []
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(field.required(_SPEC.child("ports")))
    if kind in ("LoadBalancer", "NodePort") and headless:
        detail = f"may not be set to 'None' for {kind} services"
        errors.append(field.invalid(_SPEC.child("clusterIPs").index(0), "None", detail))
    if kind == "ExternalName":
        given = [key for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(key)]
        errors += [field.forbidden(_SPEC.child(key), "may not be set for ExternalName services") for key in given]
        name = spec.get("externalName", "").removesuffix(".")
        path = _SPEC.child("externalName")
        errors += dns_subdomain(name, path) if name else [field.required(path)]
    return errors


def _validate_port(port: Mapping[str, Any], path: Path, seen: list[str], *, named: bool) -> ErrorList:
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    errors: ErrorList = []
    if name:
        errors += dns_label(name, path.child("name"))
        if name in seen:
            errors.append(field.duplicate(path.child("name"), name))
        seen.append(name)
    elif named:
        errors.append(field.required(path.child("name")))
    errors += messages(path.child("port"), number, names.check_port_number(number))
    errors += _validate_choice(protocol, _PROTOCOLS, path.child("protocol"))
    errors += port_or_name(port.get("targetPort", 0), path.child("targetPort"))
    application = port.get("appProtocol")
    if application is not None:
        errors += messages(path.child("appProtocol"), application, names.check_qualified_name(application))
    return errors


def _validate_choice(value: str, allowed: Sequence[str], path: Path) -> ErrorList:
    return one_of(value, allowed, path) if value else [field.required(path)]


def _validate_session_affinity(spec: Mapping[str, Any]) -> ErrorList:
    affinity, path = spec.get("sessionAffinity", ""), _SPEC.child("sessionAffinityConfig")
    config = spec.get("sessionAffinityConfig")
    errors = _validate_choice(affinity, _AFFINITIES, _SPEC.child("sessionAffinity"))
    if affinity == "None" and config is not None:
        return [*errors, field.forbidden(path, "must not be set when session affinity is None")]
    if affinity != "ClientIP":
        return errors
    missing = "when session affinity type is ClientIP"
    if config is None:
        return [*errors, field.required(path, missing)]
    client = config.get("clientIP")
    if client is None:
        return [*errors, field.required(path.child("clientIP"), missing)]
    seconds, own = client.get("timeoutSeconds"), path.child("clientIP", "timeoutSeconds")
    if seconds is None:
        return [*errors, field.required(own, missing)]
    if 0 < seconds <= _AFFINITY_SECONDS_MAX:
        return errors
    return [*errors, field.invalid(own, seconds, f"must be greater than 0 and less than {_AFFINITY_SECONDS_MAX}")]


def _validate_external_ips(spec: Mapping[str, Any], before: Mapping[str, Any], *, strict: bool) -> ErrorList:
    errors: ErrorList = []
    known = before.get("externalIPs") or ()
    for i, address in enumerate(spec.get("externalIPs") or ()):
        path = _SPEC.child("externalIPs").index(i)
        found = ip.check_ip_legacy(path, address, strict=strict, old_values=known)
        errors += found or validate_endpoint_ip(address, path)
    return errors


def validate_endpoint_ip(address: str, path: Path) -> ErrorList:
    """An address that something else than the asker itself can have."""
    parsed = ip.parse_ip(address)
    if parsed is None:
        return [field.invalid(path, address, "must be a valid IP address")]
    errors: ErrorList = []
    if parsed.is_unspecified:
        errors.append(field.invalid(path, address, f"may not be unspecified ({address})"))
    if parsed.is_loopback:
        errors.append(field.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if parsed.is_link_local:
        detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errors.append(field.invalid(path, address, detail))
    if parsed.is_multicast and _is_link_local_multicast(address):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(field.invalid(path, address, detail))
    return errors


def _is_link_local_multicast(address: str) -> bool:
    parsed = ip.parse_ip(address)
    if parsed is None:
        return False
    packed = parsed.packed
    return packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _validate_port_numbers(spec: Mapping[str, Any]) -> ErrorList:
    """No port twice, and no port of nodes where none is used."""
    ports, path = spec.get("ports") or (), _SPEC.child("ports")
    errors: ErrorList = []
    if spec.get("type") == "ClusterIP":
        given = [i for i, port in enumerate(ports) if port.get("nodePort")]
        detail = "may not be used when `type` is 'ClusterIP'"
        errors += [field.forbidden(path.index(i).child("nodePort"), detail) for i in given]
    for key in ("nodePort", "port"):
        seen: list[tuple[str, int]] = []
        for i, port in enumerate(ports):
            own = (port.get("protocol", ""), port.get(key, 0))
            if own in seen and key == "port":
                shown = internal_text("core.ServicePort", {"protocol": own[0], "port": own[1]})
                errors.append(field.duplicate(path.index(i), shown))
            elif own in seen and own[1]:
                errors.append(field.duplicate(path.index(i).child("nodePort"), own[1]))
            seen.append(own)
    return errors


def _validate_source_ranges(service: Object, old: Object | None, *, strict: bool) -> ErrorList:
    spec = service["spec"]
    balances = spec.get("type") == "LoadBalancer"
    errors: ErrorList = []
    if ranges := spec.get("loadBalancerSourceRanges"):
        path = _SPEC.child("LoadBalancerSourceRanges")
        if not balances:
            errors.append(field.forbidden(path, _ONLY_LOAD_BALANCERS))
        before = (old or {"spec": {}})["spec"].get("loadBalancerSourceRanges") or ()
        known = [text.strip() for text in before]
        for i, text in enumerate(ranges):
            errors += ip.check_cidr_legacy(path.index(i), text.strip(), strict=strict, old_values=known)
        return errors
    given, known_text = (_annotation(each) for each in (service, old))
    if given is None:
        return errors
    path = _ANNOTATIONS.key(_SOURCE_RANGES)
    if not balances:
        errors.append(field.forbidden(path, _ONLY_LOAD_BALANCERS))
    if given != known_text and given.strip():
        for text in given.strip().split(","):
            errors += ip.check_cidr_legacy(path, text.strip(), strict=strict)
    return errors


def _annotation(service: Object | None) -> str | None:
    if service is None:
        return None
    found: str | None = (service["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    return found


def _validate_balancer_class(spec: Mapping[str, Any]) -> ErrorList:
    name, path = spec.get("loadBalancerClass"), _SPEC.child("loadBalancerClass")
    if name is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [field.forbidden(path, _ONLY_LOAD_BALANCERS)]
    return messages(path, name, names.check_qualified_name(name))


def _validate_traffic(spec: Mapping[str, Any]) -> ErrorList:
    """Check where traffic goes: to every end, or to near ones only."""
    external, path = spec.get("externalTrafficPolicy", ""), _SPEC.child("externalTrafficPolicy")
    errors: ErrorList = []
    if is_external(spec):
        errors += _validate_choice(external, _POLICIES, path)
    elif external:
        errors.append(field.invalid(path, external, "may only be set for externally-accessible services"))
    number, path = spec.get("healthCheckNodePort", 0), _SPEC.child("healthCheckNodePort")
    if not needs_health_check(spec):
        if number:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(field.invalid(path, number, detail))
    elif not number:
        errors.append(field.required(path))
    else:
        errors += messages(path, number, names.check_port_number(number))
    internal, path = spec.get("internalTrafficPolicy"), _SPEC.child("internalTrafficPolicy")
    if internal is not None:
        errors += one_of(internal, _POLICIES, path)
    elif needs_cluster_ip(spec):
        errors.append(field.required(path))
    distribution = spec.get("trafficDistribution")
    if distribution is not None:
        errors += one_of(distribution, _DISTRIBUTIONS, _SPEC.child("trafficDistribution"))
    return errors


def validate_service_status(new: Object, old: Object, context: Context) -> ErrorList:
    """Check the addresses that a load balancer has."""
    errors = meta.validate_update(new["metadata"], old["metadata"])
    path = Path("status", "loadBalancer", "ingress")
    ingress, before = ((each["status"].get("loadBalancer") or {}).get("ingress") or () for each in (new, old))
    if ingress and new["spec"].get("type") != "LoadBalancer":
        return [*errors, field.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = [entry["ip"] for entry in before if entry.get("ip")]
    strict = context.features.enabled("StrictIPCIDRValidation")
    for i, entry in enumerate(ingress):
        errors += _validate_ingress(entry, path.index(i), known, strict=strict)
    return errors


def _validate_ingress(entry: Mapping[str, Any], path: Path, known: Sequence[str], *, strict: bool) -> ErrorList:
    address, mode, host = entry.get("ip", ""), entry.get("ipMode"), entry.get("hostname", "")
    errors: ErrorList = []
    if address:
        errors += ip.check_ip_legacy(path.child("ip"), address, strict=strict, old_values=known)
    if mode is None:
        if address:
            errors.append(field.required(path.child("ipMode"), "must be specified when `ip` is set"))
    elif not address:
        errors.append(field.forbidden(path.child("ipMode"), "may not be specified when `ip` is not set"))
    else:
        errors += one_of(mode, _MODES, path.child("ipMode"))
    if host:
        errors += dns_subdomain(host, path.child("hostname"))
        if ip.parse_ip(host) is not None:
            errors.append(field.invalid(path.child("hostname"), host, "must be a DNS name, not an IP address"))
    return errors
