"""Where a cluster is kept: nowhere, in a folder, or in etcd."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from schedlab.backends import EtcdBackend, EtcdPlace, EtcdTLS, Post, SQLiteBackend, read_servers
from schedlab.kernel.errors import SchedlabError
from schedlab.store import Backend

_SWITCH_S: Final = 0.001


class ClosableBackend(Backend, Protocol):
    """A back end that holds something until it is closed."""

    def close(self) -> None:
        """Make safe what is queued, and let go."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder or an etcd, not both; without one nothing outlives the process."""

    data_dir: Path | None = None
    etcd: EtcdPlace | None = None

    def open(self, post: Post, on_broken: Callable[[Exception], None]) -> ClosableBackend | None:
        """Make the back end; raises SchedlabError when it cannot be used."""
        if self.data_dir is None and self.etcd is None:
            return None
        # The writer's thread asks for the interpreter twice per batch and would wait 5 ms each time.
        sys.setswitchinterval(_SWITCH_S)
        if self.etcd is not None:
            return EtcdBackend(self.etcd, post=post, on_broken=on_broken)
        assert self.data_dir is not None
        return SQLiteBackend(self.data_dir, post=post, on_broken=on_broken)

    def __str__(self) -> str:
        """Name the place, for whoever started the cluster."""
        if self.etcd is not None:
            return f"etcd, {','.join(self.etcd.servers)}"
        return "" if self.data_dir is None else str(self.data_dir)


def etcd_place(servers: str, prefix: str, files: Sequence[Path | None]) -> EtcdPlace:
    """Make a place of texts: URLs, a prefix, and the files of the authority, the certificate and its key."""
    if not prefix.strip("/"):
        raise SchedlabError("a prefix has to have a name", location="--etcd-prefix", hint="give one such as /registry")
    return EtcdPlace(read_servers(servers), prefix, EtcdTLS(*files))
