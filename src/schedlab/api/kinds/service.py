"""Services.

Mirrors: pkg/registry/core/service/strategy.go, pkg/apis/core/v1/defaults.go (v1.36)
Differs: nothing; the registry gives out addresses and ports of nodes.
"""

from __future__ import annotations

from typing import Final

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
from schedlab.api.validation.service_warnings import service_warnings
from schedlab.api.validation.services import (
    is_external,
    needs_cluster_ip,
    needs_health_check,
    needs_node_port,
    validate_new_service,
    validate_service_status,
    validate_service_update,
)
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.field_selectors import FieldLabels

_AFFINITY_SECONDS: Final = 10_800
_EXTERNAL_TYPES: Final = ("NodePort", "LoadBalancer")


def _default(service: Object, _context: Context) -> None:
    spec = service["spec"]
    _default_affinity(spec)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if "externalTrafficPolicy" not in spec and is_external(spec):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and kind in ("ClusterIP", *_EXTERNAL_TYPES):
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _default_affinity(spec: Object) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _prepare(service: Object, _context: Context) -> None:
    service["status"] = {"loadBalancer": {}}


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)
    _drop_what_the_type_lost(new["spec"], old["spec"])


def _drop_what_the_type_lost(spec: Object, old: Object) -> None:
    """Drop what only the old type had, if it came from us rather than from this update."""
    if needs_cluster_ip(old) and not needs_cluster_ip(spec):
        if spec.get("clusterIPs") == old.get("clusterIPs"):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        _drop_unchanged(spec, old, "ipFamilies", "ipFamilyPolicy")
    if needs_node_port(old) and not needs_node_port(spec) and _node_ports(spec) == _node_ports(old):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(old) and not needs_health_check(spec):
        _drop_unchanged(spec, old, "healthCheckNodePort")
    if old["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_unchanged(spec, old, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if is_external(old) and not is_external(spec):
        _drop_unchanged(spec, old, "externalTrafficPolicy")


def _drop_unchanged(spec: Object, old: Object, *keys: str) -> None:
    for key in keys:
        if spec.get(key) == old.get(key):
            spec.pop(key, None)


def _node_ports(spec: Object) -> list[int]:
    """Return the ports of nodes in an order in which they can be compared."""
    return sorted(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)


def _field_values(service: StoredObject) -> dict[str, str]:
    spec = service.raw["spec"]
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


def _validate(service: Object, context: Context) -> ErrorList:
    errors = validate_new_service(service, context)
    if not errors:
        context.warnings.extend(service_warnings(service))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = validate_service_update(new, old, context)
    if not errors:
        context.warnings.extend(service_warnings(new))
    return errors


SERVICE: Final = Strategy(
    resource="services",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(validate_service_status, _prepare_status, RESETS_SPEC)},
    allow_create_on_update=True,
    returns_deleted=True,
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"))),
    field_values=_field_values,
)
