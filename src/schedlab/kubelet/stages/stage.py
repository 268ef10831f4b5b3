"""A Stage, read from the object that says it, with everything compiled that can be compiled.

Mirrors: KWOK's pkg/apis/v1alpha1/stage_types.go, the conversion of `next` to steps in pkg/apis/internalversion, and
NewStage of pkg/utils/lifecycle.
Differs: templates are parsed at once, so that a broken one is told before anything is played; impersonation is read and
has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from schedlab.apimachinery.gotemplate import Template, TemplateError, parse
from schedlab.kernel.clock import MILLISECOND_NS
from schedlab.kubelet.stages.expressions import Condition, ExpressionError, Query
from schedlab.kubelet.stages.functions import KNOWN

Object: TypeAlias = Mapping[str, Any]
PatchType: TypeAlias = Literal["", "json", "merge", "strategic", "apply"]
T = TypeVar("T")

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


class StageError(ValueError):
    """What is wrong with a Stage: `path` is the field, `reason` a word for a condition."""

    def __init__(self, reason: str, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.reason = reason


class ResourceRef(NamedTuple):
    """The kind of the objects that a Stage is for."""

    api_group: str
    kind: str

    def __str__(self) -> str:
        return self.kind if self.api_group == "v1" else f"{self.kind} ({self.api_group})"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a query must find, or must not."""

    query: Query
    operator: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class From:
    """Where a number or a duration comes from: an expression about the object, with a value where it says nothing."""

    value: int | None = None
    query: Query | None = None
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a Stage does, or several in KWOK's order: event, finalizers, deletion, patch, apply."""

    event: Object | None = None
    finalizers: Object | None = None
    delete: bool = False
    template: Template | None = None
    root: str = ""
    subresource: str = ""
    patch_type: PatchType = ""
    is_apply: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """A Stage that can be played."""

    name: str
    ref: ResourceRef
    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_annotations: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()
    conditions: tuple[Condition, ...] = ()
    weight: From = field(default_factory=lambda: From(0))
    delay: From | None = None
    jitter: From | None = None
    steps: tuple[Step, ...] = ()
    #: Without a selector a Stage is for nothing, as with KWOK.
    selects: bool = True


def read_ref(obj: Object) -> ResourceRef:
    """Return what a Stage is for."""
    ref = obj["spec"].get("resourceRef") or {}
    return ResourceRef(ref.get("apiGroup") or "v1", ref.get("kind") or "")


def read_stage(obj: Object) -> Stage:
    """Compile a Stage; raises StageError."""
    spec = obj["spec"]
    selector = spec.get("selector")
    chosen: Object = selector or {}
    expressions = chosen.get("matchExpressions") or ()
    requirements, conditions = _read_expressions(expressions)
    delay, jitter = _read_delay(spec.get("delay"))
    return Stage(
        name=obj["metadata"]["name"],
        ref=read_ref(obj),
        match_labels=chosen.get("matchLabels") or {},
        match_annotations=chosen.get("matchAnnotations") or {},
        requirements=requirements,
        conditions=conditions,
        weight=_read_from(spec.get("weightFrom"), spec.get("weight") or 0, "spec.weightFrom"),
        delay=delay,
        jitter=jitter,
        steps=tuple(_read_steps(spec)),
        selects=selector is not None,
    )


def _read_expressions(expressions: Sequence[Object]) -> tuple[tuple[Requirement, ...], tuple[Condition, ...]]:
    requirements: list[Requirement] = []
    conditions: list[Condition] = []
    for at, each in enumerate(expressions):
        path = f"spec.selector.matchExpressions[{at}]"
        query = each.get("jq") or (each if each.get("key") else None)
        if query is not None:
            requirements.append(_read_requirement(query, f"{path}.jq" if each.get("jq") else path))
        elif each.get("cel"):
            source = each["cel"].get("expression") or ""
            conditions.append(_compiled("BrokenSelector", f"{path}.cel.expression", Condition, source))
        else:
            raise StageError("BrokenSelector", path, "neither key, jq nor cel is given")
    return tuple(requirements), tuple(conditions)


