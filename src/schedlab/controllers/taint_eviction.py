"""The taint eviction controller: deletes the pods of a node with a NoExecute taint that they do not tolerate, or no
longer.

    a taint that is not tolerated ──► now
    all tolerated for a time      ──► at the end of the shortest time; cancelled when the taint goes

Mirrors: pkg/controller/tainteviction/taint_eviction.go (v1.36)
Differs: the times are timers of the clock, not workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.taints import tolerates
from schedlab.api.views.core import Node, Pod, Taint, Toleration
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write
from schedlab.controllers.disruption_target import disruption_target, status_patch
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, attempt, split_key
from schedlab.controllers.framework.kinds import POD
from schedlab.controllers.node_lifecycle.controller import NODE_INDEX, node_of
from schedlab.kernel.clock import SECOND_NS, Timer

_REASON: Final = "TaintManagerEviction"
_WHY: Final = "Taint manager: deleting due to NoExecute taint"


@dataclass(slots=True)
class _Plan:
    """When a pod is to go; without a timer it is going already."""

    created_ns: int
    timer: Timer | None


class TaintEvictionController(Controller):
    """Keys are those of pods that go now."""

    name: ClassVar[str] = "taint-eviction-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._plans: dict[str, _Plan] = {}
        self._nodes = context.lister("nodes")
        self._pods = context.lister("pods")
        self._pods.add_index(NODE_INDEX, node_of)
        self._nodes.on_change(self._on_node)
        self._pods.on_change(self._on_pod)

    # --- Hearing -----------------------------------------------------------------------------------------------------

    def _on_node(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            return
        taints = _executing(event.object.view)
        if event.previous is None and not taints:
            return
        if event.previous is not None and taints == _executing(event.previous.view):
            return
        for pod in self._pods.indexed(NODE_INDEX, event.object.name):
            self._look_at(pod, taints)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        if event.type == "DELETED":
            self._cancel(pod)
            return
        before = event.previous
        if before is not None:
            old, new = before.view.spec, pod.view.spec
            if old.node_name == new.node_name and old.tolerations == new.tolerations:
                return
        node = self._nodes.get(node_of(pod)) if node_of(pod) else None
        taints = () if node is None else _executing(node)
        if taints:
            self._look_at(pod, taints)

    def _look_at(self, pod: StoredObject, taints: Sequence[Taint]) -> None:
        """Plan the deletion of a pod that is on a node with these taints."""
        seconds = _seconds_tolerated(pod.view, taints)
        if seconds is None:
            self._cancel(pod)
            return
        now_ns = self.clock.now_ns()
        if not seconds:
            self._cancel(pod)
            self._go(pod, now_ns)
            return
        plan = self._plans.get(pod.key)
        created_ns = now_ns if plan is None else plan.created_ns
        if plan is not None:
            if created_ns < now_ns:
                # What was planned earlier stays, unless it has become too late.
                return
            self._cancel(pod)
        due_ns = created_ns + seconds * SECOND_NS
        self._plans[pod.key] = _Plan(created_ns, self.clock.at(due_ns, lambda: self._go(pod, created_ns)))

    def _go(self, pod: StoredObject, created_ns: int) -> None:
        self._plans[pod.key] = _Plan(created_ns, None)
        self.queue.add(pod.key)

    def _cancel(self, pod: StoredObject) -> None:
        plan = self._plans.pop(pod.key, None)
        if plan is not None and plan.timer is not None:
            plan.timer.cancel()
            self.events.normal(POD, pod, _REASON, f"Cancelling deletion of Pod {pod.key}")
            # Events are written with the next step.
            self.queue.add(pod.key)

    # --- Doing -------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Say in the pod why it goes, then delete it."""
        namespace, name = split_key(key)
        pod, plan = self._pods.stored(name, namespace), self._plans.get(key)
        if pod is None or plan is None or plan.timer is not None:
            return
        self.events.normal(POD, pod, _REASON, f"Marking for deletion Pod {key}")
        now = format_time(self.clock.now_ns())
        condition = disruption_target(pod, "DeletionByTaintManager", _WHY, now)
        for write in (status_patch(pod, condition), Write("delete", "pods", namespace, name)):
            error = (yield from attempt(write)).error
            if error is not None:
                if error.reason != "NotFound":
                    raise error
                return


def _executing(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute")


def _seconds_tolerated(pod: Pod, taints: Sequence[Taint]) -> int | None:
    """Return for how long a pod stands all the taints, None for ever."""
    used: list[Toleration] = []
    for taint in taints:
        found = next((each for each in pod.spec.tolerations if tolerates(each, taint)), None)
        if found is None:
            return 0
        used.append(found)
    limits = [each.toleration_seconds for each in used if each.toleration_seconds is not None]
    return max(0, min(limits)) if limits else None
