"""The operations of a KEP-140 Scenario, a step at a time, on a cluster of any kind of clock; phase, steps and timeline.

stepping = Stepping(cluster, doer, operations)
while stepping.begin():                    the next major step: all of its operations are done
    …                                      whoever drives the cluster lets it go on until nothing more happens
    stepping.end()                         what came of the step is kept in `timeline`
stepping.status("…")                       what the status of the Scenario says

A major step begins with its operations; every change of a pod by the cluster counts up the minor step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from schedlab.apimachinery.errors import StatusError
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.kep140 import PATCHES, DeleteOperation, Operation, given_of

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject, WatchEvent
    from schedlab.cluster.cluster import Cluster
    from schedlab.scenario.doing import Doer

Phase = Literal["Pending", "Running", "Paused", "Succeeded", "Failed"]
StepPhase = Literal["Operating", "ControllerRunning", "Finished"]
_POD: Final = {"apiVersion": "v1", "kind": "Pod"}
#: A step before all others: operations count from 0.
_BEFORE: Final = -1


class Stepping:
    """Where a Scenario stands. timeline: what happened, by major step. problem: why it has failed."""

    def __init__(self, cluster: Cluster, doer: Doer, operations: Sequence[Operation]) -> None:
        self._cluster, self._doer = cluster, doer
        self.operations = operations
        self.phase: Phase = "Running"
        self.step_phase: StepPhase = "Operating"
        self.problem = ""
        self.timeline: dict[str, list[dict[str, Any]]] = {}
        self._major, self._minor = _BEFORE, 0
        self._changed_ns = cluster.clock.now_ns()
        self._own_write = False

    def resume(self, status: Mapping[str, Any]) -> None:
        """Go on where a status says that a Scenario was paused."""
        self.phase = "Paused"
        self.timeline = {step: [*events] for step, events in _timeline_of(status).items()}
        self._major = max(map(int, self.timeline), default=_BEFORE)

    def begin(self) -> bool:
        """Do the operations of the next step; False when there is none, or one fails."""
        following = [one.step for one in self.operations if one.step > self._major]
        if self.phase in ("Succeeded", "Failed") or not following:
            self._pause()
            return False
        self.phase, self.step_phase = "Running", "Operating"
        self._major, self._minor = min(following), 0
        self.timeline[str(self._major)] = []
        for operation in self._now():
            if not self._operate(operation):
                return False
        self.step_phase = "ControllerRunning"
        self._changed_ns = self._cluster.clock.now_ns()
        return True

    def _pause(self) -> None:
        if self.phase == "Running":
            self.phase = "Paused"

    def _now(self) -> list[Operation]:
        return [one for one in self.operations if one.step == self._major]

    def end(self) -> None:
        """End a step, and with it the Scenario if the step is its last."""
        self.step_phase = "Finished"
        if any(one.done_operation is not None for one in self._now()):
            self.phase = "Succeeded"
        elif not any(one.step > self._major for one in self.operations):
            self._pause()

    def fail(self, problem: str) -> None:
        """End it for a reason."""
        self.phase, self.problem = "Failed", problem

    @property
    def changed_ns(self) -> int:
        """When something has changed last."""
        return self._changed_ns

    # --- The timeline ------------------------------------------------------------------------------------------------

    def _operate(self, operation: Operation) -> bool:
        self._own_write = True
        try:
            result = self._do_now(operation)
        except (StatusError, SchedlabError) as error:
            self.fail(f"operation {operation.id or operation.step}: {error.message}")
            return False
        finally:
            self._own_write = False
        [name] = given_of(operation)
        said = msgspec.to_builtins(operation)[name]
        event = {"operation": said, **({} if result is None else {"result": result.raw})}
        self._note(operation.id, name.removesuffix("Operation"), event)
        return True

    def _do_now(self, operation: Operation) -> StoredObject | None:
        registry = self._cluster.registry
        if operation.create_operation is not None:
            return self._doer.create(operation.create_operation.object)
        target = operation.patch_operation or operation.delete_operation
        if target is None:
            return None
        group = target.type_meta.api_version.rpartition("/")[0]
        kind = registry.resources.find_kind(group, target.type_meta.kind)
        if kind is None:
            raise SchedlabError(f"{target.type_meta.kind} of {target.type_meta.api_version} is not served")
        namespace = (target.object_meta.namespace or "default") if kind.namespaced else ""
        name = target.object_meta.name
        if isinstance(target, DeleteOperation):
            registry.delete(kind.full_name, name, namespace)
            return None
        form = PATCHES[target.patch_type]
        return registry.patch(kind.full_name, name, form, target.patch.encode(), namespace).object

    def changed(self, event: WatchEvent) -> None:
        """Note when something has changed, and what the cluster has done to pods."""
        self._changed_ns = self._cluster.clock.now_ns()
        obj = event.object
        if obj.resource != "pods" or self._own_write or self.phase != "Running":
            return
        before = event.previous
        if event.type == "DELETED":
            self._note("", "delete", {"operation": {"typeMeta": _POD, "objectMeta": _name(obj)}})
        elif obj.view.spec.node_name and (before is None or not before.view.spec.node_name):
            self._note("", "podScheduled", {"result": obj.raw})

    def _note(self, operation_id: str, word: str, event: dict[str, Any]) -> None:
        events = self.timeline.setdefault(str(self._major), [])
        step = {"major": self._major, "minor": self._minor}
        events.append({"id": operation_id or f"{self._major}-{self._minor}", "step": step, word: event})
        self._minor += 1

    def status(self, version: str) -> dict[str, Any]:
        """Return the status of the Scenario."""
        return {
            "phase": self.phase,
            "message": self.problem,
            "stepStatus": {"step": {"major": max(self._major, 0), "minor": self._minor}, "phase": self.step_phase},
            "scenarioResult": {"simulatorVersion": version, "timeline": self.timeline},
        }


def _timeline_of(status: Mapping[str, Any]) -> Mapping[str, Sequence[dict[str, Any]]]:
    found: Mapping[str, Sequence[dict[str, Any]]] = (status.get("scenarioResult") or {}).get("timeline") or {}
    return found


def _name(obj: StoredObject) -> dict[str, str]:
    return {"name": obj.name, "namespace": obj.namespace}
