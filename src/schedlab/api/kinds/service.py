"""Services.

Mirrors: pkg/registry/core/service/strategy.go, pkg/apis/core/v1/defaults.go (v1.36)
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import metadata_only, metadata_update
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
from schedlab.apimachinery import names
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
    if "externalTrafficPolicy" not in spec and _is_external(spec):
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


def _is_external(spec: Object) -> bool:
    return spec["type"] in _EXTERNAL_TYPES or (spec["type"] == "ClusterIP" and bool(spec.get("externalIPs")))


def _prepare(service: Object, _context: Context) -> None:
    service["status"] = {"loadBalancer": {}}


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)


def _field_values(service: StoredObject) -> dict[str, str]:
    spec = service.raw["spec"]
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


SERVICE: Final = Strategy(
    resource="services",
    validate=metadata_only(names.name_is_dns1035_label, namespaced=True),
    update=UpdateStrategy(metadata_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(metadata_update, _prepare_status, RESETS_SPEC)},
    allow_create_on_update=True,
    returns_deleted=True,
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"))),
    field_values=_field_values,
)
