"""The kubeconfig that lets kubectl and every other client reach a cluster: server, CA and token in one file.

Mirrors: staging/src/k8s.io/client-go/tools/clientcmd/api/v1/types.go (v1.36). Differs: one context.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from schedlab.apiserver.certificates import write_private


def kubeconfig(server: str, token: str, ca: Path | None = None, name: str = "schedlab") -> Mapping[str, Any]:
    """Return a kubeconfig for the administrator; without a CA the server speaks plain HTTP."""
    cluster: dict[str, str] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca.read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def write_kubeconfig(file: Path, server: str, token: str, ca: Path | None = None, name: str = "schedlab") -> None:
    """Write a kubeconfig that only its owner may read."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(kubeconfig(server, token, ca, name)), sort_keys=False)
    write_private(file, text.encode())
