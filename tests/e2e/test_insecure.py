"""`--insecure`: plain HTTP that needs no credentials, says so, and is still closed to other sites and machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tools.refresh_readme import ROOT

PROGRAM = Path(sys.executable).parent / "schedlab"
PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
#: Who `kubectl auth whoami` is.
WHOAMI = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@contextmanager
def running(folder: Path, verb: str, *options: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """Start schedlab; yields where it listens, and the file with what it says on stderr."""
    ports = ("--apiserver-port", "0", *(("--port", "0") if verb == "up" else ()))
    environment = {**os.environ, "SCHEDLAB_HOME": str(folder)}
    said = folder / "stderr"
    with (
        said.open("w") as errors,
        subprocess.Popen(
            [PROGRAM, verb, *ports, *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Kubernetes API "), said.read_text()
            assert process.stdout.readline()
            yield json.loads((folder / "default" / "cluster.json").read_text()), said
        finally:
            process.terminate()


def refusals(url: str, path: str) -> Sequence[int]:
    """Ask as pages of another site would, and as one whose name was made to point at this machine."""
    elsewhere = "https://elsewhere.example.com"
    with httpx.Client(base_url=url) as client:
        return [
            client.get(path, headers={"Origin": elsewhere}).status_code,
            client.get(path, headers={"Host": "elsewhere.example.com"}).status_code,
            client.get(path, headers={"Origin": "null"}).status_code,
        ]


@pytest.mark.parametrize("kubectl", ["1.37"], indirect=True)
def test_everybody_on_this_machine_is_administrator(tmp_path: Path, kubectl: Path) -> None:
    """Kubectl works with the kubeconfig and without any, curl works, and a wrong token stays wrong."""
    with running(tmp_path, "up", "--insecure", "--nodes", "1") as (facts, said):
        url = facts["apiserver"]
        assert url.startswith("http://127.0.0.1:")
        assert "warning: --insecure: plain HTTP without credentials; every program" in said.read_text()
        config = {**os.environ, "KUBECONFIG": str(tmp_path / "default" / "kubeconfig")}
        for environment, options in ((config, ()), ({**os.environ, "KUBECONFIG": ""}, ("--server", url))):
            done = subprocess.run(
                [kubectl, *options, "get", "nodes", "-o", "name"],
                env=environment,
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            assert (done.stdout, done.stderr) == ("node/node-0\n", "")
        with httpx.Client(base_url=url) as client:
            asked = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=WHOAMI).json()
            wrong = client.get(PODS, headers={"Authorization": "Bearer wrong"}).status_code
        assert asked["status"]["userInfo"]["username"] == "system:unsecured"
        assert wrong == 401
        assert httpx.get(f"{facts['simulator']}/api/v1/status").status_code == 200
        assert refusals(url, PODS) == [403, 403, 403]
        assert refusals(facts["simulator"], "/api/v1/status") == [403, 403, 403]


def test_admission_plugins_are_switched_by_name(tmp_path: Path) -> None:
    """Without ServiceAccount a pod is let in before its service account is made; unknown names are refused."""
    with running(
        tmp_path, "apiserver", "--insecure", "--disable-admission-plugins", "ServiceAccount,DefaultTolerationSeconds"
    ) as (facts, _):
        made = httpx.post(facts["apiserver"] + PODS, json=POD)
    assert made.status_code == 201
    assert made.json()["spec"]["priority"] == 0
    assert "tolerations" not in made.json()["spec"]

    refused = subprocess.run(
        [PROGRAM, "apiserver", "--apiserver-port", "0", "--enable-admission-plugins", "Nothing"],
        env={**os.environ, "SCHEDLAB_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        'error: --enable-admission-plugins: enable-admission-plugins plugin "Nothing" is unknown\nhint: choose from Always'
    )
