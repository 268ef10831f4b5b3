"""The kubectl commands that make a change: of the pod itself where the API lets it change, of its owner's template, or
of a pod made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import orjson

from schedlab.api.object import Object, StoredObject
from schedlab.whatif.search.edits import Edit, ObjectChange

if TYPE_CHECKING:
    from schedlab.cluster.frozen import FrozenListers

#: Where each kind of owner keeps the template of its pods, and how kubectl calls it.
_TEMPLATES: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "Deployment": ("deployments.apps", "deployment", ("spec", "template")),
    "StatefulSet": ("statefulsets.apps", "statefulset", ("spec", "template")),
    "DaemonSet": ("daemonsets.apps", "daemonset", ("spec", "template")),
    "ReplicaSet": ("replicasets.apps", "replicaset", ("spec", "template")),
    "ReplicationController": ("replicationcontrollers", "replicationcontroller", ("spec", "template")),
}
_BY_NAME: Final = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose template the pod was made from: `name` as kubectl calls it, `path` to the template in `stored`."""

    name: str
    stored: StoredObject
    path: tuple[str, ...]


def owner_of(pod: StoredObject, listers: FrozenListers) -> Owner | None:
    """Return the owner whose template has to change for the pod to be made differently."""
    current, found = pod, None
    while True:
        reference = current.view.metadata.controller()
        known = None if reference is None else _TEMPLATES.get(reference.kind)
        if reference is None or known is None:
            return found
        resource, word, path = known
        stored = listers.lister(resource).stored(reference.name, pod.namespace)
        if stored is None:
            return found
        current, found = stored, Owner(f"{word} {reference.name}", stored, path)


def commands_of(pod: StoredObject, edits: Sequence[Edit], listers: FrozenListers) -> list[str]:
    """Return what to type for a suggestion, in order."""
    commands = [command for edit in edits for command in edit.commands]
    changes = [edit.pod for edit in edits if edit.pod is not None]
    if changes:
        in_place = all(edit.in_place for edit in edits if edit.pod is not None)
        commands += _pod_commands(pod, changes, owner_of(pod, listers), in_place=in_place)
    return commands


def _pod_commands(
    pod: StoredObject, changes: Sequence[ObjectChange], owner: Owner | None, *, in_place: bool
) -> list[str]:
    if owner is not None:
        template = _inside(owner.stored.raw, owner.path)
        wrapped: Any = _patch(template, changes)
        for key in reversed(owner.path):
            wrapped = {key: wrapped}
        return [f"kubectl patch {owner.name} -n {pod.namespace} -p {_json(wrapped)}"]
    patch = _json(_patch(pod.raw, changes))
    if in_place:
        return [f"kubectl patch pod {pod.name} -n {pod.namespace} -p {patch}"]
    read = f"kubectl get pod {pod.name} -n {pod.namespace} -o json"
    return [f"{read} | kubectl patch --local -f - -p {patch} -o json | kubectl replace --force -f -"]


def _inside(raw: Object, path: Sequence[str]) -> Object:
    for key in path:
        raw = raw[key]
    return raw


def _patch(before: Object, changes: Sequence[ObjectChange]) -> Object:
    """Return the strategic merge patch of what the changes do to a pod or template; its status is nobody's wish."""
    after = deepcopy({"metadata": before.get("metadata") or {}, "spec": before["spec"]})
    for change in changes:
        _apply(change, after)
    patch = _difference({"metadata": before.get("metadata") or {}, "spec": before["spec"]}, after)
    assert isinstance(patch, dict)
    if "priorityClassName" in (patch.get("spec") or {}):
        # What follows from the class is filled in by admission, and refused if it is there and not the same.
        for key in ("priority", "preemptionPolicy"):
            patch["spec"].pop(key, None)
            if key in before["spec"]:
                patch["spec"][key] = None
    return patch


def _apply(change: Callable[[Object], None], pod: Object) -> None:
    change(pod)


def _difference(before: Any, after: Any) -> Any:
    """Return the patch from one dict to another: what is new or other, null for what is gone."""
    patch: dict[str, Any] = {}
    for key in (*before, *(key for key in after if key not in before)):
        if key not in after:
            patch[key] = None
        elif key not in before or before[key] != after[key]:
            old, new = before.get(key), after[key]
            if isinstance(old, dict) and isinstance(new, dict):
                patch[key] = _difference(old, new)
            elif key in _BY_NAME:
                patch[key] = [
                    {"name": theirs["name"], **_difference(mine, theirs)}
                    for mine, theirs in zip(old, new, strict=True)
                    if mine != theirs
                ]
            else:
                patch[key] = new
    return patch


def _json(value: object) -> str:
    return quote(orjson.dumps(value).decode())
