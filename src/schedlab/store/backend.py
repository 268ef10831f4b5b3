"""What keeps the store's changes, and how it says that they are safe.

A back end is handed every change in revision order. It may answer at once or gather changes and answer for many of
them together; until it does, no watcher and no client hears of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from schedlab.api.object import StoredObject, WatchEvent


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects at one revision, and the newest changes that led there: without gaps, oldest first."""

    revision: int
    objects: Sequence[StoredObject]
    changes: Sequence[WatchEvent] = ()


class DurabilityListener(Protocol):
    """The store, as a back end sees it."""

    def durable(self, revision: int) -> None:
        """Every change up to this revision is safe."""

    def failed(self, error: Exception) -> None:
        """No change that was not yet reported safe will ever be; all of them are taken back.

        Their revisions are given again. Never called while a change is appended.
        """


class Backend(Protocol):
    """Keeps changes. One store writes to it."""

    def load(self) -> Snapshot | None:
        """Return what is kept; None when nothing is."""

    def attach(self, listener: DurabilityListener) -> None:
        """Report to this listener from now on."""

    def append(self, event: WatchEvent) -> None:
        """Keep one change; revisions arrive without gaps.

        The object of a DELETED event is what the key held last. May report durability before it returns.
        """

    def compact(self, floor: int) -> None:
        """Drop what is only needed for the state at revisions before `floor`; may take its time."""


class MemoryBackend:
    """Keeps nothing: a change is as safe as the process."""

    def load(self) -> Snapshot | None:
        """Begin with nothing."""
        return None

    def attach(self, listener: DurabilityListener) -> None:
        """Report to this listener from now on."""
        self._listener = listener

    def append(self, event: WatchEvent) -> None:
        """Report the change as safe."""
        self._listener.durable(event.object.revision)

    def compact(self, floor: int) -> None:
        """Nothing is kept that could be dropped."""
