"""All kubelets of a cluster as one part: registers nodes, takes bound pods to Running, lets deleted ones go.

Every node and pod that needs something is a key in a queue; a step takes one key and returns the write that brings the
object one stage further. The stages of a pod:

    bound ──admitted──> Running ──deletionTimestamp──> grace period over ──> deleted
      └───refused────> Failed  └──of a Job, run time over──> Succeeded

A pod of a Job ends after one second, or after what its annotation pod-complete.stage.kwok.x-k8s.io/delay says. A pod or
node that a Stage of the user matches is left to that Stage, once it is admitted.

Mirrors: KWOK's node and pod controllers with its fast stages; pkg/kubelet (v1.36) for admission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery.time import TimeError, format_time, parse_duration, parse_time
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.informers import Informer
from schedlab.client.protocol import Outcome, WatchEvent, Write
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kubelet import status
from schedlab.kubelet.addresses import NodeNumbers, PodAddresses, node_address, pod_cidr
from schedlab.kubelet.admission import NodeAccount, Rejection, admit
from schedlab.kubelet.heartbeats import LEASE_NAMESPACE, new_lease

LEASES: Final = "leases.coordination.k8s.io"
EVENTS: Final = "events"
MANAGER: Final = {"fieldManager": "kubelet"}
_RETRY_NS: Final = SECOND_NS
_FINISHED: Final = ("Succeeded", "Failed")
_NODE_INDEX: Final = "node"
_RUN_TIME: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
_RUN_TIME_NS: Final = SECOND_NS

Key = tuple[str, str, str]


class Informers(Protocol):
    """Where the kubelet hears of changes."""

    def lister(self, resource: str) -> Informer:
        """Return the current objects of a resource."""

    def on_change(self, resource: str, handler: Callable[[WatchEvent], None]) -> None:
        """Call the handler with every object that is there and every change that follows."""


class Stages(Protocol):
    """The Stages of users, which go before what happens here by itself."""

    def holds(self, stored: StoredObject) -> bool:
        """Say whether a Stage matches the object as it is."""

    def replaces(self, name: str) -> bool:
        """Say whether a Stage takes the place of a part of the built-in life, by its name."""

    def node_came(self, node: str) -> None:
        """Look at a node whose kubelet has begun to live, and at its pods."""


class NoStages:
    """There are none."""

    def holds(self, stored: StoredObject) -> bool:  # noqa: ARG002 - protocol
        return False

    def replaces(self, name: str) -> bool:  # noqa: ARG002 - protocol
        return False

    def node_came(self, node: str) -> None:
        """Nobody wants to know."""


class SimulatedNode:
    """What the kubelet of one node remembers."""

    def __init__(self, address: str, cidr: str) -> None:
        self.address = address
        self.pod_addresses = PodAddresses(cidr)
        self.account = NodeAccount()


class Kubelet:
    """The kubelets of every node (client.effects.Part)."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        self._clock = clock
        self._nodes = informers.lister("nodes")
        self._pods = informers.lister("pods")
        self._state: dict[str, SimulatedNode] = {}
        self._numbers = NodeNumbers()
        self._queue: dict[Key, None] = {}
        # Pods that were bound to a node before it was there, by its name.
        self._early: dict[str, dict[Key, None]] = {}
        # Running pods that will end by themselves, by uid, and when.
        self._ends: dict[str, int] = {}
        # Nodes that a Stage has kept from being ready.
        self._held: dict[str, None] = {}
        self.stages: Stages = NoStages()
        self._pods.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))
        informers.on_change("nodes", self._on_node)
        informers.on_change("pods", self._on_pod)

    def ready(self) -> bool:
        """Whether a node or pod waits for its kubelet."""
        return bool(self._queue)

    def runs(self, node: str) -> bool:
        """Whether the kubelet of a node lives: its heartbeats are derived, not written."""
        return node in self._state

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
        return [WriteEffect(key, write) for write in writes]

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Try again in a second what a conflict or a passing error refused; what is gone needs nothing."""
        assert isinstance(outcome, Outcome)
        assert isinstance(effect, WriteEffect)
        if outcome.error is not None and effect.write.resource != EVENTS and outcome.error.code not in {404, 422}:
            if outcome.error.reason == "AlreadyExists":
                return ()
            self._later(effect.token, self._clock.now_ns() + _RETRY_NS)
        return ()

    def _later(self, key: Key, when_ns: int) -> None:
        self._clock.at(when_ns, lambda: self._queue.setdefault(key))

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _on_node(self, event: WatchEvent) -> None:
        name = event.object.name
        if event.type == "DELETED":
            self._state.pop(name, None)
            self._held.pop(name, None)
            self._queue[("node", "", name)] = None
        elif event.type == "MODIFIED":
            if name in self._held or (name in self._state and self.stages.holds(event.object)):
                self._queue[("node", "", name)] = None
        else:
            self._queue[("node", "", name)] = None
            # Before any node registers: a new one must not get what another one has had before a restart.
            self._numbers.keep(_internal_address(event.object.raw), event.object.view.spec.pod_cidr)

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
        state = self._state[name] = SimulatedNode(address, cidr)
        self._resume(name, state)
        self._queue.update(self._early.pop(name, {}))
        self.stages.node_came(name)
        now_ns = self._clock.now_ns()
        writes = [*self._introduce(node, cidr), self._lease(name, stored.uid, now_ns)]
        if self._is_held(stored):
            return writes
        return [*writes, self._node_status(name, status.node_status(node, state.address, format_time(now_ns)))]

    def _is_held(self, node: StoredObject) -> bool:
        """Whether a Stage makes the node ready, or not ready."""
        if not (self.stages.replaces("node-initialize") or self.stages.holds(node)):
            return False
        self._held[node.name] = None
        return True

    def _resync_node(self, stored: StoredObject) -> Sequence[Write]:
        """Report a node anew that a Stage has let go."""
        if self._is_held(stored) or self._held.pop(stored.name, "") is not None:
            return ()
        now = format_time(self._clock.now_ns())
        report = status.node_status(stored.raw, self._state[stored.name].address, now)
        return [self._node_status(stored.name, {**report, "conditions": status.healthy_conditions(stored.raw, now)})]

    def _resume(self, name: str, state: SimulatedNode) -> None:
        """Find the pods that run on the node already: they keep their addresses and what they use."""
        for stored in self._pods.indexed(_NODE_INDEX, name):
            pod: Pod = stored.view
            if pod.status.phase == "Running" and pod.status.pod_ip:
                state.account.take(pod)
                if not pod.spec.host_network:
                    state.pod_addresses.keep(pod.metadata.uid, pod.status.pod_ip)

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
        if event.type == "DELETED" or pod.status.phase in _FINISHED:
            self._release(node_name, pod.metadata.uid)
            self._ends.pop(pod.metadata.uid, None)
        key = ("pod", pod.metadata.namespace, pod.metadata.name)
        if event.type == "DELETED":
            self._early.get(node_name, {}).pop(key, None)
        elif not self._runs(pod):
            self._queue[key] = None

    def _runs(self, pod: Pod) -> bool:
        """Whether the pod is as its kubelet wants it; then it is counted in and needs nothing."""
        state = self._state.get(pod.spec.node_name)
        if state is None or pod.metadata.deletion_timestamp is not None:
            return False
        if pod.status.phase != "Running" or not pod.status.pod_ip:
            return False
        state.account.take(pod)
        return not self._is_over(pod)

    def _is_over(self, pod: Pod) -> bool:
        """Whether the run time of a pod is over; the first time it is asked about one that will end, it waits for it."""
        meta = pod.metadata
        owner = meta.controller()
        if owner is None or owner.kind != "Job" or pod.spec.restart_policy == "Always":
            return False
        end_ns = self._ends.get(meta.uid)
        if end_ns is None:
            start_ns = parse_time(pod.status.start_time) if pod.status.start_time else self._clock.now_ns()
            end_ns = self._ends[meta.uid] = start_ns + _run_time_ns(pod)
            if end_ns > self._clock.now_ns():
                self._later(("pod", meta.namespace, meta.name), end_ns)
        return end_ns <= self._clock.now_ns()

    def _release(self, node_name: str, uid: str) -> None:
        state = self._state.get(node_name)
        if state is not None:
            state.account.release(uid)
            state.pod_addresses.release(uid)

    def _sync_pod(self, namespace: str, name: str) -> Sequence[Write]:
        stored = self._pods.stored(name, namespace)
        if stored is None:
            return ()
        pod: Pod = stored.view
        state, node = self._state.get(pod.spec.node_name), self._nodes.get(pod.spec.node_name)
        if state is None or node is None:
            self._early.setdefault(pod.spec.node_name, {})[("pod", namespace, name)] = None
            return ()
        if pod.metadata.deletion_timestamp is not None:
            return () if self._leaves(stored, "pod-delete") else self._terminate(pod)
        if pod.status.phase in _FINISHED or self._runs(pod):
            return ()
        if pod.metadata.uid in self._ends:
            if self._leaves(stored, "pod-complete"):
                return ()
            now = format_time(self._clock.now_ns())
            return [self._status(pod, status.ended_status(stored.raw, "Succeeded", now))]
        return self._start(stored, pod, node, state)

    def _leaves(self, stored: StoredObject, part: str) -> bool:
        """Whether a part of a pod's life is left to a Stage."""
        return self.stages.replaces(part) or self.stages.holds(stored)

    def _start(self, stored: StoredObject, pod: Pod, node: Node, state: SimulatedNode) -> Sequence[Write]:
        raw = stored.raw
        now = format_time(self._clock.now_ns())
        rejection = None if pod.metadata.uid in state.account.requests else admit(pod, node, state.account)
        if rejection is not None:
            return [self._status(pod, status.rejected_status(raw, rejection, now)), _event(pod, rejection, now)]
        state.account.take(pod)
        if self._leaves(stored, "pod-ready"):
            return ()
        address = state.address if pod.spec.host_network else state.pod_addresses.take(pod.metadata.uid)
        return [self._status(pod, status.running_status(raw, state.address, address, now))]

    def _terminate(self, pod: Pod) -> Sequence[Write]:
        """Delete the pod for good: a simulated container stops as soon as it is asked to."""
        meta = pod.metadata
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta.uid}}
        due_ns = parse_time(meta.deletion_timestamp or "") - (meta.deletion_grace_period_seconds or 0) * SECOND_NS
        if due_ns > self._clock.now_ns():
            self._later(("pod", meta.namespace, meta.name), due_ns)
            return ()
        if meta.finalizers and pod.status.phase not in _FINISHED:
            # Somebody will still see the pod: it has to show that nothing runs any more.
            stored = self._pods.stored(meta.name, meta.namespace)
            assert stored is not None
            return [self._status(pod, status.ended_status(stored.raw, "Failed", format_time(self._clock.now_ns())))]
        return [Write("delete", "pods", meta.namespace, meta.name, options)]

    @staticmethod
    def _status(pod: Pod, report: Mapping[str, Any]) -> Write:
        meta = pod.metadata
        body = {"metadata": {"uid": meta.uid}, "status": report}
        return Write("patch", "pods", meta.namespace, meta.name, body, subresource="status", options=MANAGER)


def _internal_address(node: Mapping[str, Any]) -> str:
    """Return the InternalIP that a node says it has, or nothing."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(each["address"]) for each in addresses if each.get("type") == "InternalIP"), "")


def _run_time_ns(pod: Pod) -> int:
    """Return for how long a pod runs; what cannot be read counts as not said."""
    try:
        return parse_duration(pod.metadata.annotations[_RUN_TIME])
    except (KeyError, TimeError):
        return _RUN_TIME_NS


def _event(pod: Pod, rejection: Rejection, now: str) -> Write:
    meta = pod.metadata
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{meta.name}.", "namespace": meta.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        },
        "type": "Warning",
        "reason": rejection.reason,
        "message": rejection.message,
        "source": {"component": "kubelet", "host": pod.spec.node_name},
        "reportingComponent": "kubelet",
        "reportingInstance": pod.spec.node_name,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    return Write("create", EVENTS, meta.namespace, "", body, options=MANAGER)
