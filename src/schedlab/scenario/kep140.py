"""Scenarios as KEP-140 of kube-scheduler-simulator plans them: operations by step, a step at a time.

    spec:
      operations:
      - {id: a, step: 1, createOperation: {object: {…}}}
      - {id: b, step: 2, patchOperation: {typeMeta: {…}, objectMeta: {…}, patch: "…"}}
      - {id: c, step: 3, deleteOperation: {typeMeta: {…}, objectMeta: {…}}}
      - {id: d, step: 3, doneOperation: {}}

A major step begins with its operations and ends when scheduler, controllers and kubelets can do nothing more: when no
object has changed for a minute, which is longer than back-offs of pods and than the pod garbage collector waits. Every change counts up the minor step.

Mirrors: keps/140-scenario-based-simulation of kube-scheduler-simulator, which was never built.
Differs: all controllers run together; steps take virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from schedlab.apimachinery.errors import StatusError
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.compiling import compile_plan
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.model import API_VERSION, KIND, Scenario, Stop
from schedlab.scenario.plan import Plan
from schedlab.scenario.reader import Reader
from schedlab.scenario.results import Ending, Run
from schedlab.scenario.shape import mistakes_of
from schedlab.scenario.source import Source

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject, WatchEvent

#: Groups that the KEP and its scaffold name.
GROUPS: Final = ("simulation.kube-scheduler-simulator.", "kube-scheduler-simulator")
Phase = Literal["Paused", "Succeeded", "Failed"]
_QUIET_NS: Final = 60 * SECOND_NS
_PATCHES: Final[Mapping[str, Literal["strategic", "merge", "json"]]] = {
    "application/strategic-merge-patch+json": "strategic",
    "application/merge-patch+json": "merge",
    "application/json-patch+json": "json",
}


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A mapping of the file."""


class TypeMeta(_Part, frozen=True):
    """Which kind of object is meant."""

    api_version: str
    kind: str


class ObjectName(_Part, frozen=True):
    """Which object is meant."""

    name: str
    namespace: str = ""


class CreateOperation(_Part, frozen=True):
    """Creates an object."""

    object: dict[str, Any]
    create_options: dict[str, Any] = {}


class PatchOperation(_Part, frozen=True):
    """Patches an object; the KEP's Go type gives patchType no name of its own."""

    type_meta: TypeMeta
    object_meta: ObjectName
    patch: str
    patch_type: str = field(name="patchType", default="application/strategic-merge-patch+json")
    patch_options: dict[str, Any] = {}


class DeleteOperation(_Part, frozen=True):
    """Deletes an object."""

    type_meta: TypeMeta
    object_meta: ObjectName
    delete_options: dict[str, Any] = {}


class DoneOperation(_Part, frozen=True):
    """Says that the scenario is over when its step is."""


class Operation(_Part, frozen=True):
    """One operation."""

    step: Annotated[int, Meta(ge=0)]
    id: str = ""
    create_operation: CreateOperation | None = None
    patch_operation: PatchOperation | None = None
    delete_operation: DeleteOperation | None = None
    done_operation: DoneOperation | None = None


class Spec(_Part, frozen=True):
    """The spec of a Scenario; which controllers are simulated is not chosen here."""

    operations: list[Operation] = []
    controllers: dict[str, Any] = {}


class SteppedScenario(_Part, frozen=True):
    """A Scenario of KEP-140."""

    api_version: str
    kind: Literal["Scenario"]
    metadata: dict[str, Any] = {}
    spec: Spec = Spec()
    status: dict[str, Any] = {}


def is_stepped(document: object) -> bool:
    """Whether a document is a Scenario of KEP-140."""
    return isinstance(document, Mapping) and str(document.get("apiVersion", "")).startswith(GROUPS)


def read_stepped(document: Any, text: str, source: Source) -> tuple[Plan, SteppedScenario]:
    """Return the plan that such a scenario begins with, and its operations; raises MistakesError."""
    mistakes = [*mistakes_of(document, SteppedScenario)]
    if mistakes:
        raise MistakesError(str(source.file), text, mistakes)
    stepped = msgspec.convert(document, SteppedScenario)
    reader = Reader(source)
    created = [one.create_operation.object for one in stepped.spec.operations if one.create_operation is not None]
    reader.learn(obj for obj in created if isinstance(obj.get("metadata"), dict))
    for number, operation in enumerate(stepped.spec.operations):
        _check(number, operation, reader)
    scenario = Scenario(
        api_version=API_VERSION,
        kind=KIND,
        name=str(stepped.metadata.get("name") or source.file.stem),
        stop=Stop(at="24h", when="time"),
    )
    plan = compile_plan(scenario, reader)
    if reader.mistakes:
        raise MistakesError(str(source.file), text, reader.mistakes)
    return plan, stepped


