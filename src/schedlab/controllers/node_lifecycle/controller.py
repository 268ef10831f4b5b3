"""The node lifecycle controller: taints nodes as their conditions are, and gives up on those that fall silent.

    no sign of life in time ──► conditions Unknown, its pods not ready
    condition               ──► NoSchedule taint at once
    not ready, unreachable  ──► NoExecute taint when the zone's turn comes; the taint eviction controller empties it
    ready                   ──► both go

Mirrors: pkg/controller/nodelifecycle/node_lifecycle_controller.go (v1.36)
Differs: changes of a node's taints and labels are one write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Node
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, ask, attempt
from schedlab.controllers.framework.kinds import NODE, POD
from schedlab.controllers.framework.status import new_status
from schedlab.controllers.node_lifecycle.health import NodeHealth, condition_of
from schedlab.controllers.node_lifecycle.taints import (
    NOT_READY_EXECUTE,
    UNREACHABLE_EXECUTE,
    Mark,
    marks,
    missing_labels,
    no_schedule_changes,
    with_changes,
    zone_key,
)
from schedlab.controllers.node_lifecycle.zones import Zones

LEASE_NAMESPACE: Final = "kube-node-lease"
NODE_INDEX: Final = "node"
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_EXECUTE: Final = (NOT_READY_EXECUTE, UNREACHABLE_EXECUTE)
#: What turns Unknown with the node; the network is not the kubelet's matter.
_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycleController(Controller):
    """Keys are names of nodes, and namespace/name of pods that came to a node."""

    name: ClassVar[str] = "node-lifecycle-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="node-controller")
        self._health = NodeHealth(context.clock, context.is_beating)
        self._zones = Zones()
        #: Nodes whose turn to be tainted has come.
        self._due: dict[str, None] = {}
        self._nodes = context.lister("nodes")
        self._leases = context.lister("leases.coordination.k8s.io")
        self._pods = context.lister("pods")
        self._pods.add_index(NODE_INDEX, node_of)
        self._nodes.on_change(self._on_node)
        self._leases.on_change(self._on_lease)
        self._pods.on_change(self._on_pod)

    # --- Hearing -----------------------------------------------------------------------------------------------------

    def _on_node(self, event: WatchEvent) -> None:
        node = event.object
        if event.type == "MODIFIED" and event.previous is not None and node.same_content(event.previous):
            return
        was_disrupted = self._zones.all_disrupted
        if event.type == "DELETED":
            self.events.normal(NODE, node, "RemovingNode", _told(node.name, "Removing Node {} from Controller"))
            self._zones.remove(node.name)
            self._health.forget(node.name)
            self._due.pop(node.name, None)
        else:
            if event.type == "ADDED":
                self.events.normal(NODE, node, "RegisteredNode", _told(node.name, "Registered Node {} in Controller"))
            self._note_zone(node)
        self.queue.add(node.name)
        self._follow_disruption(was_disrupted=was_disrupted)

    def _note_zone(self, node: StoredObject) -> None:
        if _EXCLUDED in node.labels:
            self._zones.remove(node.name)
            return
        ready = condition_of(node.view, "Ready")
        self._zones.put(node.name, zone_key(node.labels), ready=ready is not None and ready.status == "True")

    def _follow_disruption(self, *, was_disrupted: bool) -> None:
        is_disrupted = self._zones.all_disrupted
        if is_disrupted == was_disrupted:
            return
        if not is_disrupted:
            self._health.restart()
        for name in self._zones.unhealthy():
            node = self._nodes.get(name)
            if node is not None and condition_of(node, "Ready") is not None:
                self.queue.add(name)

    def _on_lease(self, event: WatchEvent) -> None:
        if event.object.namespace == LEASE_NAMESPACE and event.type != "DELETED":
            self.queue.add(event.object.name)

    def _on_pod(self, event: WatchEvent) -> None:
        name = node_of(event.object)
        before = event.previous
        if not name or event.type == "DELETED" or (before is not None and node_of(before) == name):
            return
        if self._is_not_ready(self._nodes.get(name)):
            self.queue.add(event.object.key)

    def _is_not_ready(self, node: Node | None) -> bool:
        ready = None if node is None else condition_of(node, "Ready")
        return ready is not None and ready.status != "True"

    # --- Doing -------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Look at one node, or at a pod that came to a node that is not ready."""
        namespace, _, name = key.rpartition("/")
        if namespace:
            pod = self._pods.stored(name, namespace)
            if pod is not None and self._is_not_ready(self._nodes.get(node_of(pod))):
                yield from self._mark_not_ready(pod)
            return
        node = self._nodes.stored(key)
        if node is not None:
            yield from self._check_health(node)
            node = self._nodes.stored(key)
        if node is not None:
            yield from self._settle(node)

    def _check_health(self, node: StoredObject) -> Steps:
        deadline_ns = self._health.deadline_ns(node, self._leases.stored(node.name, LEASE_NAMESPACE))
        if deadline_ns is None:
            return
        now_ns = self.clock.now_ns()
        if now_ns <= deadline_ns:
            ready = condition_of(node.view, "Ready")
            if ready is None or ready.status != "Unknown":
                self.queue.add_after(node.name, deadline_ns + 1 - now_ns)
            return
        ready = condition_of(node.view, "Ready")
        if ready is not None and ready.status == "Unknown":
            return
        yield from ask(new_status(node, self._unknown(node)))
        if ready is None or ready.status == "True":
            yield from self._tell_of_silence(node, was_ready=ready is not None)

    def _unknown(self, node: StoredObject) -> Mapping[str, Any]:
        """Return the status of a node that nobody hears of."""
        now = format_time(self.clock.now_ns())
        status = dict(node.raw.get("status") or {})
        conditions: list[dict[str, Any]] = [dict(each) for each in status.get("conditions") or ()]
        for kind in _CONDITIONS:
            found = next((each for each in conditions if each["type"] == kind), None)
            if found is None:
                conditions.append(
                    {
                        "type": kind,
                        "status": "Unknown",
                        "reason": "NodeStatusNeverUpdated",
                        "message": "Kubelet never posted node status.",
                        "lastHeartbeatTime": node.view.metadata.creation_timestamp,
                        "lastTransitionTime": now,
                    }
                )
            elif found["status"] != "Unknown":
                text = "Kubelet stopped posting node status."
                found |= {
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "message": text,
                    "lastTransitionTime": now,
                }
        return {**status, "conditions": conditions}

    def _tell_of_silence(self, node: StoredObject, *, was_ready: bool) -> Steps:
        if was_ready:
            text = f"Node {node.name} status is now: NodeNotReady"
            self.events.normal(NODE, node, "NodeNotReady", text)
            for pod in self._pods.indexed(NODE_INDEX, node.name):
                yield from self._mark_not_ready(pod)

    def _mark_not_ready(self, pod: StoredObject) -> Steps:
        conditions: list[dict[str, Any]] = [dict(each) for each in pod.raw["status"].get("conditions") or ()]
        ready = next((each for each in conditions if each["type"] == "Ready"), None)
        if ready is None or ready["status"] == "False":
            return
        ready |= {"status": "False", "lastTransitionTime": format_time(self.clock.now_ns())}
        outcome = yield from attempt(new_status(pod, {**pod.raw["status"], "conditions": conditions}))
        if outcome.error is not None:
            if outcome.error.reason != "NotFound":
                raise outcome.error
            return
        self.events.warning(POD, pod, "NodeNotReady", "Node is not ready")

    def _settle(self, node: StoredObject) -> Asking[None]:
        """Bring taints and labels to what the conditions ask for."""
        added, removed = no_schedule_changes(node.view)
        more, fewer = self._no_execute_changes(node)
        added, removed = added + more, removed + fewer
        patch: dict[str, Any] = {}
        if labels := missing_labels(node.labels):
            patch["metadata"] = {"labels": labels}
        if added or removed:
            now = format_time(self.clock.now_ns())
            taints = with_changes(node.raw["spec"].get("taints") or (), added, removed, now)
            patch["spec"] = {"taints": taints or None}
        if patch:
            outcome = yield from attempt(Write("patch", "nodes", "", node.name, patch, patch_type="strategic"))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error

    def _no_execute_changes(self, node: StoredObject) -> tuple[list[Mark], list[Mark]]:
        ready = condition_of(node.view, "Ready")
        present = [mark for mark in marks(node.view) if mark in _EXECUTE]
        granted = self._due.pop(node.name, "") is None
        if ready is None:
            return [], present
        if ready.status == "True" or self._zones.all_disrupted:
            if ready.status == "True":
                self._zones.stop_waiting(node.name)
            else:
                self._zones.wait(node.name)
            return [], present
        wanted = NOT_READY_EXECUTE if ready.status == "False" else UNREACHABLE_EXECUTE
        if wanted in present:
            return [], []
        if present or granted:
            # One replaces the other at once.
            return [wanted], present
        self._zones.wait(node.name)
        self._pump()
        return [], []

    def _pump(self) -> None:
        """Let those nodes be tainted whose turn it is."""
        taken, again_ns = self._zones.take(self.clock.now_ns())
        for name in taken:
            self._due[name] = None
            self.queue.add(name)
        if again_ns is not None:
            self.clock.at(again_ns, self._pump)


def node_of(pod: StoredObject) -> str:
    """Return the name of a pod's node."""
    name: str = pod.view.spec.node_name
    return name


def _told(name: str, text: str) -> str:
    return f"Node {name} event: {text.format(name)}"
