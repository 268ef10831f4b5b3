"""Services with pods behind them, for tests of endpoints."""

from __future__ import annotations

from typing import Any

from schedlab.apimachinery.time import format_time
from tests.support.control_plane import ControlPlane, Object

SLICES = "endpointslices.discovery.k8s.io"


def add_service(plane: ControlPlane, name: str = "s", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Store a service that selects app=a and leads to port 8080, unless told otherwise."""
    spec = {"selector": {"app": "a"}, "ports": [{"name": "web", "port": 80, "targetPort": 8080}], **spec}
    return plane.create("services", {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def add_pod(plane: ControlPlane, number: int, node: str = "n1", *, ready: bool = True, **spec: Any) -> str:
    """Store a running pod with an address; returns its name."""
    name = f"p{number}"
    container = {"name": "c", "image": "i", **spec.pop("container", {})}
    metadata = {"name": name, "labels": {"app": "a"}}
    plane.create("pods", {"metadata": metadata, "spec": {"nodeName": node, "containers": [container], **spec}})
    set_ready(plane, name, ready=ready, addresses=[f"10.0.{number // 250}.{number % 250 + 1}"])
    return name


def set_ready(plane: ControlPlane, name: str, *, ready: bool, addresses: list[str] | None = None) -> None:
    """Report a pod as ready, or not, from now on."""
    now = format_time(plane.clock.now_ns())
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}
    status: Object = {"phase": "Running", "conditions": [condition]}
    if addresses is not None:
        status |= {"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
    plane.patch("pods", name, {"status": status}, subresource="status")


def slices_of(plane: ControlPlane) -> list[Object]:
    """Return the slices of all services, the fullest first."""
    return sorted(plane.all(SLICES), key=lambda each: (-len(each["endpoints"] or ()), each["addressType"]))
