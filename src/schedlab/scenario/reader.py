"""What compiling a scenario needs everywhere: its texts read, every mistake kept with its place, what is known to exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.apimachinery import selectors
from schedlab.apimachinery.distribution import DistributionError
from schedlab.apimachinery.errors import BadRequest, Invalid, StatusError
from schedlab.apimachinery.resources import Resources, ResourceType
from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import WriteOptions
from schedlab.scenario.mistakes import Mistake
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.plan import NodeSet
from schedlab.scenario.source import Source

T = TypeVar("T")
_SYSTEM: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
#: Resources whose objects controllers make, so that nobody can say before the run which there will be.
_MADE: Final = frozenset(
    (
        "pods",
        "replicasets.apps",
        "controllerrevisions.apps",
        "jobs.batch",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourceclaims.resource.k8s.io",
        "serviceaccounts",
        "secrets",
        "configmaps",
        "leases.coordination.k8s.io",
        "events",
    )
)
_KUBELETS_LABELS: Final = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
_SHOWN_MAX: Final = 8
_DRY_RUN: Final = WriteOptions(dry_run=True)


@dataclass(slots=True)
class Reader:
    """Reads the texts of one scenario; `source` is where it stands, `end_ns` when it ends.

    files: those that it names.
    """

    source: Source
    end_ns: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    #: Labels of the nodes that there are or will be, by name.
    nodes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    #: Whether an operation patches a node, so that nobody can say before the run which labels there will be.
    labels_may_change: bool = False
    _objects: dict[tuple[str, str, str], None] = field(default_factory=dict)
    _has_definitions: bool = False

    def wrong(self, place: Place, message: str, hint: str = "") -> None:
        """Keep a mistake."""
        self.mistakes.append(Mistake(place, message, hint))

    def attempt(self, place: Place, make: Callable[[], T], otherwise: T) -> T:
        """Return what is made; a mistake of the user's is kept, and something else goes on in its place."""
        try:
            return make()
        except SchedlabError as error:
            inside = f"{error.location}: " if error.location else ""
            self.wrong(place, f"{inside}{error.message}", error.hint)
        except DistributionError as error:
            self.wrong(place, str(error), "docs/reference/scenarios.md lists the distributions")
        return otherwise

    def path(self, name: str) -> Path:
        """Return the file or folder that the scenario names; raises SchedlabError."""
        found = self.source.beside(name)
        self.files[name] = None
        return found

    # --- Texts -------------------------------------------------------------------------------------------------------

    def duration(self, place: Place, text: str, *, least: int = 0) -> int:
        """Return nanoseconds, `least` at least."""
        try:
            length_ns = parse_duration(text)
        except TimeError:
            self.wrong(place, f"{text!r} is no duration", "write one like 90s, 30m or 1h30m")
            return least
        if length_ns < least:
            self.wrong(place, f"{text} is {'negative' if length_ns < 0 else 'no time at all'}", "give a longer one")
        return max(length_ns, least)

    def moment(self, place: Place, text: str) -> int:
        """Return nanoseconds from the start, which must not be after the end."""
        at_ns = self.duration(place, text)
        if at_ns > self.end_ns:
            self.wrong(place, f"{text} is after the end", "make it earlier, or stop.at later")
        return at_ns

    def selector(self, place: Place, text: str) -> selectors.Selector:
        """Return a selector of labels."""
        try:
            return selectors.parse(text)
        except selectors.SelectorError as error:
            self.wrong(place, str(error), "write it as kubectl takes it: app=web,tier!=cache")
            return selectors.nothing()

    def node_set(self, place: Place, text: str) -> NodeSet:
        """Return the nodes that a text means; one that means none that there will ever be is a mistake."""
        found = NodeSet(text) if text.replace(".", "-").replace("-", "a").isalnum() else None
        if found is None:
            found = NodeSet(selector=self.selector(place, text))
        if found.selector is not None and self.labels_may_change:
            return found
        if not any(found.holds(name, labels) for name, labels in self.nodes.items()):
            close = get_close_matches(text, self.nodes, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are: {_some(self.nodes)}"
            self.wrong(place, f"no node is called {text}" if found.name else f"no node has the labels {text}", hint)
        return found

    # --- What there is -----------------------------------------------------------------------------------------------

    def learn(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Take note of objects that there are or will be."""
        for obj in objects:
            kind = _kind_of(obj)
            if kind is None:
                continue
            metadata = obj["metadata"]
            name = metadata.get("name", "")
            if kind.full_name == "nodes":
                self.nodes[name] = {
                    **_KUBELETS_LABELS,
                    "kubernetes.io/hostname": name,
                    **(metadata.get("labels") or {}),
                }
            self._has_definitions |= kind.full_name == DEFINITIONS
            self._objects[kind.full_name, namespace_of(kind, metadata), name] = None

    def check_manifest(self, place: Place, manifest: Mapping[str, Any]) -> bool:
        """Whether something is an object of a kind that there is."""
        metadata = manifest.get("metadata")
        named = isinstance(metadata, Mapping) and (metadata.get("name") or metadata.get("generateName"))
        if not named or not manifest.get("kind") or not manifest.get("apiVersion"):
            self.wrong(place, "is no manifest", "it needs apiVersion, kind and metadata.name")
            return False
        if _kind_of(manifest) is None and not self._has_definitions:
            found = f"{manifest['apiVersion']} {manifest['kind']}"
            self.wrong((*place, "kind"), f"there is no {found}", "schedlab serves the kinds of Kubernetes 1.36")
            return False
        return True

    def check_home(self, place: Place, obj: Mapping[str, Any]) -> None:
        """Refuse an object in a namespace that there will not be."""
        kind = _kind_of(obj)
        if kind is None or not kind.namespaced:
            return
        namespace = namespace_of(kind, obj["metadata"])
        if namespace not in _SYSTEM and ("namespaces", "", namespace) not in self._objects:
            self.wrong(place, f"there is no namespace {namespace}", "add it to cluster.objects")

    def check_accepted(self, place: Place, obj: Mapping[str, Any]) -> None:
        """Refuse an object that the API refuses, whatever else there is in the cluster."""
        kind = _kind_of(obj)
        if kind is None:
            return
        # Its namespace may come into being later.
        metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
        name = {} if metadata.get("name") or metadata.get("generateName") else {"name": "object"}
        written = {**obj, "metadata": {**metadata, **name}}
        namespace = "default" if kind.namespaced else ""
        try:
            _bare().registry.create_written(kind.full_name, written, namespace, _DRY_RUN)
        except (Invalid, BadRequest) as error:
            self.wrong(place, error.message, "correct what the API server refuses")
        except StatusError:
            # It may be something that is not there yet: a priority class, an account.
            return

    def check_target(self, place: Place, target: str, namespace: str) -> None:
        """Refuse KIND/NAME that is not there and that no controller makes."""
        word, slash, name = target.partition("/")
        kind = _served().search(word)
        if not slash or not name:
            self.wrong(place, f"{target!r} names no object", "write KIND/NAME, like deployment/web")
        elif kind is None:
            if not self._has_definitions:
                self.wrong(place, f"there is no kind {word!r}", "schedlab serves the kinds of Kubernetes 1.36")
        elif kind.full_name not in _MADE and (kind.full_name, namespace if kind.namespaced else "", name) not in (
            self._objects
        ):
            names = [known for resource, _, known in self._objects if resource == kind.full_name]
            self.wrong(place, f"there is no {target}", f"there are: {_some(names)}")


def _kind_of(obj: Mapping[str, Any]) -> ResourceType | None:
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    return _served().find_kind(group, str(obj.get("kind", "")))


def _served() -> Resources:
    """Return what every cluster serves, those of KWOK included."""
    return _bare().registry.resources


@cache
def _bare() -> Cluster:
    """Return a cluster in which there is nothing yet but what every cluster has."""
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(0), ClusterSettings())
    cluster.start()
    BatchDriver(cluster.engine, clock).settle()
    return cluster


def namespace_of(kind: ResourceType, metadata: Mapping[str, Any]) -> str:
    """Return the namespace that an object belongs to."""
    return str(metadata.get("namespace") or "default") if kind.namespaced else ""


def _some(names: Iterable[str]) -> str:
    found = [*names]
    more = f" and {len(found) - _SHOWN_MAX} more" if len(found) > _SHOWN_MAX else ""
    return f"{', '.join(found[:_SHOWN_MAX])}{more}" if found else "none"
