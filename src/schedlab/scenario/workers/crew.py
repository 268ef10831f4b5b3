"""Workers that make runs side by side, one at a time each; what happens to one leaves the others alone.

    with Crew(LocalEngine(work), workers=2, timeout_s=60) as crew:
        for task, state, result in crew.run(tasks): …

A run that raises, whose worker dies, or that takes too long is `failed` with its reason. What a run comes to depends
neither on the engine nor on the number of workers; only the order in which runs are finished does.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from schedlab.kernel.errors import SchedlabError

State = Literal["finished", "failed"]
#: How a run ended, and what it left; `reason` of a failed one.
Result: TypeAlias = tuple[State, Mapping[str, Any]]
#: Makes a run of a task, in a worker.
Work: TypeAlias = Callable[[Any], Mapping[str, Any]]
W = TypeVar("W", bound="Worker")
T = TypeVar("T")


class WorkerLostError(Exception):
    """A worker is no more; says why."""


class Worker(Protocol):
    """Something that makes one run at a time. It answers once when it has begun to work, and once per task."""

    def send(self, task: Any) -> None:
        """Let it make a run; what a task is, is known to its work."""

    def receive(self) -> Result | None:
        """Return its answer, None for that it works; raises WorkerLostError."""

    def stop(self) -> None:
        """End it at once, whatever it does."""


class Engine(Protocol[W]):
    """Makes workers of one kind, and knows which of them have answered or died."""

    def start(self) -> W: ...

    def wait(self, workers: Sequence[W], timeout_s: float | None) -> Sequence[W]: ...


@dataclass(slots=True)
class _Duty:
    """What a worker does: nothing yet that it was sent, or a task since then."""

    task: Any | None
    since_s: float


def attempt(work: Work, task: Any) -> Result:
    """Make a run; whatever it raises is its reason to have failed."""
    try:
        return "finished", work(task)
    except SchedlabError as error:
        return "failed", {"reason": str(error)}
    except Exception as error:  # noqa: BLE001 - a fault in one run must not end the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return "failed", {"reason": f"{type(error).__name__}: {error} ({place})"}


class Crew(Generic[W]):
    """Workers of one engine, `workers` at most; those that have nothing to do stay until the end of the `with`."""

    def __init__(self, engine: Engine[W], workers: int, timeout_s: float | None = None) -> None:
        self.workers = workers
        self._engine, self._timeout_s = engine, timeout_s
        self._duties: dict[W, _Duty] = {}
        self._idle: list[W] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self._duties, *self._idle):
            worker.stop()

    def run(self, tasks: Iterable[T]) -> Iterator[tuple[T, State, Mapping[str, Any]]]:
        """Yield every task with what became of it, as they are finished; raises SchedlabError when no worker can begin."""
        waiting = deque(tasks)
        while waiting or any(duty.task is not None for duty in self._duties.values()):
            yield from self._step(waiting)

    def _step(self, waiting: deque[T]) -> Iterator[tuple[T, State, Mapping[str, Any]]]:
        """Wait until something happens, and yield the runs that are over."""
        while self._idle and waiting:
            self._give(self._idle.pop(), waiting.popleft())
        starting = sum(duty.task is None for duty in self._duties.values())
        while len(self._duties) + len(self._idle) < self.workers and starting < len(waiting):
            self._duties[self._engine.start()] = _Duty(None, time.monotonic())
            starting += 1
        for worker in self._engine.wait([*self._duties], self._patience_s()):
            duty = self._duties.pop(worker)
            try:
                result = worker.receive()
            except WorkerLostError as error:
                if duty.task is None:
                    raise SchedlabError(f"a worker cannot begin: {error}", hint="see what it printed") from error
                result = "failed", {"reason": str(error)}
            else:
                self._idle.append(worker)
                if waiting:
                    self._give(self._idle.pop(), waiting.popleft())
            if duty.task is not None and result is not None:
                yield duty.task, *result
        yield from self._overdue()

    def _give(self, worker: W, task: Any) -> None:
        worker.send(task)
        self._duties[worker] = _Duty(task, time.monotonic())

    def _patience_s(self) -> float | None:
        """Return for how long nothing is overdue."""
        since = [duty.since_s for duty in self._duties.values() if duty.task is not None]
        if self._timeout_s is None or not since:
            return None
        return max(0.0, min(since) + self._timeout_s - time.monotonic())

    def _overdue(self) -> Iterator[tuple[Any, State, Mapping[str, Any]]]:
        if self._timeout_s is None:
            return
        now_s = time.monotonic()
        for worker, duty in [*self._duties.items()]:
            if duty.task is not None and now_s - duty.since_s >= self._timeout_s:
                worker.stop()
                del self._duties[worker]
                yield duty.task, "failed", {"reason": f"took longer than {self._timeout_s:g}s"}
