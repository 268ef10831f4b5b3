"""What keeps the store's changes, and how it says that they are safe.

A back end is handed every change in revision order. It may answer at once or gather changes and answer for many of
them together; until it does, no watcher and no client hears of them.
"""

from __future__ import annotations

from typing import Protocol

from schedlab.api.object import WatchEvent


class DurabilityListener(Protocol):
    """The store, as a back end sees it."""

    def durable(self, revision: int) -> None:
        """Every change up to this revision is safe."""

    def failed(self, error: Exception) -> None:
        """No change that was not yet reported safe will ever be; all of them are taken back."""


class Backend(Protocol):
    """Keeps changes. One store writes to it."""

    def attach(self, listener: DurabilityListener) -> None:
        """Report to this listener from now on."""

    def append(self, event: WatchEvent) -> None:
        """Keep one change; revisions arrive without gaps.

        The object of a DELETED event is what the key held last. May report durability before it returns.
        """


class MemoryBackend:
    """Keeps nothing: a change is as safe as the process."""

    def attach(self, listener: DurabilityListener) -> None:
        """Report to this listener from now on."""
        self._listener = listener

    def append(self, event: WatchEvent) -> None:
        """Report the change as safe."""
        self._listener.durable(event.revision)
