"""Pods that use something, for tests of metrics and of what is made from them."""

from __future__ import annotations

from typing import Any

from schedlab.apimachinery.time import format_time
from schedlab.cluster.usage import install_usages, usage_parts
from schedlab.kubelet.usage.checker import UsageChecker
from schedlab.kubelet.usage.definition import CLUSTER_USAGES, USAGES
from schedlab.kubelet.usage.measurements import Measurements
from tests.support.control_plane import ControlPlane, Object


class Metered:
    """A control plane whose pods are measured; the node `n1` has a kubelet that lives."""

    def __init__(self, *controllers: str, **options: Any) -> None:
        self.measurements: Measurements
        self.checker: UsageChecker
        self.plane = ControlPlane(*controllers, before=self._begin, **options)
        self.plane.node("n1")

    def _begin(self, plane: ControlPlane) -> Measurements:
        install_usages(plane.registry)
        self.measurements, self.checker = usage_parts(plane.informers, plane.clock, lambda node: node == "n1")
        return self.measurements

    def add_pod(self, name: str, *containers: str, **metadata: Any) -> None:
        """Store a pod that runs from now on."""
        spec = {"nodeName": "n1", "containers": [{"name": each, "image": "i"} for each in containers or ("c",)]}
        self.plane.create("pods", {"metadata": {"name": name, **metadata}, "spec": spec})
        self.start(name)

    def start(self, name: str) -> None:
        """Report a pod as running and ready from now on."""
        now = format_time(self.plane.clock.now_ns())
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        status = {"phase": "Running", "startTime": now, "conditions": [ready]}
        self.plane.patch("pods", name, {"status": status}, subresource="status")

    def say(self, name: str, usage: Object, namespace: str = "default") -> None:
        """Say what all containers of one pod use."""
        self.plane.create(USAGES, {"metadata": {"name": name}, "spec": {"usages": [{"usage": usage}]}}, namespace)

    def say_for_all(self, name: str, *usages: Object, **selector: list[str]) -> None:
        """Say what containers of many pods use."""
        spec = {"selector": selector, "usages": list(usages)}
        self.plane.create(CLUSTER_USAGES, {"metadata": {"name": name}, "spec": spec})

    def cpu(self, name: str) -> dict[str, float]:
        """Return how many cores the containers of a pod were measured to use."""
        found = self.measurements.pod(name, "default")
        return {} if found is None else {key: usage.cpu_nano / 1e9 for key, usage in found.containers.items()}
