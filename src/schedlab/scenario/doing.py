"""Carries out the operations of a scenario on its cluster, at their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gvk import GroupVersionKind, parse_group_version
from schedlab.apimachinery.time import format_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.registry import WriteOptions
from schedlab.scenario.loading import RunningLoad
from schedlab.scenario.plan import Deed, NodeSet
from schedlab.whatif.changes import Change, Made, drain, make

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.cluster.cluster import Cluster

_FAILED: Final = "kubelet.schedlab.dev/failed-since"
_OPTIONS: Final = WriteOptions(field_manager="schedlab-scenario")
#: How often a drain asks again for pods that budgets keep.
_DRAIN_EVERY_NS: Final = 5 * SECOND_NS


@dataclass(slots=True)
class Doer:
    """Does deeds; what the API refuses is kept in `problems`, and the run goes on."""

    cluster: Cluster
    loads: Mapping[str, RunningLoad]
    begin_ns: int
    problems: list[str] = field(default_factory=list)
    _made: Made = field(default_factory=Made)
    _resources: dict[tuple[str, str], str] = field(default_factory=dict)
    _is_draining: bool = False

    @property
    def is_draining(self) -> bool:
        """Whether pods are still to be evicted."""
        return self._is_draining

    def do(self, deed: Deed) -> None:
        """Do it now."""
        match deed.kind:
            case "create" | "addNodes":
                for manifest in deed.what:
                    self._try(deed.place, partial(self.create, manifest))
            case "patch" | "delete" | "scale":
                self._try(deed.place, partial(make, self.cluster, deed.what, self._made))
            case "drain" | "cordon" | "uncordon":
                for name in self._names(deed.what):
                    change = Change(deed.kind, name, deed.place)
                    self._try(deed.place, partial(make, self.cluster, change, self._made))
                self._go_on_draining()
            case "fail" | "recover":
                since = format_time(self.cluster.clock.now_ns()) if deed.kind == "fail" else None
                patch = {"metadata": {"annotations": {_FAILED: since}}}
                for name in self._names(deed.what):
                    self.cluster.registry.patch("nodes", name, "merge", patch, "", _OPTIONS)
            case "schedulerConfig":
                self.cluster.reconfigure(*deed.what)
            case "start":
                self.loads[deed.what].start(self.begin_ns)
            case "stop":
                self.loads[deed.what].stop()

    def create(self, manifest: Mapping[str, Any]) -> StoredObject:
        """Create an object as a user writes it; raises StatusError, SchedlabError."""
        key = manifest["apiVersion"], manifest["kind"]
        registry = self.cluster.registry
        resource = self._resources.get(key)
        if resource is None:
            found = registry.resources.find_gvk(GroupVersionKind(*parse_group_version(key[0]), key[1]))
            if found is None:
                raise SchedlabError(f"{key[1]} of {key[0]} is not served")
            resource = self._resources[key] = found.full_name
        namespace = ""
        if registry.resource(resource).namespaced:
            namespace = manifest["metadata"].get("namespace") or "default"
        return registry.create_written(resource, manifest, namespace, _OPTIONS)

    def create_all(self, manifests: Sequence[Mapping[str, Any]], place: str) -> None:
        """Create objects that `place` asks for."""
        for manifest in manifests:
            self._try(place, partial(self.create, manifest))

    def _try(self, place: str, act: Callable[[], object]) -> None:
        try:
            act()
        except (StatusError, SchedlabError) as error:
            self.problems.append(f"{place}: {error.message}")

    def _names(self, nodes: NodeSet) -> list[str]:
        found = self.cluster.informers.lister("nodes").list()
        return [node.metadata.name for node in found if nodes.holds(node.metadata.name, node.metadata.labels)]

    def _go_on_draining(self) -> None:
        """Ask again later for pods that budgets keep."""
        self._is_draining = bool(self._made.draining)
        if self._is_draining:
            self.cluster.clock.at(self.cluster.clock.now_ns() + _DRAIN_EVERY_NS, self._drain)

    def _drain(self) -> None:
        drain(self.cluster, self._made)
        self._go_on_draining()
