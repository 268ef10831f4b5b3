"""Attempts on a trial are real cycles that touch nothing of the cluster."""

from __future__ import annotations

from msgspec.structs import replace

from schedlab.whatif.trial import Trial, changed, pod_of
from tests.unit.whatif.whatif_cluster import Json, Lab


def test_attempts_touch_nothing_of_the_cluster() -> None:
    lab = Lab(nodes=2)
    lab.pod("big", cpu="5")
    lab.pod("p")
    lab.settle()
    before = lab.digest()
    trial = Trial.of(lab.cluster)
    pod = pod_of(lab.cluster.registry.get("pods", "big", "default"))

    assert trial.attempt(pod, makes_room=True).result == "unschedulable"
    assert lab.digest() == before
    assert trial.attempts == 1


def test_a_changed_pod_is_tried_as_changed() -> None:
    lab = Lab(nodes=1)
    lab.pod("big", cpu="5")
    lab.settle()

    def smaller(raw: Json) -> None:
        raw["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"

    stored = changed(lab.cluster.registry.get("pods", "big", "default"), smaller)
    assert Trial.of(lab.cluster).attempt(pod_of(stored)).selected == "node-0"


def test_nodes_and_placed_pods_can_be_changed_for_a_while() -> None:
    lab = Lab(nodes=1)
    lab.pod("there", cpu="3")
    lab.settle()
    lab.pod("big", cpu="4")
    lab.settle()
    trial = Trial.of(lab.cluster)
    pod = pod_of(lab.cluster.registry.get("pods", "big", "default"))
    there = pod_of(lab.cluster.registry.get("pods", "there", "default"))
    node = lab.cluster.informers.lister("nodes").get("node-0")

    with trial.tryout() as tryout:
        tryout.remove_pod(there)
        assert trial.attempt(pod).selected == "node-0"
        assert node is not None
        tryout.set_node(replace(node, spec=replace(node.spec, unschedulable=True)))
        assert "unschedulable" in trial.attempt(pod).failure_message
    assert "Insufficient cpu" in trial.attempt(pod).failure_message
