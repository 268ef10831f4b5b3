"""What `kubectl get pods` shows of a pod's containers."""

from typing import Any

import pytest

from schedlab.apimachinery import time
from schedlab.apiserver import printers

NOW = time.parse_time("2026-01-02T03:04:05Z")
CREATED = "2026-01-02T03:00:00Z"

RUNNING = {"ready": True, "state": {"running": {}}}
SIDECAR = {"name": "side", "restartPolicy": "Always"}


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def ended(**terminated: Any) -> dict[str, Any]:
    return {"state": {"terminated": terminated}}


def pod(
    *containers: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    init_specs: tuple[dict[str, Any], ...] = (),
    phase: str = "Running",
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    names = [{"name": f"c{i}"} for i in range(max(len(containers), 1))]
    return {
        "metadata": {"name": "x", "creationTimestamp": CREATED, **(metadata or {})},
        "spec": {"containers": names, "initContainers": list(init_specs), **(spec or {})},
        "status": {
            "phase": phase,
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
            **status,
        },
    }


def cells(obj: dict[str, Any]) -> list[Any]:
    return list(printers.find("pods").row(obj, NOW).cells)


@pytest.mark.parametrize(
    ("obj", "ready", "status"),
    [
        (pod(phase="Pending"), "0/1", "Pending"),
        (pod(phase="Failed", reason="Evicted"), "0/1", "Evicted"),
        (pod(RUNNING, RUNNING), "2/2", "Running"),
        (pod(RUNNING, waiting("CrashLoopBackOff")), "1/2", "CrashLoopBackOff"),
        (pod(waiting("ErrImagePull"), waiting("ContainerCreating")), "0/2", "ErrImagePull"),
        (pod({"state": {"waiting": {}}}, phase="Pending"), "0/1", "Pending"),
        (pod(ended(reason="Completed"), phase="Succeeded"), "0/1", "Completed"),
        (pod(ended(exitCode=3), phase="Failed"), "0/1", "ExitCode:3"),
        (pod(ended(signal=9, exitCode=137), phase="Failed"), "0/1", "Signal:9"),
        (
            pod(ended(reason="Completed"), RUNNING, conditions=[{"type": "Ready", "status": "True"}]),
            "1/2",
            "Running",
        ),
        (pod(ended(reason="Completed"), RUNNING), "1/2", "NotReady"),
        (
            pod(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
            "0/1",
            "SchedulingGated",
        ),
        (pod(RUNNING, metadata={"deletionTimestamp": CREATED}), "1/1", "Terminating"),
        (
            pod(ended(reason="Completed"), phase="Succeeded", metadata={"deletionTimestamp": CREATED}),
            "0/1",
            "Completed",
        ),
        (pod(RUNNING, metadata={"deletionTimestamp": CREATED}, reason="NodeLost"), "1/1", "Unknown"),
        (pod(init=({"state": {"running": {}}},), init_specs=({"name": "i"},) * 2), "0/1", "Init:0/2"),
        (
            pod(init=(ended(exitCode=0), waiting("PodInitializing")), init_specs=({"name": "i"},) * 2),
            "0/1",
            "Init:1/2",
        ),
        (pod(init=(waiting("ErrImagePull"),), init_specs=({"name": "i"},)), "0/1", "Init:ErrImagePull"),
        (pod(init=(ended(reason="Error", exitCode=1),), init_specs=({"name": "i"},)), "0/1", "Init:Error"),
        (pod(init=(ended(exitCode=2),), init_specs=({"name": "i"},)), "0/1", "Init:ExitCode:2"),
        (pod(init=(ended(signal=9, exitCode=1),), init_specs=({"name": "i"},)), "0/1", "Init:Signal:9"),
        (
            pod(RUNNING, init=({"name": "side", "started": True, "ready": True},), init_specs=(SIDECAR,)),
            "2/2",
            "Running",
        ),
        (
            pod(RUNNING, init=({"name": "side", "started": True, "ready": False},), init_specs=(SIDECAR,)),
            "1/2",
            "Running",
        ),
        (
            pod(
                RUNNING,
                init=({"name": "i", "state": {"running": {}}},),
                init_specs=({"name": "i"},),
                conditions=[{"type": "Initialized", "status": "True"}],
            ),
            "1/1",
            "Init:0/1",
        ),
    ],
)
def test_status_and_ready_sum_up_the_containers(obj: dict[str, Any], ready: str, status: str) -> None:
    assert cells(obj)[1:3] == [ready, status]


@pytest.mark.parametrize(
    ("obj", "restarts"),
    [
        (pod(RUNNING), "0"),
        (pod({**RUNNING, "restartCount": 2}, {**RUNNING, "restartCount": 1}), "3"),
        (
            pod(
                {**RUNNING, "restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-02T03:03:05Z"}}},
                {**RUNNING, "restartCount": 1, "lastState": {"terminated": {"finishedAt": "2026-01-02T03:02:05Z"}}},
            ),
            "3 (60s ago)",
        ),
        (pod(init=({**waiting("Error"), "restartCount": 4},), init_specs=({"name": "i"},)), "4"),
        (pod(RUNNING, init=({**ended(exitCode=0), "restartCount": 4},), init_specs=({"name": "i"},)), "0"),
        (
            pod(
                {**RUNNING, "restartCount": 1},
                init=({"name": "side", "started": True, "ready": True, "restartCount": 5},),
                init_specs=(SIDECAR,),
            ),
            "6",
        ),
    ],
)
def test_restarts_of_init_containers_count_while_they_matter(obj: dict[str, Any], restarts: str) -> None:
    """Those of finished init containers are forgotten, those of sidecars are not."""
    assert cells(obj)[3] == restarts


def test_wide_columns_show_where_a_pod_is() -> None:
    placed = pod(
        RUNNING,
        spec={"nodeName": "n", "readinessGates": [{"conditionType": "A"}, {"conditionType": "B"}]},
        podIPs=[{"ip": "10.0.0.1"}, {"ip": "::1"}],
        nominatedNodeName="m",
        conditions=[{"type": "A", "status": "True"}, {"type": "A", "status": "False"}],
    )

    assert cells(placed)[4:] == ["4m5s", "10.0.0.1", "n", "m", "1/2"]
    assert cells(pod(RUNNING))[4:] == ["4m5s", "<none>", "<none>", "<none>", "<none>"]
    assert cells({"metadata": {"name": "x"}})[:5] == ["x", "0/0", "", "0", "<unknown>"]


def test_a_finished_pod_is_marked_as_complete() -> None:
    printer = printers.find("pods")

    assert printer.row(pod(phase="Succeeded"), NOW).conditions == (
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        },
    )
    assert printer.row(pod(phase="Failed"), NOW).conditions[0]["message"] == "The pod failed."
    assert printer.row(pod(RUNNING), NOW).conditions == ()
