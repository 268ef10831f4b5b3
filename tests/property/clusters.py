"""Random small clusters and pods, with few enough names and numbers that everything meets everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec
from hypothesis import strategies as st

from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config import default_configuration
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.runtime.framework import Framework
from schedlab.scheduler.scheduler import Scheduler
from tests.unit.scheduler.plugins.little_cluster import FakeListers

T = TypeVar("T")

GPU = "example.com/gpu"
FEATURE = "RestartAllContainersOnContainerExits"
NODE_NAMES = ("n0", "n1", "n2", "n3")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MI = 1024 * 1024


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Something or None; None is left out of the object."""
    return st.none() | strategy


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of these fields without those that are None."""
    return st.fixed_dictionaries(fields).map(
        lambda raw: {key: value for key, value in raw.items() if value is not None}
    )


def few(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[Any]:
    """Nothing, or a short list."""
    return st.none() | st.lists(strategy, min_size=1, max_size=most)


KEYS = st.sampled_from(("zone", "cores"))
VALUES = st.sampled_from(("a", "b", "2", "8"))
NODE_LABELS = st.fixed_dictionaries({"zone": st.sampled_from(("a", "b"))}, optional={"cores": VALUES})
POD_LABELS = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("x", "y")), max_size=2)

amounts = objects(
    cpu=optional(st.sampled_from(("0", "100m", "1", "1500m", "3"))),
    memory=optional(st.sampled_from(("0", "64Mi", "1Gi", "3Gi"))),
    **{"ephemeral-storage": optional(st.sampled_from(("1Gi", "3Gi"))), GPU: optional(st.sampled_from(("0", "1", "2")))},
)

taints = objects(key=st.sampled_from(("t", "u")), value=st.sampled_from(("", "1")), effect=st.sampled_from(EFFECTS))

tolerations = objects(
    key=optional(st.sampled_from(("t", "u", "node.kubernetes.io/unschedulable"))),
    operator=st.sampled_from(("Exists", "Equal", "")),
    value=optional(st.just("1")),
    effect=optional(st.sampled_from(EFFECTS)),
)

images = objects(
    names=st.lists(st.sampled_from(("a:latest", "b:1")), min_size=1, max_size=2, unique=True),
    sizeBytes=st.sampled_from((10 * MI, 300 * MI, 3000 * MI)),
)

nodes = objects(
    labels=NODE_LABELS,
    taints=few(taints),
    unschedulable=optional(st.just(True)),
    allocatable=objects(
        cpu=st.sampled_from(("1", "4", "64")),
        memory=st.sampled_from(("1Gi", "4Gi", "64Gi")),
        pods=st.sampled_from(("1", "3", "110")),
        **{"ephemeral-storage": optional(st.just("9Gi")), GPU: optional(st.sampled_from(("1", "2")))},
    ),
    images=few(images),
    declaredFeatures=optional(st.just([FEATURE])),
)

expressions = st.one_of(
    objects(
        key=KEYS,
        operator=st.sampled_from(("In", "NotIn")),
        values=st.lists(VALUES, min_size=1, max_size=3),
    ),
    objects(key=KEYS, operator=st.sampled_from(("Exists", "DoesNotExist"))),
    # "a" is no number, so that a term may be in error.
    objects(key=st.just("cores"), operator=st.sampled_from(("Gt", "Lt")), values=VALUES.map(lambda value: [value])),
)
terms = objects(
    matchExpressions=few(expressions),
    matchFields=few(
        objects(
            key=st.just("metadata.name"),
            operator=st.sampled_from(("In", "NotIn")),
            values=st.sampled_from(NODE_NAMES).map(lambda name: [name]),
        ),
        1,
    ),
)
node_affinities = objects(
    requiredDuringSchedulingIgnoredDuringExecution=optional(objects(nodeSelectorTerms=st.lists(terms, max_size=3))),
    preferredDuringSchedulingIgnoredDuringExecution=few(objects(weight=st.sampled_from((0, 1, 50)), preference=terms)),
)

pod_terms = objects(
    topologyKey=st.sampled_from(("zone", "kubernetes.io/hostname")), labelSelector=objects(matchLabels=POD_LABELS)
)
pod_affinities = objects(
    requiredDuringSchedulingIgnoredDuringExecution=few(pod_terms, 1),
    preferredDuringSchedulingIgnoredDuringExecution=few(
        objects(weight=st.sampled_from((1, 7)), podAffinityTerm=pod_terms), 1
    ),
)
constraints = objects(
    maxSkew=st.sampled_from((1, 2)),
    topologyKey=st.sampled_from(("zone", "kubernetes.io/hostname")),
    whenUnsatisfiable=st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    labelSelector=objects(matchLabels=POD_LABELS),
)

containers = objects(
    name=st.just("c"),
    image=st.sampled_from(("a", "b:1", "c")),
    resources=objects(requests=amounts),
    ports=st.lists(
        objects(
            hostPort=st.sampled_from((80, 81, 0)),
            protocol=st.sampled_from(("TCP", "TCP", "UDP")),
            hostIP=optional(st.sampled_from(("10.0.0.1", "0.0.0.0"))),
        ),
        max_size=2,
    ),
    restartPolicy=optional(st.just("Always")),
    restartPolicyRules=optional(st.just([{"action": "RestartAllContainers"}])),
)

specs = objects(
    containers=st.lists(containers, min_size=1, max_size=2),
    initContainers=few(containers, 1),
    nodeName=optional(st.sampled_from(NODE_NAMES)),
    nodeSelector=optional(st.just({"zone": "a"})),
    tolerations=few(tolerations),
    affinity=objects(
        nodeAffinity=optional(node_affinities),
        podAffinity=optional(pod_affinities),
        podAntiAffinity=optional(pod_affinities),
    ),
    topologySpreadConstraints=st.lists(constraints, max_size=2),
    resources=optional(objects(requests=amounts)),
    overhead=optional(amounts),
)


class Draw(Protocol):
    """Draws something from a strategy."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


