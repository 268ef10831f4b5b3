"""Which parts a cluster has is chosen by its settings."""

from __future__ import annotations

import pytest

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.controllers.registry import is_enabled
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom


def _cluster(settings: ClusterSettings) -> Cluster:
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(1), settings)
    cluster.start()
    BatchDriver(cluster.engine, clock).settle()
    return cluster


@pytest.mark.parametrize(
    ("chosen", "enabled"),
    [(("*",), True), (("*", "-job-controller"), False), (("job-controller",), True), ((), False)],
)
def test_controllers_are_chosen_as_kube_controller_manager_does(chosen: tuple[str, ...], enabled: bool) -> None:  # noqa: FBT001 - a case's answer
    assert enabled == is_enabled("job-controller", chosen)


def test_cluster_without_kubelets_and_controllers_leaves_nodes_as_they_were_made() -> None:
    cluster = _cluster(ClusterSettings(nodes=1, kubelets=False, controllers=()))

    node = cluster.registry.get("nodes", "node-0").raw
    assert "conditions" not in node["status"]
    assert not cluster.kubelet.ready()
    assert "GarbageCollector" not in {type(part).__name__ for part in cluster.engine.parts}


@pytest.mark.parametrize(("events", "some"), [(True, True), (False, False)])
def test_events_of_the_clusters_own_parts_are_kept_if_asked_for(*, events: bool, some: bool) -> None:
    cluster = _cluster(ClusterSettings(nodes=1, events=events))
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    cluster.registry.create("pods", cluster.registry.decode("pods", pod), "default")
    assert isinstance(cluster.clock, VirtualClock)
    BatchDriver(cluster.engine, cluster.clock).settle()

    assert cluster.registry.get("pods", "p", "default").view.status.phase == "Running"
    assert some == bool(cluster.store.count("events"))
