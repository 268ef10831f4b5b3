"""A cluster that is kept in etcd goes on where it was: the real kubectl before and after restarts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.test_data_dir import DEPLOYMENT, REFUSED, Lab
from tests.support.etcd import Etcd, free_ports

PROGRAM = Path(sys.executable).parent / "schedlab"

pytestmark = pytest.mark.parametrize("kubectl", ["1.37"], indirect=True)  # what is tested is on the other side


def test_cluster_goes_on_after_restarts(tmp_path: Path, kubectl: Path) -> None:
    """Of the simulator, of etcd below it, and of both; a second simulator is refused while the first one runs."""
    with Etcd(tmp_path) as etcd:
        lab = Lab(tmp_path, kubectl, "--etcd-servers", etcd.url)
        with lab.up():
            lab.kubectl(*DEPLOYMENT, "--replicas=4")
            lab.wait_for(4)
            before = lab.pods()
            assert f"kept in          etcd, {etcd.url}" in lab.run(PROGRAM, "status").stdout
            refused = lab.run(*REFUSED, "--etcd-servers", etcd.url, code=2)
            assert "/registry/schedlab/writer says that process" in refused.stderr
            etcd.kill()
            etcd.start()
            lab.kubectl("scale", "deployment/web", "--replicas=5")
            lab.wait_for(5)
        etcd.kill()
        etcd.start()
        with lab.up():
            after = lab.pods()
            lab.kubectl("scale", "deployment/web", "--replicas=7")
            lab.wait_for(7)
        keys = etcd.pairs()

    for name, pod in before.items():
        assert after[name]["spec"] == pod["spec"]
        assert after[name]["status"] == pod["status"]
        assert after[name]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert len([key for key in keys if key.startswith("/registry/pods/default/web-")]) == 7
    assert {f"/registry/minions/node-{number}" for number in range(3)} <= set(keys)


def test_mistakes_are_told_at_the_start(tmp_path: Path, kubectl: Path) -> None:
    """With their place and what to do, and no traceback."""
    lab = Lab(tmp_path, kubectl)
    [port] = free_ports(1)
    cases = {
        (
            "--etcd-servers",
            f"http://127.0.0.1:{port}",
        ): f"error: --etcd-servers: etcd at http://127.0.0.1:{port} does not answer",
        ("--etcd-servers", "localhost"): "error: --etcd-servers: 'localhost' is not the address of an etcd",
        (
            "--etcd-servers",
            "http://a:1",
            "--data-dir",
            "d",
        ): "error: --data-dir, --etcd-servers: a cluster is kept in one",
        ("--etcd-cafile", "ca.crt"): "error: --etcd-servers: files for etcd are given, but no etcd",
        ("--etcd-servers", "http://a:1", "--etcd-prefix", "/"): "error: --etcd-prefix: a prefix has to have a name",
    }
    for options, words in cases.items():
        for verb in (REFUSED, (PROGRAM, "apiserver", "--apiserver-port", "0")):
            said = lab.run(*verb, *options, code=2).stderr
            assert said.startswith(words)
            assert "\nhint: " in said
            assert "Traceback" not in said