@dataclass
class Bench:
    """A scheduler with every plugin there is, and what may happen to its cluster."""

    scheduler: Scheduler
    pod: PodInfo

    @property
    def framework(self) -> Framework:
        return self.scheduler.profiles["default-scheduler"]

    def change(self, draw: Draw) -> None:
        """Let a node change and pods come and go."""
        cache = self.scheduler.cache
        for placed in list(cache.pods()):
            if draw(st.booleans()):
                cache.remove_pod(placed)
        names = list(cache.table.names)
        if draw(st.booleans()):
            cache.set_node(_node(draw(st.sampled_from(names)), draw(nodes)))
        if len(names) < len(NODE_NAMES) and draw(st.booleans()):
            cache.set_node(_node(NODE_NAMES[len(names)], draw(nodes)))
        cache.add_pod(_pod("later", draw(POD_LABELS), draw(specs), draw(st.sampled_from(names))))
        cache.refresh()


@st.composite
def benches(draw: st.DrawFn) -> Bench:
    """A cluster of one to four nodes with up to three pods, and a pod to be scheduled."""
    features = FeatureGates.default()
    config = default_configuration(features)
    plugins = config.profiles[0].plugins
    assert plugins is not None
    plugins.multi_point.enabled = [each for each in plugins.multi_point.enabled if each.name in IN_TREE]
    scheduler = Scheduler(
        config, clock=VirtualClock(), random=SeededRandom(1), listers=FakeListers(), features=features
    )
    names = NODE_NAMES[: draw(st.integers(1, len(NODE_NAMES)))]
    for name in names:
        scheduler.cache.set_node(_node(name, draw(nodes)))
    for index in range(draw(st.integers(0, 3))):
        scheduler.cache.add_pod(_pod(f"p{index}", draw(POD_LABELS), draw(specs), draw(st.sampled_from(names))))
    scheduler.cache.refresh()
    return Bench(scheduler, _pod("pod", draw(POD_LABELS), draw(specs)))


def _node(name: str, raw: dict[str, Any]) -> Node:
    labels = {"kubernetes.io/hostname": name, **raw["labels"]}
    spec = {key: raw[key] for key in ("taints", "unschedulable") if key in raw}
    status = {key: raw[key] for key in ("allocatable", "images", "declaredFeatures") if key in raw}
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}, Node)


def _pod(name: str, labels: dict[str, str], spec: dict[str, Any], node_name: str | None = None) -> PodInfo:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels}
    if node_name is not None:
        spec = {**spec, "nodeName": node_name}
    return PodInfo(msgspec.convert({"metadata": metadata, "spec": spec}, Pod))
