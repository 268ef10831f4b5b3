"""The definition of the custom resource Scenario.

Mirrors: keps/140-scenario-based-simulation of kube-scheduler-simulator, whose own definition was never written.
Differs: `kubectl get` has columns; `kubectl explain` has shorter descriptions.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.api.object import Object
from schedlab.registry.custom.provided import definition_of

GROUP: Final = "simulation.kube-scheduler-simulator.x-k8s.io"
VERSION: Final = "v1alpha1"
SCENARIOS: Final = f"scenarios.{GROUP}"

_TEXT: Final = {"type": "string"}
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_STEP: Final = {
    "type": "object",
    "description": "Simulated time: the major step is that of operations, the minor one counts changes.",
    "properties": {"major": {"type": "integer"}, "minor": {"type": "integer"}},
}


def _part(description: str, required: list[str], **properties: Any) -> Object:
    found: Object = {"type": "object", "description": description, "properties": properties}
    return {**found, "required": required} if required else found


def _target(description: str, options: str, *required: str, **more: Any) -> Object:
    type_meta = _part("Which kind is meant.", ["apiVersion", "kind"], apiVersion=_TEXT, kind=_TEXT)
    object_meta = _part("Which object is meant.", ["name"], name=_TEXT, namespace=_TEXT)
    return _part(
        description,
        ["typeMeta", "objectMeta", *required],
        typeMeta=type_meta,
        objectMeta=object_meta,
        **more,
        **{options: _ANYTHING},
    )


def _spec() -> Object:
    made = {**_ANYTHING, "description": "The object to create."}
    patch_type = {**_TEXT, "description": "application/strategic-merge-patch+json if not given."}
    operation = _part(
        "Something to do; one of the four operations is to be given.",
        ["step"],
        id={**_TEXT, "description": "Names it in the timeline."},
        step={"type": "integer", "format": "int32", "minimum": 0, "description": "The major step it is done in."},
        createOperation=_part("Creates an object.", ["object"], object=made, createOptions=_ANYTHING),
        patchOperation=_target(
            "Patches an object.",
            "patchOptions",
            "patch",
            patch={**_TEXT, "description": "As JSON."},
            patchType=patch_type,
        ),
        deleteOperation=_target("Deletes an object.", "deleteOptions"),
        doneOperation={**_ANYTHING, "description": "The Scenario has succeeded when its step is over."},
    )
    operations = {
        "type": "array",
        "items": operation,
        "description": "All that is done. More can be added while it runs or is paused, for steps to come.",
    }
    controllers = {**_ANYTHING, "description": "Accepted, and chooses nothing: all controllers run together."}
    return _part("What is to be done.", [], operations=operations, controllers=controllers)


def _status() -> Object:
    timeline = {"type": "object", "additionalProperties": {"type": "array", "items": _ANYTHING}}
    step_status = _part(
        "Where the current step stands.", [], step=_STEP, phase=_TEXT, runningSimulationController=_TEXT
    )
    result = _part("What happened, by major step.", [], simulatorVersion=_TEXT, timeline=timeline)
    phase = {**_TEXT, "description": "Pending, Running, Paused, Succeeded or Failed."}
    return _part("How far it is.", [], phase=phase, message=_TEXT, stepStatus=step_status, scenarioResult=result)


def scenario_definition() -> Object:
    """Return the definition."""
    schema = {"type": "object", "properties": {"spec": _spec(), "status": _status()}}
    columns = [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Step", "type": "integer", "jsonPath": ".status.stepStatus.step.major"},
        {"name": "Message", "type": "string", "jsonPath": ".status.message"},
    ]
    return definition_of("Scenario", "scenarios", GROUP, VERSION, schema, columns)
