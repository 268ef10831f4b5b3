"""A node ends other pods for a critical one, as few and as small ones as it can; and says when that is of no use."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node
from schedlab.kubelet.admission import NodeAccount, Rejection
from schedlab.kubelet.preemption import make_room
from tests.support.lab import Lab


def pod(name: str, cpu: str = "", memory: str = "", *, limited: bool = False, **spec: Any) -> StoredObject:
    requests = {key: text for key, text in (("cpu", cpu), ("memory", memory)) if text}
    resources = {"requests": requests, "limits": requests if limited else {}}
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "c", "resources": resources}], **spec},
    }
    return StoredObject.encode("pods", obj, 1)


def node() -> Node:
    allocatable = {"cpu": "4", "memory": "4Gi", "pods": "5"}
    obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": allocatable}}
    view: Node = StoredObject.encode("nodes", obj, 1).view
    return view


def outcome(critical: StoredObject, *others: StoredObject) -> list[str] | Rejection:
    account = NodeAccount()
    for other in others:
        account.take(other.view)
    room = make_room(critical.view, node(), account, others)
    return room if isinstance(room, Rejection) else [each.name for each in room]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        # Burstable ones go before Guaranteed ones.
        ([pod("b", "2", "1Gi"), pod("g", "2", "1Gi", limited=True)], ["b"]),
        # The one that frees what is missing, not two smaller ones, nor a bigger one.
        ([pod("a", "500m"), pod("b", "1"), pod("c", "1"), pod("d", "1500m", "1Gi")], ["d"]),
        ([pod("a", "1500m", "1Gi"), pod("b", "2500m", "2Gi")], ["a"]),
        # Several, when one is not enough; then Guaranteed ones, too.
        ([pod("a", "1"), pod("b", "1"), pod("g", "2", "1Gi", limited=True)], ["b", "a"]),
        ([pod("a", "500m"), pod("g", "3500m", "1Gi", limited=True)], ["g"]),
        # Those without requests free a place.
        ([pod(name) for name in "abcde"], ["e"]),
        # Critical ones stay, but for those that are less so.
        ([pod("a", "2", priority=2_000_001_000), pod("b", "2", priority=2_000_000_000)], ["b"]),
    ],
)
def test_as_few_and_as_unimportant_pods_go_as_can_be(others: list[StoredObject], expected: list[str]) -> None:
    assert outcome(pod("critical", "1500m", priority=2_000_000_500), *others) == expected


def test_pod_that_nothing_helps_is_refused() -> None:
    assert outcome(pod("critical", "8", priority=2_000_000_000), pod("a", "3")) == Rejection(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to"
        " preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 4000), ]",
    )


def test_other_reasons_come_first() -> None:
    critical = pod("critical", "8", priority=2_000_000_000, nodeSelector={"no": "where"})

    refused = outcome(critical, pod("a", "3"))
    assert isinstance(refused, Rejection)
    assert refused.reason == "NodeAffinity"


def test_critical_pod_runs_where_others_had_to_go() -> None:
    lab = Lab(nodes=1)
    everything = lab.get("nodes", "node-0")["status"]["allocatable"]["cpu"]
    lab.create("priorityclasses.scheduling.k8s.io", "high", value=1000)

    def make(name: str, **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": everything}}}
        lab.pod(name, spec={"containers": [container], "nodeName": "node-0", **spec})
        lab.run(3)

    make("first")
    make("ordinary", priorityClassName="high")
    assert lab.phase("ordinary") == "Failed"
    make("critical", priorityClassName="system-node-critical")

    assert lab.phase("critical") == "Running"
    status = lab.get("pods", "first")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Preempting")
    assert status["message"] == "Preempted in order to admit critical pod"
    assert [each["reason"] for each in status["conditions"] if each["type"] == "DisruptionTarget"] == [
        "TerminationByKubelet"
    ]
    assert lab.told("first") == [("Preempting", "Preempted in order to admit critical pod", 1)]
