"""Drives the parts of a cluster: steps them, carries out their effects, feeds the outcomes back.

One engine, two drivers on it: the batch driver jumps from timer to timer of a virtual clock, the live driver
(`cluster.live`) takes bounded slices of an event loop. Parts are stepped in a fixed order, one step each per round, so
that runs repeat bit for bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

from schedlab.client.effects import CallEffect, CallOutcome, Effect, Part, ReadEffect, WriteEffect
from schedlab.client.protocol import Client
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.errors import InvariantError


class Caller(Protocol):
    """Carries out calls that leave the cluster."""

    def call(self, effect: CallEffect, part: Part, engine: Engine) -> None:
        """Do the call and hand the outcome to `engine.answer(part, effect, outcome)`, now or later."""


class NoCaller:
    """Refuses calls that leave the cluster, for clusters without a network."""

    def call(self, effect: CallEffect, part: Part, engine: Engine) -> None:
        """Answer at once that nothing can be reached."""
        engine.answer(part, effect, CallOutcome(error=f"Post {effect.url!r}: this cluster makes no network calls"))


def _never() -> bool:
    return False


#: In place of the outcome of an effect that is still to be carried out.
_TO_DO: Final = object()
#: A part with its client, an effect of it, and the outcome that it is to hear.
_Deed: TypeAlias = tuple[Part, Client, Effect, object]


class Engine:
    """Parts with the client each writes through, and what is to be done for them, in order.

    What follows from an outcome is done before the rest of the effects it was among (depth first), as a part's own
    calls would be.
    """

    def __init__(self, caller: Caller | None = None) -> None:
        self._parts: list[tuple[Part, Client]] = []
        # Whether each part is ready, twice in a row, so that a round may begin at any of them.
        self._ready: list[Callable[[], bool]] = []
        self._first: list[tuple[Part, Client]] = []
        # Those of `_first` that are not suspended.
        self._urgent: list[tuple[Part, Client]] = []
        self._suspended: set[int] = set()
        self._caller = caller or NoCaller()
        self._todo: deque[_Deed] = deque()
        # Identities of removed parts, of which deeds may be left.
        self._gone: set[int] = set()
        self._next_part = 0

    @property
    def parts(self) -> Sequence[Part]:
        """The parts, in the order in which they are stepped."""
        return tuple(part for part, _ in self._parts)

    def add(self, part: Part, client: Client, *, first: bool = False) -> None:
        """Drive `part`; its writes go through `client`. With `first` no other part is stepped while this one is ready."""
        self._gone.discard(id(part))
        self._parts.append((part, client))
        if first:
            self._first.append((part, client))
        self._look_anew()

    def suspend(self, parts: Sequence[Part]) -> None:
        """Step none of these until `resume`; what they have asked for already is carried out and answered."""
        self._suspended = {id(part) for part in parts}
        self._look_anew()

    def resume(self) -> None:
        """Step all parts again."""
        self._suspended = set()
        self._look_anew()

    def _look_anew(self) -> None:
        self._ready = 2 * [_never if id(part) in self._suspended else part.ready for part, _ in self._parts]
        self._urgent = [(part, client) for part, client in self._first if id(part) not in self._suspended]

    def remove(self, part: Part) -> None:
        """Step and answer `part` no more, and carry out nothing more for it, as if its process had died."""
        at = next(index for index, (one, _) in enumerate(self._parts) if one is part)
        del self._parts[at]
        self._first = [(one, client) for one, client in self._first if one is not part]
        self._next_part = 0
        self._gone.add(id(part))
        self._look_anew()

    def answer(self, part: Part, effect: Effect, outcome: object) -> None:
        """Hand the outcome of an effect to `part`, as the next thing to do; a part that was removed gets none."""
        for one, client in self._parts:
            if one is part:
                self._todo.appendleft((part, client, effect, outcome))

    def busy(self) -> bool:
        """Whether `step` has something to do now."""
        return bool(self._todo) or any(ready() for ready in self._ready)

    def step(self) -> bool:
        """Carry out one effect, answer it or step the next ready part; False when everything waits.

        What is answered at once is answered in the same step.
        """
        todo = self._todo
        if todo:
            part, client, effect, outcome = todo.popleft()
            if outcome is _TO_DO and id(part) not in self._gone:
                self._carry_out(part, client, effect)
                outcome = todo.popleft()[3] if todo and todo[0][2] is effect else _TO_DO
            if outcome is not _TO_DO and id(part) not in self._gone:
                self._plan(part, client, part.complete(effect, outcome))
            return True
        for part, client in self._urgent:
            if part.ready():
                self._plan(part, client, part.step())
                return True
        count = len(self._parts)
        for index, ready in enumerate(self._ready[self._next_part : self._next_part + count], self._next_part):
            if ready():
                at = index % count
                self._next_part = (at + 1) % count
                part, client = self._parts[at]
                self._plan(part, client, part.step())
                return True
        return False

    def _plan(self, part: Part, client: Client, effects: Sequence[Effect]) -> None:
        for effect in reversed(effects):
            self._todo.appendleft((part, client, effect, _TO_DO))

    def _carry_out(self, part: Part, client: Client, effect: Effect) -> None:
        if isinstance(effect, WriteEffect):
            if effect.token is None:
                client.submit(effect.write)
            else:
                client.submit(effect.write, lambda outcome: self._todo.appendleft((part, client, effect, outcome)))
        elif isinstance(effect, ReadEffect):
            client.read(
                effect.resource,
                effect.name,
                effect.namespace,
                lambda outcome: self._todo.appendleft((part, client, effect, outcome)),
            )
        elif isinstance(effect, CallEffect):
            self._caller.call(effect, part, self)
        else:
            raise InvariantError(f"no driver for effect {type(effect).__name__} of {type(part).__name__}")


class BatchDriver:
    """Runs an engine on a virtual clock: everything that is due now, then on to the next timer."""

    # A cluster that never comes to rest within one instant is a bug of a part; stop instead of spinning for ever.
    STEPS_PER_INSTANT_MAX = 50_000_000

    def __init__(self, engine: Engine, clock: VirtualClock) -> None:
        self.engine = engine
        self.clock = clock

    def settle(self) -> None:
        """Step until nothing is ready at this instant."""
        for _ in range(self.STEPS_PER_INSTANT_MAX):
            if not self.engine.step():
                return
        raise InvariantError(f"parts are still busy after {self.STEPS_PER_INSTANT_MAX} steps at {self.clock.now_ns()}")

    def run_until(self, when_ns: int) -> None:
        """Settle, then move the clock from timer to timer up to `when_ns`, settling at each."""
        self.settle()
        while (due := self.clock.next_ns()) is not None and due <= when_ns:
            self.clock.advance_to(due)
            self.settle()
        self.clock.advance_to(when_ns)

    def run_for(self, duration_ns: int) -> None:
        """Run for a stretch of virtual time."""
        self.run_until(self.clock.now_ns() + duration_ns)
