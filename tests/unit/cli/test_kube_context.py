"""Which cluster and namespace are meant when none is given: those of kubectl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.cli.kube_context import current_context, resolve
from schedlab.cluster.home import Home


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two clusters, `default` and `lab`."""
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "homes"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, port in (("default", 3131), ("lab", 4131)):
        home = Home.of(name)
        home.prepare()
        home.write_cluster({"apiserver": f"https://127.0.0.1:{port}", "simulator": "http://127.0.0.1:1"})
    return tmp_path


def _config(file: Path, server: str, namespace: str = "", current: str = "c") -> Path:
    context = {"cluster": "k", "user": "u", **({"namespace": namespace} if namespace else {})}
    file.write_text(
        json.dumps(
            {
                "current-context": current,
                "contexts": [{"name": "c", "context": context}],
                "clusters": [{"name": "k", "cluster": {"server": server}}],
            }
        )
    )
    return file


def test_context_names_cluster_and_namespace(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(_config(homes / "k", "https://127.0.0.1:4131", "shop")))

    assert resolve(None, None) == (Home.of("lab"), "shop")


def test_what_is_given_goes_before(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(_config(homes / "k", "https://127.0.0.1:4131", "shop")))

    assert resolve("default", None) == (Home.of("default"), "default")
    assert resolve(None, "other") == (Home.of("lab"), "other")


def test_contexts_of_other_clusters_do_not_count(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(_config(homes / "k", "https://prod.example:6443", "payments")))

    assert resolve(None, None) == (Home.of("default"), "default")


def test_several_files_count_as_one_and_the_first_goes_before(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = homes / "first"
    first.write_text('{"current-context": "c"}')
    second = _config(homes / "second", "https://127.0.0.1:4131", "two", current="other")
    monkeypatch.setenv("KUBECONFIG", f"{homes / 'missing'}:{first}:{second}")

    context = current_context()

    assert context is not None
    assert (context.server, context.namespace) == ("https://127.0.0.1:4131", "two")


def test_usual_place_is_read_without_the_variable(homes: Path) -> None:
    (homes / ".kube").mkdir()
    _config(homes / ".kube" / "config", "https://127.0.0.1:4131")

    assert resolve(None, None) == (Home.of("lab"), "default")


@pytest.mark.parametrize("text", ["", "- 1", "{", "contexts: 5\ncurrent-context: c", '{"current-context": "gone"}'])
def test_files_that_are_none_are_passed_over(homes: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (homes / "k").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(homes / "k"))

    assert current_context() is None
    assert resolve(None, None) == (Home.of("default"), "default")
