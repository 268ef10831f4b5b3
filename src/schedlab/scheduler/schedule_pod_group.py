"""One scheduling cycle of a whole group: its pods are tried one after the other, then all of it is decided at once.

    for each pod: choose a node -> assume -> reserve -> permit       the next pod sees it there
    take all of them back
    permit let one go:  assume, reserve and permit once more, and bind           else: each pod fails with the group

Mirrors: pkg/scheduler/schedule_one_podgroup.go (v1.36).
Differs: the pods are assumed in the cache itself, which nothing else reads meanwhile; no placements, and no preemption
for the group as a whole (their gates are refused); cycles of groups take and give no hints of OpportunisticBatching.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write
from schedlab.scheduler.failure import REASON_ERROR, REASON_UNSCHEDULABLE
from schedlab.scheduler.framework.interface import NominatingInfo
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.runtime.errors import error_text
from schedlab.scheduler.schedule_one import CLEAR_NOMINATION, Answers, Assignment, Attempt, Failure, Outcome, Requests

if TYPE_CHECKING:
    from schedlab.api.views.scheduling import PodGroup
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.scheduler import Scheduler

POD_GROUPS: Final = "podgroups.scheduling.k8s.io"
#: The condition of a group, and its reason where all is well.
SCHEDULED_CONDITION: Final = "PodGroupScheduled"
_SCHEDULED: Final = "Scheduled"
_UNSCHEDULABLE: Final = "pod group is unschedulable"
_WAITS_FOR_PREEMPTION: Final = "pod group is waiting for preemption to complete"


@dataclass(slots=True)
class _Tried:
    """What came of one pod: where it was assumed (also where victims must go first), or why it was not."""

    attempt: Attempt
    assignment: Assignment | None
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a group: None is success. `waits`: it fits once the victims of preemption are gone."""

    status: Status | None
    waits: bool = False


GroupCycle = Generator[Requests, Answers, Verdict]


def pop_group(scheduler: Scheduler, first: QueuedPodInfo, group: str) -> list[QueuedPodInfo]:
    """Return the pods of a group that wait, with the one that was popped: the most important, then the oldest first."""
    others = (scheduler.queue.pop_specific(pod) for pod in scheduler.pod_groups.unscheduled(group))
    members = [first, *(queued for queued in others if queued is not None)]
    return sorted(members, key=lambda queued: (-queued.pod.priority, queued.initial_attempt_ns or 0))


def framework_of(scheduler: Scheduler, members: Sequence[QueuedPodInfo]) -> Framework | str:
    """Return the profile of all pods of a group, or what is wrong."""
    first, *others = (queued.pod.pod.spec.scheduler_name for queued in members)
    for other in others:
        if other != first:
            return (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                f"got: {quote(other)} and {quote(first)}"
            )
    return scheduler.profiles[first]