def _read_requirement(source: Object, path: str) -> Requirement:
    operator, values = source.get("operator") or "", source.get("values") or ()
    query = _compiled("BrokenSelector", f"{path}.key", Query, source.get("key") or "")
    if operator in _WITH_VALUES and not values:
        raise StageError("BrokenSelector", f"{path}.values", f"{operator} needs values")
    if operator in _WITHOUT_VALUES and values:
        raise StageError("BrokenSelector", f"{path}.values", f"{operator} takes no values")
    if operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        known = ", ".join((*_WITH_VALUES, *_WITHOUT_VALUES))
        raise StageError("BrokenSelector", f"{path}.operator", f"{operator!r} is not one of {known}")
    return Requirement(query, operator, frozenset(values))


def _read_delay(delay: Object | None) -> tuple[From | None, From | None]:
    if delay is None:
        return None, None
    path = "spec.delay"
    duration = _read_from(delay.get("durationFrom"), _ms(delay, "durationMilliseconds") or 0, f"{path}.durationFrom")
    longest, source = _ms(delay, "jitterDurationMilliseconds"), delay.get("jitterDurationFrom")
    if longest is None and not source:
        return duration, None
    return duration, _read_from(source, longest, f"{path}.jitterDurationFrom")


def _ms(delay: Object, name: str) -> int | None:
    value = delay.get(name)
    return None if value is None else int(value) * MILLISECOND_NS


def _read_from(source: Object | None, value: int | None, path: str) -> From:
    if not source:
        return From(value)
    if source.get("cel"):
        expression = source["cel"].get("expression") or ""
        return From(value, condition=_compiled("BrokenExpression", f"{path}.cel.expression", Condition, expression))
    if source.get("jq"):
        query = source["jq"].get("expression") or ""
        return From(value, _compiled("BrokenExpression", f"{path}.jq.expression", Query, query))
    query = source.get("expressionFrom") or ""
    return From(value, _compiled("BrokenExpression", f"{path}.expressionFrom", Query, query)) if query else From(value)


def _compiled(reason: str, path: str, make: Callable[[str], T], source: str) -> T:
    try:
        return make(source)
    except ExpressionError as error:
        raise StageError(reason, path, str(error)) from None


def _read_steps(spec: Object) -> list[Step]:
    steps = spec.get("steps") or ()
    if steps:
        return [_read_step(step, f"spec.steps[{at}]") for at, step in enumerate(steps)]
    following: Object = spec.get("next") or {}
    made: list[Step] = []
    if following.get("event"):
        made.append(Step(event=following["event"]))
    if following.get("finalizers"):
        made.append(Step(finalizers=following["finalizers"]))
    patches = following.get("patches") or ()
    if patches:
        made += [_read_patch(patch, f"spec.next.patches[{at}]") for at, patch in enumerate(patches)]
    elif following.get("statusTemplate"):
        template = _read_template(following["statusTemplate"], "spec.next.statusTemplate")
        made.append(Step(template=template, root="status", subresource=following.get("statusSubresource") or "status"))
    if following.get("delete"):
        made.append(Step(delete=True))
    return made


def _read_step(step: Object, path: str) -> Step:
    """Read one step; KWOK knows steps that do several things at once."""
    patch, apply = step.get("patch"), step.get("apply")
    read = Step()
    if patch:
        read = _read_patch(patch, f"{path}.patch")
    elif apply:
        template = _read_template(apply.get("template") or "", f"{path}.apply.template")
        read = Step(template=template, subresource=apply.get("subresource") or "", is_apply=True)
        read = _typed(read, apply.get("type") or "apply")
    return Step(
        event=step.get("event"),
        finalizers=step.get("finalizers"),
        delete=bool(step.get("delete")),
        template=read.template,
        root=read.root,
        subresource=read.subresource,
        patch_type=read.patch_type,
        is_apply=read.is_apply,
    )


def _read_patch(patch: Object, path: str) -> Step:
    template = _read_template(patch.get("template") or "", f"{path}.template")
    read = Step(template=template, root=patch.get("root") or "", subresource=patch.get("subresource") or "")
    return _typed(read, patch.get("type") or "")


def _typed(step: Step, patch_type: PatchType) -> Step:
    return Step(
        template=step.template,
        root=step.root,
        subresource=step.subresource,
        patch_type=patch_type,
        is_apply=step.is_apply,
    )


def _read_template(source: str, path: str) -> Template:
    try:
        return parse(source.strip(), KNOWN)
    except TemplateError as error:
        raise StageError("BrokenTemplate", path, str(error)) from None
