"""Scenarios as objects of a cluster: one after the other, by steps, with every end that they may come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import WriteOptions
from schedlab.scenario.live_scenarios import run_scenarios
from schedlab.scenario.scenario_definition import SCENARIOS
from schedlab.testing import make_node, make_pod

API_VERSION = "simulation.kube-scheduler-simulator.x-k8s.io/v1alpha1"
NODE = make_node("one").capacity(cpu="1", memory="1Gi", pods="9").dict()


def pod(name: str) -> dict[str, Any]:
    made = make_pod(name).req(cpu="1").dict()
    del made["metadata"]["uid"]
    return made


class Lab:
    """A cluster that runs Scenarios, on a virtual clock."""

    def __init__(self, original: Cluster | None = None) -> None:
        self.clock = VirtualClock(0 if original is None else original.clock.now_ns())
        self.cluster = Cluster(
            self.clock, SeededRandom(1), ClusterSettings(nodes=0 if original else 2), original=original
        )
        run_scenarios(self.cluster)
        self.cluster.start()
        self._driver = BatchDriver(self.cluster.engine, self.clock)

    def apply(self, name: str, *operations: dict[str, Any]) -> None:
        body = {
            "apiVersion": API_VERSION,
            "kind": "Scenario",
            "metadata": {"name": name},
            "spec": {"operations": [*operations]},
        }
        self.cluster.registry.apply(SCENARIOS, name, body, "", WriteOptions(field_manager="test", force=True))
        self.run(0)

    def run(self, seconds: float) -> None:
        self._driver.run_for(int(seconds * SECOND_NS))

    def until(self, name: str, phase: str) -> dict[str, Any]:
        for _ in range(300):
            if self.status(name).get("phase") == phase:
                break
            self.run(1)
        found = self.status(name)
        assert found.get("phase") == phase, found
        return found

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.registry.get(SCENARIOS, name).raw.get("status") or {}
        return found

    def names(self, resource: str) -> list[str]:
        return [one.name for one in self.cluster.registry.list(resource).items]


def create(step: int, obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"step": step, "createOperation": {"object": obj}, **more}


def delete(step: int, kind: str, name: str) -> dict[str, Any]:
    return {
        "step": step,
        "deleteOperation": {"typeMeta": {"apiVersion": "v1", "kind": kind}, "objectMeta": {"name": name}},
    }


def done(step: int) -> dict[str, Any]:
    return {"step": step, "doneOperation": {}}


def words(status: dict[str, Any]) -> dict[str, list[str]]:
    timeline = status["scenarioResult"]["timeline"]
    return {
        step: [next(key for key in one if key not in ("id", "step")) for one in events]
        for step, events in timeline.items()
    }


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_it_goes_step_by_step_on_a_cluster_that_is_emptied_first(lab: Lab) -> None:
    lab.cluster.registry.create("namespaces", lab.cluster.registry.decode("namespaces", {"metadata": {"name": "old"}}))
    lab.run(1)
    assert lab.names("nodes") == ["node-0", "node-1"]
    lab.apply(
        "s", create(1, NODE, id="first"), create(2, pod("a")), create(2, pod("b")), delete(4, "Pod", "a"), done(4)
    )
    assert lab.status("s")["phase"] == "Running"
    # What happens in a step is told when it is over.
    assert words(lab.status("s")) == {}
    status = lab.until("s", "Succeeded")

    assert words(status) == {
        "1": ["create"],
        "2": ["create", "create", "podScheduled"],
        "4": ["delete", "done", "delete", "podScheduled"],
    }
    assert status["scenarioResult"]["timeline"]["1"][0]["id"] == "first"
    assert status["stepStatus"] == {"step": {"major": 4, "minor": 4}, "phase": "Finished"}
    assert (lab.names("nodes"), lab.names("pods")) == (["one"], ["b"])
    assert "old" not in lab.names("namespaces")
    assert {"default", "kube-system"} <= {*lab.names("namespaces")}


def test_without_done_it_is_paused_and_goes_on_with_what_is_added(lab: Lab) -> None:
    lab.apply("s", create(1, NODE))
    lab.until("s", "Paused")
    # Of a step that is over, and so never done.
    lab.apply("s", create(1, NODE), create(0, pod("late")), create(2, pod("a")), done(2))
    status = lab.until("s", "Succeeded")

    assert words(status) == {"1": ["create"], "2": ["create", "done", "podScheduled"]}
    assert lab.names("pods") == ["a"]


def test_they_run_one_after_the_other(lab: Lab) -> None:
    lab.apply("first", create(1, NODE), create(2, pod("a")), done(2))
    lab.apply("second", create(1, NODE), done(1))
    assert lab.status("second") == {"phase": "Pending", "message": "waits for first"}
    lab.until("first", "Succeeded")
    lab.until("second", "Succeeded")

    assert lab.status("second")["message"] == ""
    assert lab.names("pods") == []


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([{"step": 1}], "spec.operations[0]: nothing is to be done"),
        ([{**create(1, NODE), **done(1)}], "spec.operations[0]: createOperation and doneOperation is to be done"),
        ([create(1, {"kind": "Node"})], "spec.operations[0].createOperation: is no manifest"),
        (
            [delete(1, "Node", "nobody"), {"step": 2}],
            "there is no node/nobody; spec.operations[1]: nothing is to be done",
        ),
        ([create(1, NODE), create(2, NODE)], 'operation 2: nodes "one" already exists'),
    ],
)
def test_what_cannot_be_done_fails_it(lab: Lab, operations: list[dict[str, Any]], message: str) -> None:
    lab.apply("s", *operations)
    status = lab.until("s", "Failed")

    assert message in status["message"]
    # Others go on.
    lab.apply("next", create(1, NODE), done(1))
    lab.until("next", "Succeeded")


def test_a_mistake_that_is_added_fails_it(lab: Lab) -> None:
    lab.apply("s", create(1, NODE))
    lab.until("s", "Paused")
    lab.apply("s", create(1, NODE), {"step": 2})

    assert "nothing is to be done" in lab.until("s", "Failed")["message"]
    assert words(lab.status("s")) == {"1": ["create"]}


@pytest.mark.parametrize("seconds", [0, 2])
def test_one_that_is_deleted_just_stops(lab: Lab, seconds: int) -> None:
    lab.apply("s", create(1, NODE), create(2, pod("a")))
    lab.run(seconds)
    lab.cluster.registry.delete(SCENARIOS, "s")
    lab.run(120)

    assert lab.names("pods") == []
    lab.apply("next", create(1, make_node("other").dict()), done(1))
    lab.until("next", "Succeeded")
    # The parts of the cluster work again.
    assert lab.names("nodes") == ["other"]


def test_another_scheduler_configuration_fails_it(lab: Lab) -> None:
    lab.apply("s", create(1, NODE), create(2, pod("a")), done(2))
    lab.run(1)
    lab.cluster.reconfigure(lab.cluster.configuration())

    assert "configuration was changed" in lab.until("s", "Failed")["message"]


def test_a_restart_fails_what_was_running_and_leaves_what_was_paused(lab: Lab) -> None:
    lab.apply("paused", create(1, NODE))
    lab.until("paused", "Paused")
    again = Lab(lab.cluster)
    again.run(1)
    again.apply("paused", create(1, NODE), create(2, pod("a")))
    again.run(1)
    after = Lab(again.cluster)
    after.run(1)

    assert after.status("paused")["message"] == "the controller restarted while the Scenario was running"
    assert (after.status("paused")["phase"], words(after.status("paused"))) == ("Failed", {"1": ["create"]})
    after.apply("next", create(1, NODE), done(1))
    after.until("next", "Succeeded")


def test_pods_that_wait_for_their_next_try_keep_a_step(lab: Lab) -> None:
    """A step does not end while the scheduler's back-off runs."""
    lab.apply("s", create(1, NODE), create(2, pod("a")), create(2, pod("b")), delete(3, "Pod", "a"), done(3))

    assert "podScheduled" in words(lab.until("s", "Succeeded"))["3"]
    assert lab.cluster.registry.get("pods", "b", "default").view.spec.node_name == "one"


@pytest.mark.parametrize(
    "spoil", [lambda one: one.update(step=-1), lambda one: one.update(step="x"), lambda one: one.pop("step")]
)
def test_the_api_refuses_what_has_not_the_form(lab: Lab, spoil: Callable[[dict[str, Any]], object]) -> None:
    operation: dict[str, Any] = done(1)
    spoil(operation)
    with pytest.raises(Exception, match="step"):
        lab.apply("s", operation)
