"""`schedlab node …` and `schedlab trace` on a running cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.refresh_readme import ROOT, simulator

Run = Callable[..., str]


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with simulator(Path(sys.executable).parent, "--nodes", "2") as environment:
        yield environment


class Tools:
    """schedlab and kubectl."""

    def __init__(self, environment: dict[str, str], kubectl: Path) -> None:
        self._environment = environment
        self._kubectl = str(kubectl)

    def lab(self, *arguments: str, code: int = 0) -> str:
        return self._run(str(Path(sys.executable).parent / "schedlab"), *arguments, code=code)

    def kubectl(self, *arguments: str, code: int = 0) -> str:
        return self._run(self._kubectl, *arguments, code=code)

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < end, what
            time.sleep(0.1)

    def _run(self, *command: str, code: int) -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def tools(environment: dict[str, str], kubectl: Path) -> Iterator[Tools]:
    """Two empty nodes, whatever a test has done to them before."""
    tools = Tools(environment, kubectl)
    yield tools
    tools.kubectl("delete", "deployments,poddisruptionbudgets,pods", "--all", "--wait=false")
    tools.lab("node", "recover", "node-0", "node-1")
    tools.kubectl("uncordon", "node-0", "node-1")
    more = {node["metadata"]["name"] for node in tools.get("nodes")["items"]} - {"node-0", "node-1"}
    if more:
        tools.lab("node", "remove", *sorted(more))
    tools.until(lambda: not tools.get("pods")["items"], "pods are left")


def test_nodes_are_added_like_a_template_and_removed(tools: Tools, tmp_path: Path) -> None:
    assert tools.lab("node", "add") == "node/node-2 created\n"
    template = tmp_path / "gpu.yaml"
    template.write_text(
        "kind: Node\nmetadata: {name: gpu-7, labels: {pool: gpu}}\nspec: {taints: [{key: gpu, effect: NoSchedule}]}\n"
        "status: {capacity: {cpu: '8', memory: 64Gi, pods: '110', example.com/gpu: '4'}}\n"
    )
    assert (
        tools.lab("node", "add", "--count", "2", "--template", str(template))
        == "node/gpu-0 created\nnode/gpu-1 created\n"
    )
    tools.kubectl("wait", "--for=condition=Ready", "node/gpu-0", "node/gpu-1", "--timeout=10s")
    gpu = tools.get("node", "gpu-1")
    assert gpu["metadata"]["labels"]["pool"] == "gpu"
    assert gpu["metadata"]["labels"]["kubernetes.io/hostname"] == "gpu-1"
    assert gpu["status"]["allocatable"]["example.com/gpu"] == "4"
    assert [taint["key"] for taint in gpu["spec"]["taints"]] == ["gpu"]

    # A node of the cluster can be the template, too.
    assert tools.lab("node", "add", "--template", "gpu-0", "--prefix", "more") == "node/more-0 created\n"
    assert tools.get("node", "more-0")["status"]["capacity"]["example.com/gpu"] == "4"
    assert tools.lab("node", "remove", "gpu-0", "node/gpu-1") == 'node "gpu-0" deleted\nnode "gpu-1" deleted\n'
    assert {node["metadata"]["name"] for node in tools.get("nodes")["items"]} == {
        "node-0",
        "node-1",
        "node-2",
        "more-0",
    }


def test_node_fails_and_recovers(tools: Tools) -> None:
    tools.kubectl("run", "web", "--image=i", '--overrides={"spec":{"nodeName":"node-0"}}')
    tools.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=10s")
    assert tools.lab("node", "fail", "node-0") == "node/node-0 failed\n"
    assert tools.lab("node", "fail", "node-0") == "node/node-0 already failed\n"
    assert "no route to host" in tools.kubectl("logs", "web", code=1)
    lease = tools.get("lease", "node-0", "-n", "kube-node-lease")["spec"]["renewTime"]
    tools.kubectl("delete", "pod", "web", "--wait=false")
    assert tools.get("pod", "web")["metadata"]["deletionTimestamp"]

    assert tools.lab("node", "recover", "node-0") == "node/node-0 recovered\n"
    assert tools.lab("node", "recover", "node-0") == "node/node-0 has not failed\n"
    tools.kubectl("wait", "--for=delete", "pod/web", "--timeout=10s")
    assert tools.get("lease", "node-0", "-n", "kube-node-lease")["spec"]["renewTime"] >= lease


def test_node_is_drained_within_budgets(tools: Tools) -> None:
    tools.kubectl("create", "deployment", "web", "--image=i", "--replicas=4")
    tools.kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    told = tools.lab("node", "drain", "node-0", "--timeout", "30s")

    assert told.startswith("node/node-0 cordoned\nevicting pod default/web-")
    assert told.endswith("node/node-0 drained\n")
    tools.kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert {
        pod["spec"]["nodeName"] for pod in tools.get("pods")["items"] if "deletionTimestamp" not in pod["metadata"]
    } == {"node-1"}

    # A budget that allows nothing keeps the pods where they are.
    tools.kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=4")
    tools.until(lambda: tools.get("pdb", "web")["status"].get("currentHealthy") == 4, "the budget has seen no pods")
    refused = tools.lab("node", "drain", "node-1", "--timeout", "2s", code=1)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    assert "global timeout reached" in refused


def test_pods_that_must_not_be_lost_are_told_before_anything_is_evicted(tools: Tools) -> None:
    tools.kubectl("run", "alone", "--image=i", '--overrides={"spec":{"nodeName":"node-0"}}')
    refused = tools.lab("node", "drain", "node-0", code=1)
    assert refused == (
        'node/node-0 cordoned\nerror: unable to drain node "node-0": cannot delete Pods that declare no controller '
        "(use --force to override): default/alone\n"
    )
    assert "pod/alone evicted\nnode/node-0 drained\n" in tools.lab("node", "drain", "node-0", "--force")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fail", "nobody"), 1, 'Error from server (NotFound): nodes "nobody" not found'),
        (("remove", "nobody"), 1, 'Error from server (NotFound): nodes "nobody" not found'),
        (("drain",), 2, "error: no node is named"),
        (("add", "--count", "0"), 2, "error: --count: 0 nodes cannot be added"),
        (("add", "--template", "nobody"), 2, "error: --template: 'nobody' is neither a file nor a node of the cluster"),
        (("add", "--template", "LICENSE"), 2, "error: LICENSE: "),
        (("add", "--prefix", "Not A Name"), 1, "Error from server (Invalid): "),
        (("drain", "node-0", "--timeout", "soon"), 2, "error: --timeout: "),
    ],
)
def test_mistake_is_told(environment: dict[str, str], arguments: tuple[str, ...], code: int, message: str) -> None:
    assert message in Tools(environment, Path("kubectl")).lab("node", *arguments, code=code)


def test_trace_tells_the_way_of_a_pod(tools: Tools) -> None:
    tools.kubectl("run", "web", "--image=i", "--annotations=kubernetes.io/egress-bandwidth=5M")
    tools.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=10s")
    text = tools.lab("trace", "web")
    told = json.loads(tools.lab("trace", "pod/web", "-o", "json"))

    steps = [span["step"] for span in told["spans"]]
    assert steps[:3] == ["request", "admission", "queue"]
    assert set(steps) == {"request", "admission", "queue", "cycle", "bind", "kubelet", "Running"}
    assert told["spans"][0]["text"].startswith("create by kubectl")
    assert told["spans"][0]["text"].endswith("(admin)")
    assert told["reservation"]["bandwidth"] == {"egress": {"bitsPerSecond": 5_000_000}}
    assert "2 of 2 nodes fit" in text
    assert "cpu.weight=1" in text
    assert "nothing is known of a pod default/nobody" in tools.lab("trace", "nobody", code=1)
