"""What a kubelet reports of its node and pods."""

from __future__ import annotations

from typing import Any

from schedlab.kubelet.admission import Rejection
from schedlab.kubelet.status import (
    DEFAULT_CAPACITY,
    merge_conditions,
    node_labels,
    node_status,
    rejected_status,
    running_status,
)

NOW = "2026-01-01T00:00:00Z"
POD: dict[str, Any] = {
    "metadata": {"name": "p", "generation": 2},
    "spec": {
        "initContainers": [{"name": "init"}, {"name": "sidecar", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "claims": []}}],
        "readinessGates": [{"conditionType": "example.com/gate"}],
    },
    "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]},
}


def test_node_without_status_becomes_ready_with_the_default_capacity() -> None:
    status = node_status({"metadata": {"name": "n"}}, "10.128.0.1", NOW)

    assert status["capacity"] == status["allocatable"] == DEFAULT_CAPACITY
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert status["addresses"][0] == {"type": "InternalIP", "address": "10.128.0.1"}
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.2"


def test_what_a_node_says_already_is_kept() -> None:
    given = {
        "capacity": {"cpu": "64"},
        "conditions": [{"type": "Ready", "status": "False"}],
        "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
        "nodeInfo": {"kubeletVersion": "v1.35.0", "bootID": ""},
    }

    status = node_status({"metadata": {"name": "n"}, "status": given}, "10.128.0.1", NOW)

    assert status["capacity"] == status["allocatable"] == {"cpu": "64"}
    assert status["conditions"][0] == {"type": "Ready", "status": "False"}
    assert len(status["conditions"]) == 4
    assert status["addresses"] == given["addresses"]
    assert status["nodeInfo"]["kubeletVersion"] == "v1.35.0"


def test_only_missing_labels_are_set() -> None:
    node = {"metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "other"}}}

    assert node_labels(node) == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}


def test_running_pod() -> None:
    status = running_status(POD, "10.128.0.1", "10.0.0.5", NOW)

    assert (status["phase"], status["hostIP"], status["podIP"], status["startTime"]) == (
        "Running",
        "10.128.0.1",
        "10.0.0.5",
        NOW,
    )
    assert [one["type"] for one in status["conditions"]] == [
        "PodScheduled",
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "example.com/gate",
    ]
    [container] = status["containerStatuses"]
    assert container["ready"] is True
    assert container["state"] == {"running": {"startedAt": NOW}}
    assert container["resources"] == {"requests": {"cpu": "1"}}
    init, sidecar = status["initContainerStatuses"]
    assert init["state"]["terminated"]["reason"] == "Completed"
    assert sidecar["state"] == {"running": {"startedAt": NOW}}


def test_condition_of_the_same_type_is_replaced_in_place() -> None:
    merged = merge_conditions([{"type": "A", "status": "False"}, {"type": "B"}], [{"type": "A", "status": "True"}])

    assert merged == [{"type": "A", "status": "True"}, {"type": "B"}]


def test_rejected_pod() -> None:
    status = rejected_status(POD, Rejection("OutOfcpu", "no cpu"), NOW)

    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "OutOfcpu", "Pod was rejected: no cpu")
