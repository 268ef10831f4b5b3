"""The cluster and namespace that kubectl would use now: the current context of its configuration.

Mirrors: the loading rules of client-go's clientcmd (files of $KUBECONFIG, else ~/.kube/config; the first file that sets
something wins), as far as cluster, server and namespace go.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import yaml
from cyclopts import Parameter

from schedlab.cluster.home import Home, state_root
from schedlab.kernel.errors import SchedlabError

#: Which cluster a verb is about.
NameOption: TypeAlias = Annotated[
    str | None,
    Parameter(help="Name of the cluster; if not given, the one that kubectl is pointed at, else `default`."),
]


@dataclass(frozen=True, slots=True)
class Context:
    """Address of an API server, and the namespace that is meant when none is given."""

    server: str
    namespace: str


def current_context() -> Context | None:
    """Return kubectl's current context; None when there is none or it cannot be read."""
    chosen = os.environ.get("KUBECONFIG")
    files = [Path(name) for name in chosen.split(os.pathsep) if name] if chosen else [Path.home() / ".kube" / "config"]
    contexts: dict[str, dict[str, Any]] = {}
    servers: dict[str, str] = {}
    current = ""
    for file in files:
        found = _read(file)
        current = current or str(found.get("current-context") or "")
        for entry in _named(found, "contexts"):
            contexts.setdefault(entry["name"], entry.get("context") or {})
        for entry in _named(found, "clusters"):
            servers.setdefault(entry["name"], str((entry.get("cluster") or {}).get("server", "")))
    context = contexts.get(current)
    if context is None:
        return None
    return Context(servers.get(str(context.get("cluster")), ""), str(context.get("namespace") or "default"))


def _read(file: Path) -> dict[str, Any]:
    try:
        found = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _named(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = found.get(key)
    return (
        [entry for entry in entries if isinstance(entry, dict) and "name" in entry] if isinstance(entries, list) else []
    )


def resolve(name: str | None, namespace: str | None) -> tuple[Home, str]:
    """Return the cluster and namespace to ask: those given, else kubectl's when it points at a simulator of ours.

    Without either it is the cluster `default` and its namespace `default`.
    """
    context = current_context()
    if name is not None:
        home = Home.of(name)
    else:
        home = (_home_at(context.server) if context is not None else None) or Home.of("default")
    if namespace is not None:
        return home, namespace
    return home, context.namespace if context is not None and _server_of(home) == context.server else "default"


def schedulers_beside(home: Home) -> list[Home]:
    """Return the schedulers alone of this user that run now and work on the API server of a cluster."""
    server = _server_of(home)
    return [
        each
        for each in _homes()
        if server and _server_of(each, "server") == server and each.running_process() is not None
    ]


def _homes() -> list[Home]:
    root = state_root()
    return [Home(folder) for folder in sorted(root.iterdir())] if root.is_dir() else []


def _home_at(server: str) -> Home | None:
    return next((home for home in _homes() if server and _server_of(home) == server), None)


def _server_of(home: Home, fact: str = "apiserver") -> str:
    try:
        return str(home.read_cluster().get(fact, ""))
    except SchedlabError:
        return ""


def kubeconfig_paths(named: Path | None) -> str:
    """Return the kubeconfig files that kubectl would use here, or the one that is named, as KUBECONFIG writes them.

    Raises SchedlabError for a named file that is not there.
    """
    if named is None:
        chosen = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        files = [Path(part).expanduser().absolute() for part in chosen.split(os.pathsep) if part]
        return os.pathsep.join(map(str, files))
    file = named.expanduser().absolute()
    if not file.is_file():
        raise SchedlabError("there is no such file", location=f"--kubeconfig {named}", hint="name a kubeconfig")
    return str(file)
