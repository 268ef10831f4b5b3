"""What an API server creates by itself when it starts on an empty store.

Mirrors: pkg/controlplane/controller/{systemnamespaces,kubernetesservice}, pkg/registry/{scheduling,flowcontrol}/rest
(v1.36)
Differs: what was changed later is not put right again, and flow schemas have no condition that tells whether their
priority level exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.rules import flow_control
from schedlab.apimachinery.errors import NotFound
from schedlab.registry.registry import Registry
from schedlab.registry.request import WriteOptions

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
SERVICE_IP: Final = "10.96.0.1"

_PRIORITY_CLASSES: Final = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")
_FLOW_CONTROL: Final = (
    ("prioritylevelconfigurations", flow_control.SUGGESTED_LEVELS),
    ("flowschemas", flow_control.SUGGESTED_SCHEMAS),
    ("prioritylevelconfigurations", flow_control.MANDATORY_LEVELS),
    ("flowschemas", flow_control.MANDATORY_SCHEMAS),
)
_FLOW_CONTROL_OPTIONS: Final = WriteOptions(field_manager="api-priority-and-fairness-config-producer-v1")


def bootstrap(registry: Registry, *, namespaces: tuple[str, ...] = NAMESPACES) -> None:
    """Create what belongs to the system, where it is missing.

    These are namespaces, priority classes, priority levels with flow schemas, and the service `kubernetes`.
    """
    for name in namespaces:
        _ensure(registry, "namespaces", "", {"metadata": {"name": name}})
    for name, (value, description) in _PRIORITY_CLASSES.items():
        wanted = {"metadata": {"name": name}, "value": value, "description": description}
        _ensure(registry, "priorityclasses.scheduling.k8s.io", "", wanted)
    for plural, specs in _FLOW_CONTROL:
        for name, spec in specs.items():
            _ensure_flow_control(registry, f"{plural}.flowcontrol.apiserver.k8s.io", name, spec)
    if "default" in namespaces:
        _ensure(registry, "services", "default", _kubernetes_service())


def _ensure_flow_control(registry: Registry, resource: str, name: str, spec: Mapping[str, Any]) -> None:
    metadata = {"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}}
    _ensure(registry, resource, "", {"metadata": metadata, "spec": spec}, _FLOW_CONTROL_OPTIONS)


def _ensure(
    registry: Registry, resource: str, namespace: str, wanted: dict[str, Any], options: WriteOptions = _OPTIONS
) -> None:
    try:
        registry.get(resource, wanted["metadata"]["name"], namespace)
    except NotFound:
        registry.create(resource, registry.decode(resource, wanted), namespace, options)


def _kubernetes_service() -> dict[str, Any]:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {
            "clusterIP": SERVICE_IP,
            "clusterIPs": [SERVICE_IP],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }
