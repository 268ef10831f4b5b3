"""The definitions of the custom resources ResourceUsage and ClusterResourceUsage.

Mirrors: KWOK's kustomize/crd/bases/kwok.x-k8s.io_{resourceusages,clusterresourceusages}.yaml (v0.8).
Differs: shorter descriptions; a column for `kubectl get`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from schedlab.api.object import Object
from schedlab.registry.custom.provided import definition_of

GROUP: Final = "kwok.x-k8s.io"
VERSION: Final = "v1alpha1"
USAGES: Final = f"resourceusages.{GROUP}"
CLUSTER_USAGES: Final = f"clusterresourceusages.{GROUP}"

_QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_NAMES: Final = {"type": "array", "items": {"type": "string"}}
_VALUE: Final = {
    "type": "object",
    "description": "What is used of a resource; a value is taken before an expression.",
    "properties": {
        "value": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": _QUANTITY,
            "x-kubernetes-int-or-string": True,
            "description": "A constant amount.",
        },
        "expression": {"type": "string", "description": "A CEL expression about node, pod and container."},
    },
}
_CONDITION: Final = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}


def _spec(**more: Any) -> Object:
    usage = {
        "type": "object",
        "description": "What some containers of a pod use.",
        "properties": {
            "containers": {**_NAMES, "description": "Names of containers; none stands for all."},
            "usage": {"type": "object", "additionalProperties": _VALUE, "description": "By the name of a resource."},
        },
    }
    return {"type": "object", "properties": {**more, "usages": {"type": "array", "items": usage}}}


def _definition(kind: str, plural: str, scope: Literal["Cluster", "Namespaced"], spec: Object) -> Object:
    conditions = {
        "type": "array",
        "items": _CONDITION,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    status = {"type": "object", "properties": {"conditions": conditions}}
    schema = {"type": "object", "required": ["metadata", "spec"], "properties": {"spec": spec, "status": status}}
    ready = {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'}
    return definition_of(kind, plural, GROUP, VERSION, schema, [ready], scope=scope)


def usage_definitions() -> tuple[Object, ...]:
    """Return the definitions of both resources."""
    selector = {
        "type": "object",
        "description": "Which pods are meant; an empty list stands for all.",
        "properties": {"matchNamespaces": _NAMES, "matchNames": _NAMES},
    }
    return (
        _definition("ResourceUsage", "resourceusages", "Namespaced", _spec()),
        _definition("ClusterResourceUsage", "clusterresourceusages", "Cluster", _spec(selector=selector)),
    )
