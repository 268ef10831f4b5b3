"""`schedlab ui` prints a link, and says what it cannot open."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import pytest

from schedlab import cli
from schedlab.cli import simulator_api
from schedlab.cluster.home import Home

URL = "http://127.0.0.1:1212/#/login/secret"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A cluster whose simulator gives out links."""
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))
    found = Home.of("lab")
    found.prepare()

    def ask(_home: Home, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("POST", "/api/v1/login-links")
        return {"url": URL}

    monkeypatch.setattr(simulator_api, "ask", ask)
    return found


@pytest.mark.parametrize(("options", "opened"), [((), []), (("--open",), [URL])])
def test_link_is_printed_and_opened_if_wished(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    opened: list[str],
) -> None:
    home.write_cluster({"apiserver": "https://127.0.0.1:3131", "simulator": "http://127.0.0.1:1212"})
    seen: list[str] = []

    def note(url: str) -> bool:
        seen.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    with pytest.raises(SystemExit) as ended:
        cli.main(["ui", "--name", "lab", *options])

    assert (ended.value.code, capsys.readouterr().out, seen) == (0, f"{URL}\n", opened)


def test_scheduler_alone_has_none(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.write_cluster({"simulator": "http://127.0.0.1:1212"})
    with pytest.raises(SystemExit) as ended:
        cli.main(["ui", "--name", "lab"])

    assert ended.value.code == 2
    assert "this is a scheduler alone" in capsys.readouterr().err


def test_without_a_browser_the_link_has_to_do(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_cluster({"apiserver": "https://127.0.0.1:3131", "simulator": "http://127.0.0.1:1212"})
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    with pytest.raises(SystemExit) as ended:
        cli.main(["ui", "--name", "lab", "--open"])
    out, err = capsys.readouterr()

    assert (ended.value.code, out) == (0, f"{URL}\n")
    assert "no browser could be opened here" in err
