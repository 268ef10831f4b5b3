"""Workloads as users of kubectl run them: rollouts, scaling, waiting, cascades, jobs, drains."""

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

TIMEOUT = "--timeout=30s"

Kubectl = Callable[..., str]


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with simulator(Path(sys.executable).parent, "--nodes", "3") as environment:
        yield environment


class Program:
    """kubectl in a namespace of its own."""

    def __init__(self, program: Path, environment: dict[str, str], namespace: str) -> None:
        self.namespace = namespace
        self._command = (str(program), "-n", namespace)
        self._environment = environment

    def __call__(self, *arguments: str, given: str | None = None, code: int = 0) -> str:
        """Run a command and return what it prints, also on failure."""
        done = subprocess.run(
            [*self._command, *arguments],
            cwd=ROOT,
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def get(self, *arguments: str) -> Any:
        """Return objects."""
        return json.loads(self("get", *arguments, "-o", "json"))

    def names(self, *arguments: str) -> list[str]:
        """Return the names of objects."""
        return [item["metadata"]["name"] for item in self.get(*arguments)["items"]]

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that `kubectl wait` cannot."""
        end = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < end, f"{what} did not come:\n{self('get', 'all')}"
            time.sleep(0.1)


@pytest.fixture
def cluster(environment: dict[str, str], kubectl: Path, request: pytest.FixtureRequest) -> Iterator[Program]:
    name = "".join(char if char.isalnum() else "-" for char in request.node.name.lower())[:60].strip("-")
    program = Program(kubectl, environment, name)
    program("create", "namespace", name)
    yield program
    program("delete", "namespace", name, "--wait=false")


@pytest.fixture
def web(cluster: Program) -> Program:
    """A Deployment of three that has been rolled out."""
    cluster("create", "deployment", "web", "--image=web:1", "--replicas=3")
    cluster("rollout", "status", "deployment/web", TIMEOUT)
    return cluster


def _images(cluster: Program) -> set[str]:
    pods = cluster.get("pods")["items"]
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return {pod["spec"]["containers"][0]["image"] for pod in alive}


def test_rollout(web: Program) -> None:
    """A new image replaces all pods, and status says when that is done."""
    web("set", "image", "deployment/web", "web=web:2")
    told = web("rollout", "status", "deployment/web", TIMEOUT)

    assert 'deployment "web" successfully rolled out' in told
    assert _images(web) == {"web:2"}
    assert len(web.names("replicasets")) == 2


def test_undo(web: Program) -> None:
    """The last revision comes back under a new number; the history tells of all."""
    web("set", "image", "deployment/web", "web=web:2")
    web("rollout", "status", "deployment/web", TIMEOUT)
    web("rollout", "undo", "deployment/web")
    web("rollout", "status", "deployment/web", TIMEOUT)
    history = web("rollout", "history", "deployment/web")

    assert _images(web) == {"web:1"}
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"]


def test_pause_and_resume(web: Program) -> None:
    """A paused Deployment takes new templates only when it is resumed."""
    web("rollout", "pause", "deployment/web")
    web("set", "image", "deployment/web", "web=web:2")
    time.sleep(0.5)
    held = _images(web)
    web("rollout", "resume", "deployment/web")
    web("rollout", "status", "deployment/web", TIMEOUT)

    assert (held, _images(web)) == ({"web:1"}, {"web:2"})


def test_restart(web: Program) -> None:
    """A restart makes all pods anew."""
    before = web.names("pods")
    web("rollout", "restart", "deployment/web")
    web("rollout", "status", "deployment/web", TIMEOUT)
    web.until(lambda: not set(before) & set(web.names("pods")), "the end of the old pods")

    assert len(web.names("pods")) == 3


def test_scale_and_wait(web: Program) -> None:
    """More pods run soon, fewer are deleted; wait sees the condition."""
    web("scale", "deployment/web", "--replicas=5")
    web("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=5", TIMEOUT)
    web("wait", "deployment/web", "--for=condition=Available", TIMEOUT)
    many = len(web.names("pods"))
    web("scale", "deployment/web", "--replicas=1", "--current-replicas=5")
    web.until(lambda: len(web.names("pods")) == 1, "one pod")

    assert many == 5


@pytest.mark.parametrize(("cascade", "left"), [("background", (0, 0)), ("foreground", (0, 0)), ("orphan", (1, 3))])
def test_cascades(web: Program, cascade: str, left: tuple[int, int]) -> None:
    """What becomes of ReplicaSet and pods when their Deployment goes."""
    web("delete", "deployment/web", f"--cascade={cascade}", TIMEOUT)
    web.until(lambda: (len(web.names("replicasets")), len(web.names("pods"))) == left, f"{left} sets and pods")
    owned = [found for found in web.get("replicasets")["items"] if found["metadata"].get("ownerReferences")]

    assert owned == []


def test_stateful_set(cluster: Program) -> None:
    """Pods in order, an update from the last to the first, and its undo."""
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "db", "image": "db:1"}]},
            },
        },
    }
    cluster("apply", "-f", "-", given=json.dumps(manifest))
    cluster("rollout", "status", "statefulset/db", TIMEOUT)
    cluster("set", "image", "statefulset/db", "db=db:2")
    cluster("rollout", "status", "statefulset/db", TIMEOUT)
    updated = _images(cluster)
    cluster("rollout", "undo", "statefulset/db")
    cluster("rollout", "status", "statefulset/db", TIMEOUT)

    assert cluster.names("pods") == ["db-0", "db-1"]
    assert (updated, _images(cluster)) == ({"db:2"}, {"db:1"})


def test_daemon_set(cluster: Program) -> None:
    """A pod on each node."""
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "agent", "image": "agent:1"}]},
            },
        },
    }
    cluster("apply", "-f", "-", given=json.dumps(manifest))
    cluster("rollout", "status", "daemonset/agent", TIMEOUT)
    places = {pod["spec"]["nodeName"] for pod in cluster.get("pods")["items"]}

    assert places == set(cluster.names("nodes"))


def test_job(cluster: Program) -> None:
    """A Job runs to its end, and wait sees it."""
    cluster("create", "job", "once", "--image=busybox", "--", "true")
    cluster("wait", "job/once", "--for=condition=Complete", TIMEOUT)
    (pod,) = cluster.get("pods")["items"]

    assert pod["status"]["phase"] == "Succeeded"
    assert "Completed" in cluster("get", "pods")
    assert "SuccessfulCreate" in cluster("describe", "job", "once")


def test_cron_job_by_hand(cluster: Program) -> None:
    """A Job made from a CronJob runs like any other."""
    cluster("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *", "--", "true")
    cluster("create", "job", "now", "--from=cronjob/nightly")
    cluster("wait", "job/now", "--for=condition=Complete", TIMEOUT)

    assert "nightly" in cluster("get", "cronjobs")


def test_budget_and_drain(web: Program) -> None:
    """A drain moves pods elsewhere, as a budget allows."""
    web("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=2")
    web("wait", "pdb/web", "--for=jsonpath={.status.disruptionsAllowed}=1", TIMEOUT)
    node = web.get("pods")["items"][0]["spec"]["nodeName"]
    web("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=web", "--timeout=40s")
    web("rollout", "status", "deployment/web", TIMEOUT)
    places = {pod["spec"]["nodeName"] for pod in web.get("pods")["items"] if "deletionTimestamp" not in pod["metadata"]}
    web("uncordon", node)

    assert node not in places
