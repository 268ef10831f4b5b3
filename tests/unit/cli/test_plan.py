"""`schedlab fit` and `schedlab plan`: what they ask, of files and of the running cluster, and how they print answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab import cli
from schedlab.cli import simulator_api
from schedlab.cluster.home import Home
from schedlab.testing import make_node, make_pod

Asked = list[tuple[str, str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster of two nodes in two zones with a pod, in a folder; a pod and a kind of node beside it."""
    (tmp_path / "cluster").mkdir()
    nodes = [make_node(zone).zone(zone).capacity(cpu="4", memory="8Gi", pods="9").dict() for zone in ("a", "b")]
    there = make_pod("there").req(cpu="3").dict()
    (tmp_path / "cluster" / "all.yaml").write_text(yaml.safe_dump_all([*nodes, there]))
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(make_pod("web").req(cpu="2").dict()))
    (tmp_path / "node.yaml").write_text(yaml.safe_dump(make_node("m").capacity(cpu="2", memory="4Gi", pods="9").dict()))
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """What the running cluster is asked."""
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    calls: Asked = []

    def ask(_home: Home, method: str, path: str, body: object = None) -> dict[str, Any]:
        calls.append((method, path, body))
        return {"pod": "default/web", "fits": 1, "limit": 5, "stops": "no more", "groups": [], "placed": {}}

    monkeypatch.setattr(simulator_api, "ask", ask)
    return calls


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        cli.main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, out, err


def test_fit_asks_the_running_cluster(folder: Path, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fit", folder / "pod.yaml", "-n", "shop", "--limit", "5")

    manifest = yaml.safe_load((folder / "pod.yaml").read_text())
    assert asked == [("POST", "/api/v1/fit", {"pod": manifest, "namespace": "shop", "limit": 5})]
    assert (code, out) == (0, "1 more of default/web fits\n\nThe next one: no more\n")


def test_fit_asks_files(folder: Path, asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fit", folder / "pod.yaml", "--from", folder / "cluster")

    assert (code, asked) == (0, [])
    assert out.splitlines()[0] == "2 more of default/web fit"
    assert "The next one: 0/2 nodes are available: 2 Insufficient cpu." in out
    assert "2 x cpu 4 memory 8Gi: 2 fit\n  no more on 2: NodeResourcesFit: Insufficient cpu\n" in out


def test_a_limit_is_said_to_be_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "fit", folder / "pod.yaml", "--from", folder / "cluster", "--limit", "1")

    assert out.startswith("at least 1 more of default/web fits\n")


def test_plan_nodes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "many.yaml").write_text(
        yaml.safe_dump_all([make_pod(f"web-{number}").req(cpu="2").dict() for number in range(4)])
    )
    arguments = (
        "plan",
        "nodes",
        folder / "many.yaml",
        "--from",
        folder / "cluster",
        "--template",
        folder / "node.yaml",
    )
    code, out, _ = run(capsys, *arguments)

    assert code == 0
    assert out == (
        "2 new nodes like m hold 4 pods, which ask for 100% of cpu, 0% of memory\n"
        "  2 pods on cpu 4 memory 8Gi\n  2 pods on new m\n"
    )
    _, out, _ = run(capsys, *arguments, "-o", "json")
    assert json.loads(out)[0]["nodes"] == 2


def test_plan_nodes_that_do_not_help(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "big.yaml").write_text(yaml.safe_dump(make_pod("big").req(cpu="64").dict()))
    source = ("--from", folder / "cluster", "--template", folder / "node.yaml")
    _, out, _ = run(capsys, "plan", "nodes", folder / "big.yaml", *source)

    assert out.startswith(
        "1 new node like m is not enough for 1 pod, and more would not help\n"
        "  1 waits: 0/3 nodes are available: 3 Insufficient cpu."
    )


def test_plan_drain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zone = "topology.kubernetes.io/zone in (a,b)"
    code, out, _ = run(capsys, "plan", "drain", "-l", zone, "--from", folder / "cluster")

    assert code == 0
    assert out.startswith("If a, b are emptied:\n")
    assert "evicted: its node is drained" in out
    assert out.endswith("1 pod leaves its place\n  1 to nowhere: nothing makes them anew\n")


def test_what_the_api_refuses_of_files_is_left_out_aloud(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cluster" / "wrong.yaml").write_text(yaml.safe_dump(make_pod("WRONG").dict()))
    code, _, err = run(capsys, "fit", folder / "pod.yaml", "--from", folder / "cluster")

    assert code == 0
    assert 'warning: left out: Pod default/WRONG: Pod "WRONG" is invalid' in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "{}/cluster/all.yaml"], "holds 3 objects"),
        (["fit", "{}/none.yaml"], "cannot be read"),
        (["fit", "{}/node.yaml", "--from", "{}/cluster"], "Node is no pod"),
        (["fit", "{}/pod.yaml", "--config", "{}/pod.yaml"], "--config: the running cluster has a configuration"),
        (["fit", "{}/pod.yaml", "--from", "{}/cluster", "--limit", "0"], "0 copies cannot be tried"),
        (["plan", "nodes", "--template", "{}/node.yaml"], "no workload is given"),
        (["plan", "nodes", "{}/pod.yaml", "--template", "{}/pod.yaml", "--from", "{}/cluster"], "Pod is no node"),
        (["plan", "drain", "-l", "a=b", "--from", "{}/cluster"], "no node has the labels a=b"),
        (["plan", "drain", "-l", "a=b", "--for", "soon", "--from", "{}/cluster"], "--for: "),
    ],
)
def test_mistakes(arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *(one.replace("{}", str(folder)) for one in arguments))

    assert (code, err.count("error: "), err.count("hint: ")) == (2, 1, 1)
    assert words in err
