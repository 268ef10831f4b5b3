"""How long the scheduler takes, in virtual time: what it has decided happens so much later, and only then it goes on.

Mirrors: nothing; a real scheduler takes the time it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from schedlab.client.effects import Effect, Part
    from schedlab.kernel.clock import Clock
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove


class ServiceTime(NamedTuple):
    """Nanoseconds that every cycle takes, and more for each node that it looks at."""

    cycle_ns: int = 0
    node_ns: int = 0

    def of(self, nodes: int) -> int:
        """Return how long a cycle takes that looks at so many nodes."""
        return self.cycle_ns + nodes * self.node_ns


NO_TIME: Final = ServiceTime()


class PacedScheduler:
    """A scheduler as a part of the engine that takes time (client.effects.Part); it observes its cycles.

    A cycle decides on the state at its beginning. Its effects are held back until it is over, and no other cycle begins
    before.
    """

    def __init__(self, scheduler: Part, clock: Clock, time: ServiceTime) -> None:
        self._scheduler, self._clock, self._time = scheduler, clock, time
        self._held: Sequence[Effect] = ()
        self._busy_until_ns = self._cost_ns = 0

    def ready(self) -> bool:
        """See Part."""
        if self._clock.now_ns() < self._busy_until_ns:
            return False
        return bool(self._held) or self._scheduler.ready()

    def step(self) -> Sequence[Effect]:
        """See Part."""
        if self._held:
            effects, self._held = self._held, ()
            return effects
        return self._pace(self._scheduler.step())

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """See Part."""
        return self._pace(self._scheduler.complete(effect, outcome))

    def _pace(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Hold effects back when a cycle ended with them."""
        if not self._cost_ns:
            return effects
        self._busy_until_ns = self._clock.now_ns() + self._cost_ns
        self._cost_ns = 0
        self._clock.at(self._busy_until_ns, lambda: None)
        self._held = (*self._held, *effects)
        return ()

    # --- Observer ---

    def cycle(self, record: CycleRecord) -> None:
        """Note what a cycle costs."""
        self._cost_ns += self._time.of(0 if record.filter is None else len(record.filter.visited))

    def binding(self, record: BindingRecord) -> None:
        """Bindings run beside the cycles."""

    def queue_move(self, move: QueueMove) -> None:
        """Moves take no time."""
