"""The shop example: within ten seconds every pod that fits runs, and the two that do not say why."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedlab.scheduler_perf import machine
from tools.refresh_readme import ROOT, simulator

PENDING = {
    "db-3": (
        "0/9 nodes are available: 3 node(s) didn't match pod anti-affinity rules, "
        "6 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: "
        "0/9 nodes are available: 3 No preemption victims found for incoming pod, "
        "6 Preemption is not helpful for scheduling."
    ),
    "recommender-0": (
        "0/9 nodes are available: 3 node(s) had untolerated taint(s), 6 Insufficient example.com/gpu. "
        "no new claims to deallocate, preemption: 0/9 nodes are available: "
        "9 Preemption is not helpful for scheduling."
    ),
}
KEYS = "kube-scheduler-simulator.sigs.k8s.io/"


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with simulator(Path(sys.executable).parent) as environment:
        yield environment


def _run(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _pods(environment: dict[str, str], kubectl: Path) -> dict[str, Any]:
    listed = json.loads(_run(environment, str(kubectl), "get", "pods", "-n", "shop", "-o", "json"))
    return {pod["metadata"]["name"]: pod for pod in listed["items"]}


def test_shop_runs(environment: dict[str, str], kubectl: Path) -> None:
    started = time.monotonic()
    _run(environment, str(kubectl), "apply", "-f", "examples/shop")

    pods: dict[str, Any] = {}
    while time.monotonic() - started < 10:
        pods = _pods(environment, kubectl)
        running = [name for name, pod in pods.items() if pod["status"]["phase"] == "Running"]
        told = [name for name, pod in pods.items() if f"{KEYS}result-history" in pod["metadata"]["annotations"]]
        if len(running) == 38 and len(told) == 40:
            break
        time.sleep(0.1)

    assert len(pods) == 40
    waiting = {name: pod for name, pod in pods.items() if pod["status"]["phase"] != "Running"}
    assert {name: pod["status"]["conditions"][0]["message"] for name, pod in waiting.items()} == PENDING
    assert all(f"{KEYS}result-history" in pod["metadata"]["annotations"] for pod in pods.values())

    explained = _run(environment, "schedlab", "explain", "pod/db-3", "-n", "shop")
    assert PENDING["db-3"] in explained
    assert "b-data-1" in explained
    scheduled = json.loads(_run(environment, "schedlab", "explain", "web-0", "-n", "shop", "-o", "json"))
    assert scheduled["selected"] == pods["web-0"]["spec"]["nodeName"]
    assert {entry["node"] for entry in scheduled["nodes"]} == {
        f"{zone}-{node}" for zone in "abc" for node in ("general-1", "general-2", "data-1")
    }


def test_nodes_stay_ready_and_deleted_pods_go(environment: dict[str, str], kubectl: Path) -> None:
    _run(environment, str(kubectl), "apply", "-f", "examples/shop")
    _run(environment, str(kubectl), "wait", "-n", "shop", "--for=condition=Ready", "pod/web-0", "--timeout=10s")

    _run(environment, str(kubectl), "wait", "--for=condition=Ready", "node", "--all", "--timeout=10s")
    _run(environment, str(kubectl), "delete", "-n", "shop", "pod", "db-0", "--timeout=10s")

    assert "db-0" not in _pods(environment, kubectl)
    # The room that db-0 left goes to the one that waited for it.
    _run(environment, str(kubectl), "wait", "-n", "shop", "--for=condition=Ready", "pod/db-3", "--timeout=10s")


def test_first_pod_is_bound_within_three_seconds_of_the_start(kubectl: Path) -> None:
    """On a machine as fast as the one of kube-scheduler's figures; a slower one has longer in proportion.

    The best of three, because the machine may be busy with something else.
    """
    slower = max(1.0, machine.KUBE_SCHEDULER_CALIBRATION / machine.calibrate())

    assert min(_first_pod(kubectl) for _ in range(3)) < 3 * slower


def _first_pod(kubectl: Path) -> float:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
    started = time.monotonic()
    with simulator(Path(sys.executable).parent, "--nodes", "5") as environment:
        subprocess.run(
            [str(kubectl), "create", "-f", "-"], env=environment, input=pod, text=True, check=True, timeout=30
        )
        _run(environment, str(kubectl), "wait", "pod/p", "--for=condition=PodScheduled", "--timeout=10s")
        return time.monotonic() - started
