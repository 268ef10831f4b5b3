"""Other people's plugins in a running simulator: `--plugin`, with and without a configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.scheduler.wasm.guests import LABEL_FILTER, compiled
from tools.refresh_readme import ROOT, simulator

NODE_NUMBER = f"{ROOT / 'examples/plugins/node_number.py'}:NodeNumber"
PROGRAMS = Path(sys.executable).parent


def pod(name: str) -> str:
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: c, image: i}}]}}}}"


def create(environment: dict[str, str], kubectl: Path, name: str) -> dict[str, Any]:
    """Create a pod, wait for its attempt, and return what `explain` says."""
    subprocess.run([str(kubectl), "create", "-f", "-"], env=environment, input=pod(name), text=True, check=True)
    command = ["schedlab", "explain", name, "-o", "json"]
    deadline = time.monotonic() + 10
    while True:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)  # type: ignore[no-any-return]
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.05)


@pytest.fixture
def with_node_number() -> Iterator[dict[str, str]]:
    with simulator(PROGRAMS, "--nodes", "10", "--plugin", NODE_NUMBER) as environment:
        yield environment


def test_named_plugin_runs_in_the_default_profile(with_node_number: dict[str, str], kubectl: Path) -> None:
    explained = create(with_node_number, kubectl, "web-7")

    scores = {entry["node"]: entry["scores"]["NodeNumber"]["final"] for entry in explained["nodes"]}
    assert scores == {f"node-{number}": 10 if number == 7 else 0 for number in range(10)}
    assert explained["selected"] == "node-7"


def test_configuration_enables_it_and_gives_its_arguments(tmp_path: Path, kubectl: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text("""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: NodeNumber, weight: 5}]
  pluginConfig:
  - name: NodeNumber
    args: {reverse: true}
""")
    options = ("--nodes", "3", "--plugin", NODE_NUMBER, "--config", str(config))
    with simulator(PROGRAMS, *options) as environment:
        explained = create(environment, kubectl, "web-1")

    scores = {entry["node"]: entry["scores"]["NodeNumber"] for entry in explained["nodes"]}
    assert {node: score["final"] for node, score in scores.items()} == {"node-0": 50, "node-1": 0, "node-2": 50}
    assert scores["node-0"] == {"raw": 10, "weight": 5, "final": 50}


def test_plugin_that_is_not_enabled_is_told(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    command = [
        "schedlab",
        "up",
        "--port",
        "0",
        "--apiserver-port",
        "0",
        "--plugin",
        NODE_NUMBER,
        "--config",
        str(config),
    ]
    environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "SCHEDLAB_HOME": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.terminate()
        warning = process.stderr.read()

    assert warning.startswith("warning: plugin NodeNumber does not run: no profile of ")
    assert "plugins: {multiPoint: {enabled: [{name: NodeNumber}]}}" in warning


def test_hooks_and_their_results_as_annotations(tmp_path: Path, kubectl: Path) -> None:
    hooks = tmp_path / "fit_hooks.py"
    hooks.write_text("""
from schedlab.scheduler.framework import add_custom_result, unschedulable

class FitHooks:
    def after_pre_filter(self, state, pod, table, result, status):
        add_custom_result(state, "noderesourcefit-prefilter-data", str(pod.request.milli_cpu))
        return result, status

    def after_filter(self, state, pod, node, status):
        return status if node.name == "node-2" else unschedulable("kept free by a hook")
""")
    with simulator(PROGRAMS, "--nodes", "3", "--hooks", f"NodeResourcesFit={hooks}:FitHooks") as environment:
        explained = create(environment, kubectl, "p")
        command = [str(kubectl), "get", "pod", "p", "-o", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert explained["selected"] == "node-2"
    assert explained["customResults"] == {"noderesourcefit-prefilter-data": "0"}
    assert {"kept free by a hook"} == {reason for node in explained["nodes"] for reason in node.get("reasons", ())}
    annotations = json.loads(done.stdout)["metadata"]["annotations"]
    assert annotations["noderesourcefit-prefilter-data"] == "0"
    assert annotations["kube-scheduler-simulator.sigs.k8s.io/custom-results"] == "noderesourcefit-prefilter-data"


def test_webassembly_guest_reads_a_label_and_decides(tmp_path: Path, kubectl: Path) -> None:
    guest, config = tmp_path / "guest.wasm", tmp_path / "scheduler.yaml"
    guest.write_bytes(compiled(LABEL_FILTER))
    config.write_text(f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    filter:
      enabled: [{{name: OnlySSD}}]
  pluginConfig:
  - name: OnlySSD
    args: {{guestURL: "file://{guest}"}}
""")
    with simulator(PROGRAMS, "--nodes", "4", "--config", str(config)) as environment:
        subprocess.run([str(kubectl), "label", "node", "node-2", "disk=ssd"], env=environment, check=True)
        explained = create(environment, kubectl, "p")

    assert explained["selected"] == "node-2"
    assert {reason for node in explained["nodes"] for reason in node.get("reasons", ())} == {"node(s) without an ssd"}


def test_plugin_that_raises_fails_the_pod_and_nothing_else(tmp_path: Path, kubectl: Path) -> None:
    plugin = tmp_path / "moody.py"
    plugin.write_text("""
class Moody:
    name = "Moody"

    def filter(self, state, pod, node):
        if pod.name == "bad":
            raise KeyError("zone")
        return None
""")
    with simulator(PROGRAMS, "--nodes", "3", "--plugin", f"{plugin}:Moody") as environment:
        bad = create(environment, kubectl, "bad")
        good = create(environment, kubectl, "good")

    assert bad["result"] == "error"
    assert bad["message"] == "running \"Moody\" filter plugin: KeyError: 'zone'"
    assert good["result"] == "scheduled"
