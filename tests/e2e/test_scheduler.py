"""`schedlab scheduler` beside an API server, as people run a scheduler of their own: rights, failover, restarts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.processes import SCHEDULER, WAIT_S, Control, Copy, pod, started, until
from tools.refresh_readme import simulator

# Processes start, and a busy machine takes its time.
pytestmark = pytest.mark.timeout(300)

ACCOUNT = "system:serviceaccount:kube-system:my-scheduler"


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with simulator(Path(sys.executable).parent, "--no-scheduler", "--nodes", "3") as environment:
        yield environment


_SURROUNDINGS = (
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "example.com/disks",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "gpus"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu"},
        "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}},
    },
)


def test_the_two_roles_of_a_scheduler_are_enough(environment: dict[str, str], tmp_path: Path) -> None:
    """Scheduling, preemption, a volume that waits for its consumer, a device: all with no other right."""
    control = Control(environment)
    kubeconfig = control.account(tmp_path / "kubeconfig")
    control.apply(*_SURROUNDINGS, *(pod(f"filler-{number}", "4") for number in range(3)))
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    options = ("--kubeconfig", str(kubeconfig), "-v", "10", "--annotations", "full")
    with Copy("alone", tmp_path, environment, *options) as copy:
        until(lambda: len(control.bound()) == 3, "the pods that fill the nodes")
        control.apply(
            pod("urgent", "3", priorityClassName="high"),
        )
        until(lambda: "urgent" in control.bound(), "the pod that preempts")
        control.apply(
            pod("with-volume", "1m", volumes=[volume], priorityClassName="high"),
            pod(
                "with-device",
                "1m",
                resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}],
                priorityClassName="high",
            ),
        )
        until(lambda: {"with-volume", "with-device"} <= control.bound(), "volume and device")
        control.apply(pod("hopeless", nodeSelector={"no": "node"}))
        until(lambda: "hopeless" in copy.log(), "the verdict on the hopeless pod")
        explained = subprocess.run(
            ["schedlab", "explain", "pod/urgent", "--name", "alone"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        copy.process.send_signal(signal.SIGTERM)
        assert copy.process.wait(WAIT_S) == 0

    assert "forbidden" not in copy.log()
    results = control.pods()["with-volume"]["metadata"]["annotations"]
    assert results["kube-scheduler-simulator.sigs.k8s.io/selected-node"]
    # The device is on node-1: its pod had to preempt there, too, unless `urgent` has made room for both.
    assert len(control.bound() & {"filler-0", "filler-1", "filler-2"}) in {1, 2}
    assert control.pods()["with-device"]["spec"]["nodeName"] == "node-1"
    assert control.get("pvc", "data")["status"]["phase"] == "Bound"
    assert '"Successfully bound pod to node" pod="default/urgent"' in copy.log()
    assert '"Plugin scored node for pod" pod="default/filler-0" plugin="NodeResourcesFit"' in copy.log()
    assert "Scheduled on" in explained.stdout, explained.stderr
    lease = control.get("lease", "kube-scheduler", "-n", "kube-system")
    assert lease["spec"]["holderIdentity"] == "", "the lease was not given back"
    sources = {
        event["source"].get("component") or event["reportingComponent"] for event in control.get("events")["items"]
    }
    assert "default-scheduler" in sources


def test_missing_rights_are_named_and_waited_for(environment: dict[str, str], tmp_path: Path) -> None:
    control = Control(environment)
    kubeconfig = control.account(tmp_path / "kubeconfig")
    control("delete", "clusterrolebinding", "my-kube-scheduler")
    control.apply(pod("patient"))
    options = ("--kubeconfig", str(kubeconfig), "--no-leader-elect")
    with Copy("poor", tmp_path, environment, *options) as copy:
        refusal = f'User \\"{ACCOUNT}\\" cannot list resource \\"pods\\" in API group \\"\\" at the cluster scope'
        until(lambda: refusal in copy.log(), "the refusal")
        role = ("--clusterrole", "system:kube-scheduler", "--serviceaccount", "kube-system:my-scheduler")
        control("create", "clusterrolebinding", "my-kube-scheduler", *role)
        until(lambda: control.bound() == {"patient"}, "the pod, once the rights are there")


SHORT = (
    *("--leader-elect-lease-duration", "3s"),
    *("--leader-elect-renew-deadline", "2s"),
    *("--leader-elect-retry-period", "500ms"),
)


def test_another_copy_takes_over_each_time_the_leader_is_killed(environment: dict[str, str], tmp_path: Path) -> None:
    """Five leaders are killed in the midst of their work; every pod is bound in the end, and bound once."""
    control = Control(environment)
    copies: list[Copy] = []

    def two_run() -> bool:
        """Start copies as a kubelet does: also in the place of one that a busy machine has kept from renewing."""
        alive = sum(copy.process.poll() is None for copy in copies)
        copies.extend(Copy(f"copy-{len(copies) + more}", tmp_path, environment, *SHORT) for more in range(2 - alive))
        return True

    try:
        for round_ in range(1, 6):
            leader = _next_leader(copies, two_run)
            names = {f"pod-{round_}-{number}" for number in range(20)}
            control.apply(*(pod(name, "10m") for name in sorted(names)))
            time.sleep(0.07 * round_)
            leader.process.kill()
            leader.process.wait()
            until(partial(_are_bound, control, names, two_run), f"all of {sorted(names)}", 60)
        _next_leader(copies, two_run)
        scheduled = [event["regarding"]["name"] for event in _events(control) if event["reason"] == "Scheduled"]
    finally:
        for copy in copies:
            copy.process.kill()
            copy.process.wait()

    assert len(scheduled) == len(set(scheduled))
    transitions = control.get("lease", "kube-scheduler", "-n", "kube-system")["spec"]["leaseTransitions"]
    assert transitions >= 5


def _are_bound(control: Control, names: set[str], two_run: Callable[[], bool]) -> bool:
    return two_run() and names <= control.bound()


def _next_leader(copies: Sequence[Copy], two_run: Callable[[], bool]) -> Copy:
    """Wait until a copy that is alive says that it leads."""

    def found() -> list[Copy]:
        alive = [copy for copy in copies if copy.process.poll() is None]
        return [copy for copy in alive if "Successfully acquired lease" in copy.log()]

    until(lambda: two_run() and bool(found()), "a leader")
    return found()[0]


def _events(control: Control) -> list[Any]:
    events: list[Any] = control.get("events.events.k8s.io")["items"]
    return events


@contextmanager
def _server(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "schedlab", "up", "--no-scheduler", "--nodes", "3", "--port", "0"]
    command += ["--apiserver-port", str(port), "--data-dir", str(folder / "data")]
    environment = {**os.environ, "SCHEDLAB_HOME": str(folder)}
    with started(command, environment) as process:
        yield process


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port


def test_nothing_is_lost_when_the_api_server_is_killed_and_comes_back(tmp_path: Path) -> None:
    port = _free_port()
    environment = {
        **os.environ,
        "SCHEDLAB_HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "default" / "kubeconfig"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    control = Control(environment)
    with _server(tmp_path, port) as server, Copy("steady", tmp_path, environment, "--no-leader-elect") as copy:
        until(lambda: "Starting" in copy.log(), "the scheduler")
        control.apply(*(pod(f"before-{number}", "10m") for number in range(20)))
        server.kill()
        server.wait()
        with _server(tmp_path, port):
            control.apply(*(pod(f"after-{number}", "10m") for number in range(20)))
            until(lambda: len(control.bound()) == 40, "all pods of before and after")
            assert copy.process.poll() is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "profiles[1].schedulerName"),
        ({"profiles": [{}, {}]}, "profiles[1].schedulerName: Required value"),
        ({"clientConnection": {"kubeconfig": "/nowhere/kubeconfig"}}, "no kubeconfig was found"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    file = tmp_path / "config.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(yaml.safe_dump({**head, **config}))
    environment = {**os.environ, "SCHEDLAB_HOME": str(tmp_path)}
    done = subprocess.run(
        [*SCHEDULER, "--config", str(file)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_whole_configuration_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "written.yaml"
    subprocess.run(
        [*SCHEDULER, "--leader-elect-resource-name", "mine", "--write-config-to", str(file)],
        check=True,
    )
    written = yaml.safe_load(file.read_text())

    assert written["leaderElection"]["resourceName"] == "mine"
    assert written["leaderElection"]["leaseDuration"] == "15s"
    assert written["profiles"][0]["schedulerName"] == "default-scheduler"
