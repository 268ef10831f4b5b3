"""Snapshots in kube-scheduler-simulator's form: one JSON object with a list per kind and the scheduler's configuration.

    {"pods":[…],"nodes":[…],"pvs":[…],"pvcs":[…],"storageClasses":[…],"priorityClasses":[…],"schedulerConfig":{…},
     "namespaces":[…]}

Mirrors: simulator/snapshot/snapshot.go of kube-scheduler-simulator
Differs: an export is one revision; what is loaded is checked whole before anything is written; stale resourceVersions
and managedFields are no obstacle; every object that cannot be loaded is named, and the others are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.kinds import CLAIMS, KINDS, PODS, SNAPSHOT_ORDER, VOLUMES, MirroredKind, is_systems
from schedlab.registry import Registry, WriteOptions

SCHEDULER_CONFIG: Final = "schedulerConfig"
_MANAGER: Final = "simulator"
#: What another cluster has decided about an object; fields of metadata.
_FOREIGN: Final = ("uid", "resourceVersion", "managedFields", "generation", "creationTimestamp", "selfLink")


@dataclass(slots=True)
class Loaded:
    """What a load has done; `problems` name the objects that were refused."""

    objects: int = 0
    problems: list[str] = field(default_factory=list)


def export(registry: Registry, scheduler_config: Mapping[str, Any]) -> bytes:
    """Return a snapshot of now, as JSON."""
    parts = [b'"%b":%b' % (kind.snapshot.encode(), _items(registry, kind)) for kind in SNAPSHOT_ORDER]
    parts.insert(-1, b'"%b":%b' % (SCHEDULER_CONFIG.encode(), orjson.dumps(scheduler_config)))
    return b"{%b}" % b",".join(parts)


def _items(registry: Registry, kind: MirroredKind) -> bytes:
    resource = registry.resource(kind.resource)
    found = registry.list(kind.resource).items
    return b"[%b]" % b",".join(resource.shown(obj).item_json() for obj in found if not is_systems(kind, obj.name))


def check(document: object) -> Mapping[str, Any]:
    """Return a snapshot whose shape is right; raises SchedlabError with the place of the first mistake."""
    if not isinstance(document, dict):
        raise SchedlabError("a snapshot is an object with a list per kind", hint="export one to see its form")
    known = {kind.snapshot for kind in KINDS} | {SCHEDULER_CONFIG}
    for key, value in document.items():
        if key not in known:
            raise SchedlabError(f"{key} is no part of a snapshot", location=key, hint=f"it has: {', '.join(known)}")
        if value is None:
            continue
        if key == SCHEDULER_CONFIG:
            if not isinstance(value, dict):
                raise SchedlabError("is no object", location=key, hint="leave it out, or give a configuration")
            continue
        _check_list(key, value)
    return document


def _check_list(key: str, value: object) -> None:
    if not isinstance(value, list):
        raise SchedlabError("is no list", location=key, hint="it holds whole objects")
    for number, obj in enumerate(value):
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            place = f"{key}[{number}]"
            raise SchedlabError("is no object with metadata.name", location=place, hint="take it out, or name it")


def load(registry: Registry, document: Mapping[str, Any]) -> Loaded:
    """Bring what a checked snapshot holds into a cluster; objects that are there already are changed to it."""
    loaded = Loaded()
    for _ in load_steps(registry, document, loaded):
        pass
    return loaded


def load_steps(registry: Registry, document: Mapping[str, Any], loaded: Loaded) -> Iterator[None]:
    """Load object by object, so that others can do something in between."""
    for kind in (*(kind for kind in KINDS if kind is not VOLUMES), VOLUMES):
        # Volumes come last: a bound one names the uid that its claim has got here.
        for obj in document.get(kind.snapshot) or ():
            name = obj["metadata"]["name"]
            if is_systems(kind, name):
                continue
            try:
                _apply(registry, kind, obj)
                loaded.objects += 1
            except StatusError as error:
                namespace = obj["metadata"].get("namespace")
                loaded.problems.append(f"{kind.resource} {f'{namespace}/' if namespace else ''}{name}: {error.message}")
            yield


def _apply(registry: Registry, kind: MirroredKind, source: Mapping[str, Any]) -> None:
    known = registry.resource(kind.resource).type
    metadata = {key: value for key, value in source["metadata"].items() if key not in _FOREIGN}
    obj = {**source, "kind": known.kind, "apiVersion": known.api_version, "metadata": metadata}
    namespace = ""
    if known.namespaced:
        namespace = metadata.setdefault("namespace", "default")
    if kind is PODS:
        _loosen_pod(registry, obj, namespace)
    elif kind is VOLUMES:
        rebind(registry, obj)
    options = WriteOptions(field_manager=_MANAGER, force=True)
    registry.apply(kind.resource, metadata["name"], obj, namespace, options)


def _loosen_pod(registry: Registry, pod: dict[str, Any], namespace: str) -> None:
    """Take from a pod what nobody here answers for: owners, for whose lack it would be deleted, and its account."""
    owners = pod["metadata"].get("ownerReferences")
    if isinstance(owners, list):
        kept = [owner for owner in owners if is_here(registry, owner, namespace)]
        pod["metadata"] = {**pod["metadata"], "ownerReferences": kept}
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    account = spec.get("serviceAccountName")
    if account and not _has(registry, "serviceaccounts", str(account), namespace):
        pod["spec"] = {key: value for key, value in spec.items() if key not in ("serviceAccountName", "serviceAccount")}


def kind_of(registry: Registry, obj: Mapping[str, Any]) -> ResourceType | None:
    """Return the resource that an object, or a reference to one, names by apiVersion and kind; None if there is none."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    kind = GroupVersionKind(group, version, str(obj.get("kind", "")))
    # What is served is gathered anew each time; most objects are of kinds that every server has.
    return known_resources().find_gvk(kind) or registry.resources.find_gvk(kind)


def is_here(registry: Registry, owner: object, namespace: str) -> bool:
    """Whether an owner reference names an object of this cluster."""
    if not isinstance(owner, dict):
        return False
    kind = kind_of(registry, owner)
    if kind is None:
        return False
    try:
        found = registry.get(kind.full_name, str(owner.get("name", "")), namespace if kind.namespaced else "")
    except StatusError:
        return False
    return found.uid == owner.get("uid")


def _has(registry: Registry, resource: str, name: str, namespace: str) -> bool:
    try:
        registry.get(resource, name, namespace)
    except StatusError:
        return False
    return True


def rebind(registry: Registry, volume: dict[str, Any]) -> bool:
    """Let a bound volume name the uid that its claim has here; False, and no uid, when there is no such claim."""
    spec, status = volume.get("spec"), volume.get("status")
    if not isinstance(spec, dict) or not isinstance(status, dict) or status.get("phase") != "Bound":
        return True
    reference = spec.get("claimRef")
    if not isinstance(reference, dict):
        return True
    kept = {key: value for key, value in reference.items() if key not in ("uid", "resourceVersion")}
    volume["spec"] = {**spec, "claimRef": kept}
    try:
        claim = registry.get(CLAIMS.resource, str(reference.get("name", "")), str(reference.get("namespace", "")))
    except StatusError:
        return False
    kept["uid"] = claim.uid
    return True


def whole_objects(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a checked snapshot with their kinds, in the order in which they can be made."""
    found = []
    for kind in KINDS:
        known = known_resources().named(kind.resource)
        head = {"kind": known.kind, "apiVersion": known.api_version}
        found += [{**head, **obj} for obj in document.get(kind.snapshot) or ()]
    return found
