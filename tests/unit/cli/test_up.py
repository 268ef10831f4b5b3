"""`schedlab up` refuses what it cannot use before anything is started: exit 2, the place, what was found, a hint."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from schedlab import cli
from schedlab.backends import FolderLock
from schedlab.cli import up
from schedlab.cli.options import bound_socket, read_seconds
from schedlab.cli.up import Ports
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "state"))


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    free = [word for option in ("--port", "--apiserver-port") if option not in arguments for word in (option, "0")]
    with pytest.raises(SystemExit) as caught:
        cli.main(["up", *free, *arguments])
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{CONFIG}nonsense: 1\n", 'unknown field "nonsense"'),
        (
            f"{CONFIG}profiles:\n- plugins:\n    score:\n      enable: []\n",
            'unknown field "profiles[0].plugins.score.enable"',
        ),
        (f"{CONFIG}parallelism: 0\nparallelism: 0\n", "parallelism"),
        (f"{CONFIG}parallelism: -1\n", "parallelism: Invalid value: -1"),
        ("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n", "v1beta3"),
        (f"{CONFIG}profiles:\n- plugins:\n    filter:\n      enabled: [{{name: NodeNumber}}]\n", "NodeNumber"),
        ("profiles: [", "yaml"),
        ("- a\n", "holds list, not a KubeSchedulerConfiguration"),
        ("", "holds NoneType, not a KubeSchedulerConfiguration"),
    ],
    ids=["unknown field", "nested", "repeated key", "value", "version", "plugin", "syntax", "list", "empty"],
)
def test_scheduler_configuration_with_a_mistake(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(text)

    err = _refused(capsys, "--config", str(file))

    assert str(file) in err
    assert words in err


def test_configuration_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    err = _refused(capsys, "--config", "/no/such/file.yaml")

    assert "/no/such/file.yaml: cannot be read: No such file or directory" in err
    assert "hint: name a readable file with --config" in err


def test_unknown_feature_gate_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    err = _refused(capsys, "--feature-gates", "OpportunisticBatchin=true")

    assert "--feature-gates" in err
    assert "OpportunisticBatching" in err


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("./absent.py:Mine", "there is no file absent.py"),
        ("no_such_module:Mine", "there is no module 'no_such_module'"),
        ("plugin.py:Gone", "has no Gone"),
        ("plugin.py:NoPlugin", "NoPlugin has no `name`"),
        ("plugin.py:Misspelt", "Misspelt.preFilter is no method of the contract"),
        ("plugin.py:Taken", "a plugin of the scheduler has this name already"),
        ("plugin.py:Failing", 'initializing plugin "Failing": Failing.__init__ raised RuntimeError: no disk'),
    ],
)
def test_plugin_that_cannot_be_used(
    reference: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plugin.py").write_text(
        "class NoPlugin:\n    pass\n"
        "class Misspelt:\n    name = 'Misspelt'\n    def preFilter(self, state, pod, table): pass\n"
        "class Taken:\n    name = 'NodeName'\n    def filter(self, state, pod, node): pass\n"
        "class Failing(Taken):\n    name = 'Failing'\n    def __init__(self): raise RuntimeError('no disk')\n"
    )
    monkeypatch.chdir(tmp_path)

    err = _refused(capsys, "--plugin", reference)

    assert words in err


def test_hooks_around_the_same_plugin_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hooks.py").write_text("class Mine:\n    def after_filter(self, state, pod, node, status): pass\n")
    monkeypatch.chdir(tmp_path)

    err = _refused(capsys, "--hooks", "NodeName=hooks.py:Mine", "--hooks", "NodeName=hooks.py:Mine")

    assert "--hooks NodeName=hooks.py:Mine: there are hooks around NodeName already" in err


@pytest.mark.parametrize(("option", "port"), [("--port", "70000"), ("--apiserver-port", "-1")])
def test_number_that_is_no_port(option: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    err = _refused(capsys, option, port)

    assert f"{option}: {port} is no port" in err


@pytest.mark.parametrize("option", ["--port", "--apiserver-port"])
def test_port_in_use(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        err = _refused(capsys, option, str(port))

    assert f"{option}: port {port} cannot be used: Address already in use" in err
    assert f"hint: stop what uses it, or choose another port: {option} " in err


def test_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "file"))

    err = _refused(capsys)

    assert "the folder cannot be written" in err
    assert "SCHEDLAB_HOME" in err


def test_negative_number_of_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--nodes: -1 nodes cannot be made" in _refused(capsys, "--nodes", "-1")


def test_sockets_are_bound_to_this_machine_only() -> None:
    with bound_socket(0, "--port") as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_port_of_another_kind_is_refused() -> None:
    with pytest.raises(SchedlabError, match="65536 is no port"):
        bound_socket(65536, "--port")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--event-ttl", "soon", '--event-ttl: time: invalid duration "soon"'),
        ("--event-ttl", "-1h", "--event-ttl: -1h is not a number of whole seconds"),
        ("--compaction-interval", "1500ms", "--compaction-interval: 1500ms is not a number of whole seconds"),
        ("--history", "-1", "--history: -1 revisions cannot be kept"),
    ],
)
def test_limit_that_is_none(option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in _refused(capsys, f"{option}={value}")


def test_durations_are_whole_seconds() -> None:
    assert [read_seconds(text, "") for text in ("0", "90s", "1h30m", "5m")] == [0, 90, 5400, 300]


def test_name_that_runs_already(capsys: pytest.CaptureFixture[str]) -> None:
    """One process per name: it is refused before any port is looked at."""
    home = Home.of("lab")
    home.prepare()
    with home.hold():
        err = _refused(capsys, "--name", "lab")

    assert f"{home.path}: is in use by process {os.getpid()}" in err
    assert "schedlab down" in err


def test_data_folder_in_use_or_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = FolderLock.take(tmp_path, "lock", hint="")
    err = _refused(capsys, "--data-dir", str(tmp_path))
    lock.release()
    assert f"{tmp_path}: is in use by process" in err
    (tmp_path / "file").write_text("")

    assert "the folder cannot be used: " in _refused(capsys, "--data-dir", str(tmp_path / "file"))


def test_refused_start_lets_go_of_the_data_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with the configuration of the scheduler is found when the folder is open already."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(f"{CONFIG}profiles:\n- plugins:\n    filter:\n      enabled: [{{name: NodeNumber}}]\n")
    _refused(capsys, "--data-dir", str(tmp_path / "data"), "--config", str(file))

    FolderLock.take(tmp_path / "data", "lock", hint="").release()


def test_a_port_that_is_to_lead_to_the_page_must_be_free(capsys: pytest.CaptureFixture[str]) -> None:
    with bound_socket(0, "--port") as taken:
        port = taken.getsockname()[1]
        err = _refused(capsys, "--redirect-port", str(port))

    assert f"--redirect-port: port {port} cannot be used" in err
    assert "hint: stop what uses it, or choose another port" in err


def test_upstreams_port_leads_to_the_page_if_nobody_else_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with bound_socket(0, "--port") as taken:
        port = taken.getsockname()[1]
    monkeypatch.setattr(up, "UPSTREAM_UI_PORT", port)

    with Ports(0, 0).redirect_socket(()) as bound:
        assert bound is not None
        assert bound.getsockname()[1] == port
        with Ports(0, 0).redirect_socket(()) as second:
            assert second is None
    with Ports(0, 0).redirect_socket((f"http://localhost:{port}",)) as kept_free:
        assert kept_free is None
    with Ports(0, 0, redirect=0).redirect_socket(()) as unwanted:
        assert unwanted is None
