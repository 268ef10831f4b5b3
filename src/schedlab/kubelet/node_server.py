"""The read-only paths of simulated kubelets, as `kubectl get --raw /api/v1/nodes/NAME/proxy/PATH` reaches them.

    /                    what there is
    /healthz             ok
    /configz             the kubelet's configuration
    /pods                the pods of the node
    /cgroups             what is reserved for the node, its classes of pods, and each pod

Mirrors: pkg/kubelet/server/server.go (v1.36). Differs: /cgroups is our own; other paths do not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import orjson

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node
from schedlab.apimachinery.errors import new_internal_error
from schedlab.client.informers import Informer
from schedlab.client.node_servers import NodeAnswer
from schedlab.kubelet.cgroups import node_cgroups, reservation

PATHS: Final = ("/cgroups", "/configz", "/healthz", "/pods")
_TEXT: Final = b"text/plain; charset=utf-8"
_NODE_INDEX: Final = "node"
_PORT: Final = 10250


class Kubelets(Protocol):
    """The kubelets of all nodes."""

    def runs(self, node: str) -> bool:
        """Whether the kubelet of a node lives."""

    def node_address(self, node: str) -> str:
        """Return the address of a node."""

    def image_bandwidth_of(self, node: str) -> int:
        """Return how many bytes of images a node pulls per second; 0 is at once."""


class NodeServers:
    """client.node_servers.NodeServer over the simulated nodes."""

    def __init__(self, kubelets: Kubelets, nodes: Informer, pods: Informer, *, memory_qos: bool = False) -> None:
        self._kubelets = kubelets
        self._nodes = nodes
        self._pods = pods
        self._memory_qos = memory_qos
        pods.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))

    def answer(self, node: str, path: str) -> NodeAnswer:
        """Answer a GET at a path of a node's kubelet."""
        found: Node | None = self._nodes.get(node)
        if found is None or not self._kubelets.runs(node):
            where = f"{self._kubelets.node_address(node) or node}:{_PORT}"
            raise new_internal_error(f'Get "https://{where}{path}": dial tcp {where}: connect: no route to host')
        path = "/" + path.strip("/")
        if path == "/":
            return NodeAnswer(200, _json({"paths": PATHS}))
        if path == "/healthz":
            return NodeAnswer(200, b"ok", _TEXT)
        if path == "/configz":
            return NodeAnswer(200, _json({"kubeletconfig": self._configuration(node)}))
        if path in ("/pods", "/runningpods"):
            items = [pod.raw for pod in self._pods.indexed(_NODE_INDEX, node)]
            return NodeAnswer(200, _json({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
        if path == "/cgroups":
            return NodeAnswer(200, _json(self._cgroups(found)))
        return NodeAnswer(404, b"404 page not found\n", _TEXT)

    def reservation(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return what is reserved for a pod, None while no node has it."""
        pod = self._pods.get(name, namespace)
        node = None if pod is None else self._nodes.get(pod.spec.node_name)
        return None if pod is None or node is None else reservation(pod, node, memory_qos=self._memory_qos)

    def _cgroups(self, node: Node) -> Mapping[str, Any]:
        pods = [pod.view for pod in self._active(node.metadata.name)]
        classes = node_cgroups(node, pods, memory_qos=self._memory_qos)
        return {
            "node": node.metadata.name,
            "cgroups": [each.as_json() for each in classes],
            "pods": [
                {"namespace": pod.metadata.namespace, "name": pod.metadata.name}
                | reservation(pod, node, memory_qos=self._memory_qos)
                for pod in pods
            ],
        }

    def _active(self, node: str) -> Iterable[StoredObject]:
        pods = self._pods.indexed(_NODE_INDEX, node)
        return (pod for pod in pods if pod.view.status.phase not in ("Succeeded", "Failed"))

    def _configuration(self, node: str) -> Mapping[str, Any]:
        """Return what would be in the kubelet's configuration file, as far as anything here goes by it."""
        return {
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "address": self._kubelets.node_address(node),
            "port": _PORT,
            "cgroupDriver": "systemd",
            "cgroupsPerQOS": True,
            "cpuCFSQuota": True,
            "cpuCFSQuotaPeriod": "100ms",
            "cpuManagerPolicy": "none",
            "memoryManagerPolicy": "None",
            "topologyManagerPolicy": "none",
            "singleProcessOOMKill": False,
            "memoryThrottlingFactor": 0.9,
            "memoryReservationPolicy": "TieredReservation" if self._memory_qos else "None",
            "featureGates": {"MemoryQoS": self._memory_qos},
            "nodeStatusReportFrequency": "5m0s",
            "nodeLeaseDurationSeconds": 40,
            "serializeImagePulls": True,
            "imagePullBandwidthBytesPerSecond": self._kubelets.image_bandwidth_of(node),
            "crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"},
        }


def _json(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"
