"""Sharing evaluations between equal pods changes nothing: not a verdict, not a score, not a choice."""

from __future__ import annotations

from typing import Any
from unittest import mock

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.apimachinery.errors import new_not_found
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.effects import CallOutcome
from schedlab.decisions.packing import Packer
from schedlab.scheduler import routine_cycle
from schedlab.scheduler.runtime import equal_pods, filtering
from schedlab.testing.builders import NodeBuilder, PodBuilder
from tests.property import clusters
from tests.property.record_data import plain, whole
from tests.unit.scheduler.fake_cluster import FakeCluster

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

pods = st.tuples(st.just("pod"), st.integers(0, 2), st.integers(1, 4))
gone = st.tuples(st.just("gone"), st.integers(0, 9))
changed = st.tuples(st.just("node"), st.sampled_from(clusters.NODE_NAMES), clusters.nodes)
left = st.tuples(st.just("left"), st.sampled_from(clusters.NODE_NAMES))
later = st.tuples(st.just("later"), st.sampled_from((1, 20)))
relabelled = st.tuples(st.just("relabel"), st.integers(0, 9), clusters.POD_LABELS)
#: Pods whose bindings fail, so that they are taken from their nodes again.
refused = st.tuples(st.just("refused"), st.integers(0, 2), st.integers(1, 2))
#: Pods that are nominated, and may not fit; schedulers that take over.
nominated = st.tuples(st.just("nominated"), st.sampled_from(clusters.NODE_NAMES), st.sampled_from(("100m", "64")))
forked = st.tuples(st.just("fork"))
steps = (pods, pods, pods, gone, changed, left, later, relabelled, refused)
histories = st.lists(st.one_of(*steps), min_size=6, max_size=16)
#: Pods that mostly find a node, so that nodes fill up.
modest = clusters.objects(
    containers=st.lists(
        clusters.objects(
            name=st.just("c"),
            image=st.sampled_from(("a", "b:1")),
            resources=clusters.objects(requests=st.sampled_from(({"cpu": "500m"}, {"memory": "512Mi"}, {}))),
            ports=clusters.few(clusters.objects(hostPort=st.sampled_from((80, 81))), 1),
        ),
        min_size=1,
        max_size=2,
    ),
    nodeSelector=clusters.optional(st.just({"zone": "a"})),
    tolerations=clusters.few(clusters.tolerations),
    affinity=clusters.optional(clusters.objects(nodeAffinity=clusters.node_affinities)),
    topologySpreadConstraints=clusters.few(clusters.constraints, 2),
)
#: Pods that mind each other.
sociable = clusters.objects(
    containers=st.just([{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]),
    affinity=clusters.objects(
        podAffinity=clusters.optional(clusters.pod_affinities),
        podAntiAffinity=clusters.optional(clusters.pod_affinities),
    ),
)
templates = st.tuples(
    st.tuples(clusters.POD_LABELS, clusters.specs),
    st.tuples(clusters.POD_LABELS, modest),
    st.tuples(clusters.POD_LABELS, sociable),
).map(list)


class World:
    """A scheduler in a cluster in which pods come from few templates."""

    def __init__(
        self,
        made_from: list[tuple[dict[str, str], dict[str, Any]]],
        *,
        shares: bool,
        full: bool,
        config: dict[str, Any] = CONFIG,
        counts: bool = False,
        **more: Any,
    ) -> None:
        self.templates = made_from
        self.cluster = FakeCluster(config, full=full, shares_evaluations=shares, counts=counts, **more)
        self.count = 0

    def do(self, what: str, *arguments: Any) -> None:
        getattr(self, f"_{what}")(*arguments)
        self.cluster.run()

    def _pod(self, template: int, number: int) -> None:
        labels, spec = self.templates[template]
        for _ in range(number):
            self.count += 1
            name = f"p{self.count}"
            metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
            own = {key: value for key, value in spec.items() if key != "nodeName"}
            self.cluster.add(PodBuilder({"metadata": metadata, "spec": own, "status": {}}))

    def _gone(self, number: int) -> None:
        known = [name for _, name in self.cluster.listers.lister("pods").objects]
        if known:
            self.cluster.remove("pods", known[number % len(known)])

    def _relabel(self, number: int, labels: dict[str, str]) -> None:
        known = [name for _, name in self.cluster.listers.lister("pods").objects]
        if known:
            name = known[number % len(known)]
            self.cluster.change("pods", name, lambda raw: raw["metadata"].update(labels=labels))

    def _refused(self, template: int, number: int) -> None:
        refusal = new_not_found(GroupResource("", "pods"), "gone")
        self.cluster.refuse = lambda write: refusal if write.subresource == "binding" else None
        self._pod(template, number)
        self.cluster.run()
        self.cluster.refuse = lambda _: None

    def _node(self, name: str, raw: dict[str, Any]) -> None:
        labels = {"kubernetes.io/hostname": name, **raw["labels"]}
        spec = {key: raw[key] for key in ("taints", "unschedulable") if key in raw}
        status = {key: raw[key] for key in ("allocatable", "images", "declaredFeatures") if key in raw}
        self.cluster.add(NodeBuilder({"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}))

    def _left(self, name: str) -> None:
        if ("", name) in self.cluster.listers.lister("nodes").objects:
            self.cluster.remove("nodes", name)

    def _nominated(self, node: str, cpu: str) -> None:
        """A pod that is nominated waits while others, which came first, are placed."""
        self._pod(0, 2)
        self.count += 1
        name = f"p{self.count}"
        containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
        metadata = {"name": name, "namespace": "default", "uid": name}
        raw = {"metadata": metadata, "spec": {"containers": containers}, "status": {"nominatedNodeName": node}}
        self.cluster.add(PodBuilder(raw))

    def _fork(self) -> None:
        self.cluster.fork()

    def _later(self, seconds: int) -> None:
        self.cluster.advance(seconds)


def records(world: World) -> list[Any]:
    """What was recorded since the last time, as it is read back; with and without sharing it is kept differently."""
    packer = Packer()
    packed = [packer.pack(record) for record in world.cluster.observer.cycles]
    world.cluster.observer.cycles.clear()
    packer.close_block()
    return [plain(whole(block.cycle(place))) for block, place in packed]


@pytest.mark.parametrize("few", [0, 6], ids=["rows at once", "rows one by one"])
@pytest.mark.parametrize("full", [False, True], ids=["first failures", "every verdict"])
@settings(max_examples=40)
@given(made_from=templates, first=st.lists(clusters.nodes, min_size=4, max_size=4), history=histories)
def test_records_are_the_same_with_and_without(
    made_from: list[tuple[dict[str, str], dict[str, Any]]],
    first: list[dict[str, Any]],
    history: list[tuple[Any, ...]],
    *,
    full: bool,
    few: int,
) -> None:
    """Pods come, end and wait; nodes come, change and go: every verdict, score and choice is as without sharing."""
    with mock.patch.object(equal_pods, "_FEW_ROWS", few):
        _compare(made_from, first, history, full=full)


def _compare(
    made_from: list[tuple[dict[str, str], dict[str, Any]]],
    first: list[dict[str, Any]],
    history: list[tuple[Any, ...]],
    **circumstances: Any,
) -> None:
    shared, alone = (World(made_from, shares=shares, **circumstances) for shares in (True, False))
    for name, raw in zip(clusters.NODE_NAMES, first, strict=True):
        history = [("node", name, raw), *history]
    for step in history:
        shared.do(*step)
        alone.do(*step)

        assert records(shared) == records(alone), step


class _Hooks:
    def after_pre_filter(self, _state: Any, _pod: Any, _table: Any, result: Any, status: Any) -> Any:
        return result, status

    def after_score(self, _state: Any, _pod: Any, node: Any, score: int, status: Any) -> Any:
        return score + (node.name == clusters.NODE_NAMES[1]), status


class _Tap:
    def filter_called(self, *_: Any) -> None:
        """Hear of a call."""


def _answer(url: str, body: Any) -> CallOutcome:
    names = body["NodeNames"][-2:]
    said = {"NodeNames": names} if url.endswith("filter") else [{"Host": name, "Score": 3} for name in names[:1]]
    return CallOutcome(200, orjson.dumps(said))


_EXTENDER = {"urlPrefix": "http://x", "nodeCacheCapable": True, "weight": 1}
_PROFILE = {"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}}
# Pods can be signed where no constraints are given to those that have none.
_SPREAD = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
_SIGNED = {"schedulerName": "default-scheduler", "pluginConfig": [_SPREAD]}
CIRCUMSTANCES: dict[str, dict[str, Any]] = {
    "nothing else": {},
    "half of the nodes": {"config": {**CONFIG, "percentageOfNodesToScore": 50}},
    "another profile": {"config": {**CONFIG, "profiles": [_PROFILE]}},
    "an extender that filters": {
        "config": {**CONFIG, "extenders": [{**_EXTENDER, "filterVerb": "filter"}]},
        "calls": _answer,
    },
    "an extender that rates": {
        "config": {**CONFIG, "extenders": [{**_EXTENDER, "prioritizeVerb": "rate"}]},
        "calls": _answer,
    },
    "hooks": {"hooks": {"NodeAffinity": lambda _: _Hooks(), "NodeResourcesFit": lambda _: _Hooks()}},
    "a tap": {"filter_tap": _Tap()},
    "metrics": {"counts": True},
    "batching": {"config": {**CONFIG, "profiles": [_SIGNED]}},
    "no batching": {"gates": {"OpportunisticBatching": False}},
    "no expectations": {"gates": {"NominatedNodeNameForExpectation": False}},
}


@pytest.mark.parametrize("circumstances", CIRCUMSTANCES.values(), ids=list(CIRCUMSTANCES))
@settings(max_examples=12)
@given(
    made_from=st.tuples(*[st.tuples(clusters.POD_LABELS, modest)] * 3).map(list),
    first=st.lists(clusters.nodes, min_size=4, max_size=4),
    history=st.lists(st.one_of(*steps, forked, nominated), min_size=6, max_size=16),
    full=st.booleans(),
)
def test_records_are_the_same_whoever_else_has_a_say(
    circumstances: dict[str, Any],
    made_from: list[tuple[dict[str, str], dict[str, Any]]],
    first: list[dict[str, Any]],
    history: list[tuple[Any, ...]],
    *,
    full: bool,
) -> None:
    """Part of the nodes, nominated pods, schedulers that take over, extenders, hooks, and who listens."""
    with mock.patch.object(filtering, "MIN_FEASIBLE_NODES", 2):
        _compare(made_from, first, history, full=full, **circumstances)


@pytest.mark.parametrize("full", [False, True], ids=["first failures", "every verdict"])
def test_a_pod_that_was_made_like_others_goes_by_routine(*, full: bool) -> None:
    """From the fourth on, unless a pod is nominated or terms speak of other pods; nodes are visited in turn."""
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    shy = {"containers": [container], "affinity": _apart_by("zone")}
    templates: Any = [({}, {"containers": [container]}), ({}, shy), ({}, _pinned(container))]
    config = {**CONFIG, "percentageOfNodesToScore": 50}
    worlds = [World(templates, shares=shares, full=full, config=config) for shares in (True, False)]
    for world in worlds:
        for name in clusters.NODE_NAMES:
            world.do("node", name, _node_in("a"))
    with mock.patch.object(filtering, "MIN_FEASIBLE_NODES", 2):
        for step, expected in (
            (("pod", 0, 3), 0),
            (("pod", 0, 5), 5),
            (("gone", 2), 0),
            (("fork",), 0),
            (("pod", 0, 5), 2),
            (("node", clusters.NODE_NAMES[1], _node_in("b")), 0),
            (("pod", 0, 2), 2),
            (("nominated", clusters.NODE_NAMES[0], "64"), 0),
            (("pod", 0, 2), 2),
            (("pod", 2, 3), 0),
            (("pod", 2, 2), 2),
            (("node", clusters.NODE_NAMES[0], _node_in("b")), 0),
            (("pod", 2, 2), 2),
            (("left", clusters.NODE_NAMES[0]), 0),
            (("pod", 2, 1), 0),
            (("pod", 1, 1), 0),
            (("pod", 0, 2), 0),
        ):
            with mock.patch.object(routine_cycle, "_record", wraps=routine_cycle._record) as recorded:
                for world in worlds:
                    world.do(*step)

            assert recorded.call_count == expected, step
            assert records(worlds[0]) == records(worlds[1]), step


@pytest.mark.parametrize("few", [0, 6], ids=["many at once", "one by one"])
def test_only_rows_that_changed_are_asked_about_again(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(equal_pods, "_FEW_ROWS", few)
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    raw = {"labels": {"zone": "a"}, "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "110"}}
    worlds = [World([({}, spec)] * 3, shares=shares, full=True) for shares in (True, False)]
    for world in worlds:
        for name in clusters.NODE_NAMES:
            world.do("node", name, raw)
        world.do("pod", 0, 12)

    assert records(worlds[0]) == records(worlds[1])
    kept = worlds[0].cluster.scheduler.profiles["default-scheduler"].equal_pods
    assert kept is not None
    (evaluation,) = kept._kept.values()
    table = worlds[0].cluster.scheduler.cache.table
    # Only the node that was chosen last has changed since.
    assert int((evaluation._filtered != table.generation).sum()) == 1
    assert {"NodeResourcesFit", "TaintToleration"} <= evaluation.filter_places.keys()
    assert evaluation.scores is not None
    assert {"NodeResourcesFit", "ImageLocality"} <= evaluation.scores.places.keys()


@pytest.mark.parametrize("few", [0, 6], ids=["many at once", "one by one"])
def test_what_is_known_of_nodes_is_forgotten_when_they_change(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that loses the label which pods select, and one that gets it, while more such pods come."""
    monkeypatch.setattr(equal_pods, "_FEW_ROWS", few)
    requests = {"resources": {"requests": {"cpu": "100m"}}}
    spec = {"containers": [{"name": "c", **requests}], "nodeSelector": {"zone": "a"}}
    worlds = [World([({}, spec)] * 3, shares=shares, full=True) for shares in (True, False)]
    for world in worlds:
        for name, zone in zip(clusters.NODE_NAMES, "abab", strict=True):
            world.do("node", name, _node_in(zone))
        world.do("pod", 0, 6)
        for name, zone in zip(clusters.NODE_NAMES, "bbaa", strict=True):
            world.do("node", name, _node_in(zone))
            world.do("pod", 0, 2)

    assert records(worlds[0]) == records(worlds[1])


def _spread(action: str, key: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}


@pytest.mark.parametrize("constraint", [_spread("DoNotSchedule", "zone"), _spread("ScheduleAnyway", "zone"), None])
def test_pods_that_are_spread_share_what_nodes_alone_say(constraint: dict[str, Any] | None) -> None:
    """Domains fill up and empty while equal pods come: what others say of nodes is asked for once, amounts are looked up."""
    requests = {"resources": {"requests": {"cpu": "100m"}}}
    spec: dict[str, Any] = {"containers": [{"name": "c", **requests}]}
    if constraint is not None:
        spec["topologySpreadConstraints"] = [constraint]
    worlds = [World([({"app": "web"}, spec)] * 3, shares=shares, full=True) for shares in (True, False)]
    for world in worlds:
        for name, zone in zip(clusters.NODE_NAMES, "aaab", strict=True):
            world.do("node", name, _node_in(zone))
        for gone in range(4):
            world.do("pod", 0, 4)
            world.do("gone", gone)

    assert records(worlds[0]) == records(worlds[1])
    kept = worlds[0].cluster.scheduler.profiles["default-scheduler"].equal_pods
    assert kept is not None
    (evaluation,) = kept._kept.values()
    assert evaluation._by_amounts
    assert evaluation.scores is not None
    assert evaluation.scores._by_amounts


def test_pods_that_a_filter_skips_share_nothing_with_those_that_it_judges() -> None:
    """Pods of one spec with and without the label that pods keep away from, and that are to be spread."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}}}]
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    shy = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    templates: Any = [({"app": "web"}, {"containers": containers}), ({"app": "db"}, {"containers": containers})]
    templates.append(({"app": "db"}, {"containers": containers, "affinity": shy}))
    worlds = [World(templates, shares=shares, full=True) for shares in (True, False)]
    for world in worlds:
        for name, zone in zip(clusters.NODE_NAMES, "aaab", strict=True):
            world.do("node", name, _node_in(zone))
        world.do("pod", 2, 1)
        for _ in range(3):
            world.do("pod", 0, 3)
            world.do("pod", 1, 3)

    assert records(worlds[0]) == records(worlds[1])


def test_search_begins_at_a_node_that_there_is_after_others_have_gone() -> None:
    """Pods for one node let the next search begin at the last of four nodes; then two of them go."""
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    pinned = _pinned(container)
    templates: Any = [({}, {"containers": [container]}), ({}, pinned), ({}, pinned)]
    worlds = [World(templates, shares=shares, full=True) for shares in (True, False)]
    for world in worlds:
        for name in clusters.NODE_NAMES:
            world.do("node", name, _node_in("a"))
        world.do("pod", 0, 2)
        world.do("pod", 1, 3)
        world.do("left", clusters.NODE_NAMES[2])
        world.do("left", clusters.NODE_NAMES[3])
        world.do("pod", 0, 2)

        assert all(world.cluster.nodes_of("p6", "p7"))
    assert records(worlds[0]) == records(worlds[1])


def _pinned(container: dict[str, Any]) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [clusters.NODE_NAMES[0]]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    return {"containers": [container], "affinity": {"nodeAffinity": required}}


def _node_in(zone: str) -> dict[str, Any]:
    return {"labels": {"zone": zone}, "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "110"}}


@pytest.mark.parametrize("full", [False, True], ids=["first failures", "every verdict"])
def test_pods_that_keep_apart_are_asked_about_where_one_was_placed(
    monkeypatch: pytest.MonkeyPatch, *, full: bool
) -> None:
    """More of them than nodes, in domains of one node and of two: what is kept of the rest of the nodes stays."""
    monkeypatch.setattr(equal_pods, "_CHANGED_MAX", 2)
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    apart = [_apart_by("kubernetes.io/hostname"), _apart_by("zone")]
    templates = [
        ({"app": key}, {"containers": [container], "affinity": terms}) for key, terms in zip("ab", apart, strict=True)
    ]
    worlds = [
        World([*templates, ({}, {"containers": [container]})], shares=shares, full=full) for shares in (True, False)
    ]
    for world in worlds:
        for name, zone in zip(clusters.NODE_NAMES, "aabb", strict=True):
            world.do("node", name, _node_in(zone))
        for step in (
            ("pod", 0, 3),
            ("pod", 1, 3),
            ("gone", 1),
            ("pod", 0, 3),
            ("pod", 2, 2),
            ("gone", 0),
            ("later", 20),
        ):
            world.do(*step)

    assert records(worlds[0]) == records(worlds[1])
    kept = worlds[0].cluster.scheduler.profiles["default-scheduler"].equal_pods
    assert kept is not None
    assert any("InterPodAffinity" in evaluation.filter_places for evaluation in kept._kept.values())


def _apart_by(key: str) -> dict[str, Any]:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} for app in "ab"]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
