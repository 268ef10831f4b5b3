"""How many replicas the usage of pods asks for."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.apimachinery.time import format_time
from schedlab.client.resource_metrics import PodMetrics, Usage
from schedlab.controllers.framework.controller import SyncError
from schedlab.controllers.podautoscaler.replica_calculator import (
    Measured,
    Question,
    Tolerances,
    by_average,
    by_utilization,
    read_metrics,
)
from schedlab.kernel.clock import SECOND_NS

NOW = 1_700_000_000 * SECOND_NS
WINDOW = 15 * SECOND_NS


def pod(number: int, *, ready: bool = True, since_s: int = 600, **fields: Any) -> StoredObject:
    """Return a pod that has been running for an hour and requests a core; `since_s` is for how long it is as it is."""
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "lastTransitionTime": format_time(NOW - since_s * SECOND_NS),
    }
    started_s = fields.pop("started_s", 3600)
    status = {"phase": "Running", "startTime": format_time(NOW - started_s * SECOND_NS), "conditions": [condition]}
    status |= fields.pop("status", {})
    container = {"name": "c", "image": "i", "resources": {"requests": fields.pop("requests", {"cpu": "1"})}}
    obj = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": f"p{number}", "namespace": "n", **fields.pop("metadata", {})},
        "spec": {"containers": [container], **fields},
        "status": status,
    }
    return StoredObject.encode("pods", obj, 1)


def question(replicas: int, resource: str = "cpu", container: str = "", **tolerances: float) -> Question:
    """Return a question about so many replicas."""
    return Question(resource, container, replicas, Tolerances(**tolerances))


def used(*milli: int | None) -> dict[str, Measured]:
    """Return what pods use, from the first on; None for one that was not measured."""
    return {f"p{index}": Measured(each, NOW, WINDOW) for index, each in enumerate(milli) if each is not None}


@pytest.mark.parametrize(
    ("milli", "target", "replicas", "utilization"),
    [
        ((300, 500, 700), 30, 5, 50),
        ((300, 500, 700), 50, 3, 50),
        ((300, 500, 700), 46, 3, 50),
        ((300, 500, 700), 45, 4, 50),
        ((100, 100, 100), 50, 1, 10),
        ((0, 0, 0), 50, 0, 0),
    ],
)
def test_by_utilization(milli: tuple[int, ...], target: int, replicas: int, utilization: int) -> None:
    """Nothing changes within a tenth of the target."""
    pods = [pod(number) for number in range(3)]
    found = by_utilization(used(*milli), pods, target, question(3), NOW)

    assert (found.replicas, found.utilization, found.average_milli) == (replicas, utilization, sum(milli) // 3)


@pytest.mark.parametrize(
    ("milli", "target", "replicas"),
    [((1000, 1000), 500, 4), ((510, 510), 500, 2), ((100, 100), 500, 1)],
)
def test_by_average(milli: tuple[int, ...], target: int, replicas: int) -> None:
    """A target for each pod needs no requests."""
    pods = [pod(number, requests={}) for number in range(2)]

    assert by_average(used(*milli), pods, target, question(2), NOW).replicas == replicas


@pytest.mark.parametrize(("down", "up", "replicas"), [(0.1, 0.5, 3), (0.1, 0.1, 5), (0.9, 0.1, 5)])
def test_tolerances(down: float, up: float, replicas: int) -> None:
    """Each direction has its own."""
    pods = [pod(number) for number in range(3)]

    assert by_utilization(used(700, 700, 700), pods, 50, question(3, down=down, up=up), NOW).replicas == replicas


@pytest.mark.parametrize(
    ("milli", "target", "replicas"),
    [
        # On the way up a pod that was not measured uses nothing, on the way down all that it requests.
        ((900, 900, None), 50, 4),
        ((600, 600, None), 50, 3),
        ((200, 200, None), 60, 3),
        ((100, 100, None), 60, 2),
        ((100, 100, None), 120, 2),
    ],
)
def test_pods_without_measurement(milli: tuple[int | None, ...], target: int, replicas: int) -> None:
    """They damp the change, and never turn it."""
    pods = [pod(number) for number in range(3)]

    assert by_utilization(used(*milli), pods, target, question(3), NOW).replicas == replicas


@pytest.mark.parametrize(
    ("odd", "replicas"),
    [
        (pod(2), 6),
        (pod(2, ready=False, started_s=60), 4),
        (pod(2, since_s=10, started_s=60), 4),
        (pod(2, since_s=20, started_s=60), 6),
        (pod(2, ready=False), 6),
        (pod(2, ready=False, since_s=3590), 4),
        (pod(2, status={"phase": "Pending"}), 4),
        (pod(2, status={"conditions": []}), 4),
        (pod(2, status={"phase": "Failed"}), 4),
        (pod(2, metadata={"deletionTimestamp": format_time(NOW)}), 4),
    ],
)
def test_pods_that_do_not_count(odd: StoredObject, replicas: int) -> None:
    """What a pod uses while it starts tells nothing; on the way up it counts as unused, ended ones not at all."""
    pods = [pod(0), pod(1), odd]
    found = by_utilization(used(1000, 1000, 1000), pods, 50, question(3), NOW)

    assert found.replicas == replicas


def test_other_resources_do_not_start() -> None:
    """A pod that is not ready uses its memory all the same."""
    pods = [pod(number, ready=False, started_s=60, requests={"memory": "1"}) for number in range(2)]

    assert by_utilization(used(1000, 1000), pods, 50, question(2, "memory"), NOW).replicas == 4


def test_requests() -> None:
    """Those of the whole pod, else of containers and sidecars; of one container if that is asked for."""
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    with_sidecar = [pod(0, initContainers=[sidecar])]
    whole = [pod(0, resources={"requests": {"cpu": "4"}})]

    assert by_utilization(used(1000), with_sidecar, 50, question(1), NOW).utilization == 50
    assert by_utilization(used(1000), with_sidecar, 50, question(1, container="s"), NOW).utilization == 100
    assert by_utilization(used(1000), whole, 50, question(1), NOW).utilization == 25


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ([], "no pods returned by selector while calculating replica count"),
        ([pod(0, requests={})], "missing request for cpu in container c of Pod p0"),
        (
            [pod(0, status={"phase": "Pending"})],
            "did not receive metrics for targeted pods \\(pods might be unready\\)",
        ),
    ],
)
def test_what_cannot_be_answered(pods: list[StoredObject], message: str) -> None:
    """It says why."""
    with pytest.raises(SyncError, match=message):
        by_utilization(used(1000), pods, 50, question(1), NOW)


def test_reading_metrics() -> None:
    """Of all containers together, or of one; a resource that is not measured is not there."""
    usage = {"c": Usage(1_000_001, 100), "d": Usage(1_000_000, 1)}
    metrics = [PodMetrics(NOW, WINDOW, pod(0), usage)]

    assert read_metrics(metrics, question(1))["p0"].milli == 3
    assert read_metrics(metrics, question(1, "memory"))["p0"].milli == 101_000
    assert read_metrics(metrics, question(1, container="c"))["p0"].milli == 2
    assert read_metrics(metrics, question(1, "storage")) == {}
    with pytest.raises(SyncError, match="no metrics returned from resource metrics API"):
        read_metrics([], question(1))
    with pytest.raises(SyncError, match="container x not present in metrics for pod n/p0"):
        read_metrics(metrics, question(1, container="x"))
