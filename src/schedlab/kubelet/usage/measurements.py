"""What pods and nodes were measured to use: a measurement of everything every 15 seconds, worked out when asked for.

Mirrors: metrics-server (v0.8) with its default resolution, in what its API tells.
Differs: a pod is told of from the first measurement after its start, not from the second. Between two measurements
nothing changes, however often somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.time import parse_time
from schedlab.client.informers import Informer
from schedlab.client.resource_metrics import NodeMetrics, PodMetrics, Usage
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kubelet.usage.usages import Usages

WINDOW_NS: Final = 15 * SECOND_NS
_NODE_INDEX: Final = "node"


class Measurements:
    """The metrics of a cluster (client.resource_metrics.ResourceMetrics).

    is_running: whether the kubelet of a node lives.
    """

    def __init__(
        self, clock: Clock, nodes: Informer, pods: Informer, usages: Usages, is_running: Callable[[str], bool]
    ) -> None:
        self._clock = clock
        self._nodes, self._pods = nodes, pods
        self._usages = usages
        self._is_running = is_running
        pods.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))

    def pods(self, namespace: str | None = None) -> Sequence[PodMetrics]:
        """Return the metrics of all pods (of one namespace)."""
        found = (self._measure(pod) for pod in self._pods.all_stored(namespace))
        return [each for each in found if each is not None]

    def pod(self, name: str, namespace: str) -> PodMetrics | None:
        """Return the metrics of one pod."""
        found = self._pods.stored(name, namespace)
        return None if found is None else self._measure(found)

    def nodes(self) -> Sequence[NodeMetrics]:
        """Return the metrics of all nodes."""
        found = (self._measure_node(node) for node in self._nodes.all_stored())
        return [each for each in found if each is not None]

    def node(self, name: str) -> NodeMetrics | None:
        """Return the metrics of one node."""
        found = self._nodes.stored(name)
        return None if found is None else self._measure_node(found)

    def _measure(self, stored: StoredObject) -> PodMetrics | None:
        pod: Pod = stored.view
        when_ns = self._last_ns()
        if pod.status.phase != "Running" or not pod.status.start_time or not self._is_running(pod.spec.node_name):
            return None
        if parse_time(pod.status.start_time) > when_ns:
            return None
        return PodMetrics(when_ns, WINDOW_NS, stored, self._usages.of(stored, when_ns))

    def _measure_node(self, node: StoredObject) -> NodeMetrics | None:
        when_ns = self._last_ns()
        created = node.view.metadata.creation_timestamp
        if not self._is_running(node.name) or (created and parse_time(created) > when_ns):
            return None
        total = Usage(0, 0)
        for pod in self._pods.indexed(_NODE_INDEX, node.name):
            found = self._measure(pod)
            if found is not None:
                total = sum(found.containers.values(), total)
        return NodeMetrics(when_ns, WINDOW_NS, node, total)

    def _last_ns(self) -> int:
        return self._clock.now_ns() // WINDOW_NS * WINDOW_NS
