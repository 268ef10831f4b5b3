"""Reading kubeconfig files: what is found, what is merged, and what is said about mistakes."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab.kernel.errors import SchedlabError
from schedlab.remote.kubeconfig import load_access


def _config(**changes: Any) -> dict[str, Any]:
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "current-context": "x",
    }
    return {**config, **changes}


def _write(file: Path, config: Any) -> Path:
    file.write_text(yaml.safe_dump(config))
    return file


def test_the_current_context_says_how_the_server_is_reached(tmp_path: Path) -> None:
    access = load_access(_write(tmp_path / "config", _config()))

    assert (access.server, access.token, access.namespace) == ("https://10.0.0.1:6443", "secret", "shop")


def test_another_context_can_be_named(tmp_path: Path) -> None:
    contexts = [*_config()["contexts"], {"name": "other", "context": {"cluster": "c", "user": "u"}}]
    access = load_access(_write(tmp_path / "config", _config(contexts=contexts)), context="other")

    assert access.namespace == "default"


def test_files_of_kubeconfig_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = _write(tmp_path / "first", {"current-context": "x", "users": [{"name": "u", "user": {"token": "first"}}]})
    second = _write(tmp_path / "second", _config())
    environment = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}", "HOME": str(tmp_path)}

    access = load_access(environment=environment)

    assert (access.server, access.token) == ("https://10.0.0.1:6443", "first")


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "cert.pem").write_text("CERT")
    cluster = {"server": "https://a", "certificate-authority": "ca.pem"}
    user = {"client-certificate": "cert.pem", "client-key-data": base64.b64encode(b"KEY").decode()}
    config = _config(clusters=[{"name": "c", "cluster": cluster}], users=[{"name": "u", "user": user}])

    access = load_access(_write(tmp_path / "config", config))

    assert (access.ca, access.client_certificate, access.client_key) == (b"CA", b"CERT", b"KEY")


def test_a_credential_program_is_relative_to_its_file_when_it_is_a_path(tmp_path: Path) -> None:
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "args": ["-x"]}
    config = _config(users=[{"name": "u", "user": {"exec": command}}])

    access = load_access(_write(tmp_path / "config", config))

    assert access.exec is not None
    assert (access.exec.command, access.exec.args) == (str(tmp_path / "login"), ("-x",))


def test_a_pod_uses_its_service_account_when_there_is_no_file(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("namespace", "kube-system\n"), ("ca.crt", "CA")):
        (tmp_path / name).write_text(text)
    environment = {"HOME": "/nowhere", "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    access = load_access(environment=environment, service_account=tmp_path)

    assert access.server == "https://[fd00::1]:443"
    assert (access.namespace, access.token_file, access.ca) == ("kube-system", tmp_path / "token", b"CA")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (_config(**{"current-context": "z"}), "there is no context 'z'"),
        (_config(**{"current-context": ""}), "no current-context is set"),
        (_config(clusters=[]), "there is no cluster 'c'"),
        (_config(users=[]), "there is no user 'u'"),
        (_config(clusters=[{"name": "c", "cluster": {"server": "10.0.0.1"}}]), "server is '10.0.0.1'"),
        (_config(clusters=[{"name": "c"}]), "server is ''"),
        (_config(clusters="c"), "clusters is not a list"),
        (_config(users=[{"name": "u", "user": {"token": 5}}]), "token is a number, not text"),
        (_config(users=[{"name": "u", "user": {"client-certificate": "none.pem"}}]), "cannot be read"),
        (_config(users=[{"name": "u", "user": {"client-key-data": "%"}}]), "is not base64"),
        (_config(users=[{"name": "u", "user": {"exec": {"apiVersion": "v0", "command": "x"}}}]), "exec speaks v0"),
        (_config(users=[{"name": "u", "user": {"exec": {}}}]), "exec has no command"),
        ([1], "holds a list"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, config: Any, said: str) -> None:
    file = _write(tmp_path / "config", config)

    with pytest.raises(SchedlabError) as caught:
        load_access(file)

    assert said in caught.value.message
    assert str(file) in caught.value.location
    assert caught.value.hint


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="no kubeconfig was found"):
        load_access(tmp_path / "none")


def test_a_file_that_is_no_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("clusters: [\n")

    with pytest.raises(SchedlabError, match="line"):
        load_access(file)
