"""The objects of the loads, as their clients send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
ACCOUNT = {"metadata": {"name": "default"}}


def basic_pod(name: str) -> dict[str, Any]:
    """The pod of kube-scheduler's SchedulingBasic: all are equal but for their names."""
    amounts = {"cpu": "100m", "memory": "500Mi"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": resources}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]},
    }


def distinct_pod(name: str, number: int) -> dict[str, Any]:
    """A pod as a deployment makes it, with a spec that no other pod of the load has."""
    amounts = {"cpu": f"{100 + number}m", "memory": f"{500 + number}Mi"}
    app = f"app-{number % 50}"
    container = {
        "name": "web",
        "image": f"registry.example/web:{number}",
        "resources": {"requests": amounts},
        "ports": [{"containerPort": 8080, "name": "http"}],
        "env": [{"name": "NUMBER", "value": str(number)}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5},
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": app, "pod-template-hash": f"{number:x}"},
            "annotations": {"example.com/team": f"team-{number % 7}"},
        },
        "spec": {
            "containers": [container],
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "example.com/dedicated", "operator": "Exists"}],
            "topologySpreadConstraints": [spread],
        },
    }


def node(number: int) -> dict[str, Any]:
    """A node as `kubectl apply` creates it."""
    name = f"node-{number}"
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
    }
    written = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(written)}
    return {**written, "metadata": {"name": name, "labels": labels, "annotations": annotation}}


def basic_pods(prefix: str, count: int) -> Iterator[dict[str, Any]]:
    return (basic_pod(f"{prefix}-{number}") for number in range(count))


def distinct_pods(prefix: str, count: int) -> Iterator[dict[str, Any]]:
    return (distinct_pod(f"{prefix}-{number}", number) for number in range(count))
