"""Finding out how an API server is reached: kubeconfig files as kubectl reads them, or a pod's service account.

    access = load_access()                       KUBECONFIG, ~/.kube/config, or the service account of this pod
    access = load_access("my.kubeconfig", context="kind")

Several files are merged: the first to set something wins; paths are relative to the file that names them.

Mirrors: staging/src/k8s.io/client-go/tools/clientcmd/{loader,client_config}.go, rest/config.go (v1.36)
Differs: no auth providers (upstream has taken them out, too), no impersonation from the file.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.yaml_file import read_document
from schedlab.kernel.errors import SchedlabError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE: Final = "default"
_EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_SECTIONS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True, slots=True)
class ExecCommand:
    """A program that prints credentials."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """How one API server is reached, and as whom. PEM texts are bytes; what is not set is empty.

    token_file is read again when the server no longer accepts what it held. location names the file and context for
    messages.
    """

    server: str
    namespace: str = DEFAULT_NAMESPACE
    location: str = ""
    ca: bytes = b""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    token: str = ""
    token_file: Path | None = None
    username: str = ""
    password: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""
    exec: ExecCommand | None = None


def load_access(
    file: str | Path | None = None,
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """Return how to reach the API server of a context, the current one if none is named; raises SchedlabError.

    Without a file: those of KUBECONFIG, then ~/.kube/config, then the service account of the pod this runs in.
    """
    files = [Path(file).expanduser()] if file is not None else _files(environment)
    present = [path for path in files if path.is_file()]
    if not present:
        if file is None and (service_account / "token").is_file():
            return _in_cluster(environment, service_account)
        raise SchedlabError(
            "no kubeconfig was found",
            location=", ".join(map(str, files)),
            hint="name one with --kubeconfig, or set KUBECONFIG",
        )
    return _Merged(present).access(context)


def _files(environment: Mapping[str, str]) -> list[Path]:
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part).expanduser() for part in named] or [
        Path(environment.get("HOME", "~")).expanduser() / ".kube/config"
    ]


def _in_cluster(environment: Mapping[str, str], folder: Path) -> Access:
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise SchedlabError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
            location=str(folder),
            hint="name a kubeconfig with --kubeconfig",
        )
    bracketed = f"[{host}]" if ":" in host else host
    namespace, ca = folder / "namespace", folder / "ca.crt"
    return Access(
        server=f"https://{bracketed}:{port}",
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else DEFAULT_NAMESPACE,
        location=str(folder),
        ca=ca.read_bytes() if ca.is_file() else b"",
        token_file=folder / "token",
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named cluster, user or context, and the file that it comes from."""

    value: Mapping[str, Any]
    file: Path
    location: str

    def text(self, key: str) -> str:
        value = self.value.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise SchedlabError(f"{key} is {_kind(value)}, not text", location=self.location, hint="mend the file")
        return value

    def path(self, key: str) -> Path | None:
        text = self.text(key)
        return self.file.parent / Path(text).expanduser() if text else None

    def pem(self, key: str) -> bytes:
        """Return what `KEY-data` holds, or the file that `KEY` names."""
        data = self.text(f"{key}-data")
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except binascii.Error as error:
                raise SchedlabError(
                    f"{key}-data is not base64: {error}", location=self.location, hint="write the file anew"
                ) from error
        path = self.path(key)
        if path is None:
            return b""
        try:
            return path.read_bytes()
        except OSError as error:
            raise SchedlabError(
                f"{key} {path} cannot be read: {error.strerror}", location=self.location, hint="mend the path"
            ) from error


class _Merged:
    """Several kubeconfig files as one."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._sections: dict[str, dict[str, _Entry]] = {section: {} for section in _SECTIONS}
        self._current = ""
        self._location = ", ".join(map(str, files))
        for file in files:
            self._add(file)

    def _add(self, file: Path) -> None:
        document = _read(file)
        for section, key in _SECTIONS.items():
            for number, entry in enumerate(_entries(document, section, file)):
                name, value = entry.get("name"), entry.get(key) or {}
                place = f"{file}: {section}[{number}]"
                if not isinstance(name, str) or not isinstance(value, dict):
                    raise SchedlabError(f"has no name or no {key}", location=place, hint="mend the file")
                self._sections[section].setdefault(name, _Entry(value, file, f"{file}: {key} {name}"))
        current = document.get("current-context")
        if isinstance(current, str) and not self._current:
            self._current = current

    def access(self, context: str) -> Access:
        name = context or self._current
        if not name:
            raise SchedlabError(
                "no current-context is set",
                location=self._location,
                hint=f"name a context with --context; there are: {_listing(self._sections['contexts'])}",
            )
        chosen = self._find("contexts", name, self._location)
        cluster = self._find("clusters", chosen.text("cluster"), chosen.location)
        user_name = chosen.text("user")
        user = (
            self._find("users", user_name, chosen.location) if user_name else _Entry({}, chosen.file, chosen.location)
        )
        server = cluster.text("server")
        if not server.startswith(("http://", "https://")):
            raise SchedlabError(
                f"server is {server!r}", location=cluster.location, hint="it begins with https:// (or http://)"
            )
        return Access(
            server=server.rstrip("/"),
            namespace=chosen.text("namespace") or DEFAULT_NAMESPACE,
            location=chosen.location,
            ca=cluster.pem("certificate-authority"),
            insecure_skip_tls_verify=cluster.value.get("insecure-skip-tls-verify") is True,
            tls_server_name=cluster.text("tls-server-name"),
            proxy_url=cluster.text("proxy-url"),
            token=user.text("token"),
            token_file=user.path("tokenFile"),
            username=user.text("username"),
            password=user.text("password"),
            client_certificate=user.pem("client-certificate"),
            client_key=user.pem("client-key"),
            exec=_exec(user),
        )

    def _find(self, section: str, name: str, location: str) -> _Entry:
        found = self._sections[section].get(name)
        if found is None:
            kind = _SECTIONS[section]
            raise SchedlabError(
                f"there is no {kind} {name!r}",
                location=location,
                hint=f"{section} are: {_listing(self._sections[section])}",
            )
        return found


def _exec(user: _Entry) -> ExecCommand | None:
    value = user.value.get("exec")
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("command"), str):
        raise SchedlabError("exec has no command", location=user.location, hint="mend the file")
    version = value.get("apiVersion")
    if version not in _EXEC_VERSIONS:
        raise SchedlabError(
            f"exec speaks {version}", location=user.location, hint=f"apiVersion is one of: {', '.join(_EXEC_VERSIONS)}"
        )
    command = value["command"]
    # A command with a slash is relative to the file, one without is looked for in PATH.
    if "/" in command:
        command = str(user.file.parent / Path(command).expanduser())
    env = {str(one["name"]): str(one["value"]) for one in value.get("env") or ()}
    args = tuple(str(one) for one in value.get("args") or ())
    return ExecCommand(command, version, args, env, str(value.get("installHint") or ""))


def _read(file: Path) -> Mapping[str, Any]:
    document = read_document(file, "name a readable file with --kubeconfig", strict=False)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SchedlabError(f"holds {_kind(document)}", location=str(file), hint="the file must be a kubeconfig")
    return document


def _entries(document: Mapping[str, Any], section: str, file: Path) -> Iterable[Mapping[str, Any]]:
    entries = document.get(section) or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SchedlabError(f"{section} is not a list of objects", location=str(file), hint="mend the file")
    return entries


def _listing(entries: Iterable[str]) -> str:
    return ", ".join(entries) or "none"


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "true or false"}.get(type(value), "a number")
