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
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import Object
from schedlab.api.rules.inert import INERT
from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.snapshot import is_here
from schedlab.registry import Registry

Controllers: TypeAlias = Literal["live", "owners", "none"]

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
_AFFECTED_BY_OTHERS: Final = {PODS: "everything", "configmaps": "schedulers that run in pods", "secrets": "nothing"}
#: Names that every namespace has an object of by itself.
_SYSTEMS_OWN: Final = {"serviceaccounts": "default", "configmaps": "kube-root-ca.crt"}
_SECRETS: Final = "secrets"
#: What the Job controller takes from a pod once it has counted it.
_JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
_PROBLEMS_MAX: Final = 1000
#: Objects that are taken in one go before others get a turn.
_SLICE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What is taken.

    namespaces: none for all. selector: a label selector, applied to `selected` kinds; `*` are all, as upstream has it.
    controllers: `live` takes the owners of pods, which then act here; `owners` takes them, too, but nobody acts on them;
    with `none` pods come without owners. more: further resources, custom ones included. Kinds are named as kubectl
    names them.
    """

    namespaces: tuple[str, ...] = ()
    selector: str = ""
    selected: tuple[str, ...] = (PODS,)
    controllers: Controllers = "live"
    more: tuple[str, ...] = ()

    def resources(self) -> Sequence[str]:
        """Return what is taken, in order; raises SchedlabError for a kind that nobody knows."""
        owners = () if self.controllers == "none" else CONTROLLERS
        chosen = (*READ_BY_PLUGINS, *map(_full_name, self.more), *owners, PODS)
        return tuple(dict.fromkeys(chosen))

    def selects(self, resource: str) -> bool:
        """Whether the selector applies to a resource."""
        return "*" in self.selected or resource in map(_full_name, self.selected)


def _full_name(word: str) -> str:
    """Return the full name of a kind; one with two dots or more that is not built in is taken for a custom one."""
    found = known_resources().search(word)
    if found is None and "." not in word:
        raise SchedlabError(
            f"no kind {word!r} is known", hint="name it as kubectl does; custom ones in full: widgets.example.com"
        )
    return word if found is None else found.full_name


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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is with a kind: objects that are here now, and seen of so many as far as is known."""

    resource: str
    objects: int
    seen: int
    total: int


class Importer:
    """One import; `source` is a `mirror.source.Source`."""

    def __init__(
        self, source: Any, registry: Registry, options: ImportOptions, on_page: Callable[[], None] = lambda: None
    ) -> None:
        """`on_page` is called whenever the objects of a page are here."""
        self.report = Report()
        self._on_page = on_page
        self._source, self._registry, self._options = source, registry, options

    async def run(self) -> AsyncIterator[Progress]:
        """Import; tells how far it is after every slice. Raises SchedlabError for options that cannot be followed."""
        for resource in self._options.resources():
            try:
                async for progress in self._import(await self._kind(resource)):
                    yield progress
            except NotFound:
                continue  # that version of Kubernetes does not have the kind, so no decision there depends on it
            except StatusError as error:
                affects = READ_BY_PLUGINS.get(resource, _AFFECTED_BY_OTHERS.get(resource, "pods that it owns"))
                self.report.lacking[resource] = f"{error.message} (affects: {affects})"

    async def _kind(self, resource: str) -> ResourceType:
        """Return what is known of a resource; a custom one is known once its definition was taken."""
        try:
            return self._registry.resource(resource).type
        except NotFound:
            definitions = known_resources().named(DEFINITIONS)
            self._take(definitions, await self._source.one(definitions, resource))
            return self._registry.resource(resource).type

    async def _import(self, kind: ResourceType) -> AsyncIterator[Progress]:
        options, report, resource = self._options, self.report, kind.full_name
        selector = options.selector if options.selects(resource) else ""
        places = options.namespaces if kind.namespaced and options.namespaces else ("",)
        done = 0
        for namespace in places:
            async for page in self._source.pages(kind, namespace, selector):
                total = done + len(page.items) + page.remaining
                for at in range(0, len(page.items), _SLICE):
                    for item in page.items[at : at + _SLICE]:
                        self._take(kind, item)
                        done += 1
                    yield Progress(resource, report.taken[resource] + report.unchanged[resource], done, total)
                    # A slice is a few milliseconds of work: whoever else waits goes first.
                    await asyncio.sleep(0)
                self._on_page()

    def _take(self, kind: ResourceType, item: object) -> None:
        resource = kind.full_name
        try:
            obj = self._prepared(kind, _object(item))
            if obj is None:
                return
            before = self._registry.revision
            self._registry.adopt(resource, obj)
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
        if metadata["name"] == _SYSTEMS_OWN.get(resource):
            return None
        if resource == _SECRETS:
            self._empty_secret(obj)
        if resource in CONTROLLERS and self._options.controllers == "owners":
            metadata["annotations"] = {**(metadata.get("annotations") or {}), INERT: "true"}
        owners = metadata.get("ownerReferences")
        if isinstance(owners, list) and owners:
            namespace = str(metadata.get("namespace", ""))
            kept = [owner for owner in owners if is_here(self._registry, owner, namespace)]
            if len(kept) < len(owners):
                # Otherwise the garbage collector would take the object for an orphan.
                self.report.changed[f"{resource}: owners that are not here are left out"] += 1
                metadata["ownerReferences"] = kept
        if self._options.controllers == "owners" and _JOB_TRACKING in (metadata.get("finalizers") or ()):
            self.report.changed[f"{resource}: the finalizer of Jobs, which do not act here, is left out"] += 1
            metadata["finalizers"] = [name for name in metadata["finalizers"] if name != _JOB_TRACKING]
        return obj

    def _empty_secret(self, secret: Object) -> None:
        """Keep the keys of a secret and none of its values."""
        if secret.get("data"):
            self.report.changed["secrets: values are left out"] += 1
            secret["data"] = dict.fromkeys(secret["data"], "")
        (secret["metadata"].get("annotations") or {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)

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
