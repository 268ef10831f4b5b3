"""Results that are written into the pods of somebody else's API server."""

from __future__ import annotations

from typing import Any

from schedlab.apimachinery.errors import new_internal_error, new_not_found
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import Completion, Outcome, Write
from schedlab.cluster.scheduler_instance import InstanceSettings, Process, SchedulerInstance
from schedlab.decisions.annotations import PREFIX
from schedlab.kernel.randomness import SeededRandom
from tests.scenario.failover import PromptClient
from tests.support.clusters import Lab

ALONE: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}


class Client(PromptClient):
    """Notes what is written, and answers annotations with an error while there is one."""

    error: Any = None

    def submit(self, write: Write, done: Completion | None = None) -> None:
        self.writes.append(write)
        if self.error is not None and write.verb == "patch" and "annotations" in str(write.body):
            assert done is not None
            done(Outcome(error=self.error))
        else:
            super().submit(write, done)

    writes: list[Write]


class Alone(Lab):
    """A scheduler of its own beside a cluster that does not schedule, and shows nothing by itself."""

    def __init__(self, nodes: int = 2) -> None:
        super().__init__(nodes=nodes, schedules=False, annotations="off")
        self.lines: list[str] = []
        self.client = Client(self.registry, "kube-scheduler")
        self.client.writes = []
        process = Process(self.clock, SeededRandom(3), "host", 1, self.lines.append, lambda _: None)
        settings = InstanceSettings(scheduler_config=ALONE, annotations="full")
        self.instance = SchedulerInstance(settings, self.client, self.cluster.engine, process)
        self.instance.start()
        self.run()

    def annotations(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self.registry.get("pods", name, "default").raw["metadata"].get("annotations", {})
        return found


def test_a_pod_gets_its_result_by_one_patch_of_its_status() -> None:
    lab = Alone()
    lab.create_pod("p")
    lab.run()
    shown = lab.annotations("p")
    (write,) = [one for one in lab.client.writes if one.verb == "patch" and one.resource == "pods"]

    assert shown[f"{PREFIX}selected-node"] == lab.nodes_of_pods()["p"]
    assert "TaintToleration" in shown[f"{PREFIX}finalscore-result"]
    assert (write.subresource, write.patch_type) == ("status", "merge")


def test_annotations_of_others_stay_and_older_results_go() -> None:
    lab = Alone(nodes=0)
    container = {"name": "c", "image": "i"}
    metadata = {"name": "p", "annotations": {"mine": "1", f"{PREFIX}result-summary": "old"}}
    lab.create("pods", {"metadata": metadata, "spec": {"containers": [container]}}, "default")
    lab.run()
    shown = lab.annotations("p")

    assert shown["mine"] == "1"
    assert f"{PREFIX}result-summary" not in shown
    assert shown[f"{PREFIX}selected-node"] == ""


def test_writing_does_not_wake_a_pod_that_waits() -> None:
    lab = Alone()
    lab.create_pod("p", nodeSelector={"no": "node"})
    lab.run(200)
    story = lab.instance.decisions.find("default", "p")
    assert story is not None

    assert len(story.attempts) == 1
    assert lab.annotations("p")


def test_a_refusal_is_told_and_scheduling_goes_on() -> None:
    lab = Alone()
    lab.client.error = new_internal_error(ValueError("no"))
    lab.create_pod("p")
    lab.run()

    assert lab.nodes_of_pods()["p"]
    assert any('"Failed to annotate pod"' in line and 'pod="default/p"' in line for line in lab.lines)


def test_a_pod_that_is_gone_is_no_trouble() -> None:
    lab = Alone()
    lab.client.error = new_not_found(GroupResource("", "pods"), "p")
    lab.create_pod("p")
    lab.run()

    assert not any("Failed to annotate" in line for line in lab.lines)
