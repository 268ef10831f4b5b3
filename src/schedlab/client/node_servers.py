"""What an API server asks of the kubelets of nodes, in process: logs of containers, and their read-only paths.

Mirrors: the kubelet's server, pkg/kubelet/server/server.go (v1.36). Differs: no connection is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from schedlab.api.object import StoredObject


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a container has written, and when."""

    time_ns: int
    text: str


class LogSource(Protocol):
    """Knows what containers have written: a simulated kubelet, or whatever runs in a container."""

    def lines(self, pod: StoredObject, container: str, *, previous: bool) -> Sequence[LogLine]:
        """Return all lines of a container, or of the run before; raises StatusError when there is no such log."""

    def is_open(self, pod: StoredObject, container: str) -> bool:
        """Whether the container may write more."""


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What the kubelet of a node answers."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"


class NodeServer(Protocol):
    """The read-only paths of the servers of kubelets."""

    def answer(self, node: str, path: str) -> NodeAnswer:
        """Answer a GET at a path of a node's kubelet; raises StatusError when it does not answer at all."""
