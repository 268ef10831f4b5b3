"""The changes of the newest revisions, in order: what watches replay and the past is rebuilt from.

Every revision is one change, so a change is found by subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from schedlab.api.object import WatchEvent

#: How far behind the newest change a replaced version loses its decoded forms.
_FORGET_LAG: Final = 1024


class EventLog:
    """Changes after revision `floor`, without gaps."""

    __slots__ = ("_events", "floor", "revision")

    def __init__(self, floor: int) -> None:
        #: The newest revision that is no longer here.
        self.floor = floor
        #: The newest revision: a number of its own, because every write asks for it many times.
        self.revision = floor
        self._events: list[WatchEvent] = []

    def append(self, event: WatchEvent) -> None:
        revision = event.object.revision
        assert revision == self.revision + 1, f"revision {revision} does not follow {self.revision}"
        self.revision = revision
        events = self._events
        events.append(event)
        if len(events) > _FORGET_LAG:
            replaced = events[-_FORGET_LAG].previous
            if replaced is not None:
                replaced.forget()

    def trim(self, floor: int) -> None:
        """Drop the changes up to `floor`."""
        if floor > self.floor:
            del self._events[: floor - self.floor]
            self.floor = floor

    def after(self, revision: int, upto: int | None = None) -> Iterator[WatchEvent]:
        """Walk over the changes after `revision`, up to one revision."""
        assert revision >= self.floor, f"changes after {revision} are asked for, those up to {self.floor} are gone"
        end = len(self._events) if upto is None else upto - self.floor
        return islice(self._events, revision - self.floor, max(end, 0))

    def at(self, revision: int) -> WatchEvent:
        return self._events[revision - self.floor - 1]

    def cut(self, revision: int) -> list[WatchEvent]:
        """Take out the changes after `revision` and return them, newest first."""
        taken = self._events[revision - self.floor :]
        del self._events[revision - self.floor :]
        self.revision = self.floor + len(self._events)
        taken.reverse()
        return taken

    def copy(self) -> EventLog:
        made = EventLog(self.floor)
        made._events, made.revision = self._events[:], self.revision
        return made
