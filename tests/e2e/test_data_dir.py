"""A cluster with a data folder goes on where it was: the real kubectl before and after restarts."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schedlab.cluster.home import Home
from tests.support.processes import started
from tools.refresh_readme import ROOT

PROGRAMS = Path(sys.executable).parent
REFUSED = (PROGRAMS / "schedlab", "up", "--name", "other", "--port", "0", "--apiserver-port", "0")
DEPLOYMENT = ("create", "deployment", "web", "--image=i")

pytestmark = pytest.mark.parametrize("kubectl", ["1.37"], indirect=True)  # what is tested is on the other side


class Lab:
    """A cluster that can be started and stopped, and kubectl for it."""

    def __init__(self, folder: Path, kubectl: Path, *kept: str) -> None:
        self.data = folder / "data"
        self._kept = " ".join(kept or ("--data-dir", str(self.data)))
        self._kubectl = kubectl
        self.environment = {
            **os.environ,
            "SCHEDLAB_HOME": str(folder),
            "KUBECONFIG": str(folder / "default" / "kubeconfig"),
        }

    @contextmanager
    def up(self, limit: str = "") -> Iterator[None]:
        """Start it, and stop it by `schedlab down`; `limit` is a shell command that comes before."""
        up = f"{PROGRAMS}/schedlab up --port 0 --apiserver-port 0 --nodes 3 {self._kept}"
        command = ["bash", "-c", f"{limit or ':'}; exec {up}"]
        with started(command, self.environment) as process:
            yield
            assert self.run(PROGRAMS / "schedlab", "down").stdout == "cluster default has stopped\n"
            assert process.wait(20) == 0

    def run(self, *command: str | Path, text: str | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=60, check=False, input=text
        )
        assert done.returncode == code, done.stderr
        return done

    def kubectl(self, *arguments: str, text: str | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run(self._kubectl, *arguments, text=text, code=code)

    def wait_for(self, replicas: int) -> None:
        condition = f"jsonpath={{.status.readyReplicas}}={replicas}"
        self.kubectl("wait", "deployment/web", f"--for={condition}", "--timeout=30s")

    def pods(self) -> dict[str, Mapping[str, Any]]:
        listed = json.loads(self.kubectl("get", "pods", "-o", "json").stdout)
        return {pod["metadata"]["name"]: pod for pod in listed["items"]}


def test_cluster_goes_on_after_a_restart(tmp_path: Path, kubectl: Path) -> None:
    """Running pods stay as they are, to the byte; deployments, scheduler and kubelets take up their work."""
    lab = Lab(tmp_path, kubectl)
    with lab.up():
        lab.kubectl(*DEPLOYMENT, "--replicas=4")
        lab.wait_for(4)
        before = lab.pods()
        status = lab.run(PROGRAMS / "schedlab", "status").stdout
        assert f"kept in          {lab.data}" in status
        assert "  pods " in status
        refused = lab.run(*REFUSED, "--data-dir", lab.data, code=2)
        assert f"{lab.data}: is in use by process {Home(tmp_path / 'default').running_process()}" in refused.stderr
    with lab.up():
        for name, pod in lab.pods().items():
            assert pod["status"] == before[name]["status"]
            assert pod["spec"] == before[name]["spec"]
            assert pod["metadata"]["uid"] == before[name]["metadata"]["uid"]
        lab.kubectl("scale", "deployment/web", "--replicas=7")
        lab.wait_for(7)
        after = lab.pods()

    assert set(before) < set(after)
    assert len({pod["status"]["podIP"] for pod in after.values()}) == 7
    assert len(after) == 7


def test_full_disk_fails_writes_and_loses_none(tmp_path: Path, kubectl: Path) -> None:
    """The client is told why; reading goes on, and what was acknowledged is there after a restart with more room."""
    lab = Lab(tmp_path, kubectl)
    acknowledged = []
    with lab.up("ulimit -f 4096"):
        for number in range(60):
            name = f"c{number}"
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": "x" * 200_000}}
            done = subprocess.run(
                [kubectl, "create", "-f", "-"],
                env=lab.environment,
                input=json.dumps(body),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            if done.returncode:
                break
            acknowledged.append(name)
        else:
            raise AssertionError("the disk was never full")
        assert "InternalError" in done.stderr
        assert "the change could not be kept: the disk of" in done.stderr
        assert "is full" in done.stderr
        there = lab.kubectl("get", "configmaps", "-o", "name").stdout
        assert name not in there
    with lab.up():
        found = lab.kubectl("get", "configmaps", "-o", "name").stdout.split()

    assert acknowledged
    assert [name for name in found if name.startswith("configmap/c")] == sorted(f"configmap/{n}" for n in acknowledged)


def test_lost_storage_ends_the_process(tmp_path: Path, kubectl: Path) -> None:
    """When a write fails in a way that is not understood, the client is told and the process ends with a reason."""
    lab = Lab(tmp_path, kubectl)
    command: list[str | Path] = [PROGRAMS / "schedlab", "apiserver", "--apiserver-port", "0", "--data-dir", lab.data]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=lab.environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Kubernetes API ")
            assert process.stdout.readline().startswith("kubeconfig ")
            lab.kubectl("create", "configmap", "kept")
            assert "an API server alone" in lab.run(PROGRAMS / "schedlab", "status").stdout
            vandal = sqlite3.connect(lab.data / "cluster.db")
            vandal.execute("ALTER TABLE versions RENAME TO gone")
            vandal.close()
            refused = lab.kubectl("create", "configmap", "lost", code=1).stderr
            assert process.wait(20) == 2
        finally:
            process.kill()
        assert process.stderr is not None
        said = process.stderr.read()

    assert "the change could not be kept: no such table: versions" in refused
    assert said.startswith("error: the cluster can no longer be kept: no such table: versions\nhint: nothing was ")
