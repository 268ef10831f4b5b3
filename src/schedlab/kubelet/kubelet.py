"""All kubelets of a cluster as one part: registers nodes, and has the pods on them looked after.

Every node and pod that needs something is a key in a queue; a step takes one key and returns the writes that bring the
object one stage further. What is done with pods is in `pod_workers.py`.

    new node ──> addresses, labels, lease ──> Ready ──annotation failed-since──> silent ──without it──> Ready again

A pod or node that a Stage of the user matches is left to that Stage, once it is admitted.

Mirrors: KWOK's node controller with its fast stages; pkg/kubelet/kubelet_node_status.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Protocol

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.time import format_time
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.event_recorder import EventRecorder, EventStamps, Sent
from schedlab.client.informers import Informer
from schedlab.client.protocol import Outcome, WatchEvent, Write
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kernel.randomness import RandomSource, SeededRandom
from schedlab.kubelet import status
from schedlab.kubelet.addresses import NodeNumbers, node_address, pod_cidr
from schedlab.kubelet.heartbeats import LEASE_NAMESPACE, new_lease
from schedlab.kubelet.life.program import Programs
from schedlab.kubelet.pod_workers import FINISHED, MANAGER, Observer, PodWorkers, Stages
from schedlab.kubelet.simulated_node import SimulatedNode, failed_since_ns

LEASES: Final = "leases.coordination.k8s.io"
_RETRY_NS: Final = SECOND_NS
_STAMP_OFFSET_NS: Final = 500
_NODE_INDEX: Final = "node"

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _NodeKind:
    api_version: str = "v1"
    kind: str = "Node"


NODE: Final = _NodeKind()


class Informers(Protocol):
    """Where the kubelet hears of changes."""

    def lister(self, resource: str) -> Informer:
        """Return the current objects of a resource."""

    def on_change(self, resource: str, handler: Callable[[WatchEvent], None]) -> None:
        """Call the handler with every object that is there and every change that follows."""


class Kubelet:
    """The kubelets of every node (client.effects.Part); `image_bandwidth` is in bytes per second, 0 is at once."""

    def __init__(
        self, informers: Informers, clock: Clock, random: RandomSource | None = None, *, image_bandwidth: int = 0
    ) -> None:
        self._clock = clock
        self._image_bandwidth = image_bandwidth
        self._nodes = informers.lister("nodes")
        self._pods = informers.lister("pods")
        self._state: dict[str, SimulatedNode] = {}
        self._numbers = NodeNumbers()
        self._queue: dict[Key, None] = {}
        # Pods that were bound to a node before it was there, by its name.
        self._early: dict[str, dict[Key, None]] = {}
        # Nodes that a Stage has kept from being ready.
        self._held: dict[str, None] = {}
        # Recorders that have been written to in this step, in order.
        self._told: dict[str, EventRecorder] = {}
        self._stamps = EventStamps(clock, _STAMP_OFFSET_NS)
        self._workers = PodWorkers(
            clock,
            random or SeededRandom(1),
            self._events_of,
            self._later_pod,
            lambda node: self._pods.indexed(_NODE_INDEX, node),
        )
        self._pods.add_index(_NODE_INDEX, attrgetter("view.spec.node_name"))
        informers.on_change("nodes", self._on_node)
        informers.on_change("pods", self._on_pod)

    def attach(
        self, stages: Stages | None = None, observer: Observer | None = None, programs: Programs | None = None
    ) -> None:
        """Let Stages go before what happens here by itself, let somebody hear of it, let programs really run."""
        workers = self._workers
        workers.stages = workers.stages if stages is None else stages
        workers.observer = workers.observer if observer is None else observer
        workers.programs = workers.programs if programs is None else programs

    def ready(self) -> bool:
        """Whether a node or pod waits for its kubelet."""
        return bool(self._queue)

    def runs(self, node: str) -> bool:
        """Whether the kubelet of a node lives: its heartbeats are derived, not written."""
        state = self._state.get(node)
        return state is not None and not state.failed

    def failed_since_ns(self, node: str) -> int | None:
        """Return since when the kubelet of a node has failed, None while it lives or is not there."""
        found = self._nodes.get(node)
        return None if found is None else failed_since_ns(found.metadata.annotations)

    def image_bandwidth_of(self, node: str) -> int:
        """Return how many bytes of images a node pulls per second; 0 is at once."""
        state = self._state.get(node)
        return 0 if state is None else state.images.bandwidth

    def node_address(self, node: str) -> str:
        """Return the address of a node, "" if it is not there."""
        state = self._state.get(node)
        return "" if state is None else state.address

    def pod_address(self, node: str, uid: str) -> str:
        """Return the address of a pod on a node, "" if the node is not there."""
        state = self._state.get(node)
        return "" if state is None else state.pod_addresses.take(uid)

    def look_again(self, resource: str, only: tuple[str, str] | None = None) -> None:
        """Look at all pods or nodes, or at one: what held them may be gone."""
        if resource == "nodes":
            self._queue.update((("node", "", name), None) for name in self._state if only in (None, ("", name)))
        elif resource == "pods" and only is not None:
            self._queue["pod", *only] = None
        elif resource == "pods":
            for stored in self._pods.all_stored():
                if stored.view.spec.node_name in self._state:
                    self._queue["pod", stored.namespace, stored.name] = None

    def step(self) -> Sequence[Effect]:
        """Bring the object that has waited longest one stage further."""
        key = next(iter(self._queue))
        del self._queue[key]
        kind, namespace, name = key
        writes = self._sync_node(name) if kind == "node" else self._sync_pod(namespace, name)
        return [*(WriteEffect(key, write) for write in writes), *self._events()]

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Try again in a second what a conflict or a passing error refused; what is gone needs nothing."""
        assert isinstance(outcome, Outcome)
        assert isinstance(effect, WriteEffect)
        if isinstance(effect.token, Sent):
            state = self._state.get(effect.token.body["source"]["host"])
            if state is not None:
                self._events_of(state).answered(effect.token, outcome)
            return self._events()
        error = outcome.error
        if error is not None and error.code not in {404, 422} and error.reason != "AlreadyExists":
            self._later(effect.token, self._clock.now_ns() + _RETRY_NS)
        return ()

    def _events_of(self, state: SimulatedNode) -> EventRecorder:
        recorder = self._told[state.name] = state.events(self._clock, self._stamps)
        return recorder

    def _events(self) -> list[Effect]:
        told, self._told = self._told, {}
        return [WriteEffect(sent, write) for recorder in told.values() for sent, write in recorder.drain()]

    def _later(self, key: Key, when_ns: int) -> None:
        self._clock.at(when_ns, lambda: self._queue.setdefault(key))

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _on_node(self, event: WatchEvent) -> None:
        name, state = event.object.name, self._state.get(event.object.name)
        if event.type == "DELETED":
            self._state.pop(name, None)
            self._held.pop(name, None)
            self._queue[("node", "", name)] = None
        elif event.type == "ADDED":
            self._queue[("node", "", name)] = None
            # Before any node registers: a new one must not get what another one has had before a restart.
            self._numbers.keep(_internal_address(event.object.raw), event.object.view.spec.pod_cidr)
        elif state is not None:
            self._follow(event.object, state)

    def _follow(self, node: StoredObject, state: SimulatedNode) -> None:
        """See what a change of a node means for its kubelet."""
        failed = failed_since_ns(node.view.metadata.annotations) is not None
        if failed is not state.failed:
            state.failed = failed
            if not failed:
                self._recover(node.name)
        if node.name in self._held or self._workers.stages.holds(node):
            self._queue[("node", "", node.name)] = None
        state.learn(node.raw)

    def _recover(self, name: str) -> None:
        """Let a kubelet that had failed report its node and look at its pods."""
        self._held[name] = None
        self._queue["node", "", name] = None
        self._workers.stages.node_came(name)
        for pod in self._pods.indexed(_NODE_INDEX, name):
            self._queue["pod", pod.namespace, pod.name] = None

    def _sync_node(self, name: str) -> Sequence[Write]:
        stored = self._nodes.stored(name)
        if stored is None:
            return [Write("delete", LEASES, LEASE_NAMESPACE, name)]
        if name in self._state:
            return self._resync_node(stored)
        node = stored.raw
        address, cidr = _internal_address(node), stored.view.spec.pod_cidr
        if not address or not cidr:
            number = self._numbers.take()
            address, cidr = address or node_address(number), cidr or pod_cidr(number)
        state = self._state[name] = SimulatedNode(name, address, cidr, self._image_bandwidth)
        state.failed = failed_since_ns(stored.view.metadata.annotations) is not None
        state.learn(node)
        # They keep their addresses and what they use.
        for pod in self._pods.indexed(_NODE_INDEX, name):
            self._workers.resume(pod.view, state)
        self._queue.update(self._early.pop(name, {}))
        if state.failed:
            return ()
        self._workers.stages.node_came(name)
        now_ns = self._clock.now_ns()
        writes = [*self._introduce(node, cidr), self._lease(name, stored.uid, now_ns)]
        if self._is_held(stored):
            return writes
        return [*writes, self._node_status(name, status.node_status(node, state.address, format_time(now_ns)))]

    def _is_held(self, node: StoredObject) -> bool:
        """Whether a Stage makes the node ready, or not ready."""
        stages = self._workers.stages
        if not (stages.replaces("node-initialize") or stages.holds(node)):
            return False
        self._held[node.name] = None
        return True

    def _resync_node(self, stored: StoredObject) -> Sequence[Write]:
        """Report a node anew that a Stage has let go, or whose kubelet has come back."""
        state = self._state[stored.name]
        if state.failed or self._is_held(stored) or self._held.pop(stored.name, "") is not None:
            return ()
        now = format_time(self._clock.now_ns())
        report = status.node_status(stored.raw, state.address, now)
        if any(each.type == "Ready" and each.status != "True" for each in stored.view.status.conditions):
            text = f"Node {stored.name} status is now: NodeReady"
            self._events_of(state).record(NODE, stored, "Normal", "NodeReady", text)
        conditions = status.healthy_conditions(stored.raw, now)
        return [self._node_status(stored.name, {**report, "conditions": conditions})]

    def _introduce(self, node: Mapping[str, Any], cidr: str) -> Sequence[Write]:
        patch: dict[str, Any] = {}
        labels = status.node_labels(node)
        if labels:
            patch["metadata"] = {"labels": labels}
        if not node.get("spec", {}).get("podCIDR"):
            patch["spec"] = {"podCIDR": cidr, "podCIDRs": [cidr]}
        return [Write("patch", "nodes", "", node["metadata"]["name"], patch, options=MANAGER)] if patch else []

    @staticmethod
    def _node_status(name: str, report: Mapping[str, Any]) -> Write:
        return Write("patch", "nodes", "", name, {"status": report}, subresource="status", options=MANAGER)

    def _lease(self, name: str, uid: str, now_ns: int) -> Write:
        return Write("create", LEASES, LEASE_NAMESPACE, name, new_lease(name, uid, now_ns), options=MANAGER)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object.view
        node_name = pod.spec.node_name
        if not node_name:
            return
        key = ("pod", pod.metadata.namespace, pod.metadata.name)
        state = self._state.get(node_name)
        if event.type == "DELETED" or pod.status.phase in FINISHED:
            self._queue.update((("pod", *each), None) for each in self._workers.gone(pod, state))
        if event.type == "DELETED":
            self._early.get(node_name, {}).pop(key, None)
        elif not self._workers.runs(pod, state):
            self._queue[key] = None

    def _sync_pod(self, namespace: str, name: str) -> Sequence[Write]:
        stored = self._pods.stored(name, namespace)
        if stored is None:
            return ()
        node_name = stored.view.spec.node_name
        state, node = self._state.get(node_name), self._nodes.get(node_name)
        if state is None or node is None:
            self._early.setdefault(node_name, {})[("pod", namespace, name)] = None
            return ()
        return () if state.failed else self._workers.sync(stored, node, state)

    def _later_pod(self, namespace: str, name: str, when_ns: int) -> None:
        self._later(("pod", namespace, name), when_ns)


def _internal_address(node: Mapping[str, Any]) -> str:
    """Return the InternalIP that a node says it has, or nothing."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(each["address"]) for each in addresses if each.get("type") == "InternalIP"), "")
