"""Several observers of one scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, Observer, QueueMove


class Observers:
    """Tells each of its observers, in order. None of them may change a record; the decision log, which does, goes last."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def add(self, observer: Observer) -> None:
        """Tell one more, before the others."""
        self._observers = (observer, *self._observers)

    def cycle(self, record: CycleRecord) -> None:
        """A scheduling cycle ended."""
        for observer in self._observers:
            observer.cycle(record)

    def binding(self, record: BindingRecord) -> None:
        """A binding cycle ended."""
        for observer in self._observers:
            observer.binding(record)

    def queue_move(self, move: QueueMove) -> None:
        """A pod moved in the queue."""
        for observer in self._observers:
            observer.queue_move(move)
