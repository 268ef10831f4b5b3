"""Kubelets register nodes, bring bound pods to Running, and do nothing more than needed."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from schedlab.client.effects import WriteEffect
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.kubelet import Kubelet
from schedlab.registry import DeleteOptions, Registry, bootstrap
from schedlab.store import Store


class Setting:
    """A registry with the kubelets of its nodes."""

    def __init__(self) -> None:
        clock = self.clock = VirtualClock()
        self.registry = Registry(Store(), clock, SeededRandom(1))
        bootstrap(self.registry)
        client = InProcessClient(self.registry, "kubelet")
        self.kubelet = Kubelet(Informers(client), clock)
        self._client = client
        account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
        self.create("serviceaccounts", account, "default")

    def create(self, resource: str, obj: dict[str, Any], namespace: str = "") -> None:
        self.registry.create(resource, self.registry.decode(resource, obj), namespace)

    def node(self, name: str = "n") -> None:
        self.create("nodes", {"metadata": {"name": name}})

    def pod(self, name: str = "p", node: str = "n") -> None:
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
        self.create("pods", {"metadata": {"name": name}, "spec": spec}, "default")

    def settle(self) -> int:
        """Step until nothing waits; return the number of steps."""
        steps = 0
        while self.kubelet.ready():
            steps += 1
            for effect in self.kubelet.step():
                assert isinstance(effect, WriteEffect)
                self._client.submit(effect.write, partial(self._complete, effect))
        return steps

    def _complete(self, effect: WriteEffect, outcome: object) -> None:
        assert not self.kubelet.complete(effect, outcome)

    def phase(self, name: str = "p") -> str:
        phase: str = self.registry.get("pods", name, "default").view.status.phase
        return phase


@pytest.mark.parametrize("first", ["node", "pod"])
def test_a_bound_pod_runs_whichever_came_first(first: str) -> None:
    setting = Setting()
    for kind in ("node", "pod") if first == "node" else ("pod", "node"):
        getattr(setting, kind)()
        setting.settle()

    assert setting.phase() == "Running"


def test_a_pod_whose_node_never_came_is_forgotten_with_it() -> None:
    setting = Setting()
    setting.pod()
    setting.settle()
    setting.registry.delete("pods", "p", "default", DeleteOptions(grace_period_seconds=0))

    setting.node()
    setting.settle()

    assert setting.kubelet._early == {}
    assert not setting.kubelet.ready()


def test_a_running_pod_needs_one_step_and_is_counted_in() -> None:
    setting = Setting()
    setting.node()
    setting.settle()
    setting.pod()

    assert setting.settle() == 1
    setting.registry.patch("pods", "p", "merge", {"metadata": {"labels": {"a": "b"}}}, "default")
    setting.registry.touch("pods", "p", "default")

    assert not setting.kubelet.ready()
    uid = setting.registry.get("pods", "p", "default").uid
    assert uid in setting.kubelet._state["n"].account.requests


def test_a_pod_that_runs_already_when_the_kubelet_starts_keeps_its_place() -> None:
    setting = Setting()
    setting.node()
    setting.pod()
    setting.settle()

    client = InProcessClient(setting.registry, "kubelet")
    setting.kubelet = Kubelet(Informers(client), VirtualClock())
    setting.settle()

    uid = setting.registry.get("pods", "p", "default").uid
    assert uid in setting.kubelet._state["n"].account.requests


def test_a_deleted_pod_goes_and_frees_its_address() -> None:
    setting = Setting()
    setting.node()
    setting.settle()
    setting.pod()
    setting.settle()

    setting.registry.delete("pods", "p", "default")
    setting.settle()

    assert not setting.registry.list("pods", "default").items
    assert setting.kubelet._state["n"].account.requests == {}


def test_addresses_survive_a_restart_and_are_given_once() -> None:
    """Nodes and pods that were there keep what they have; new ones get something else, in whatever order they come."""
    setting = Setting()
    for name in ("z", "a"):
        setting.node(name)
        setting.pod(f"{name}1", name)
        setting.pod(f"{name}2", name)
    setting.settle()
    setting.registry.delete("pods", "a1", "default")
    setting.settle()

    def addresses() -> dict[str, str]:
        pods = {pod.name: pod.view.status.pod_ip for pod in setting.registry.list("pods", "default").items}
        nodes = {
            node.name: node.raw["status"]["addresses"][0]["address"] for node in setting.registry.list("nodes").items
        }
        return {**pods, **nodes}

    before = addresses()
    setting.create("nodes", {"metadata": {"name": "0"}})
    setting.pod("a3", "a")
    setting.pod("a4", "a")
    setting.kubelet = Kubelet(Informers(setting._client), VirtualClock())
    setting.settle()
    after = addresses()

    assert {name: after[name] for name in before} == before
    assert len(set(after.values())) == len(after) == 8
    assert setting.registry.get("nodes", "0").view.spec.pod_cidr == "10.0.2.0/24"
    assert after["a2"] == "10.0.1.2"
    assert after["a4"] == "10.0.1.3"


def test_registering_again_changes_nothing() -> None:
    """A node that is complete is not written to when its kubelet starts anew."""
    setting = Setting()
    setting.node()
    setting.pod()
    setting.settle()
    revision = setting.registry.revision
    setting.kubelet = Kubelet(Informers(setting._client), VirtualClock())
    setting.settle()

    assert setting.registry.revision == revision


def job_pod(setting: Setting, delay: str | None = None, restart_policy: str = "Never", **metadata: Any) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    annotations = {} if delay is None else {"pod-complete.stage.kwok.x-k8s.io/delay": delay}
    spec = {"nodeName": "n", "restartPolicy": restart_policy, "containers": [{"name": "c", "image": "i"}]}
    meta = {"name": "p", "ownerReferences": [owner], "annotations": annotations, **metadata}
    setting.create("pods", {"metadata": meta, "spec": spec}, "default")


@pytest.mark.parametrize(("delay", "seconds"), [(None, 1), ("90s", 90), ("soon", 1)])
def test_pods_of_jobs_succeed_after_their_run_time(delay: str | None, seconds: int) -> None:
    """One second unless an annotation says otherwise; then the node is free again."""
    setting = Setting()
    setting.node()
    job_pod(setting, delay)
    setting.settle()
    running = setting.phase()
    setting.clock.advance_to(setting.clock.now_ns() + seconds * 10**9 - 1)
    setting.settle()
    still_running = setting.phase()
    setting.clock.advance_to(setting.clock.now_ns() + 1)
    setting.settle()
    status = setting.registry.get("pods", "p", "default").raw["status"]

    assert (running, still_running, setting.phase()) == ("Running", "Running", "Succeeded")
    assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    assert [each["status"] for each in status["conditions"] if each["type"] == "Ready"] == ["False"]
    assert setting.kubelet._state["n"].account.requests == {}


@pytest.mark.parametrize(("restart_policy", "phase"), [("Never", "Succeeded"), ("Always", "Running")])
def test_pods_without_a_job_succeed_after_the_run_time_of_their_annotation(restart_policy: str, phase: str) -> None:
    """Unless they are restarted always."""
    setting = Setting()
    setting.node()
    job_pod(setting, "90s", restart_policy, ownerReferences=[])
    setting.settle()
    setting.clock.advance_to(setting.clock.now_ns() + 90 * 10**9)
    setting.settle()

    assert setting.phase() == phase


def test_other_pods_run_on() -> None:
    """Pods that are restarted always, whoever owns them, have no end."""
    setting = Setting()
    setting.node()
    job_pod(setting, restart_policy="Always")
    setting.settle()
    setting.clock.advance_to(setting.clock.now_ns() + 10**12)
    setting.settle()

    assert setting.phase() == "Running"


def test_the_end_is_not_missed_by_a_restart() -> None:
    """A kubelet that starts anew counts from the start of the pod."""
    setting = Setting()
    setting.node()
    job_pod(setting, "60s")
    setting.settle()
    setting.clock.advance_to(setting.clock.now_ns() + 59 * 10**9)
    setting.kubelet = Kubelet(Informers(setting._client), setting.clock)
    setting.settle()
    setting.clock.advance_to(setting.clock.now_ns() + 10**9)
    setting.settle()

    assert setting.phase() == "Succeeded"


def test_what_is_held_by_a_finalizer_shows_that_it_has_ended() -> None:
    """A deleted pod that somebody still looks at has failed."""
    setting = Setting()
    setting.node()
    job_pod(setting, "60s", finalizers=["a.b/c"])
    setting.settle()
    setting.registry.delete("pods", "p", "default")
    setting.settle()

    assert setting.phase() == "Failed"
