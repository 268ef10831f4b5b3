"""The pod garbage collector: deletes pods that no kubelet will ever let go.

    its node does not exist for 40 s        ──► Failed, deleted
    asked to end without ever having a node ──► Failed, deleted
    asked to end on a node out of service   ──► Failed, deleted
    more than 12500 pods have ended         ──► the oldest go, evicted ones first

Mirrors: pkg/controller/podgc/gc_controller.go (v1.36)
Differs: works with deadlines, where upstream looks at every pod each 20 s.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import ClassVar, Final, TypeAlias

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Node
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write
from schedlab.controllers.disruption_target import disruption_target, status_patch
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, attempt, split_key
from schedlab.controllers.framework.pods import FINISHED, creation_ns
from schedlab.controllers.node_lifecycle.controller import NODE_INDEX, node_of
from schedlab.controllers.node_lifecycle.health import condition_of
from schedlab.kernel.clock import SECOND_NS

ENDED_PODS_MAX: Final = 12_500
QUARANTINE_NS: Final = 40 * SECOND_NS
#: Whether it was not evicted, when it was created, its name and its key: the order in which pods go.
_Rank: TypeAlias = tuple[bool, int, str, str]
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class PodGCController(Controller):
    """Keys are those of pods; the empty one stands for all that have ended."""

    name: ClassVar[str] = "pod-garbage-collector-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        #: When a node was first missed.
        self._missed: dict[str, int] = {}
        #: Pods that have ended with their ranks, and the ranks in order; those of pods that are gone are left there.
        self._ended: dict[str, _Rank] = {}
        self._ranks: list[_Rank] = []
        self._nodes = context.lister("nodes")
        self._pods = context.lister("pods")
        self._pods.add_index(NODE_INDEX, node_of)
        self._nodes.on_change(self._on_node)
        self._pods.on_change(self._on_pod)

    def _on_node(self, event: WatchEvent) -> None:
        node = event.object
        if event.type != "DELETED":
            self._missed.pop(node.name, None)
            if not _is_out_of_service(node.view):
                return
        for pod in self._pods.indexed(NODE_INDEX, node.name):
            self._look_at(pod)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        if event.type == "DELETED" or pod.view.status.phase not in FINISHED:
            self._ended.pop(pod.key, None)
        else:
            rank = self._ended.get(pod.key)
            if rank is None:
                rank = self._ended[pod.key] = (not _is_evicted(pod), creation_ns(pod), pod.name, pod.key)
                heappush(self._ranks, rank)
            if len(self._ended) > ENDED_PODS_MAX:
                self.queue.add("")
        if event.type != "DELETED":
            self._look_at(pod)

    def _look_at(self, pod: StoredObject) -> None:
        node_name = node_of(pod)
        if not node_name:
            if pod.view.metadata.deletion_timestamp:
                self.queue.add(pod.key)
            return
        node = self._nodes.get(node_name)
        if node is None:
            now_ns = self.clock.now_ns()
            due_ns = self._missed.setdefault(node_name, now_ns) + QUARANTINE_NS
            self.queue.add_after(pod.key, due_ns - now_ns)
        elif pod.view.metadata.deletion_timestamp and _is_out_of_service(node):
            self.queue.add(pod.key)

    def sync(self, key: str) -> Steps:
        """Delete one pod if it still must go, or the oldest of those that have ended."""
        if not key:
            yield from self._remove_surplus()
            return
        namespace, name = split_key(key)
        pod = self._pods.stored(name, namespace)
        if pod is None:
            return
        node_name = node_of(pod)
        node = self._nodes.get(node_name) if node_name else None
        missed_ns = self._missed.get(node_name)
        if node_name and node is None:
            if missed_ns is not None and missed_ns + QUARANTINE_NS <= self.clock.now_ns():
                yield from self._remove(pod, orphaned=True)
        elif pod.view.metadata.deletion_timestamp and (node is None or _is_out_of_service(node)):
            yield from self._remove(pod, orphaned=False)

    def _remove_surplus(self) -> Steps:
        """Delete the pods that come first in rank; one that is not gone then keeps its place."""
        chosen: list[_Rank] = []
        while len(chosen) < len(self._ended) - ENDED_PODS_MAX:
            rank = heappop(self._ranks)
            if self._ended.get(rank[-1]) is rank:
                chosen.append(rank)
        try:
            for *_, key in chosen:
                namespace, name = split_key(key)
                pod = self._pods.stored(name, namespace)
                if pod is not None:
                    yield from self._remove(pod, orphaned=False)
        finally:
            for rank in chosen:
                if self._ended.get(rank[-1]) is rank:
                    heappush(self._ranks, rank)

    def _remove(self, pod: StoredObject, *, orphaned: bool) -> Steps:
        """Mark a pod as failed, which nobody else will do, and delete it for good."""
        if pod.view.status.phase not in FINISHED:
            now = format_time(self.clock.now_ns())
            text = "PodGC: node no longer exists"
            condition = disruption_target(pod, "DeletionByPodGC", text, now) if orphaned else None
            generation = pod.view.metadata.generation
            yield from _unless_gone(status_patch(pod, condition, phase="Failed", observedGeneration=generation))
        yield from _unless_gone(Write("delete", "pods", pod.namespace, pod.name, {"gracePeriodSeconds": 0}))


def _unless_gone(write: Write) -> Steps:
    error = (yield from attempt(write)).error
    if error is not None and error.reason != "NotFound":
        raise error


def _is_out_of_service(node: Node) -> bool:
    ready = condition_of(node, "Ready")
    is_ready = ready is not None and ready.status == "True"
    return not is_ready and any(taint.key == _OUT_OF_SERVICE for taint in node.spec.taints)


def _is_evicted(pod: StoredObject) -> bool:
    status = pod.view.status
    return bool(status.phase == "Failed" and status.reason == "Evicted")
