"""Clusters that go on elsewhere amid equal pods: nothing can be told from a cluster that uses nothing again.

    the same history ──► every short way                                      ──► each stored byte, record, rerun
                    └──► no short cycle, no shared evaluation, no like writes ──► the same

A history has pods of few templates, nodes that change, and moments at which the cluster is forked, gone back to the past,
started again from what is stored, loaded from its snapshots, put back to what it was, or given another configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.cluster import schedulers
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.decision_file import DecisionFile
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.mirror import complete_snapshot, snapshot
from schedlab.mirror.kept_state import KeptState
from schedlab.registry.admission.chain import Admission
from schedlab.scheduler import routine_cycle
from schedlab.scheduler.runtime import filtering
from schedlab.scheduler.scheduler import Scheduler
from schedlab.store.backend import Snapshot
from schedlab.whatif.forks import fork
from schedlab.whatif.state import state_at
from tests.property import clusters
from tests.property.record_data import plain, whole
from tests.support.lab import Kept

Json = dict[str, Any]
Template = tuple[dict[str, str], Json]

_HISTORY = 10_000
_CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
_WEIGHT = {"plugins": {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 3}]}}}
CONFIGURATIONS: tuple[Json, ...] = (
    _CONFIG,
    {**_CONFIG, "percentageOfNodesToScore": 50},
    {**_CONFIG, "profiles": [{"schedulerName": "default-scheduler", **_WEIGHT}]},
)


class World:
    """A cluster, and those in which it goes on; with `short` it may take every short way."""

    def __init__(self, made_from: list[Template], configuration: Json, *, short: bool, full: bool) -> None:
        self.templates, self.short, self.count, self.seed = made_from, short, 0, 1
        self._settings = ClusterSettings(history=_HISTORY, scheduler_config=configuration, full=full)
        self.seen: list[Any] = []
        with self._ways():
            self._begin(self._cluster())

    @contextmanager
    def _ways(self) -> Iterator[None]:
        if self.short:
            yield
            return
        alone = partial(Scheduler, shares_evaluations=False)
        with mock.patch.object(schedulers, "Scheduler", alone):
            yield

    def _cluster(self, at_ns: int = 0, kept: Snapshot | None = None) -> Cluster:
        self.seed += 1
        clock = VirtualClock(at_ns) if at_ns else VirtualClock()
        backend = None if kept is None else Kept(kept)
        made = Cluster(clock, SeededRandom(self.seed), self._settings, backend=backend)
        made.start()
        return made

    def _begin(self, cluster: Cluster) -> None:
        if not self.short:
            cluster.registry.admit(Admission("AskAnew"))
        self.cluster, self.known = cluster, 0
        clock = cluster.clock
        assert isinstance(clock, VirtualClock)
        self._driver = BatchDriver(cluster.engine, clock)
        self._driver.settle()
        self._remember()

    def _remember(self) -> None:
        """Note what `back` and `reset` go to."""
        self._kept_state, self._revision = KeptState.of(self.cluster.registry), self.cluster.registry.revision

    def do(self, what: str, *arguments: Any) -> None:
        """Take a step and let a while pass."""
        with self._ways():
            getattr(self, f"_{what}")(*arguments)
            self._driver.run_for(SECOND_NS)

    # --- What happens in a cluster ---

    def _create(self, resource: str, obj: Json, namespace: str = "") -> None:
        registry = self.cluster.registry
        registry.create(resource, registry.decode(resource, obj), namespace)

    def _pods(self) -> list[str]:
        return [pod.name for pod in self.cluster.registry.list("pods").items]

    def _pod(self, template: int, number: int) -> None:
        labels, spec = self.templates[template]
        # Pods with volumes never take the short cycle.
        spec = {**spec, "automountServiceAccountToken": False}
        for _ in range(number):
            self.count += 1
            self._create("pods", {"metadata": {"name": f"p{self.count}", "labels": labels}, "spec": spec}, "default")

    def _gone(self, number: int) -> None:
        if pods := self._pods():
            self.cluster.registry.remove("pods", pods[number % len(pods)], "default")

    def _relabel(self, number: int, labels: dict[str, str]) -> None:
        if pods := self._pods():
            patch = {"metadata": {"labels": {"app": None, "tier": None, **labels}}}
            self.cluster.registry.patch("pods", pods[number % len(pods)], "merge", patch, "default")

    def _node(self, name: str, raw: Json) -> None:
        registry = self.cluster.registry
        labels = {"kubernetes.io/hostname": name, **raw["labels"]}
        spec = {key: raw[key] for key in ("taints", "unschedulable") if key in raw}
        status: Json = {key: raw[key] for key in ("allocatable", "images") if key in raw}
        status["capacity"] = raw["allocatable"]
        body = {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}
        if any(node.name == name for node in registry.list("nodes").items):
            registry.remove("nodes", name, "")
        self._create("nodes", body)

    def _cordon(self, name: str, unschedulable: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        if any(node.name == name for node in self.cluster.registry.list("nodes").items):
            self.cluster.registry.patch("nodes", name, "merge", {"spec": {"unschedulable": unschedulable}}, "")

    def _nominated(self, node: str, cpu: str) -> None:
        """A pod that is nominated, and may wait."""
        self._pod(0, 2)
        self.count += 1
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
        name = f"p{self.count}"
        self._create("pods", {"metadata": {"name": name}, "spec": {"containers": containers, "priority": 0}}, "default")
        self.cluster.registry.patch(
            "pods", name, "merge", {"status": {"nominatedNodeName": node}}, "default", subresource="status"
        )

    def _later(self, seconds: int) -> None:
        self._driver.run_for(seconds * SECOND_NS)
        self._remember()

    # --- How it goes on elsewhere ---

    def _fork(self, before: int) -> None:
        """Go on in a fork, with pods that nobody has looked at yet."""
        self._pod(0, before)
        self._begin(fork(self.cluster))

    def _back(self) -> None:
        """Go on in a fork of the moment that was noted last."""
        self._begin(fork(self.cluster, revision=self._revision))

    def _restart(self, before: int) -> None:
        self._pod(0, before)
        cluster, store = self.cluster, self.cluster.store
        kept = tuple(obj for resource in store.resources() for obj in store.list(resource))
        self._begin(self._cluster(cluster.clock.now_ns(), Snapshot(store.revision, kept)))

    def _exported(self) -> None:
        document = json.loads(snapshot.export(self.cluster.registry, {}))
        self._begin(self._cluster(self.cluster.clock.now_ns()))
        with self.cluster.at_rest():
            self.seen.append(snapshot.load(self.cluster.registry, snapshot.check(document)))
        self._remember()

    def _saved(self) -> None:
        """Go on with a complete snapshot, decisions and all."""
        cluster = self.cluster
        with TemporaryDirectory() as folder:
            saving = complete_snapshot.Saving(cluster.registry, cluster.log, {}, cluster.clock.now_ns())
            file = DecisionFile(Path(folder), bytes_max=0)
            for _ in saving.steps(file):
                pass
            file.close()
            saving.finish(Path(folder), Path(folder) / "saved")
            saved = complete_snapshot.read_complete((Path(folder) / "saved").read_bytes())
        self._begin(self._cluster(cluster.clock.now_ns()))
        loaded = snapshot.Loaded()
        with self.cluster.at_rest():
            for _ in complete_snapshot.load_steps(self.cluster.registry, saved, loaded, replace=True):
                pass
        self._remember()
        self.seen.append(
            (loaded, [plain(whole(attempt.cycle())) for story in saved.stories for attempt in story.attempts])
        )

    def _reset(self) -> None:
        with self.cluster.at_rest():
            self._kept_state.restore()

    def _reconfigure(self, configuration: Json) -> None:
        self.cluster.reconfigure(configuration)

    # --- What can be seen ---

    def state(self) -> list[tuple[str, bytes]]:
        """Return everything that is stored, byte by byte."""
        store = self.cluster.store
        return [(kind, obj.json()) for kind in store.resources() for obj in store.list(kind)]

    def records(self) -> list[Any]:
        """Return what was decided since the last time, as it is read back, and what comes of it when it is done again."""
        attempts = [attempt for sequence, _, attempt in self.cluster.log.oldest_first() if sequence > self.known]
        self.known += len(attempts)
        found = [plain(whole(attempt.cycle())) for attempt in attempts]
        with self._ways():
            found += [plain(whole(state_at(self.cluster, attempt.cycle()).rerun())) for attempt in attempts[-2:]]
        return found


#: What the API takes; most pods find a node, so that nodes fill up.
specs = clusters.objects(
    containers=st.tuples(
        clusters.objects(
            name=st.just("c"),
            image=st.sampled_from(("a", "b:1")),
            resources=clusters.objects(requests=st.sampled_from(({"cpu": "500m"}, {"memory": "512Mi"}, {}))),
            ports=clusters.few(st.sampled_from(({"containerPort": 80, "hostPort": 80},)), 1),
        )
    ).map(list),
    nodeSelector=clusters.optional(st.just({"zone": "a"})),
    tolerations=clusters.few(
        clusters.objects(key=st.sampled_from(("t", "u")), operator=st.just("Exists")),
        1,
    ),
    affinity=clusters.optional(
        clusters.objects(
            podAffinity=clusters.optional(clusters.pod_affinities),
            podAntiAffinity=clusters.optional(clusters.pod_affinities),
        )
    ),
    topologySpreadConstraints=clusters.few(clusters.constraints, 1),
)
#: With one taint at most: of an effect there is one per key.
nodes = clusters.nodes.map(lambda raw: {**raw, "taints": raw.get("taints", [])[:1]})
_FEW = st.integers(0, 2)
pods = st.tuples(st.just("pod"), _FEW, st.integers(1, 4))
happenings = st.one_of(
    st.tuples(st.just("gone"), st.integers(0, 9)),
    st.tuples(st.just("relabel"), st.integers(0, 9), clusters.POD_LABELS),
    st.tuples(st.just("node"), st.sampled_from(clusters.NODE_NAMES), nodes),
    st.tuples(st.just("cordon"), st.sampled_from(clusters.NODE_NAMES), st.booleans()),
    st.tuples(st.just("nominated"), st.sampled_from(clusters.NODE_NAMES), st.sampled_from(("100m", "64"))),
    st.tuples(st.just("later"), st.sampled_from((1, 20))),
)
moves = st.one_of(
    st.tuples(st.just("fork"), _FEW),
    st.tuples(st.just("restart"), _FEW),
    st.tuples(st.sampled_from(("back", "exported", "saved", "reset"))),
    st.tuples(st.just("reconfigure"), st.sampled_from(CONFIGURATIONS)),
)
histories = st.lists(st.one_of(pods, pods, pods, happenings, moves), min_size=6, max_size=14)


@pytest.mark.parametrize("full", [False, True], ids=["first failures", "every verdict"])
@settings(max_examples=12)
@given(
    made_from=st.tuples(*[st.tuples(clusters.POD_LABELS, specs)] * 3).map(list),
    configuration=st.sampled_from(CONFIGURATIONS),
    first=st.lists(nodes, min_size=4, max_size=4),
    history=histories,
)
def test_a_cluster_that_goes_on_elsewhere_decides_as_if_it_knew_nothing(
    made_from: list[Template], configuration: Json, first: list[Json], history: list[tuple[Any, ...]], *, full: bool
) -> None:
    with mock.patch.object(filtering, "MIN_FEASIBLE_NODES", 2):
        worlds = [World(made_from, configuration, short=short, full=full) for short in (True, False)]
        begin = [("node", name, raw) for name, raw in zip(clusters.NODE_NAMES, first, strict=True)]
        for step in [*begin, *history]:
            for world in worlds:
                world.do(*step)

            assert worlds[0].records() == worlds[1].records(), step
            assert worlds[0].state() == worlds[1].state(), step
            assert worlds[0].seen == worlds[1].seen, step


@pytest.mark.parametrize("full", [False, True], ids=["first failures", "every verdict"])
def test_equal_pods_take_the_short_cycle_wherever_their_cluster_goes_on(*, full: bool) -> None:
    """From the fourth pod on that a scheduler sees, those included that waited when it began."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    worlds = [World([({}, {"containers": [container]})], _CONFIG, short=short, full=full) for short in (True, False)]
    node = {"labels": {"zone": "a"}, "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "110"}}
    for name in clusters.NODE_NAMES:
        for world in worlds:
            world.do("node", name, node)
    # Of six pods the first three tell what there is to know; two of them are there before the move.
    for step, expected in (
        (("pod", 0, 5), 2),
        (("fork", 2), 0),
        (("pod", 0, 3), 2),
        (("restart", 4), 1),
        (("pod", 0, 2), 2),
        (("exported",), 0),
        (("pod", 0, 5), 2),
        (("saved",), 0),
        (("pod", 0, 5), 2),
        (("reset",), 0),
        (("pod", 0, 2), 2),
        (("back",), 0),
        (("pod", 0, 5), 2),
        (("reconfigure", CONFIGURATIONS[2]), 0),
        (("pod", 0, 5), 2),
    ):
        with mock.patch.object(routine_cycle, "_record", wraps=routine_cycle._record) as recorded:
            for world in worlds:
                world.do(*step)

        assert recorded.call_count == expected, step
        assert worlds[0].records() == worlds[1].records(), step
        assert worlds[0].state() == worlds[1].state(), step
