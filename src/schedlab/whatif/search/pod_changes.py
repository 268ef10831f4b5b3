"""What a suggestion changes in the cluster (whatif.changes): the pod itself where the API lets it change, its owner's
template, or a pod made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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
#: By what a strategic merge patch tells the entries of a list apart.
_MERGE_KEYS: Final[Mapping[str, str]] = {"containers": "name", "initContainers": "name"}
_CONTAINERS: Final = ("containers", "initContainers")
_AMOUNTS: Final = ("requests", "limits")
#: Their entries may have the same key, so the patch gives all of them.
_REPLACED: Final = ("topologySpreadConstraints", "ports")


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
        current, found = stored, Owner(f"{word}/{reference.name}", stored, path)


def changes_of(pod: StoredObject, edits: Sequence[Edit], listers: FrozenListers) -> list[Mapping[str, Any]]:
    """Return what a suggestion changes, in order."""
    changes = [change for edit in edits for change in edit.changes]
    of_pod = [edit.pod for edit in edits if edit.pod is not None]
    if of_pod:
        in_place = all(edit.in_place for edit in edits if edit.pod is not None)
        changes.append(_pod_change(pod, of_pod, owner_of(pod, listers), in_place=in_place))
    return changes


def _pod_change(
    pod: StoredObject, changes: Sequence[ObjectChange], owner: Owner | None, *, in_place: bool
) -> Mapping[str, Any]:
    if owner is not None:
        wrapped: Any = _patch(_admitted(_inside(owner.stored.raw, owner.path), pod.raw), changes)
        for key in reversed(owner.path):
            wrapped = {key: wrapped}
        return {"patch": owner.name, "namespace": pod.namespace, "change": wrapped}
    patch = _patch(pod.raw, changes)
    return {
        "patch" if in_place else "replace": f"pod/{pod.name}",
        "namespace": pod.namespace,
        "change": patch,
    }


def _admitted(template: Object, pod: Object) -> Object:
    """Return a template with the requests and limits that its pod has from elsewhere: its limits, a LimitRange."""
    filled = deepcopy({"metadata": template.get("metadata") or {}, "spec": template["spec"]})
    spec, made = filled["spec"], pod["spec"]
    made_of = {one["name"]: one for key in _CONTAINERS for one in made.get(key) or ()}
    mine = [one for key in _CONTAINERS for one in spec.get(key) or ()]
    for holder, theirs in [(spec, made), *((one, made_of.get(one["name"], {})) for one in mine)]:
        for key, amounts in (theirs.get("resources") or {}).items():
            if key in _AMOUNTS:
                resources = holder.setdefault("resources", {})
                resources[key] = {**amounts, **(resources.get(key) or {})}
    return filled


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
            elif key in _MERGE_KEYS:
                by = _MERGE_KEYS[key]
                patch[key] = [
                    {by: theirs[by], **_difference(mine, theirs)}
                    for mine, theirs in zip(old, new, strict=True)
                    if mine != theirs
                ]
            elif key in _REPLACED:
                patch[key] = [{"$patch": "replace"}, *new]
            else:
                patch[key] = new
    return patch
