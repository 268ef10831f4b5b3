"""What a Stage does to an object, as writes.

Mirrors: KWOK's pkg/utils/lifecycle/{next,finalizers,apply}.go.
Differs: patches that change nothing are left to the API server, for which they are no change either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.gotemplate import TemplateError
from schedlab.apimachinery.resources import ResourceType
from schedlab.apimachinery.yaml import YAMLError, load
from schedlab.client.protocol import PatchType, Write
from schedlab.kubelet.stages.stage import Object, Stage, Step

MANAGER: Final = {"fieldManager": "kwok"}
#: Kinds that are patched strategically unless a Stage says how.
_STRATEGIC: Final = ("pods", "nodes")


class StepError(ValueError):
    """A step that cannot be done for an object."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One write of a step; if the object is there already, `instead` is what to do."""

    write: Write
    instead: Write | None = None


#: Finds a resource by apiVersion and kind.
Find = Callable[[str, str], ResourceType | None]
Functions = Mapping[str, Callable[..., Any]]


def deeds(stage: Stage, stored: StoredObject, functions: Functions, find: Find) -> Sequence[Deed | Object]:
    """Return the writes of all steps in order, events as they are written in the Stage; raises StepError."""
    made: list[Deed | Object] = []
    deleted = False
    for at, step in enumerate(stage.steps):
        if step.event is not None:
            made.append(step.event)
        if deleted:
            continue
        if step.finalizers is not None:
            have = stored.raw["metadata"].get("finalizers") or []
            operations = finalizer_operations(have, step.finalizers)
            if operations:
                made.append(Deed(_patch(stored, operations, "json", "")))
        if step.delete:
            deleted = True
            made.append(Deed(_delete(stored)))
        elif step.template is not None:
            try:
                made.append(_from_template(step, stored, functions, find))
            except (TemplateError, YAMLError) as error:
                raise StepError(f"step {at + 1}: {error}") from None
    return made


def _delete(stored: StoredObject) -> Write:
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": stored.uid}}
    return Write("delete", stored.resource, stored.namespace, stored.name, options)


def _patch(stored: StoredObject, body: Any, patch_type: PatchType, subresource: str) -> Write:
    return Write(
        "patch",
        stored.resource,
        stored.namespace,
        stored.name,
        body,
        subresource=subresource,
        patch_type=patch_type,
        options=MANAGER,
    )


def _from_template(step: Step, stored: StoredObject, functions: Functions, find: Find) -> Deed:
    assert step.template is not None, "asked for by the caller"
    value = load(step.template.render(stored.raw, functions))
    if step.is_apply:
        return _apply(step, value, stored, find)
    if step.patch_type == "json":
        return Deed(_patch(stored, _below(step.root, value), "json", step.subresource))
    if not isinstance(value, dict) and not (value is None and step.root):
        raise StepError("the template gives no map")
    body = {step.root: value} if step.root else value
    default: PatchType = "strategic" if stored.resource in _STRATEGIC else "merge"
    return Deed(_patch(stored, body, step.patch_type or default, step.subresource))


def _below(root: str, operations: Any) -> list[dict[str, Any]]:
    """Return the operations of a JSON patch with paths that begin at the root."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise StepError("the template gives no list of operations")
    if not root:
        return operations
    return [{**each, "path": f"/{root}{each.get('path', '')}"} for each in operations]


def _apply(step: Step, value: Any, stored: StoredObject, find: Find) -> Deed:
    if not isinstance(value, dict) or not value.get("apiVersion") or not value.get("kind"):
        raise StepError("the template to apply must include apiVersion and kind")
    kind = find(str(value["apiVersion"]), str(value["kind"]))
    if kind is None:
        raise StepError(f"no kind {value['kind']} in {value['apiVersion']} is served")
    metadata = value.get("metadata") or {}
    name, namespace = str(metadata.get("name") or ""), ""
    if kind.namespaced:
        namespace = str(metadata.get("namespace") or stored.namespace)
        value = {**value, "metadata": {**metadata, "namespace": namespace}}
    patch_type: PatchType = step.patch_type or "apply"
    options = {**MANAGER, "force": "true"} if patch_type == "apply" else MANAGER
    patch = Write(
        "patch",
        kind.full_name,
        namespace,
        name,
        value,
        subresource=step.subresource,
        patch_type=patch_type,
        options=options,
    )
    if step.subresource:
        return Deed(patch)
    return Deed(Write("create", kind.full_name, namespace, name, value, options=MANAGER), patch if name else None)


def finalizer_operations(have: Sequence[str], change: Object) -> list[dict[str, Any]]:
    """Return the JSON patch that brings an object's finalizers to what a Stage asks for."""
    added = _values(change, "add")
    removed = [at for at, each in enumerate(have) if each in _values(change, "remove")]
    if change.get("empty") or (removed and len(removed) == len(have)):
        empty = [{"op": "remove", "path": "/metadata/finalizers"}] if have else []
        return empty + ([_all_of(added)] if added else [])
    operations: list[dict[str, Any]] = [
        {"op": "remove", "path": f"/metadata/finalizers/{at}"} for at in reversed(removed)
    ]
    if added and not have:
        operations.append(_all_of(added))
    else:
        new = [each for each in added if each not in have]
        operations += [{"op": "add", "path": "/metadata/finalizers/-", "value": each} for each in new]
    return operations


def _values(change: Object, name: str) -> list[str]:
    return [each["value"] for each in change.get(name) or ()]


def _all_of(added: Sequence[str]) -> dict[str, Any]:
    return {"op": "add", "path": "/metadata/finalizers", "value": list(added)}
