"""A scheduling cycle that is taken back: what would come of a pod if it were next, on the scheduler of a fork.

The cycle is the real one, from pre_filter to permit; nothing is bound, no victim is evicted, and no pod but the one that
was asked about hears of it. `answer` speaks for HTTP extenders, which are asked to filter, prioritise and look at victims,
never to bind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.failure import note_failure
from schedlab.scheduler.framework.interface import ExtenderAnswer
from schedlab.scheduler.framework.record import CUSTOM_RESULTS
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.scheduler.schedule_one import CLEAR_NOMINATION, Answers, Assignment, Attempt, Cycle, Failure, Requests

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState, Work
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.runtime.diagnosis import FitError
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.scheduler import Scheduler

#: Speaks for extenders.
Answerer = Callable[[Requests], Answers]

NOT_CALLED: Final = "extenders are not called on a fork"


def refuse(requests: Requests) -> Answers:
    """Answer for extenders as if none could be reached."""
    return tuple(ExtenderAnswer(error=NOT_CALLED) for _ in requests)


class _Rehearsal(Attempt):
    """An attempt that leaves no trace in queue, batch and outbox."""

    def __init__(
        self, scheduler: Scheduler, framework: Framework, queued: QueuedPodInfo, *, makes_room: bool, hint: str
    ) -> None:
        super().__init__(scheduler, framework, queued)
        self._makes_room = makes_room
        self._hint = hint

    def _by_routine(self) -> Assignment | None:
        """Look at everything: there may be a hint."""
        return None

    def _find_hint(self) -> Status | None:
        if self.record is not None:
            self.record.node_hint = self._hint
        return None

    def _store_batch(self, chosen: str, others: object) -> None:
        pass

    def _post_filter(self, fit: FitError) -> Cycle:
        if not self._makes_room:
            return Failure(Status(Code.UNSCHEDULABLE), CLEAR_NOMINATION, fit)
        return (yield from super()._post_filter(fit))

    def _begin_work(self, plugin: object, work: Work) -> None:
        pass


def rehearse(
    scheduler: Scheduler,
    pod: PodInfo,
    *,
    makes_room: bool = False,
    answer: Answerer = refuse,
    hint: str = "",
    attempt: int = 1,
) -> CycleRecord:
    """Return what would come of the pod; `makes_room` lets post_filter plugins look for victims.

    `scheduler` must be that of a fork, with an observer, at rest; it is as before afterwards. The lister of pods must
    know the pod as it is given, or preemption is tried for what that knows. `hint` is a node that is tried first.
    """
    framework = scheduler.profiles[pod.pod.spec.scheduler_name]
    queued = QueuedPodInfo(pod, scheduler.clock.now_ns(), attempts=attempt)
    start, nominated = scheduler.next_start_node_index, scheduler.queue.nominator.all()
    cycle = _Rehearsal(scheduler, framework, queued, makes_room=makes_room, hint=hint)
    outcome = _run(cycle.run(), answer)
    record = cycle.record
    assert record is not None, "the scheduler of a fork needs an observer"
    record.work_out()
    record.custom = dict(cycle.state.find(CUSTOM_RESULTS) or {})
    if isinstance(outcome, Assignment):
        _take_back(scheduler, framework, cycle.state, outcome)
    else:
        note_failure(record, outcome)
    scheduler.outbox.drain()
    scheduler.next_start_node_index = start
    if nominated != scheduler.queue.nominator.all():
        scheduler.queue.nominator.restore(nominated)
    return record


def _run(steps: Cycle, answer: Answerer) -> Assignment | Failure:
    answers: Answers | None = None
    while True:
        try:
            requests = next(steps) if answers is None else steps.send(answers)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the generator's type says it returns
        answers = answer(requests)


def _take_back(scheduler: Scheduler, framework: Framework, state: CycleState, assignment: Assignment) -> None:
    done = scheduler.unreserve_and_forget(framework, state, assignment.pod, assignment.node)
    assert done, f"{assignment.pod.key} could not be taken back from {assignment.node}"
