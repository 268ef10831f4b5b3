"""The definition of the custom resource Stage.

Mirrors: KWOK's kustomize/crd/bases/kwok.x-k8s.io_stages.yaml.
Differs: shorter descriptions, columns for kubectl get; where KWOK's schema has no pattern of its own, neither has this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.registry.custom.provided import definition_of

GROUP: Final = "kwok.x-k8s.io"
_VERSION: Final = "v1alpha1"
STAGES: Final = "stages.kwok.x-k8s.io"


@dataclass(frozen=True, slots=True)
class _StageKind:
    api_version: str = f"{GROUP}/{_VERSION}"
    kind: str = "Stage"


STAGE: Final = _StageKind()

_TEXT: Final = {"type": "string"}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _map(description: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


def _list(description: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


_PAIRS: Final = {"type": "object", "additionalProperties": _TEXT}
_AMOUNT: Final = {"type": "integer", "format": "int64", "minimum": 0}
_CEL: Final = _map("A CEL expression; the object is self.", expression=_text("The expression."))
_FROM: Final = _map(
    "An expression about the object that gives the value.",
    expressionFrom=_text("A jq query. Deprecated: use jq."),
    jq=_map("A jq query.", expression=_text("The query.")),
    cel=_CEL,
)
_REQUIREMENT: Final = {
    "key": _text("A jq query."),
    "operator": _text("In, NotIn, Exists or DoesNotExist."),
    "values": _list("What the query is compared with.", _TEXT),
}
_SELECTOR: Final = _map(
    "Which objects the Stage is for; all requirements must be met. Without a selector it is for none.",
    matchLabels={**_PAIRS, "description": "Labels with their values."},
    matchAnnotations={**_PAIRS, "description": "Annotations with their values."},
    matchExpressions=_list(
        "Expressions about the object.",
        _map(
            "One expression; key, operator and values are the older form of jq.",
            **_REQUIREMENT,
            jq=_map("A jq query and what it must find.", **_REQUIREMENT),
            cel=_CEL,
        ),
    ),
)
_DELAY: Final = _map(
    "How long to wait before the Stage is played.",
    durationMilliseconds={**_AMOUNT, "description": "The delay."},
    durationFrom={**_FROM, "description": "A duration or a moment, before durationMilliseconds."},
    jitterDurationMilliseconds={**_AMOUNT, "description": "The longest delay; one in between is drawn."},
    jitterDurationFrom={**_FROM, "description": "A duration or a moment, before jitterDurationMilliseconds."},
)
_EVENT: Final = _map(
    "An event about the object.",
    type=_text("Normal or Warning."),
    reason=_text("Why."),
    message=_text("What happened."),
)
_FINALIZER: Final = _list("Finalizers.", _map("A finalizer.", value=_text("Its name.")))
_FINALIZERS: Final = _map(
    "Changes of the object's finalizers.",
    add=_FINALIZER,
    remove=_FINALIZER,
    empty={"type": "boolean", "description": "Remove all of them first."},
)
_IMPERSONATION: Final = {
    **_map("In whose name to write; has no effect here.", username=_text("A user.")),
    "required": ["username"],
}
_PATCH: Final = _map(
    "A patch of the object.",
    subresource=_text("The subresource to patch, such as status."),
    root=_text("The member under which the result of the template is put."),
    template=_text("A Go template that gives the patch as YAML."),
    type=_text("How to patch.", enum=["json", "merge", "strategic"]),
    impersonation=_IMPERSONATION,
)
_APPLY: Final = _map(
    "Another object to create or change.",
    subresource=_text("The subresource to patch; the object must be there."),
    template=_text("A Go template that gives the object as YAML."),
    type=_text("How to change an object that is there.", enum=["apply", "merge", "strategic"]),
    impersonation=_IMPERSONATION,
)
_DELETE: Final = {"type": "boolean", "description": "Delete the object."}
_NEXT: Final = _map(
    "What is done. Deprecated: use steps.",
    event=_EVENT,
    finalizers=_FINALIZERS,
    delete=_DELETE,
    patches=_list("Patches of the object.", _PATCH),
    statusTemplate=_text("A Go template of the status. Deprecated: use patches."),
    statusSubresource=_text("The subresource that statusTemplate patches.", default="status"),
    statusPatchAs=_IMPERSONATION,
)
_SPEC: Final = {
    **_map(
        "How objects of one kind go on.",
        resourceRef={
            **_map(
                "The kind of the objects.",
                apiGroup=_text("Group and version.", default="v1"),
                kind=_text("The kind."),
            ),
            "required": ["kind"],
        },
        selector=_SELECTOR,
        weight={
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "Of several Stages that match one is drawn by weight.",
        },
        weightFrom={**_FROM, "description": "The weight, before weight."},
        delay=_DELAY,
        next=_NEXT,
        immediateNextStage={"type": "boolean", "description": "Look for the next Stage at once."},
        steps=_list(
            "What is done, in order.",
            _map("One step.", patch=_PATCH, event=_EVENT, finalizers=_FINALIZERS, delete=_DELETE, apply=_APPLY),
        ),
    ),
    "required": ["resourceRef"],
}
_CONDITION: Final = {
    **_map(
        "How the Stage fares.",
        type=_TEXT,
        status=_text("True, False or Unknown.", enum=["True", "False", "Unknown"]),
        reason=_TEXT,
        message=_TEXT,
        lastTransitionTime=_text("Since when.", format="date-time"),
    ),
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
}
_CONDITIONS: Final = {
    **_list("How the Stage fares.", _CONDITION),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
_SCHEMA: Final = {
    "type": "object",
    "description": "A Stage says how objects go on: what is done to which ones, and when.",
    "required": ["spec"],
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"type": "object"},
        "spec": _SPEC,
        "status": _map("What became of the Stage.", conditions=_CONDITIONS),
    },
}


def _column(name: str, path: str) -> dict[str, str]:
    return {"name": name, "type": "string", "jsonPath": path}


def stage_definition() -> Object:
    """Return the CustomResourceDefinition of Stages."""
    columns = [
        _column("For", ".spec.resourceRef.kind"),
        _column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        _column("Matched", '.status.conditions[?(@.type=="Matched")].status'),
    ]
    return definition_of("Stage", "stages", GROUP, _VERSION, _SCHEMA, columns)
