"""Changes of a cluster as a user asks for them: read from data, refused with their place, made on a fork.

    {"delete": "pod/web-0", "namespace": "shop"}      {"cordon": "node-1"}        {"apply": {…manifest…}}
    {"scale": "deployment/web", "replicas": 5}        {"uncordon": "node-1"}      {"drain": "node-1"}
    {"patch": "deployment/web", "change": {…}, "type": "strategic"}
    {"replace": "pod/web-0", "change": {…}, "type": "strategic"}      patched, deleted, and made anew
    {"schedulerConfig": {…}, "location": "other.yaml"}

Each may have a `place`: where it was asked for, for messages.

Mirrors: what `kubectl delete|cordon|uncordon|drain|apply|scale|patch|replace --force` do. Differs: a drain leaves pods of DaemonSets and
takes pods without a controller, as with --ignore-daemonsets --force --delete-emptydir-data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from schedlab.apimachinery.errors import NotFound, StatusError, TooManyRequests
from schedlab.apimachinery.patch import request as patching
from schedlab.apimachinery.patch.request import PatchType
from schedlab.apimachinery.resources import ResourceType
from schedlab.cluster.cluster import Cluster
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.registry import DeleteOptions, WriteOptions

_OPTIONS: Final = WriteOptions(field_manager="kubectl", force=True)
_KINDS: Final = ("delete", "drain", "cordon", "uncordon", "apply", "patch", "replace", "scale", "schedulerConfig")
#: How often a drain asks again for pods that budgets keep.
_DRAIN_EVERY_NS: Final = 5 * SECOND_NS
#: What a new object must not have; the rest that is the server's own it gives anew by itself.
_OF_THE_OLD: Final = ("resourceVersion", "managedFields")
_PATCH_TYPES: Final = ("strategic", "merge", "json")
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "delete": ("namespace",),
    "apply": ("namespace",),
    "patch": ("namespace", "change", "type"),
    "replace": ("namespace", "change", "type"),
    "scale": ("namespace", "replicas"),
    "schedulerConfig": ("location",),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `kind` is one of those above, `what` what it is about, `place` where it was asked for."""

    kind: str
    what: Any
    place: str
    namespace: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The change in words."""
        match self.kind:
            case "apply":
                return f"apply {self.what.get('kind', '?')} {self.what.get('metadata', {}).get('name', '?')}"
            case "scale":
                return f"scale {self.what} to {self.more['replicas']}"
            case "schedulerConfig":
                other = self.more.get("location") or "the other configuration"
                return f"place all pods anew, with the configuration in force -> with {other}"
            case _:
                return f"{self.kind} {self.what}"


@dataclass(slots=True)
class Made:
    """What was done to a fork: pods that were deleted or evicted, by key, with why; pods that could not be yet."""

    gone: dict[str, str] = field(default_factory=dict)
    draining: dict[str, None] = field(default_factory=dict)

    def kept(self) -> tuple[str, ...]:
        """Say which pods could not be evicted."""
        return tuple(f"pod {key} is kept on its node by a disruption budget" for key in self.draining)


# --- Reading ---------------------------------------------------------------------------------------------------------


def read_changes(given: Any) -> list[Change]:
    """Return the changes of decoded JSON; raises SchedlabError with the place of the mistake."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise SchedlabError(
            "no changes are given",
            location="changes",
            hint='give a list of changes like {"cordon": "node-1"}',
        )
    return [_read(entry, f"changes[{place}]") for place, entry in enumerate(given)]


def _read(entry: Any, place: str) -> Change:
    if not isinstance(entry, Mapping):
        raise SchedlabError(
            f"{entry!r} is not a change", location=place, hint=f"a change has one of {', '.join(_KINDS)}"
        )
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        found = f"{', '.join(kinds)} at once" if kinds else f"only {', '.join(map(str, entry)) or 'nothing'}"
        raise SchedlabError(f"{found} is given", location=place, hint=f"a change has one of {', '.join(_KINDS)}")
    kind = kinds[0]
    unknown = [key for key in entry if key not in (kind, "place", *_FIELDS.get(kind, ()))]
    if unknown:
        raise SchedlabError(
            f"{unknown[0]} is no field of {kind}",
            location=place,
            hint=f"it has {', '.join((kind, *_FIELDS.get(kind, ())))}",
        )
    change = Change(
        kind,
        entry[kind],
        str(entry.get("place") or place),
        str(entry.get("namespace", "")),
        {key: entry[key] for key in ("replicas", "type", "location", "change") if key in entry},
    )
    _check(change)
    return change


def _check(change: Change) -> None:
    wants_object = change.kind in ("apply", "schedulerConfig")
    if not isinstance(change.what, Mapping if wants_object else str):
        wanted = "an object" if wants_object else "a name"
        raise SchedlabError(f"{change.kind} needs {wanted}", location=change.place, hint="see docs/reference/rest.md")
    if change.kind == "scale":
        replicas = change.more.get("replicas")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
            raise SchedlabError(
                f"{replicas!r} is not a number of replicas", location=change.place, hint="give a number from 0 on"
            )
    if change.kind in ("patch", "replace"):
        if not isinstance(change.more.get("change"), (Mapping, list)):
            raise SchedlabError(
                f"{change.kind} needs `change`: an object, or a list for a JSON patch",
                location=change.place,
                hint='like {"patch": "node/n", "change": {"metadata": {"labels": {"disk": "ssd"}}}}',
            )
        if change.more.get("type", "strategic") not in _PATCH_TYPES:
            raise SchedlabError(
                f"{change.more['type']!r} is no type of patch",
                location=change.place,
                hint=f"it is one of {', '.join(_PATCH_TYPES)}",
            )


# --- Making ----------------------------------------------------------------------------------------------------------


def make(cluster: Cluster, change: Change, made: Made) -> None:
    """Make a change on a fork; raises SchedlabError when the API refuses it."""
    try:
        _make(cluster, change, made)
    except NotFound as error:
        raise SchedlabError(
            error.message, location=change.place, hint="name what is there; see: kubectl get"
        ) from error
    except StatusError as error:
        raise SchedlabError(error.message, location=change.place, hint="correct the change") from error


def _make(cluster: Cluster, change: Change, made: Made) -> None:
    registry = cluster.registry
    match change.kind:
        case "cordon" | "uncordon" | "drain":
            name = change.what.removeprefix("node/")
            cordoned = change.kind != "uncordon"
            registry.patch("nodes", name, "strategic", {"spec": {"unschedulable": cordoned or None}}, "", _OPTIONS)
            if change.kind == "drain":
                made.draining |= dict.fromkeys(_pods_to_drain(cluster, name))
                drain(cluster, made)
        case "delete":
            kind, name, namespace = target_of(cluster, change.what, change.namespace, change.place)
            if kind.full_name == "pods":
                made.gone[f"{namespace}/{name}"] = "deleted"
            elif kind.full_name == "nodes":
                made.gone |= dict.fromkeys(_pods_on(cluster, name), f"its node {name} is gone")
            registry.delete(kind.full_name, name, namespace, DeleteOptions())
        case "scale":
            kind, name, namespace = target_of(cluster, change.what, change.namespace, change.place)
            patch = {"spec": {"replicas": change.more["replicas"]}}
            registry.patch(kind.full_name, name, "merge", patch, namespace, _OPTIONS, "scale")
        case "patch":
            kind, name, namespace = target_of(cluster, change.what, change.namespace, change.place)
            form, body = _patch_of(change)
            registry.patch(kind.full_name, name, form, body, namespace, _OPTIONS)
        case "replace":
            _replace(cluster, change, made)
        case "apply":
            _apply(cluster, change)


def _patch_of(change: Change) -> tuple[PatchType, bytes]:
    body = change.more["change"]
    return "json" if isinstance(body, list) else change.more.get("type", "strategic"), orjson.dumps(body)


def _replace(cluster: Cluster, change: Change, made: Made) -> None:
    registry = cluster.registry
    kind, name, namespace = target_of(cluster, change.what, change.namespace, change.place)
    form, body = _patch_of(change)
    resource = registry.resource(kind.full_name)
    old = registry.get(kind.full_name, name, namespace).thaw()
    fresh = patching.apply(old, form, body, kind.gvk, resource.schema).object
    fresh.pop("status", None)
    for key in _OF_THE_OLD:
        fresh["metadata"].pop(key, None)
    if kind.full_name == "pods":
        made.gone[f"{namespace}/{name}"] = "replaced"
    registry.remove(kind.full_name, name, namespace)
    registry.create(kind.full_name, registry.decode(kind.full_name, fresh), namespace, _OPTIONS)


def _apply(cluster: Cluster, change: Change) -> None:
    manifest: Mapping[str, Any] = change.what
    group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
    kind = cluster.registry.resources.find_kind(group, str(manifest.get("kind", "")))
    meta = manifest.get("metadata") or {}
    if kind is None or not isinstance(meta, Mapping) or not meta.get("name"):
        found = f"{manifest.get('apiVersion', '?')} {manifest.get('kind', '?')}"
        what = "has no name" if kind is not None else "is not served here"
        raise SchedlabError(f"{found} {what}", location=change.place, hint="give manifests as kubectl apply takes them")
    namespace = str(meta.get("namespace") or change.namespace or "default") if kind.namespaced else ""
    name = str(meta["name"])
    body = {**manifest, "metadata": {**meta, "namespace": namespace}} if namespace else dict(manifest)
    try:
        cluster.registry.get(kind.full_name, name, namespace)
    except NotFound:
        registry = cluster.registry
        registry.create(kind.full_name, registry.decode(kind.full_name, body), namespace, _OPTIONS)
    else:
        cluster.registry.apply(kind.full_name, name, body, namespace, _OPTIONS)


def target_of(cluster: Cluster, text: str, namespace: str, place: str) -> tuple[ResourceType, str, str]:
    """Return resource, name and namespace of KIND/NAME; raises SchedlabError."""
    word, slash, name = text.partition("/")
    kind = cluster.registry.resources.search(word) if slash and name else None
    if kind is None:
        raise SchedlabError(
            f"{text!r} names no object",
            location=place,
            hint="write KIND/NAME, like pod/web-0 or deployment/web",
        )
    return kind, name, (namespace or "default") if kind.namespaced else ""


def _pods_on(cluster: Cluster, node: str) -> list[str]:
    pods = cluster.informers.lister("pods").list()
    return [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods if pod.spec.node_name == node]


def _pods_to_drain(cluster: Cluster, node: str) -> list[str]:
    """Return the pods on a node that do not belong to the node itself."""
    pods = cluster.informers.lister("pods").list()
    return [
        f"{pod.metadata.namespace}/{pod.metadata.name}"
        for pod in pods
        if pod.spec.node_name == node
        and "kubernetes.io/config.mirror" not in pod.metadata.annotations
        and ((owner := pod.metadata.controller()) is None or owner.kind != "DaemonSet")
    ]


def finish_drains(cluster: Cluster, driver: BatchDriver, made: Made, end_ns: int) -> None:
    """Ask again for pods that budgets keep, until all are gone or the time is over."""
    while made.draining and driver.clock.now_ns() < end_ns:
        driver.run_until(min(end_ns, driver.clock.now_ns() + _DRAIN_EVERY_NS))
        drain(cluster, made)


def drain(cluster: Cluster, made: Made) -> None:
    """Evict what is still to be evicted, as far as budgets allow now."""
    for key in tuple(made.draining):
        namespace, _, name = key.partition("/")
        eviction = {"metadata": {"name": name, "namespace": namespace}}
        body = cluster.registry.decode("pods", eviction, "eviction")
        try:
            cluster.registry.evict(name, body, namespace)
        except TooManyRequests:
            continue
        except NotFound:
            pass
        else:
            made.gone[key] = "evicted: its node is drained"
        del made.draining[key]
