"""A cluster that is opened again goes on, whatever its clock says by then."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.backends import SQLiteBackend
from schedlab.cluster.api import API, APISettings
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.store import Compacted

DAY_NS = 86_400 * SECOND_NS


class Kept:
    """Clusters over one data folder, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._posted: queue.Queue[Callable[[], None]] = queue.Queue()
        self._backend: SQLiteBackend | None = None

    def start(self, start_ns: int = EPOCH_NS, nodes: int = 0) -> Cluster:
        """Open the folder; the cluster's clock begins at a moment of its own."""
        self.close()
        broken: list[Exception] = []
        self._backend = SQLiteBackend(self._folder, post=self._posted.put, on_broken=broken.append)
        random = SeededRandom(start_ns)
        cluster = Cluster(VirtualClock(start_ns), random, ClusterSettings(nodes=nodes), backend=self._backend)
        cluster.start()
        return cluster

    def run(self, cluster: Cluster, seconds: int = 1) -> None:
        """Let the parts work and the disk keep up."""
        clock = cluster.clock
        assert isinstance(clock, VirtualClock)
        driver = BatchDriver(cluster.engine, clock)
        driver.settle()
        while cluster.store.durable_revision < cluster.store.revision:
            self._posted.get(timeout=10)()
            driver.settle()
        driver.run_for(seconds * SECOND_NS)
        while cluster.store.durable_revision < cluster.store.revision:
            self._posted.get(timeout=10)()
            driver.settle()

    def close(self) -> None:
        if self._backend is not None:
            self._backend.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path / "data")
    yield made
    made.close()


def create_pod(cluster: Cluster, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    cluster.registry.create("pods", cluster.registry.decode("pods", body), "default")


@pytest.mark.parametrize("later_ns", [DAY_NS, -DAY_NS], ids=["a day later", "a day earlier"])
def test_cluster_goes_on_at_any_time(later_ns: int, kept: Kept) -> None:
    """Pods stay as they are, revisions grow, scheduling goes on; nodes that were asked for are there once."""
    before = kept.start(nodes=2)
    create_pod(before, "old")
    kept.run(before)
    old, revision = before.registry.get("pods", "old", "default"), before.store.revision
    assert old.view.status.phase == "Running"
    after = kept.start(EPOCH_NS + later_ns, nodes=3)
    create_pod(after, "new")
    kept.run(after)

    assert after.registry.get("pods", "old", "default").json() == old.json()
    new = after.registry.get("pods", "new", "default")
    assert new.view.status.phase == "Running"
    assert new.revision > revision
    assert [node.name for node in after.registry.list("nodes").items] == ["node-0", "node-1", "node-2"]


def test_limits_can_be_switched_off() -> None:
    """With 0 nothing is thrown away; otherwise events and revisions go at their time."""
    clock = VirtualClock()
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    left = {}
    for ttl_s in (0, 60):
        api = API(clock, SeededRandom(1), APISettings(event_ttl_s=ttl_s, compaction_interval_s=ttl_s))
        api.start()
        api.registry.create("events", api.registry.decode("events", event), "default")
        begun = api.store.compacted_revision
        clock.advance_to(clock.now_ns() + 121 * SECOND_NS)
        left[ttl_s] = (len(api.registry.list("events").items), api.store.compacted_revision > begun)

    assert left == {0: (1, False), 60: (0, True)}


def test_history_outlives_compaction() -> None:
    """The past of so many revisions can be rebuilt after lists and watches have lost it."""
    api = API(VirtualClock(), SeededRandom(1), APISettings(history=5))
    newest = api.store.revision
    api.store.compact(newest)
    with pytest.raises(Compacted):
        api.store.watch("namespaces", newest - 3, lambda event: None)

    assert api.store.fork(newest - 5).revision == newest - 5
    with pytest.raises(Compacted):
        api.store.fork(newest - 6)
