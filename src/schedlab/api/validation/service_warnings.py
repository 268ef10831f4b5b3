"""Warnings about services.

Mirrors: pkg/api/service/warnings.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from schedlab.api.object import Object
from schedlab.api.validation.cluster_ips import NONE
from schedlab.apimachinery import ip
from schedlab.apimachinery.field import Path

_SPEC = Path("spec")
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"


def service_warnings(service: Object) -> list[str]:
    spec = service["spec"]
    kind, addresses = spec.get("type"), spec.get("externalIPs") or ()
    headless = kind == "ClusterIP" and spec.get("clusterIP") == NONE
    warnings: list[str] = []
    if _HINTS in (service["metadata"].get("annotations") or {}):
        warnings.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    if headless:
        ignored = (
            ("loadBalancerIP", spec.get("loadBalancerIP")),
            ("externalIPs", addresses),
            ("SessionAffinity", spec.get("sessionAffinity") != "None"),
        )
        warnings += [f"spec.{name} is ignored for headless services" for name, given in ignored if given]
    elif spec.get("clusterIP"):
        for i, address in enumerate(spec.get("clusterIPs") or ()):
            warnings += ip.ip_warnings(_SPEC.child("clusterIPs").index(i), address)
    for i, address in enumerate(addresses):
        warnings += ip.ip_warnings(_SPEC.child("externalIPs").index(i), address)
    if addresses and not headless and kind != "ExternalName":
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        warnings += ip.ip_warnings(_SPEC.child("loadBalancerIP"), spec["loadBalancerIP"])
    for i, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        warnings += ip.cidr_warnings(_SPEC.child("loadBalancerSourceRanges").index(i), text)
    if kind == "ExternalName" and addresses:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings
