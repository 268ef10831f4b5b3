"""Taking over a cluster once: everything that decides where pods go, in the order in which it depends on each other.

    importer = Importer(source, registry, ImportOptions(selector="team=a"))
    async for progress in importer.run(): ...
    importer.report                                    what was taken, changed and left out, and what that affects

Objects keep uid, owners and status, so pods that run there run here, and doing it again changes nothing.

Mirrors: the role of simulator/oneshotimporter of kube-scheduler-simulator
Differs: everything that an enabled plugin reads, not seven kinds; a selector applies to the kinds it is meant for; an
object or a kind that cannot be had is left out and told.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from schedlab.api.object import Object
from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.mirror.snapshot import is_here
from schedlab.registry import Registry

Controllers: TypeAlias = Literal["live", "none"]

#: What plugins read, in the order in which it is made; what is affected when it lacks.
READ_BY_PLUGINS: Final[Mapping[str, str]] = {
    "namespaces": "namespace selectors of pod affinity",
    "priorityclasses.scheduling.k8s.io": "the order of pods, preemption",
    "runtimeclasses.node.k8s.io": "the overhead of pods",
    "storageclasses.storage.k8s.io": "VolumeBinding, VolumeZone",
    "csidrivers.storage.k8s.io": "VolumeBinding, NodeVolumeLimits",
    "csistoragecapacities.storage.k8s.io": "VolumeBinding",
    "deviceclasses.resource.k8s.io": "DynamicResources",
    "resourceclaimtemplates.resource.k8s.io": "DynamicResources",
    "serviceaccounts": "pods that are made later",
    "limitranges": "pods that are made later",
    "resourcequotas": "pods that are made later",
    "services": "the default constraints of PodTopologySpread",
    "poddisruptionbudgets.policy": "the choice of victims in preemption",
    "persistentvolumeclaims": "VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits",
    "persistentvolumes": "VolumeBinding, VolumeZone, NodeVolumeLimits",
    "nodes": "everything",
    "csinodes.storage.k8s.io": "NodeVolumeLimits",
    "volumeattachments.storage.k8s.io": "NodeVolumeLimits",
    "resourceslices.resource.k8s.io": "DynamicResources",
    "resourceclaims.resource.k8s.io": "DynamicResources",
}
CONTROLLERS: Final = (
    "cronjobs.batch",
    "jobs.batch",
    "deployments.apps",
    "daemonsets.apps",
    "statefulsets.apps",
    "replicasets.apps",
    "replicationcontrollers",
)
PODS: Final = "pods"
_SYSTEMS_ACCOUNTS: Final = "serviceaccounts"
_PROBLEMS_MAX: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What is taken.

    namespaces: none for all. selector: a label selector, applied to `selected` kinds; upstream applies its to all that
    it takes. controllers: `live` takes the owners of pods, which then act here; with `none` pods come without owners.
    more: further resources, named as kubectl names them.
    """

    namespaces: tuple[str, ...] = ()
    selector: str = ""
    selected: tuple[str, ...] = (PODS,)
    controllers: Controllers = "live"
    more: tuple[str, ...] = ()

    def resources(self) -> Sequence[str]:
        """Return what is taken, in order."""
        owners = CONTROLLERS if self.controllers == "live" else ()
        chosen = (*READ_BY_PLUGINS, *self.more, *owners, PODS)
        return tuple(dict.fromkeys(chosen))


@dataclass(slots=True)
class Report:
    """What an import has done, for people.

    taken, unchanged: objects by resource. left_out: objects by resource and reason. lacking: kinds that could not be
    listed, with the reason and what that affects. changed: what was changed on the way, by kind of change.
    """

    taken: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    lacking: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {
            "taken": dict(self.taken),
            "unchanged": dict(self.unchanged),
            "changed": dict(self.changed),
            "leftOut": dict(self.left_out),
            "lacking": self.lacking,
            "problems": self.problems,
        }


class Importer:
    """One import; `source` is a `mirror.source.Source`."""

    def __init__(self, source: Any, registry: Registry, options: ImportOptions) -> None:
        self.report = Report()
        self._source, self._registry, self._options = source, registry, options

    async def run(self) -> AsyncIterator[tuple[str, int]]:
        """Import; yields the resource and how many of its objects were taken so far."""
        for resource in self._options.resources():
            kind = known_resources().named(resource)
            try:
                async for count in self._import(kind):
                    yield resource, count
            except NotFound:
                continue  # that version of Kubernetes does not have the kind, so no decision there depends on it
            except StatusError as error:
                affects = READ_BY_PLUGINS.get(resource, "pods that it owns" if resource != PODS else "everything")
                self.report.lacking[resource] = f"{error.message} (affects: {affects})"

    async def _import(self, kind: ResourceType) -> AsyncIterator[int]:
        options = self._options
        selector = options.selector if kind.full_name in options.selected else ""
        places = options.namespaces if kind.namespaced and options.namespaces else ("",)
        for namespace in places:
            async for items in self._source.pages(kind, namespace, selector):
                for item in items:
                    self._take(kind, item)
                yield self.report.taken[kind.full_name] + self.report.unchanged[kind.full_name]
                # A page is a few milliseconds of work: whoever else waits goes first.
                await asyncio.sleep(0)

    def _take(self, kind: ResourceType, item: object) -> None:
        resource = kind.full_name
        try:
            obj = self._prepared(kind, _object(item))
            if obj is None:
                return
            before = self._registry.revision
            self._registry.adopt(resource, self._registry.decode(resource, obj))
        except (StatusError, ValueError) as error:
            self._problem(resource, item, error)
        else:
            counted = self.report.taken if self._registry.revision > before else self.report.unchanged
            counted[resource] += 1

    def _prepared(self, kind: ResourceType, item: Mapping[str, Any]) -> Object | None:
        """Return an object as it is to be taken over, None if it is not."""
        obj: Object = {**item, "kind": kind.kind, "apiVersion": kind.api_version}
        metadata = obj["metadata"] = dict(item["metadata"])
        resource = kind.full_name
        if metadata.get("deletionTimestamp"):
            self.report.left_out[f"{resource}: being deleted"] += 1
            return None
        if resource == _SYSTEMS_ACCOUNTS and metadata["name"] == "default":
            return None  # every namespace gets its own
        owners = metadata.get("ownerReferences")
        if isinstance(owners, list) and owners:
            namespace = str(metadata.get("namespace", ""))
            kept = [owner for owner in owners if is_here(self._registry, owner, namespace)]
            if len(kept) < len(owners):
                # Otherwise the garbage collector would take the object for an orphan.
                self.report.changed[f"{resource}: owners that are not here are left out"] += 1
                metadata["ownerReferences"] = kept
        return obj

    def _problem(self, resource: str, item: object, error: Exception) -> None:
        self.report.left_out[f"{resource}: refused"] += 1
        if len(self.report.problems) < _PROBLEMS_MAX:
            metadata = item.get("metadata") if isinstance(item, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            message = error.message if isinstance(error, StatusError) else str(error)
            self.report.problems.append(f"{resource} {name or '(without a name)'}: {message}")


def _object(item: object) -> Mapping[str, Any]:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(item, dict) or not isinstance(name, str) or not name:
        raise ValueError("the server sent something that is no object with a name")
    return item
