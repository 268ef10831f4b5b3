"""A controller as a part of the cluster: keys come in, `sync` looks at one and says what is to be written.

`sync` is a generator. It yields writes and is sent their outcomes, so that it reads like a procedure, yet it never
blocks: while it waits it is an object in this part's hands, and other keys go on.

    def sync(self, key):
        created = yield from ask(Write("create", …))       raises StatusError when it is refused

A sync that raises StatusError or SyncError is tried again with growing delays.

Mirrors: the worker loops of pkg/controller/* (v1.36).
Differs: nothing is resynchronised periodically.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, TypeVar

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.resources import ResourceType
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.event_recorder import EventRecorder, EventStamps, Sent
from schedlab.client.informers import Informer, Informers
from schedlab.client.protocol import Outcome, Write
from schedlab.client.resource_metrics import ResourceMetrics
from schedlab.controllers.framework.work_queue import WorkQueue
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import RandomSource

T = TypeVar("T")
#: A procedure that asks for writes, is told their outcomes, and returns something in the end.
Asking: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], T]
Steps: TypeAlias = Asking[None]


class SyncError(Exception):
    """A sync that cannot go on and should be tried again later."""


def _never(_asked: object) -> bool:
    """Say that the kubelet of a node has to renew its lease, and that nobody else is in charge of an object."""
    return False


@dataclass(frozen=True)
class ControllerContext:
    """What every controller is made with.

    resources: the served types. root_ca: the PEM text of the API's CA. is_beating: whether the kubelet of a node lives
    without telling of it by its lease. metrics: who knows what pods use, if anybody does. is_staged: whether a Stage of the
    user is in charge of an object, so that simulated drivers leave it alone.
    """

    informers: Informers
    clock: Clock
    random: RandomSource
    features: FeatureGates
    resources: Sequence[ResourceType]
    root_ca: str = ""
    is_beating: Callable[[str], bool] = _never
    metrics: ResourceMetrics | None = None
    is_staged: Callable[[StoredObject], bool] = _never
    stamps: EventStamps = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamps", EventStamps(self.clock))

    def lister(self, resource: str) -> Informer:
        """Return the cache of a resource."""
        return self.informers.lister(resource)


def ask(write: Write) -> Asking[StoredObject]:
    """Carry one write out; raises StatusError. A deletion that is answered by a Status gives the object of before."""
    outcome = yield from attempt(write)
    if outcome.error is not None:
        raise outcome.error
    assert outcome.object is not None, f"{write.verb} of {write.resource} {write.name} has no object in its answer"
    return outcome.object


def attempt(write: Write) -> Asking[Outcome]:
    """Carry one write out and return what came of it."""
    (outcome,) = yield (write,)
    return outcome


@dataclass(eq=False)
class _Task:
    """One key on its way through `sync`."""

    key: str
    steps: Steps
    outcomes: list[Outcome | None] = field(default_factory=list)
    missing: int = 0


class Controller:
    """Base of the controllers (client.effects.Part)."""

    #: As kube-controller-manager's --controllers names it.
    name: ClassVar[str] = ""
    #: How many keys may be worked on at the same time.
    workers: ClassVar[int] = 5
    #: How often a key that fails is tried again before it is left alone; None is for ever.
    retries_max: ClassVar[int | None] = None

    def __init__(self, context: ControllerContext, component: str = "") -> None:
        self.context = context
        self.clock = context.clock
        self.queue = WorkQueue(context.clock)
        self.events = EventRecorder(component or f"{self.name}", context.clock, context.stamps)
        self._busy = 0

    def sync(self, key: str) -> Steps:
        """Bring what the key stands for one step nearer to what is wanted."""
        raise NotImplementedError

    def on_failure(self, key: str, error: StatusError | SyncError) -> None:  # noqa: ARG002 - for those who care
        """Try again later, or give up after `retries_max`; kinds that know better override this."""
        if self.retries_max is not None and self.queue.failures(key) >= self.retries_max:
            self.queue.forget(key)
        else:
            self.queue.add_rate_limited(key)

    # --- Part --------------------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Whether a key waits and a worker is free."""
        return bool(self.queue) and self._busy < self.workers

    def step(self) -> Sequence[Effect]:
        """Begin with the key that has waited longest."""
        key = self.queue.take()
        task = _Task(key, self.sync(key))
        self._busy += 1
        steps = task.steps
        return self._advance(task, lambda: next(steps))

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Go on with the sync that waits for this outcome, once it has all it asked for."""
        assert isinstance(outcome, Outcome)
        if isinstance(effect.token, Sent):
            self.events.answered(effect.token, outcome)
            return self._events()
        task, index = effect.token
        assert isinstance(task, _Task)
        task.outcomes[index] = outcome
        task.missing -= 1
        if task.missing:
            return ()
        outcomes = [each for each in task.outcomes if each is not None]
        return self._advance(task, lambda: task.steps.send(outcomes))

    def _advance(self, task: _Task, go_on: Callable[[], Sequence[Write]]) -> Sequence[Effect]:
        effects: list[Effect] = []
        try:
            writes = go_on()
            while not writes:
                writes = task.steps.send(())
        except StopIteration:
            self.queue.forget(task.key)
            self._finish(task)
        except (StatusError, SyncError) as error:
            self.on_failure(task.key, error)
            self._finish(task)
        else:
            task.outcomes = [None] * len(writes)
            task.missing = len(writes)
            effects = [WriteEffect((task, index), write) for index, write in enumerate(writes)]
        return [*effects, *self._events()]

    def _finish(self, task: _Task) -> None:
        self._busy -= 1
        self.queue.done(task.key)

    def _events(self) -> list[Effect]:
        return [WriteEffect(sent, write) for sent, write in self.events.drain()]


def split_key(key: str) -> tuple[str, str]:
    """Return namespace and name of an object's key."""
    namespace, _, name = key.rpartition("/")
    return namespace, name
