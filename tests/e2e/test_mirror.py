"""A second simulator as the real cluster: imported, followed, recorded and replayed by the command line."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tools.refresh_readme import simulator

PROGRAMS = Path(sys.executable).parent


class Cluster:
    """A simulator and the commands that are pointed at it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.kubeconfig = environment["KUBECONFIG"]

    def run(self, *command: str, given: str | None = None, code: int = 0) -> str:
        """Run a command and return what it prints."""
        done = subprocess.run(
            command, env=self.environment, input=given, capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def apply(self, *objects: object) -> None:
        """Apply manifests."""
        self.run("kubectl", "apply", "-f", "-", given=yaml.safe_dump_all(objects))

    def nodes_of_pods(self) -> dict[str, str]:
        """Return where the pods of the default namespace are."""
        items = json.loads(self.run("kubectl", "get", "pods", "-o", "json"))["items"]
        return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in items}

    def until_placed(self, names: Sequence[str]) -> dict[str, str]:
        """Wait until pods have their nodes."""
        until(lambda: all(self.nodes_of_pods().get(name) for name in names), f"nodes for {names}")
        return self.nodes_of_pods()


def until(holds: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.1)


@pytest.fixture
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    """The real cluster, and an empty one here."""
    with ExitStack() as running:
        there = running.enter_context(simulator(PROGRAMS, "--nodes", "3"))
        here = running.enter_context(simulator(PROGRAMS))
        yield Cluster(there), Cluster(here)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """Return a manifest."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def test_import(clusters: tuple[Cluster, Cluster]) -> None:
    """What runs there runs here on the same nodes; what waits there is scheduled here; a second time changes nothing."""
    there, here = clusters
    there.run("kubectl", "create", "deployment", "web", "--image=web:1", "--replicas=3")
    there.run("kubectl", "rollout", "status", "deployment/web", "--timeout=30s")
    there.apply(pod("waits", nodeSelector={"pool": "new"}))
    told = here.run("schedlab", "import", "--kubeconfig", there.kubeconfig)
    again = here.run("schedlab", "import", "--kubeconfig", there.kubeconfig)
    here.run("kubectl", "label", "node", "node-1", "pool=new")
    placed = here.until_placed(["waits"])

    assert "pods" in told
    assert "taken" in told
    assert {name: node for name, node in placed.items() if name != "waits"} == {
        name: node for name, node in there.nodes_of_pods().items() if name != "waits"
    }
    assert placed["waits"] == "node-1"
    assert "nodes                                               3 here already" in again
    assert "web" in here.run("kubectl", "get", "deployments")


def test_import_of_files(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """A dump of kubectl is taken as it is, and what is no object is passed over."""
    there, here = clusters
    there.apply(pod("a"))
    there.until_placed(["a"])
    dump = tmp_path / "dump"
    there.run("kubectl", "cluster-info", "dump", "--all-namespaces", f"--output-directory={dump}", "-o", "yaml")
    (dump / "all.yaml").write_text(there.run("kubectl", "get", "nodes,pods", "-A", "-o", "yaml"))
    told = here.run("schedlab", "import", str(dump))

    assert "objects loaded" in told
    assert here.nodes_of_pods() == there.nodes_of_pods()


def test_sync(clusters: tuple[Cluster, Cluster]) -> None:
    """New pods of the real cluster are scheduled here, and the places are compared."""
    there, here = clusters
    here.run("schedlab", "sync", "--kubeconfig", there.kubeconfig)
    there.apply(*(pod(f"p-{number}") for number in range(6)))
    names = [f"p-{number}" for number in range(6)]
    there.until_placed(names)
    here.until_placed(names)
    until(lambda: "of 6 pods" in here.run("schedlab", "sync", "status"), "the comparison")
    status = json.loads(here.run("schedlab", "sync", "status", "-o", "json"))
    there.run("kubectl", "delete", "pod", "p-0")
    until(lambda: "p-0" not in here.nodes_of_pods(), "the deletion")
    here.run("schedlab", "sync", "stop")

    assert status["state"] == "following"
    assert status["failed"] == {}
    agreement = status["agreement"]
    both = {name: (node, here.nodes_of_pods().get(name)) for name, node in there.nodes_of_pods().items()}
    assert agreement["same"] >= sum(a == b for a, b in both.values())
    assert agreement["same"] + agreement["different"] == 6
    assert "nothing is followed" in here.run("schedlab", "sync", "status")


def test_record_and_replay(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """A recorder that is killed loses nothing it has seen; what it wrote plays here."""
    there, here = clusters
    file = tmp_path / "record.jsonl"
    command = ["schedlab", "record", "--path", str(file), "--kubeconfig", there.kubeconfig]
    with subprocess.Popen(command, env=dict(there.environment), stderr=subprocess.PIPE, text=True) as recorder:
        assert recorder.stderr is not None
        assert "recording" in recorder.stderr.readline()
        there.apply(*(pod(f"p-{number}") for number in range(4)))
        there.until_placed([f"p-{number}" for number in range(4)])
        until(lambda: file.read_text().count('"name":"p-3"') >= 2, "the last pod in the file")
        recorder.kill()
    told = here.run("schedlab", "replay", str(file))
    placed = here.until_placed([f"p-{number}" for number in range(4)])
    status = json.loads(here.run("schedlab", "replay", "--action", "status", "-o", "json"))

    assert "playing" in told
    assert len(placed) == 4
    assert status["state"] == "ended"
    assert status["done"]["Add pods"] == 4
    assert status["failed"] == {}


def test_a_recorder_ends_when_it_is_told_to(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    there, _ = clusters
    file = tmp_path / "record.jsonl"
    command = ["schedlab", "record", "--path", str(file), "--kubeconfig", there.kubeconfig]
    with subprocess.Popen(
        command, env=dict(there.environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stderr is not None
        recorder.stderr.readline()
        recorder.send_signal(signal.SIGINT)
        told, _ = recorder.communicate(timeout=20)

    assert recorder.returncode == 0
    assert "additions" in told
    assert all(json.loads(line)["event"] == "Add" for line in file.read_text().splitlines())


def test_snapshots(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """A cluster goes through a file into another one, with and without names; a reset goes back to the start."""
    there, here = clusters
    there.apply(pod("secret-pod", nodeSelector={"kubernetes.io/hostname": "node-2"}))
    there.until_placed(["secret-pod"])
    file, anonymous = tmp_path / "snapshot.yaml", tmp_path / "anonymous.json"
    there.run("schedlab", "snapshot", "save", str(file))
    there.run("schedlab", "snapshot", "save", str(anonymous), "--anonymize")
    here.run("schedlab", "snapshot", "restore", str(file))
    placed = here.until_placed(["secret-pod"])
    here.run("schedlab", "snapshot", "restore", str(anonymous), "--replace")
    until(lambda: all(here.nodes_of_pods().values()), "the place of the anonymous pod")
    names = list(here.nodes_of_pods())
    here.run("schedlab", "snapshot", "reset")

    assert placed == {"secret-pod": "node-2"}
    assert "secret" not in anonymous.read_text()
    assert len(names) == 1
    assert names != ["secret-pod"]
    assert here.nodes_of_pods() == {}


def test_minimize(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """What is left of a snapshot still tells why a pod waits."""
    there, _ = clusters
    there.apply(*(pod(f"other-{number}") for number in range(10)), pod("stuck", nodeSelector={"no": "node"}))
    until(lambda: "FailedScheduling" in there.run("kubectl", "get", "events"), "the verdict")
    file, small = tmp_path / "snapshot.yaml", tmp_path / "small.yaml"
    there.run("schedlab", "snapshot", "save", str(file))
    told = there.run("schedlab", "minimize", str(file), "--pod", "stuck", "-o", str(small))
    kinds = [obj["kind"] for obj in yaml.safe_load_all(small.read_text())]

    complete, smaller = tmp_path / "complete.zip", tmp_path / "smaller.yaml"
    there.run("schedlab", "snapshot", "save", str(complete), "--complete")
    told_of_complete = there.run("schedlab", "minimize", str(complete), "--pod", "stuck", "-o", str(smaller))

    assert "objects -> 2 in" in told
    assert sorted(kinds) == ["Node", "Pod"]
    assert "objects -> 2 in" in told_of_complete
    assert sorted(obj["kind"] for obj in yaml.safe_load_all(smaller.read_text())) == ["Node", "Pod"]


def test_the_web_client_of_upstream_works_from_its_own_port() -> None:
    """The calls of kube-scheduler-simulator's page, plain HTTP without a token, from localhost:3000."""
    page = {"Origin": "http://localhost:3000"}
    options = ("--insecure", "--cors-allowed-origins", "http://localhost:3000", "--nodes", "1")
    with simulator(PROGRAMS, *options) as environment:
        facts = json.loads((Path(environment["SCHEDLAB_HOME"]) / "default" / "cluster.json").read_text())
        with httpx.Client(headers=page) as client:
            simulator_url, api_url = facts["simulator"], facts["apiserver"]
            config = client.get(f"{simulator_url}/api/v1/schedulerconfiguration")
            preflight = client.options(
                f"{api_url}/api/v1/namespaces/default/pods/p",
                headers={"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "content-type"},
            )
            applied = client.patch(
                f"{api_url}/api/v1/namespaces/default/pods/p?fieldManager=simulator&force=true",
                json={**pod("p"), "metadata": {"name": "p", "namespace": "default"}},
                headers={"Content-Type": "application/apply-patch+yaml"},
            )
            created = client.post(
                f"{api_url}/api/v1/nodes?fieldManager=simulator&force=true",
                content=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "node-"}}),
                headers={"Content-Type": "application/yaml"},
            )
            with client.stream("GET", f"{simulator_url}/api/v1/listwatchresources") as stream:
                first = json.loads(next(stream.iter_lines()))
            reset = client.put(f"{simulator_url}/api/v1/reset", json={})
            stranger = client.get(
                f"{simulator_url}/api/v1/schedulerconfiguration", headers={"Origin": "http://evil.example"}
            )

    assert (config.status_code, config.json()["kind"]) == (200, "KubeSchedulerConfiguration")
    assert config.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert preflight.status_code == 204
    assert applied.status_code == 201, applied.text
    assert created.status_code == 201, created.text
    assert first["EventType"] == "ADDED"
    assert reset.status_code == 202
    assert stranger.status_code == 403


def test_a_configuration_of_upstream_starts_a_cluster(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    """The file of kube-scheduler-simulator, with an import switched on by its environment variable."""
    there, _ = clusters
    there.apply(pod("a"))
    there.until_placed(["a"])
    config = {
        "apiVersion": "kube-scheduler-simulator-config/v1alpha1",
        "kind": "SimulatorConfiguration",
        "port": free_port(),
        "etcdURL": "http://127.0.0.1:2379",
        "corsAllowedOriginList": ["http://localhost:3000"],
        "kubeConfig": there.kubeconfig,
        "kubeApiServerUrl": f"http://localhost:{free_port()}",
        "externalImportEnabled": False,
    }
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    environment = {
        **there.environment,
        "SCHEDLAB_HOME": str(tmp_path / "home"),
        "KUBECONFIG": str(tmp_path / "home" / "default" / "kubeconfig"),
        "EXTERNAL_IMPORT_ENABLED": "1",
    }
    command = ["schedlab", "simulator", "--config", str(file)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            until(lambda: "taken" in (process.stdout.readline() if process.stdout else ""), "the report of the import")
            placed = Cluster(environment).nodes_of_pods()
        finally:
            process.terminate()

    assert placed == there.nodes_of_pods()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port