class PodGroupAttempt:
    """The scheduling cycle of the pods of one group that wait: `run`, then `decide` with what came of it."""

    def __init__(self, scheduler: Scheduler, framework: Framework, members: Sequence[QueuedPodInfo]) -> None:
        self._scheduler, self._framework = scheduler, framework
        self._attempts = [Attempt(scheduler, framework, queued) for queued in members]
        self._tried: list[_Tried] = []

    def run(self) -> GroupCycle:
        """Try all pods, and leave no trace of it."""
        nominated = self._scheduler.queue.nominator.all()
        verdict = yield from self._try_all()
        for each in reversed(self._tried):
            if each.assignment is not None:
                self._take_back(each)
        if nominated:
            self._scheduler.queue.nominator.restore(nominated)
        return verdict

    def decide(self, verdict: Verdict) -> Iterator[tuple[Attempt, Outcome]]:
        """Yield what becomes of each pod; an assignment is to be bound before the next pod is asked for."""
        for attempt, tried in zip_longest(self._attempts, self._tried):
            attempt.state.in_pod_group_cycle = False
            yield attempt, _not_tried(attempt, verdict) if tried is None else self._decide(tried, verdict)

    # --- Trying ---

    def _try_all(self) -> GroupCycle:
        verdict = Verdict(Status(Code.UNSCHEDULABLE, (), "", _UNSCHEDULABLE))
        needs_room = False
        for attempt in self._attempts:
            each = yield from self._try(attempt)
            self._tried.append(each)
            if each.assignment is None:
                assert each.failure is not None
                if each.failure.status.rejected:
                    continue
                text = f"failed to schedule other pod from a pod group: {error_text(each.failure.status)}"
                return Verdict(Status(Code.ERROR, (), "", text))
            needs_room = needs_room or each.failure is not None
            if each.assignment.held is None:
                # Nothing holds this pod back any more, so the group can go as far as it was found a place.
                waiting = Status(Code.UNSCHEDULABLE, (_WAITS_FOR_PREEMPTION,), "", _UNSCHEDULABLE)
                verdict = Verdict(waiting, waits=True) if needs_room else Verdict(None)
        return verdict

    def _try(self, attempt: Attempt) -> Generator[Requests, Answers, _Tried]:
        attempt.state.in_pod_group_cycle = True
        outcome = yield from attempt.decide()
        failure = None
        if isinstance(outcome, Failure):
            nominating = outcome.nominating
            if nominating is None or not nominating.override or not nominating.nominated_node_name:
                return _Tried(attempt, None, outcome)
            # The pods after it have to see it where it will be.
            failure, outcome = outcome, Assignment(attempt.pod, nominating.nominated_node_name, 0, 0)
        assumed = attempt.assume(outcome)
        if isinstance(assumed, Failure):
            return _Tried(attempt, None, assumed)
        return _Tried(attempt, assumed, failure)

    def _take_back(self, tried: _Tried) -> None:
        assignment = tried.assignment
        assert assignment is not None
        self._scheduler.unreserve_and_forget(self._framework, tried.attempt.state, assignment.pod, assignment.node)
        record = tried.attempt.record
        if record is not None:
            record.selected = ""

    # --- Deciding ---

    def _decide(self, tried: _Tried, verdict: Verdict) -> Outcome:
        attempt, group = tried.attempt, verdict.status
        if group is not None and not group.rejected:
            own = tried.failure
            return own if own is not None and not own.status.rejected else Failure(group)
        if tried.assignment is None:
            assert tried.failure is not None
            return tried.failure
        if tried.failure is not None and verdict.waits:
            return tried.failure
        node = tried.assignment.node
        if group is None and tried.failure is None:
            return attempt.assume(Assignment(attempt.pod, node, tried.assignment.evaluated, tried.assignment.feasible))
        if verdict.waits:
            assert group is not None
            return Failure(group, NominatingInfo(node, override=True))
        held = tried.assignment.held
        reasons = () if held is None else held.reasons
        return Failure(Status(Code.UNSCHEDULABLE, reasons, "", _UNSCHEDULABLE), CLEAR_NOMINATION)


def _not_tried(attempt: Attempt, verdict: Verdict) -> Failure:
    """Return the failure of a pod whose turn did not come: one before it met an error."""
    assert verdict.status is not None
    attempt.begin()
    return Failure(verdict.status)


def condition_write(group: PodGroup, verdict: Verdict, now_ns: int) -> Write | None:
    """Return the patch of the group's condition; None when it says so already, or has been scheduled before."""
    status = verdict.status
    if status is None:
        value, reason, message = "True", _SCHEDULED, ""
    elif status.rejected:
        value, reason, message = "False", REASON_UNSCHEDULABLE, status.message
    else:
        value, reason, message = "False", REASON_ERROR, error_text(status)
    known = next((each for each in group.status.conditions if each.type == SCHEDULED_CONDITION), None)
    if known is not None and known.status == "True" and value != "True":
        return None
    generation = group.metadata.generation
    if known is not None and (known.status, known.reason, known.message, known.observed_generation) == (
        value,
        reason,
        message,
        generation,
    ):
        return None
    since = format_time(now_ns) if known is None or known.status != value else known.last_transition_time
    condition = {
        "type": SCHEDULED_CONDITION,
        "status": value,
        "observedGeneration": generation,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    meta = group.metadata
    body = {"status": {"conditions": [condition]}}
    return Write("patch", POD_GROUPS, meta.namespace, meta.name, body, "status", "strategic")
