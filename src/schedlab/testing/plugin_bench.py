"""A profile with one plugin on a small cluster that stands still: where the checks of `plugin_checks` call its methods.

The plugin gets a real handle (a scheduler with the plugin, queue sort and the default binder) and real nodes and pods;
nothing is scheduled and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config import load
from schedlab.scheduler.config.types import API_VERSION, KIND
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.scheduler import Scheduler
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod, term

PROFILE: Final = "default-scheduler"


@dataclass(frozen=True)
class Sample:
    """A cluster and a pod that is to be scheduled; `placed` are pods on the nodes they name."""

    name: str
    nodes: tuple[NodeBuilder, ...]
    pod: PodBuilder
    placed: tuple[PodBuilder, ...] = ()

    def __str__(self) -> str:
        return self.name


def _nodes(count: int, **capacity: str) -> tuple[NodeBuilder, ...]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **capacity}
    return tuple(make_node(f"node-{number}").capacity(amounts) for number in range(count))


_ZONED: Final = tuple(
    node.zone(zone).label("tier", tier)
    for node, zone, tier in zip(_nodes(4), ("a", "a", "b", "b"), ("fast", "slow", "fast", "slow"), strict=True)
)

SAMPLES: Final = (
    Sample("plain", _nodes(3), make_pod("web-1").req(cpu="500m", memory="256Mi")),
    # Nothing that can be left out is there.
    Sample("bare", (make_node("a"), make_node("b")), make_pod("bare")),
    Sample(
        "zones",
        (
            _ZONED[0].taint("dedicated", "db"),
            _ZONED[1].taint("soft", effect="PreferNoSchedule"),
            _ZONED[2].image("shop/web:1", size=900_000_000),
            _ZONED[3].unschedulable(),
        ),
        make_pod("web-2")
        .label("app", "web")
        .req(cpu="1")
        .toleration("dedicated", "db", "NoSchedule")
        .node_affinity(term(("tier", "In", ["fast", "slow"])))
        .preferred_node_affinity(5, term(("tier", "In", ["fast"])))
        .preferred_pod_affinity(7, "topology.kubernetes.io/zone", {"app": "db"})
        .pod_anti_affinity("kubernetes.io/hostname", {"app": "web"})
        .spread_constraint(1, "topology.kubernetes.io/zone", {"app": "web"}),
        (
            make_pod("db-0").label("app", "db").req(cpu="1").node("node-0"),
            make_pod("web-0").label("app", "web").req(cpu="2").node("node-1"),
        ),
    ),
    Sample(
        "crowded",
        _nodes(3, cpu="2", pods="2"),
        make_pod("big-9").priority(100).req(cpu="1500m").host_port(8080),
        (
            make_pod("p-0").req(cpu="1").node("node-0"),
            make_pod("p-1").host_port(8080).node("node-1"),
            make_pod("p-2").req(cpu="100m").node("node-2"),
            make_pod("p-3").priority(200).node("node-2"),
        ),
    ),
    Sample(
        "claims",
        _nodes(2),
        make_pod("db-1").claim("data").req(cpu="1"),
        (make_pod("db-0").claim("data").node("node-0"),),
    ),
)


class _Lister:
    """The objects of one resource."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], StoredObject] = {}

    def get(self, name: str, namespace: str = "") -> Any | None:
        found = self.stored(name, namespace)
        return None if found is None else found.view

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        return [each.view for (place, _), each in self.objects.items() if namespace in {None, place}]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        return self.objects.get((namespace, name))


class _Listers:
    """One lister per resource, empty until something is put in."""

    def __init__(self) -> None:
        self._listers: dict[str, _Lister] = {}

    def lister(self, resource: str) -> _Lister:
        return self._listers.setdefault(resource, _Lister())


@dataclass(frozen=True)
class Subject:
    """The plugin that is checked, and the arguments it gets as in `pluginConfig`; its class where it is known."""

    entry: PluginEntry
    plugin_class: type[Any] | None = None
    args: Mapping[str, Any] | None = None

    @property
    def sorts_queue(self) -> bool:
        """Whether the plugin stands in for PrioritySort."""
        return self.entry.name != "PrioritySort" and hasattr(self.plugin_class, "sort_key")


class PluginBench:
    """A plugin on a sample; `extra` are further pods that are on nodes."""

    def __init__(self, subject: Subject, sample: Sample, extra: Sequence[PodBuilder] = ()) -> None:
        self.sample = sample
        entry = subject.entry
        self._listers = _Listers()
        self._revision = 0
        features = FeatureGates.default()
        self.scheduler = Scheduler(
            load(configuration(subject), features),
            clock=VirtualClock(),
            random=SeededRandom(1),
            listers=self._listers,
            features=features,
            registry={} if entry.name in IN_TREE else {entry.name: entry},
        )
        self.plugin: Any = self.scheduler.profiles[PROFILE].plugin(entry.name)
        cache = self.scheduler.cache
        for node in sample.nodes:
            self.set_node(node)
        for placed in (*sample.placed, *extra):
            cache.add_pod(self.pod(placed))
        cache.refresh()

    def set_node(self, builder: NodeBuilder) -> None:
        """Let a node come, or change one."""
        self.scheduler.cache.set_node(self._store("nodes", "Node", builder.dict()).view)

    def pod(self, builder: PodBuilder) -> PodInfo:
        """Return a pod as plugins get it, every field of the object included."""
        stored = self._store("pods", "Pod", builder.dict())
        return PodInfo(stored.view, stored)

    def _store(self, resource: str, kind: str, raw: dict[str, Any]) -> StoredObject:
        self._revision += 1
        stored = StoredObject.encode(resource, {"apiVersion": "v1", "kind": kind, **raw}, self._revision)
        self._listers.lister(resource).objects[stored.namespace, stored.name] = stored
        return stored

    @property
    def table(self) -> NodeTable:
        """The nodes."""
        return self.scheduler.cache.table

    @property
    def infos(self) -> list[NodeInfo]:
        """The nodes, one by one."""
        return self.table.infos


def configuration(subject: Subject) -> dict[str, Any]:
    """Return a configuration document whose profile runs the plugin and what no profile can do without."""
    name = subject.entry.name
    others = [other for other in ("PrioritySort", "DefaultBinder") if other != name]
    if subject.sorts_queue:
        others.remove("PrioritySort")
    enabled = [{"name": each} for each in (name, *others)]
    profile: dict[str, Any] = {
        "schedulerName": PROFILE,
        "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
    }
    if subject.args is not None:
        profile["pluginConfig"] = [{"name": name, "args": dict(subject.args)}]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [profile],
    }