def _check(number: int, operation: Operation, reader: Reader) -> None:
    place = ("spec", "operations", number)
    found = _given(operation)
    if len(found) != 1:
        words = " and ".join(found) or "nothing"
        reader.wrong(
            place,
            f"{words} is to be done",
            "give one of createOperation, patchOperation, deleteOperation, doneOperation",
        )
        return
    made = operation.create_operation
    if made is not None and reader.check_manifest((*place, "createOperation"), made.object):
        reader.check_home((*place, "createOperation"), made.object)
    if operation.patch_operation is not None and operation.patch_operation.patch_type not in _PATCHES:
        reader.wrong(
            (*place, "patchOperation", "patchType"),
            f"{operation.patch_operation.patch_type!r} is no type of patch",
            f"it is one of {', '.join(_PATCHES)}",
        )
    for deed in ("patchOperation", "deleteOperation"):
        target = operation.patch_operation if deed == "patchOperation" else operation.delete_operation
        if target is not None:
            name = f"{target.type_meta.kind.lower()}/{target.object_meta.name}"
            reader.check_target((*place, deed), name, target.object_meta.namespace or "default")


def _given(operation: Operation) -> list[str]:
    names = ("create_operation", "patch_operation", "delete_operation", "done_operation")
    return [name.replace("_o", "O") for name in names if getattr(operation, name) is not None]


class SteppedExperiment(Experiment):
    """A run of such a scenario; `phase` and `timeline` are what its status would say."""

    def __init__(self, plan: Plan, stepped: SteppedScenario, **options: Any) -> None:
        super().__init__(plan, **options)
        self._operations = sorted(stepped.spec.operations, key=lambda one: one.step)
        self.phase: Phase = "Paused"
        self.timeline: dict[str, list[dict[str, Any]]] = {}
        self._major = self._minor = 0
        self._changed_ns = self.clock.now_ns()
        self._own_write = False
        for resource in self.cluster.informers.resources():
            self.cluster.informers.on_change(resource, self._changed, from_now=True)

    def run(self) -> Run:
        """Run step by step; the problems of the run are why the phase is Failed."""
        run = super().run()
        if run.problems:
            self.phase = "Failed"
        return run

    def _drive(self, end_ns: int) -> Ending:
        self._driver.settle()
        for step in dict.fromkeys(one.step for one in self._operations):
            self._major, self._minor = step, 0
            chosen = [one for one in self._operations if one.step == step]
            for operation in chosen:
                self._operate(operation)
            if not self._converge(end_ns):
                return "interrupted" if self._interrupted() else "time"
            if any(one.done_operation is not None for one in chosen):
                self.phase = "Succeeded"
                return "idle"
        return "idle"

    def _converge(self, end_ns: int) -> bool:
        """Go on until nothing has changed for a while; False when time is over or the user has interrupted."""
        clock = self.clock
        self._changed_ns = clock.now_ns()
        self._driver.settle()
        self.fates.settled()
        while (quiet_ns := self._changed_ns + _QUIET_NS) <= end_ns and not self._interrupted():
            due_ns = clock.next_ns()
            if due_ns is None or due_ns > quiet_ns:
                clock.advance_to(quiet_ns)
                return True
            clock.advance_to(due_ns)
            self._driver.settle()
            self.fates.settled()
        return False

    # --- The timeline ------------------------------------------------------------------------------------------------

    def _operate(self, operation: Operation) -> None:
        self._own_write = True
        try:
            result = self._do_now(operation)
        except (StatusError, SchedlabError) as error:
            self._doer.problems.append(f"operation {operation.id or operation.step}: {error.message}")
            return
        finally:
            self._own_write = False
        [name] = _given(operation)
        said = msgspec.to_builtins(operation)[name]
        event = {"operation": said, **({} if result is None else {"result": result.raw})}
        self._note(operation.id, name.removesuffix("Operation"), event)

    def _do_now(self, operation: Operation) -> StoredObject | None:
        registry = self.cluster.registry
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
        form = _PATCHES[target.patch_type]
        return registry.patch(kind.full_name, name, form, target.patch.encode(), namespace).object

    def _changed(self, event: WatchEvent) -> None:
        """Note when something has changed, and what the scheduler has done to pods."""
        self._changed_ns = self.clock.now_ns()
        obj = event.object
        if obj.resource != "pods" or self._own_write:
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

    def status(self, run: Run) -> dict[str, Any]:
        """Return the status of the Scenario after its run."""
        return {
            "phase": self.phase,
            "message": "; ".join(run.problems),
            "stepStatus": {"step": {"major": self._major, "minor": self._minor}, "phase": "Finished"},
            "scenarioResult": {"simulatorVersion": run.version, "timeline": self.timeline},
        }


_POD: Final = {"apiVersion": "v1", "kind": "Pod"}


def _name(obj: StoredObject) -> dict[str, str]:
    return {"name": obj.name, "namespace": obj.namespace}
