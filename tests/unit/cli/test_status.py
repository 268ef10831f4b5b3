"""`schedlab status` and `schedlab down`: clear words whether something runs or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schedlab import cli
from schedlab.cli import simulator_api
from schedlab.cluster.home import Home

FACTS = {
    "startedAt": "2026-01-01T00:00:00Z",
    "revision": 12,
    "objects": {"nodes": 3, "pods": 4},
    "schedulers": [
        {"names": ["default-scheduler", "b"], "where": "this cluster", "state": "scheduling", "detail": ""},
        {"names": [], "where": "pod a/b", "state": "ended", "detail": "exit code 1"},
    ],
    "warnings": ["2 schedulers decide for pods of b"],
    "decisions": {
        "attempts": 5,
        "pods": 4,
        "bytes": 3145728,
        "bytesMax": 536870912,
        "ageMaxSeconds": 60,
        "forgottenPods": 4,
    },
    "memoryBytes": 96 << 20,
    "dataDir": None,
    "etcdServers": None,
}
#: Holds the lock of a cluster until it is told to end; with an argument, it does not listen.
HOLDER = """
import signal, sys
from schedlab.cluster.home import Home
if sys.argv[1:]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with Home.of("default").hold():
    print("held", flush=True)
    signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))
    home = Home.of("default")
    home.prepare()
    home.write_cluster({"apiserver": "https://127.0.0.1:1", "simulator": "http://127.0.0.1:2", "pid": 3})
    return home


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return caught.value.code, out, err


@contextmanager
def _holder(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def _answer(monkeypatch: pytest.MonkeyPatch, status: int, body: dict[str, Any]) -> None:
    monkeypatch.setattr(simulator_api, "get", lambda home, path: (status, body))


def test_status_of_a_running_cluster(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _answer(monkeypatch, 200, FACTS)
    with home.hold():
        code, out, _ = _run(capsys, "status")

    assert code == 0
    assert out.splitlines() == [
        f"cluster          default, process {os.getpid()}",
        "Kubernetes API   https://127.0.0.1:1",
        f"kubeconfig       {home.kubeconfig}",
        "simulator        http://127.0.0.1:2",
        "running since    2026-01-01T00:00:00Z",
        "kept in          memory only",
        "memory           96 MiB",
        "scheduler        default-scheduler, b: this cluster (scheduling)",
        "scheduler        none: pod a/b (ended, exit code 1)",
        "warning          2 schedulers decide for pods of b",
        "decisions        5 attempts of 4 pods, 3 of 512 MiB, at most 60 s old; 4 pods forgotten",
        "objects          7 at revision 12",
        "  nodes  3",
        "  pods   4",
    ]


def test_status_of_an_api_server_alone(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no simulator to be asked; `explain` says so, too."""
    home.write_cluster({"apiserver": "https://127.0.0.1:1", "pid": 3})
    with home.hold():
        code, out, _ = _run(capsys, "status")
        assert code == 0
        assert out.splitlines()[-1] == "parts            an API server alone"
        code, _, err = _run(capsys, "explain", "pod/p")

    assert code == 2
    assert "this is an API server alone" in err


def test_status_of_a_scheduler_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_cluster({"server": "https://127.0.0.1:1", "simulator": "http://127.0.0.1:2", "pid": 3})
    own = {"names": ["a"], "where": "this cluster", "state": "standby", "detail": "waits for the lease x/y"}
    keys = ("startedAt", "decisions", "memoryBytes")
    _answer(monkeypatch, 200, {**{key: FACTS[key] for key in keys}, "schedulers": [own], "warnings": []})
    with home.hold():
        code, out, _ = _run(capsys, "status")

    assert code == 0
    assert out.splitlines()[1:] == [
        "Kubernetes API   https://127.0.0.1:1",
        "parts            a scheduler alone",
        "simulator        http://127.0.0.1:2",
        "running since    2026-01-01T00:00:00Z",
        "memory           96 MiB",
        "scheduler        a: this cluster (standby, waits for the lease x/y)",
        "decisions        5 attempts of 4 pods, 3 of 512 MiB, at most 60 s old; 4 pods forgotten",
    ]


def test_status_as_json(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _answer(monkeypatch, 200, FACTS)
    with home.hold():
        _, out, _ = _run(capsys, "status", "-o", "json")

    told = json.loads(out)
    assert told["objects"] == {"nodes": 3, "pods": 4}
    assert (told["name"], told["pid"]) == ("default", os.getpid())


def test_status_when_something_else_answers(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _answer(monkeypatch, 404, {"message": "Not Found"})
    with home.hold():
        code, _, err = _run(capsys, "status")

    assert code == 2
    assert err.startswith("error: cluster default: Not Found")


@pytest.mark.parametrize(("verb", "code"), [("status", 1), ("down", 0)])
def test_cluster_that_does_not_run(verb: str, code: int, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses that an earlier process has left behind prove nothing."""
    found, _, err = _run(capsys, verb)

    assert found == code
    assert err.startswith("cluster default is not running")


def test_down_ends_the_process_and_waits(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _holder() as process:
        code, out, _ = _run(capsys, "down")
        assert (code, out) == (0, "cluster default has stopped\n")
        assert process.wait(10) == -signal.SIGTERM


def test_down_gives_up_with_advice(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _holder("deaf") as process:
        code, _, err = _run(capsys, "down", "--timeout", "0")

    assert code == 1
    assert f"process {process.pid} is still there after 0 s\nhint: end it with `kill -9 {process.pid}`" in err


@pytest.mark.parametrize(
    ("error", "code"), [(ProcessLookupError(), 0), (PermissionError(), 1)], ids=["gone", "another user's"]
)
def test_down_of_a_process_that_cannot_be_told(
    error: OSError, code: int, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that has just gone is what was wanted."""
    answers = [99, None]
    monkeypatch.setattr(Home, "running_process", lambda self: answers.pop(0))

    def kill(process: int, number: int) -> None:
        raise error

    monkeypatch.setattr(os, "kill", kill)

    assert _run(capsys, "down")[0] == code
