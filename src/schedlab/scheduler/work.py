"""Carries out what plugins and cycles cannot do themselves: writes, waiting for events, requests to extenders.

    start -> writes out -> all answered -> resume -> None or a status: done
               ^                             |
               |        new work             |  the same work: wait for an event or the deadline, then resume again
               +-----------------------------+

Mirrors: nothing; upstream's plugins block in goroutines of their own (ADR 0004).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from schedlab.client.effects import CallOutcome, Effect, WriteEffect
from schedlab.client.protocol import Outcome, Write
from schedlab.scheduler.extender import call_effect, read_answer
from schedlab.scheduler.framework.interface import ExtenderAnswer, ExtenderRequest, Work
from schedlab.scheduler.framework.status import Status
from schedlab.scheduler.runtime.errors import as_status, failure_of

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock, Timer
    from schedlab.scheduler.framework.events import EventResource
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.types import PodInfo


_NO_WORK: Final = Work()


class Token(msgspec.Struct, frozen=True):
    """Who waits for an outcome. What is `in_cycle` goes on at once, all else waits for the end of a running cycle."""

    done: Callable[[object], None]
    in_cycle: bool = False


class Outbox:
    """Effects on their way out; whoever waits for an outcome is called when it comes.

    `between_cycles` runs a callback now, or after the scheduling cycle that is under way.
    """

    def __init__(self, clock: Clock, between_cycles: Callable[[Callable[[], None]], None]) -> None:
        self.clock = clock
        self.between_cycles = between_cycles
        self._effects: list[Effect] = []
        #: In the order in which they began to wait.
        self._waiting: dict[Job, None] = {}

    def __bool__(self) -> bool:
        return bool(self._effects)

    def send(self, effect: Effect) -> None:
        """Hand an effect to the driver."""
        self._effects.append(effect)

    def drain(self) -> Sequence[Effect]:
        """Return the effects since the last time, in order."""
        effects, self._effects = self._effects, []
        return effects

    def write(self, write: Write, done: Callable[[object], None] | None = None) -> None:
        """Submit a write."""
        self.send(WriteEffect(None if done is None else Token(done), write))

    def complete(self, effect: Effect, outcome: object) -> None:
        """Tell whoever waits."""
        token = effect.token
        if token is None:
            return
        if token.in_cycle:
            token.done(outcome)
        else:
            self.between_cycles(partial(token.done, outcome))

    def ask(
        self,
        requests: Sequence[ExtenderRequest],
        done: Callable[[tuple[ExtenderAnswer, ...]], None],
        *,
        in_cycle: bool = False,
    ) -> None:
        """Send requests to extenders together; `done` gets the answers in the order of the requests."""
        answers: list[ExtenderAnswer | None] = [None] * len(requests)

        def answered(index: int, outcome: object) -> None:
            assert isinstance(outcome, CallOutcome)
            answers[index] = read_answer(requests[index], outcome)
            if None not in answers:
                done(tuple(answer for answer in answers if answer is not None))

        for index, request in enumerate(requests):
            self.send(call_effect(request, Token(partial(answered, index), in_cycle)))

    def listen(self, job: Job) -> None:
        """Let a job hear of events."""
        self._waiting[job] = None

    def forget(self, job: Job) -> None:
        """Let it hear no more."""
        self._waiting.pop(job, None)

    def abandon(self) -> None:
        """Let no job wait any longer, and send nothing of what is left."""
        for job in tuple(self._waiting):
            job.cancel()
        self._effects.clear()

    def happened(self, resource: EventResource) -> None:
        """Wake the jobs that wait for events of a resource."""
        if self._waiting:
            for job in tuple(self._waiting):
                self.between_cycles(partial(job.happened, resource))


class Job:
    """A plugin's work until it is done; `done` gets its last status, None being success."""

    def __init__(
        self,
        outbox: Outbox,
        plugin: Any,
        state: CycleState,
        pod: PodInfo,
        node_name: str,
        done: Callable[[Status | None], None],
    ) -> None:
        self._outbox = outbox
        self._plugin = plugin
        self._state, self._pod, self._node_name = state, pod, node_name
        self._done = done
        self._work = _NO_WORK
        self._outcomes: list[Outcome | None] = []
        #: How many writes are still to be answered.
        self._missing = 0
        self._timer: Timer | None = None
        self._over = False
        #: What the plugin raised when it was asked to go on; the work is over then.
        self.raised: Exception | None = None

    def start(self, work: Work) -> None:
        """Carry out work from its beginning."""
        self._stop_waiting()
        self._work = work
        self._missing = len(work.writes)
        self._outcomes = [None] * self._missing
        for index, write in enumerate(work.writes):
            self._outbox.write(write, partial(self._answered, self._outcomes, index))
        if not work.writes:
            if work.wait_for or work.deadline_ns is not None:
                self._wait()
            else:
                self._resume()

    def cancel(self) -> None:
        """Forget the work; outcomes that still come are ignored."""
        self._over = True
        self._stop_waiting()

    def happened(self, resource: EventResource) -> None:
        """An event of the resource was seen."""
        if not self._over and resource in self._work.wait_for:
            self._resume()

    def _answered(self, outcomes: list[Outcome | None], index: int, outcome: object) -> None:
        """Take the answer to a write; those of work that was replaced meanwhile count no more."""
        assert isinstance(outcome, Outcome)
        outcomes[index] = outcome
        if outcomes is self._outcomes:
            self._missing -= 1
            if not self._missing:
                self._resume()

    def _resume(self) -> None:
        if self._over:
            return
        outcomes = [outcome for outcome in self._outcomes if outcome is not None]
        try:
            result = self._plugin.resume(self._state, self._pod, self._node_name, self._work, outcomes)
            result = result if isinstance(result, Work) else as_status(result)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; it fails the pod, not the scheduler
            result = failure_of(error)
            self.raised = error
        if isinstance(result, Work):
            if result is self._work:
                self._wait()
            else:
                self.start(result)
            return
        self.cancel()
        self._done(result)

    def _wait(self) -> None:
        self._outbox.listen(self)
        if self._work.deadline_ns is not None and self._timer is None:
            outbox = self._outbox
            self._timer = outbox.clock.at(self._work.deadline_ns, lambda: outbox.between_cycles(self._resume))

    def _stop_waiting(self) -> None:
        self._outbox.forget(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
