"""Programs that really run: what is in a container is not drawn but works, and says itself how it is.

Mirrors: nothing; upstream's container runtime runs everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod


class Program(Protocol):
    """The program of one container, run after run."""

    @property
    def exit_code(self) -> int | None:
        """How the present run has ended, None while it goes on."""

    @property
    def exited_ns(self) -> int:
        """When it has ended."""

    @property
    def missing(self) -> str:
        """What the kubelet says in place of starting it, "" when it can start."""

    def start(self, now_ns: int) -> None:
        """Begin a run; it may end at once."""

    def stop(self) -> None:
        """End the run from outside; nothing happens when it has ended."""

    def probe(self, handler: Mapping[str, Any]) -> str:
        """Return what is wrong with the answer to a probe, "" when it is well."""


class Programs(Protocol):
    """Knows which containers run a program."""

    def holds(self, pod: Pod) -> bool:
        """Whether a container of the pod runs a program; asked often."""

    def of(self, pod: StoredObject, container: Mapping[str, Any], changed: Callable[[], None]) -> Program | None:
        """Return the program of a container, the same one each time; `changed` is called when its state turns."""

    def gone(self, uid: str) -> None:
        """A pod is gone: nothing of it runs any more."""


class NoPrograms:
    """Nothing really runs."""

    def holds(self, pod: Pod) -> bool:  # noqa: ARG002 - protocol
        return False

    def of(self, pod: StoredObject, container: Mapping[str, Any], changed: Callable[[], None]) -> Program | None:  # noqa: ARG002 - protocol
        return None

    def gone(self, uid: str) -> None:
        """Nobody wants to know."""
