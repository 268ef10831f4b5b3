"""What if, at a moment of the past: the changes take effect there, and what came in truth stands beside."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.changes import read_changes
from schedlab.whatif.pending import pending
from schedlab.whatif.then import what_if_then
from tests.unit.whatif.whatif_cluster import Lab

Json = dict[str, Any]


def story() -> tuple[Lab, int]:
    """Return a cluster and the moment at which `big` was tried in vain; later there is a node for it, and another pod."""
    lab = Lab()
    lab.node("a", cpu="2")
    lab.pod("p", cpu="1")
    lab.settle()
    lab.pod("big", cpu="2")
    lab.settle(30)
    lab.node("b")
    lab.settle(30)
    lab.pod("late")
    lab.settle(10)
    return lab, first_attempt(lab, "big")


def first_attempt(lab: Lab, pod: str) -> int:
    found = lab.cluster.log.find("default", pod)
    assert found is not None
    return int(found.attempts[0].revision)


def asked(lab: Lab, revision: int, *changes: Json, seconds: int = 120) -> Json:
    before = lab.digest()
    told = what_if_then(lab.cluster, read_changes(changes), revision, seconds).data()
    assert lab.digest() == before
    return told


def rows(told: Json) -> dict[str, tuple[str | None, str | None, str | None]]:
    return {move["pod"]: (move["before"], move["after"], move["really"]) for move in told["moves"]}


def test_a_change_then_against_what_came() -> None:
    lab, revision = story()
    told = asked(lab, revision, {"delete": "pod/p"})

    assert rows(told) == {"default/big": ("", "a", "b"), "default/p": ("a", None, "a")}
    assert "NodeResourcesFit no longer turns it down" in told["moves"][0]["why"]
    assert told["at"]["revision"] == revision
    assert told["really"]["came"] == 1


def test_what_came_is_that_of_as_many_seconds_later() -> None:
    """A fork that runs for ten seconds is not compared with the pod's fate a minute later."""
    lab, revision = story()
    told = asked(lab, revision, {"delete": "pod/p"}, seconds=10)

    assert rows(told)["default/big"] == ("", "a", "")
    assert told["really"]["came"] == 0


def test_the_fork_runs_no_longer_than_the_cluster_did() -> None:
    """Else what comes of time alone would be taken for what the changes do."""
    lab, revision = story()
    last = lab.cluster.past.newest

    assert asked(lab, revision, {"cordon": "a"}, seconds=10)["ranForSeconds"] == 10
    assert asked(lab, revision, {"cordon": "a"}, seconds=3600)["ranForSeconds"] < 120
    told = asked(lab, last, {"cordon": "a"}, seconds=3600)
    assert (told["ranForSeconds"] < 20, told["really"]["revision"]) == (True, last)


def test_pods_that_only_moved_in_truth_are_told() -> None:
    lab, revision = story()
    told = asked(lab, revision, {"cordon": "a"})

    assert rows(told) == {"default/big": ("", "", "b")}
    assert "were unschedulable" in told["moves"][0]["why"]


def test_changes_are_there_before_the_attempt_of_that_moment() -> None:
    """What was tried next in truth is tried on the changed cluster."""
    lab, _ = story()
    told = asked(lab, first_attempt(lab, "p"), {"drain": "a"}, seconds=10)

    assert rows(told) == {"default/p": ("", "", "a")}


def test_another_scheduler_configuration_from_then_on() -> None:
    lab, revision = story()
    added = {"schedulerConfig": config(addedAffinity=affinity("c")), "location": "other.yaml"}
    told = asked(lab, revision, added, {"apply": node("c")})

    assert rows(told)["default/big"] == ("", "c", "b")
    assert told["changes"] == ["apply Node c", "schedule with other.yaml"]


def test_the_configuration_of_then_is_in_force() -> None:
    """Not the one of now, which would let the pod through."""
    lab, revision = story()
    lab.cluster.reconfigure(config(addedAffinity=affinity("nowhere")))
    lab.settle()

    assert rows(asked(lab, revision, {"delete": "pod/p"}))["default/big"] == ("", "a", "b")


def test_a_pod_that_ends_on_the_fork_says_how() -> None:
    lab, revision = story()
    without_fit = {"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    told = asked(lab, revision, {"schedulerConfig": {**CONFIG, "profiles": [without_fit]}}, seconds=10)

    assert rows(told)["default/big"] == ("", None, "")
    assert "ended: Pod was rejected" in told["moves"][0]["why"]


def test_successors_stand_for_pods_that_are_gone() -> None:
    """A pod of a ReplicaSet that is deleted in truth is where the one is that took its place."""
    lab = Lab()
    lab.node("a")
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    lab.create("replicasets.apps", {"metadata": {"name": "w"}, "spec": spec}, "default")
    lab.settle(10)
    revision = lab.cluster.past.newest
    (pod,) = lab.cluster.informers.lister("pods").list()
    lab.node("b")
    lab.patch("nodes", "a", {"spec": {"unschedulable": True}})
    lab.cluster.registry.remove("pods", pod.metadata.name, "default")
    lab.settle(10)
    told = asked(lab, revision, {"delete": f"pod/{pod.metadata.name}"})

    (move,) = told["moves"]
    assert (move["before"], move["after"], move["really"]) == ("a", "a", "b")
    assert move["replaces"] == f"default/{pod.metadata.name}"
    assert told["really"]["came"] == 0


def test_who_waited_then_and_why() -> None:
    lab, revision = story()

    assert pending(lab.cluster).groups == ()
    (group,) = pending(lab.cluster, revision=revision).data()["groups"]
    assert group["pods"] == ["default/big"]
    assert group["reasons"] == [{"reason": "NodeResourcesFit: Insufficient cpu", "nodes": 1}]
    assert group["fix"]["summary"] == "ask for 1 cpu instead of 2"
    assert pending(lab.cluster, "other", revision=revision).groups == ()


def test_free_room_then() -> None:
    lab, revision = story()

    assert why_not_full(lab.cluster, revision).nodes == 1
    assert why_not_full(lab.cluster).nodes == 2


def test_moments_that_are_not_kept() -> None:
    lab, _ = story()
    for ask in (lambda at: asked(lab, at, {"cordon": "a"}), lambda at: pending(lab.cluster, revision=at)):
        with pytest.raises(SchedlabError, match="has not happened yet"):
            ask(10**6)
        with pytest.raises(SchedlabError, match="no longer kept"):
            ask(0)


CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def config(**arguments: Any) -> Json:
    """Return a configuration with arguments for NodeAffinity."""
    return {**CONFIG, "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": arguments}]}]}


def affinity(node_name: str) -> Json:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def node(name: str) -> Json:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"capacity": capacity, "allocatable": capacity}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
