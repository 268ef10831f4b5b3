"""What is told of a pod beyond its attempts: its fate, its place in the queue, what woke it, numbers of earlier moments."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.cli.explain_text import explain_text
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.decisions.explain import PodQuestion
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom


class Lab:
    """A cluster with one node of 4 CPU, in virtual time."""

    def __init__(self, nodes: int = 1) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, SeededRandom(1), ClusterSettings(nodes=nodes))
        self.driver = BatchDriver(self.cluster.engine, self.clock)
        self.cluster.start()
        self.driver.settle()

    def create(self, resource: str, manifest: dict[str, Any], namespace: str = "") -> None:
        registry = self.cluster.registry
        registry.create(resource, registry.decode(resource, manifest), namespace)
        self.driver.settle()

    def pod(self, name: str, cpu: str, **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        self.create("pods", {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}, "default")

    def delete(self, name: str) -> None:
        self.cluster.registry.delete("pods", name, "default")
        self.driver.run_for(60 * SECOND_NS)

    def explain(self, name: str, **question: Any) -> dict[str, Any]:
        return self.cluster.explainer.explain("default", name, PodQuestion(**question))


def test_waiting_pod_is_told_what_it_waits_for() -> None:
    lab = Lab()
    lab.pod("first", "3")
    lab.pod("second", "2")

    found = lab.explain("second")

    assert found["answer"] == (
        "second does not fit on the only node: NodeResourcesFit turns down 1 "
        "(needs cpu 2, free 1 (allocatable 4, requested 3))."
    )
    assert found["queue"]["place"] == "unschedulable"
    assert found["queue"]["rejectedBy"] == ["NodeResourcesFit"]
    [waker] = found["queue"]["wokenBy"]
    assert waker["events"][0] == "Pod: Delete, UpdatePodScaleDown"
    assert found["state"]["state"] == "pending"


def test_events_that_did_not_help_are_told_with_the_answers() -> None:
    lab = Lab()
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    lab.pod("second", "1", affinity=affinity)
    lab.pod("other", "1")

    [skipped] = lab.explain("second")["queue"]["skipped"]

    assert (skipped["event"], skipped["count"]) == ("AssignedPodAdd", 1)
    assert skipped["answers"] == {"InterPodAffinity": "QueueSkip"}


def test_numbers_are_those_of_the_attempt_not_of_now() -> None:
    lab = Lab()
    lab.pod("first", "3")
    lab.pod("second", "2")
    lab.delete("first")
    lab.pod("third", "1")

    then, now = lab.explain("second", attempt=1), lab.explain("second")

    assert then["numbers"] == "of the attempt"
    [fact] = [fact for fact in then["nodes"][0]["facts"]["NodeResourcesFit"] if not fact["fits"]]
    assert (fact["needs"], fact["free"], fact["requested"]) == ("2", "1", "3")
    assert now["attempts"] == [1, 2]
    assert now["selected"] == "node-0"
    assert [move["reason"] for move in now["moves"]].count("AssignedPodDelete") == 1


def test_deleted_pod_is_said_to_be_deleted() -> None:
    lab = Lab()
    lab.pod("gone", "1")
    lab.delete("gone")

    found = lab.explain("gone")

    assert found["state"]["text"] == "The pod has been deleted."
    assert found["queue"] is None


def test_preempted_pod_is_told_for_whom() -> None:
    lab = Lab()
    lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 1000})
    lab.pod("low", "3")
    lab.pod("urgent", "2", priorityClassName="high")
    lab.driver.run_for(60 * SECOND_NS)

    low, urgent = lab.explain("low"), lab.explain("urgent", attempt=1)

    assert low["state"]["text"] == "The pod has been deleted: preempted for pod default/urgent (attempt 1) on node-0."
    assert urgent["answer"].endswith("It is nominated to node-0, where default/low must go first.")
    [candidate] = urgent["preemption"]["candidates"]
    assert candidate["victims"] == ["default/low"]
    assert lab.explain("urgent")["answer"].startswith("Scheduled on node-0")


def test_only_the_flush_is_a_warning() -> None:
    lab = Lab()
    lab.pod("second", "9")
    lab.driver.run_for(400 * SECOND_NS)

    found = lab.explain("second")

    assert found["attempt"] > 1
    [warning] = found["warnings"]
    assert warning.startswith("No event woke this pod: only the periodic flush gave it another try.")


def test_gated_and_unknown_pods_are_told_apart() -> None:
    lab = Lab()
    lab.pod("gated", "1", schedulingGates=[{"name": "example.com/wait"}])

    with pytest.raises(LookupError, match=r"waits for its scheduling gates to be removed: example\.com/wait"):
        lab.explain("gated")
    with pytest.raises(LookupError, match="there is no pod default/nobody"):
        lab.explain("nobody")


def test_comparison_with_another_node() -> None:
    lab = Lab(nodes=2)
    lab.pod("first", "1")
    lab.pod("second", "1")

    chosen = lab.explain("second")["selected"]
    other = "node-1" if chosen == "node-0" else "node-0"
    found = lab.explain("second", versus=other)["versus"]

    assert (found["of"], found["node"]) == (chosen, other)
    assert found["margin"] == sum(found["byPlugin"].values()) > 0


def test_one_node_is_told_in_full() -> None:
    lab = Lab(nodes=2)
    lab.pod("first", "1")

    text = explain_text(lab.explain("first", nodes=("node-1",), all_plugins=True), one_node=True)

    assert "Node node-1: fits" in text
    assert "needs cpu 1, free 4 (allocatable 4, requested 0)" in text
    assert "Node node-0" not in text
