"""What users of kubectl see of simulated kubelets: Stages, logs, connections, the paths of nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_workloads import Program
from tools.refresh_readme import simulator

NOTHING_RUNS = "the containers of a simulated cluster do not run"
STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: NAME}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {slow: "NAME"}
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 500}
  next:
    event: {type: Normal, reason: Warmed, message: The cache is warm}
    statusTemplate: |
      phase: Running
      podIP: {{ PodIPWith .spec.nodeName false .metadata.uid "" "" | Quote }}
      conditions:
      - {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
"""


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with simulator(Path(sys.executable).parent, "--nodes", "2") as environment:
        yield environment


@pytest.fixture
def cluster(environment: dict[str, str], kubectl: Path, request: pytest.FixtureRequest) -> Iterator[Program]:
    name = "".join(char if char.isalnum() else "-" for char in request.node.name.lower())[:60].strip("-")
    program = Program(kubectl, environment, name)
    program("create", "namespace", name)
    yield program
    program("delete", "namespace", name, "--wait=false")


def run(cluster: Program, name: str, *arguments: str) -> None:
    cluster("run", name, "--image=i", *arguments)
    cluster("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{name}", "--timeout=20s")


def test_stage_is_applied_listed_explained_and_played(cluster: Program) -> None:
    name = cluster.namespace
    told = cluster("apply", "-f", "-", given=STAGE.replace("NAME", name))
    assert told == f"stage.kwok.x-k8s.io/{name} created\n"
    run(cluster, "web", f"--labels=slow={name}")

    assert "Warmed" in cluster("get", "events", "-o", "custom-columns=REASON:.reason")
    assert cluster("get", "stages", name, "--no-headers").split()[:4] == [name, "Pod", "True", "True"]
    assert "durationMilliseconds" in cluster("explain", "stage.spec.delay")
    cluster("delete", "stage", name)


def test_broken_stage_says_what_is_wrong(cluster: Program) -> None:
    name = cluster.namespace
    cluster("apply", "-f", "-", given=STAGE.replace("NAME", name).replace("Now", "Nothing"))
    cluster("wait", "--for=condition=Ready=false", f"stage/{name}", "--timeout=20s")
    run(cluster, "web", f"--labels=slow={name}")

    assert 'line 4: function "Nothing" not defined' in cluster("describe", "stage", name)
    cluster("delete", "stage", name)
    refused = cluster("apply", "-f", "-", given=STAGE.replace("NAME", name).replace("kind: Pod", "kind: 7"), code=1)
    assert "spec.resourceRef.kind" in refused


def test_logs_take_all_options(cluster: Program) -> None:
    run(cluster, "said", "--annotations=kubelet.schedlab.dev/log=one\ntwo\nthree")
    run(cluster, "web")

    assert cluster("logs", "said", "--tail=2") == "two\nthree\n"
    assert cluster("logs", "said", "--limit-bytes=5") == "one\nt"
    assert cluster("logs", "said", "--since-time=2100-01-01T00:00:00Z") == ""
    assert cluster("logs", "said", "--all-containers", "--prefix").splitlines()[0] == "[pod/said/said] one"
    first = cluster("logs", "web", "--timestamps").splitlines()[0]
    assert first.split()[1:3] == ["container", "web"]
    assert first.startswith("20")
    assert 'previous terminated container "web" in pod "web" not found' in cluster("logs", "web", "--previous", code=1)


def test_log_is_followed_until_the_container_ends_and_kept_for_the_run_before(cluster: Program) -> None:
    keys = ("--annotations=kubelet.schedlab.dev/run-time=3s", "--annotations=kubelet.schedlab.dev/exit-code=3")
    run(cluster, "crash", *keys)
    assert "ended with exit code 3 (Error)" in cluster("logs", "-f", "crash")
    cluster("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/crash", "--timeout=20s")

    assert "ended with exit code 3 (Error)" in cluster("logs", "crash", "--previous")
    cluster("delete", "pod", "crash", "--wait=false")


def test_log_that_is_followed_goes_on_while_the_container_runs(
    cluster: Program, environment: dict[str, str], kubectl: Path
) -> None:
    run(cluster, "web")
    command = [str(kubectl), "-n", cluster.namespace, "logs", "-f", "web"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert "started on node" in following.stdout.readline()
        assert following.poll() is None
        cluster("delete", "pod", "web")
        assert following.wait(10) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("exec", "web", "--", "ls"),
        ("attach", "web"),
        ("port-forward", "web", "0:80"),
        ("cp", "web:/etc/hosts", "hosts"),
    ],
)
def test_connections_say_that_nothing_runs(cluster: Program, arguments: tuple[str, ...]) -> None:
    run(cluster, "web")

    assert NOTHING_RUNS in cluster(*arguments, code=1)


def test_node_shows_its_configuration_and_what_it_reserves(cluster: Program) -> None:
    run(
        cluster,
        "web",
        '--overrides={"spec":{"containers":[{"name":"web","image":"i","resources":{"requests":{"cpu":"1"}}}]}}',
    )
    node = cluster.get("pod", "web")["spec"]["nodeName"]
    configuration = json.loads(cluster("get", "--raw", f"/api/v1/nodes/{node}/proxy/configz"))
    cgroups = json.loads(cluster("get", "--raw", f"/api/v1/nodes/{node}/proxy/cgroups"))

    assert configuration["kubeletconfig"]["cgroupDriver"] == "systemd"
    [pod] = [each for each in cgroups["pods"] if each["namespace"] == cluster.namespace]
    assert pod["pod"]["settings"]["cpu.weight"] == "39"
    assert pod["containers"][0]["settings"]["cpu.weight"] == "100"
