"""Scenarios as KEP-140 of kube-scheduler-simulator plans them: operations by step, a step at a time.

    spec:
      operations:
      - {id: a, step: 1, createOperation: {object: {…}}}
      - {id: b, step: 2, patchOperation: {typeMeta: {…}, objectMeta: {…}, patch: "…"}}
      - {id: c, step: 3, deleteOperation: {typeMeta: {…}, objectMeta: {…}}}
      - {id: d, step: 3, doneOperation: {}}

`stepping` does them, `stepped_experiment` on a cluster of its own, `live_scenarios` on a living one.

Mirrors: keps/140-scenario-based-simulation of kube-scheduler-simulator, which was never built.
Differs: all controllers run together; steps take virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from schedlab.scenario.compiling import compile_plan
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.model import API_VERSION, KIND, Scenario, Stop
from schedlab.scenario.plan import Plan
from schedlab.scenario.reader import Reader
from schedlab.scenario.shape import mistakes_of
from schedlab.scenario.source import Source

#: Groups that the KEP and its scaffold name.
GROUPS: Final = ("simulation.kube-scheduler-simulator.", "kube-scheduler-simulator")
#: The types of patches, as the API calls them and as the registry does.
PATCHES: Final[Mapping[str, Literal["strategic", "merge", "json"]]] = {
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
    found = given_of(operation)
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
        reader.check_accepted((*place, "createOperation"), made.object)
    if operation.patch_operation is not None and operation.patch_operation.patch_type not in PATCHES:
        reader.wrong(
            (*place, "patchOperation", "patchType"),
            f"{operation.patch_operation.patch_type!r} is no type of patch",
            f"it is one of {', '.join(PATCHES)}",
        )
    for deed in ("patchOperation", "deleteOperation"):
        target = operation.patch_operation if deed == "patchOperation" else operation.delete_operation
        if target is not None:
            name = f"{target.type_meta.kind.lower()}/{target.object_meta.name}"
            reader.check_target((*place, deed), name, target.object_meta.namespace or "default")


def given_of(operation: Operation) -> list[str]:
    """Return what an operation does, as its field is called: one, unless it is wrong."""
    names = ("create_operation", "patch_operation", "delete_operation", "done_operation")
    return [name.replace("_o", "O") for name in names if getattr(operation, name) is not None]
