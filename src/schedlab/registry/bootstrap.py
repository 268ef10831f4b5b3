"""What an API server creates by itself when it starts on an empty store.

Mirrors: pkg/controlplane/controller/{systemnamespaces,kubernetesservice}, pkg/registry/scheduling/rest (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

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


def bootstrap(registry: Registry, *, namespaces: tuple[str, ...] = NAMESPACES) -> None:
    """Create the system's namespaces, priority classes and the service `kubernetes`, where they are missing."""
    for name in namespaces:
        _ensure(registry, "namespaces", "", {"metadata": {"name": name}})
    for name, (value, description) in _PRIORITY_CLASSES.items():
        wanted = {"metadata": {"name": name}, "value": value, "description": description}
        _ensure(registry, "priorityclasses.scheduling.k8s.io", "", wanted)
    if "default" in namespaces:
        _ensure(registry, "services", "default", _kubernetes_service())


def _ensure(registry: Registry, resource: str, namespace: str, wanted: dict[str, object]) -> None:
    metadata = wanted["metadata"]
    assert isinstance(metadata, dict)
    try:
        registry.get(resource, metadata["name"], namespace)
    except NotFound:
        registry.create(resource, registry.decode(resource, wanted), namespace, _OPTIONS)


def _kubernetes_service() -> dict[str, object]:
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
