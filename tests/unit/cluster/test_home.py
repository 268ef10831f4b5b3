"""The folder of a cluster: private files, one token, clear words when it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "state"))
    return Home.of("lab")


def test_folder_is_below_schedlab_home(home: Home, tmp_path: Path) -> None:
    assert home.path == tmp_path / "state" / "lab"
    assert home.kubeconfig.parent == home.pki.parent == home.path


def test_folder_falls_back_to_the_state_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCHEDLAB_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert Home.of("default").path == tmp_path / "schedlab" / "default"


def test_files_are_private(home: Home) -> None:
    home.prepare()
    home.token()

    assert (home.path / "token").stat().st_mode & 0o777 == 0o600
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_token_is_made_once(home: Home) -> None:
    home.prepare()

    assert home.token() == home.token()
    assert len(home.token()) >= 32


def test_cluster_facts_come_back(home: Home) -> None:
    home.prepare()
    home.write_cluster({"simulator": "http://127.0.0.1:1212"})

    assert home.read_cluster() == {"simulator": "http://127.0.0.1:1212"}


def test_folder_that_cannot_be_made_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("SCHEDLAB_HOME", str(file))

    with pytest.raises(SchedlabError, match="cannot be written") as caught:
        Home.of("lab").prepare()

    assert "SCHEDLAB_HOME" in caught.value.hint


def test_missing_cluster_says_how_to_start_one(home: Home) -> None:
    with pytest.raises(SchedlabError, match="no simulator was started") as caught:
        home.read_cluster()

    assert caught.value.hint == "start one: schedlab up --name lab"


def test_hint_names_only_a_cluster_of_another_name_than_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))

    with pytest.raises(SchedlabError) as caught:
        Home.of("default").read_cluster()

    assert caught.value.hint == "start one: schedlab up"


def test_damaged_facts_say_where(home: Home) -> None:
    home.prepare()
    (home.path / "cluster.json").write_text("{")

    with pytest.raises(SchedlabError, match="cannot be read") as caught:
        home.read_cluster()

    assert caught.value.location.endswith("cluster.json")


@pytest.mark.parametrize("name", ["", "../x", "A b", "a/b", ".", "-a", "a" * 64])
def test_name_that_is_no_label_is_refused(name: str) -> None:
    with pytest.raises(SchedlabError, match="cannot name a cluster") as caught:
        Home.of(name)

    assert caught.value.location == "--name"
