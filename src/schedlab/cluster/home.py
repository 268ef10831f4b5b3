"""Where a named cluster keeps what its users need: certificates, tokens, the kubeconfig, its addresses.

In `$XDG_STATE_HOME/schedlab/NAME`, or `SCHEDLAB_HOME/NAME`:

- `kubeconfig`: for kubectl
- `pki/`: CA and serving certificate of the API server
- `token`: bearer token of the administrator, for both ports
- `cluster.json`: addresses and the process id of the running simulator
- `running`: locked by the running simulator
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.names import check_dns1123_label
from schedlab.apiserver.certificates import write_private
from schedlab.backends import FolderLock
from schedlab.kernel.errors import SchedlabError

_LOCK: Final = "running"


def state_root() -> Path:
    """Return the folder of all clusters of this user."""
    chosen = os.environ.get("SCHEDLAB_HOME")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "schedlab"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one cluster."""

    path: Path

    @classmethod
    def of(cls, name: str) -> Home:
        """Return the folder of the cluster `name`; it need not exist yet."""
        wrong = check_dns1123_label(name)
        if wrong:
            raise SchedlabError(
                f"{name!r} cannot name a cluster: {wrong[0]}", location="--name", hint="choose a name such as lab-1"
            )
        return cls(state_root() / name)

    def prepare(self) -> None:
        """Make the folder, for this user only; raises SchedlabError when it cannot be written."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.path / ".writable"
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise SchedlabError(
                f"the folder cannot be written: {error.strerror}",
                location=str(self.path),
                hint="make it writable, or choose another with SCHEDLAB_HOME=/path/to/folder",
            ) from error

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the running simulator of this name; raises SchedlabError when another process is."""
        hint = "stop it: schedlab down, or start another one beside it: --name NAME"
        lock = FolderLock.take(self.path, _LOCK, hint=hint)
        try:
            yield
        finally:
            lock.release()

    def running_process(self) -> int | None:
        """Return the id of the process that runs under this name, or None."""
        return FolderLock.holder(self.path, _LOCK)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig for kubectl."""
        return self.path / "kubeconfig"

    @property
    def pki(self) -> Path:
        """The folder of certificates and keys."""
        return self.path / "pki"

    def token(self) -> str:
        """Return the administrator's token, made on first use."""
        file = self.path / "token"
        if not file.exists():
            write_private(file, secrets.token_urlsafe(32).encode())
        return file.read_text().strip()

    def write_cluster(self, facts: dict[str, Any]) -> None:
        """Note where the running simulator listens."""
        write_private(self.path / "cluster.json", f"{json.dumps(facts, indent=1)}\n".encode())

    def read_cluster(self) -> dict[str, Any]:
        """Return what `write_cluster` noted; raises SchedlabError when no simulator was started."""
        file = self.path / "cluster.json"
        try:
            facts: dict[str, Any] = json.loads(file.read_text())
        except FileNotFoundError as error:
            raise SchedlabError(
                "no simulator was started under this name",
                location=str(self.path),
                hint=f"start one: {_up(self.path.name)}",
            ) from error
        except (OSError, ValueError) as error:
            raise SchedlabError(
                f"cannot be read: {error}", location=str(file), hint=f"start the simulator again: {_up(self.path.name)}"
            ) from error
        return facts


def _up(name: str) -> str:
    return "schedlab up" if name == "default" else f"schedlab up --name {name}"
