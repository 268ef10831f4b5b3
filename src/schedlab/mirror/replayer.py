"""Playing a record into a cluster: as fast as it goes, or in the time in which it happened, faster or slower.

           start()            pause()
    ready ────────> playing <────────> paused ; the last event ends it
                       seek(n): go on at event n

Works on any clock: under the virtual one a day passes in as long as its work takes.

Mirrors: simulator/replayer of kube-scheduler-simulator
Differs: the times of the record count unless it is told otherwise; odd events are counted and do not end it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from schedlab.kernel.clock import Clock, Timer
from schedlab.mirror.applier import Applied, Applier
from schedlab.mirror.recording import RecordedEvent

State: TypeAlias = Literal["ready", "playing", "paused", "ended"]

#: Events that are applied in one go before others get a turn.
_SLICE: Final = 20


class Replayer:
    """speed: seconds of the record per second of the clock; 0 is as fast as it goes. on_end is called at the end."""

    def __init__(
        self,
        events: Sequence[RecordedEvent],
        applier: Applier,
        clock: Clock,
        *,
        speed: float = 0,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.state: State = "ready"
        #: Number of the event that comes next.
        self.position = 0
        self.speed = speed
        self._events, self._applier, self._clock, self._on_end = events, applier, clock, on_end
        self._timer: Timer | None = None
        #: A moment of the clock, and the moment of the record that is played then.
        self._began = (0, 0)

    @property
    def length(self) -> int:
        """How many events there are."""
        return len(self._events)

    @property
    def applied(self) -> Applied:
        """What was done so far."""
        return self._applier.applied

    def start(self) -> None:
        """Begin, or go on after a pause."""
        if self.state in ("ready", "paused"):
            self.state = "playing"
            self._go_on()

    def pause(self) -> None:
        """Stand still."""
        if self.state == "playing":
            self.state = "paused"
            self._cancel()

    def seek(self, position: int) -> None:
        """Go on with the event of that number; what lies between is not applied, forwards or backwards."""
        self._cancel()
        self.position = max(0, min(position, len(self._events)))
        if self.state == "ended":
            self.state = "paused"
        if self.state == "playing":
            self._go_on()

    def change_speed(self, speed: float) -> None:
        """Go on at another speed from the moment of the record that is reached."""
        before, self.speed = self.speed, speed
        if self.state != "playing" or self.position == len(self._events):
            return
        now_ns, next_ns = self._clock.now_ns(), self._events[self.position].at_ns
        began_ns, recorded_ns = self._began
        reached_ns = recorded_ns + int((now_ns - began_ns) * before) if before else next_ns
        self._cancel()
        self._began = now_ns, min(reached_ns, next_ns)
        self._timer = self._clock.at(now_ns, self._play)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go_on(self) -> None:
        if self.position < len(self._events):
            self._began = self._clock.now_ns(), self._events[self.position].at_ns
        self._timer = self._clock.at(self._clock.now_ns(), self._play)

    def _play(self) -> None:
        self._timer = None
        for _ in range(_SLICE):
            if self.position == len(self._events):
                self.state = "ended"
                self._on_end()
                return
            due_ns = self._due_ns(self._events[self.position])
            if due_ns > self._clock.now_ns():
                self._timer = self._clock.at(due_ns, self._play)
                return
            event = self._events[self.position]
            self.position += 1
            self._applier.apply(event.event, event.resource, event.object)
        self._timer = self._clock.at(self._clock.now_ns(), self._play)

    def _due_ns(self, event: RecordedEvent) -> int:
        if not self.speed:
            return 0
        began_ns, recorded_ns = self._began
        return began_ns + int((event.at_ns - recorded_ns) / self.speed)
