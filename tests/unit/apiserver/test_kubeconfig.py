"""The written kubeconfig is all that a client needs."""

import base64
from pathlib import Path

import yaml

from schedlab.apiserver.kubeconfig import write_kubeconfig


def test_kubeconfig_carries_ca_and_token(tmp_path: Path) -> None:
    """Server, CA and token stand in one file that only its owner can read."""
    ca = tmp_path / "ca.crt"
    ca.write_text("the ca")
    file = tmp_path / "deep" / "kubeconfig"

    write_kubeconfig(file, "https://127.0.0.1:3131", "secret", ca, name="lab")

    written = yaml.safe_load(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert written["current-context"] == "lab"
    assert written["clusters"] == [
        {
            "name": "lab",
            "cluster": {
                "server": "https://127.0.0.1:3131",
                "certificate-authority-data": base64.b64encode(b"the ca").decode(),
            },
        }
    ]
    assert written["users"] == [{"name": "lab", "user": {"token": "secret"}}]


def test_plain_http_needs_no_ca(tmp_path: Path) -> None:
    """Without a CA the cluster is reached without TLS."""
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:3131", "secret")

    written = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    assert written["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:3131"}
