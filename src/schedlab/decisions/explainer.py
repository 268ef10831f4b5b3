"""Answers questions about pods from everything there is: the log, the state of the moment, the queue, the API.

One Explainer serves the REST API, the command line behind it, and Python programs (`Cluster.explainer`). Attempts of
several schedulers may be in the log; each is explained with the plugins, the node table and the queue of the scheduler
that has made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from schedlab.decisions.explain import PodQuestion, UnknownNameError, explaining
from schedlab.decisions.fate import fate
from schedlab.decisions.log import PodStory
from schedlab.decisions.moments import JournalMoments, Moment
from schedlab.decisions.schedulers import OWN, Desk, KnownScheduler, rival_warning, rivals
from schedlab.decisions.untried import why_untried
from schedlab.decisions.waiting import flush_warning, moves, waiting
from schedlab.kernel.steps import Steps, finish

if TYPE_CHECKING:
    from schedlab.decisions.log import Attempt, DecisionLog
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.scheduler import Scheduler

_ELSEWHERE: Final = "schedlab decisions lists the pods and attempts that are recorded; -n names another namespace"


class Explainer:
    """The log and the scheduler whose decisions it holds, with the pods as they are now."""

    def __init__(self, log: DecisionLog, scheduler: Scheduler) -> None:
        self._log = log
        #: All schedulers that are known, this one among them.
        self.known: Callable[[], Sequence[KnownScheduler]] = self._alone
        #: Those of this process that run beside it.
        self.others: Callable[[], Sequence[Desk]] = tuple
        self.follow(scheduler)

    def follow(self, scheduler: Scheduler) -> None:
        """Explain another scheduler from now on, which has taken over from the one before."""
        self._own = Desk("", scheduler, JournalMoments(scheduler))
        self._pods = scheduler.pods

    def _alone(self) -> Sequence[KnownScheduler]:
        return (KnownScheduler(tuple(self._own.scheduler.profiles), OWN, "scheduling"),)

    def explain(self, namespace: str, name: str, question: PodQuestion = PodQuestion()) -> dict[str, Any]:  # noqa: B008 - frozen
        """Do all of `explaining` at once."""
        return finish(self.explaining(namespace, name, question))

    def explaining(self, namespace: str, name: str, question: PodQuestion) -> Steps[dict[str, Any]]:
        """Return an attempt of the newest pod of that name as JSON values, step by step.

        Raises LookupError with what is known instead when there is no such pod, attempt or node.
        """
        story = self._log.story(question.uid) if question.uid else self._log.find(namespace, name)
        if question.uid and (story is None or (story.namespace, story.name) != (namespace, name)):
            message = f"no attempt of a pod {namespace}/{name} with the uid {question.uid} is recorded"
            raise UnknownNameError(message, _ELSEWHERE)
        if story is None or not story.attempts:
            if self._pods.get(name, namespace) is None:
                raise UnknownNameError(self.untried(namespace, name), _ELSEWHERE)
            raise LookupError(self.untried(namespace, name))
        out = yield from explaining(_with_deed_last(story), question, self)
        self.add_present(out, namespace, name)
        return out

    def add_present(self, out: dict[str, Any], namespace: str, name: str) -> None:
        """Add to an explanation what is known beside the attempt: how the pod is now, and what to be wary of."""
        story = self._log.story(out["uid"]) or PodStory(out["uid"], namespace, name)
        pod = self._pods.get(name, namespace)
        out["attempts"] = [attempt.number for attempt in story.attempts]
        out["state"] = fate(story, pod, self._log.preempted_by(namespace, name))
        out["queue"] = self._waiting(f"{namespace}/{name}")
        out["moves"] = moves(story)
        out["warnings"] = self._warnings(story, out["scheduler"])
        out["placedBy"] = None

    def is_foreign(self, namespace: str, name: str) -> bool:
        """Whether a pod is on a node that nothing recorded here has put it on."""
        pod = self._pods.get(name, namespace)
        if pod is None or not pod.spec.node_name:
            return False
        story = self._log.story(pod.metadata.uid)
        return story is None or not any(_placed(attempt, pod.spec.node_name) for attempt in story.attempts)

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Steps[Moment | None]:
        """Return what the scheduler that made an attempt saw then (Moments)."""
        desks = self._desks()
        if attempt.is_restored:
            # Whoever made it is gone with its process; one that has its profile stands in.
            desk = next((desk for desk in desks if cycle.profile in desk.scheduler.profiles), None)
        else:
            desk = next((desk for desk in desks if desk.by == attempt.by), None)
        return None if desk is None else (yield from desk.moments.of(attempt, cycle))

    def _desks(self) -> Sequence[Desk]:
        return (self._own, *self.others())

    def _waiting(self, key: str) -> dict[str, Any] | None:
        """Return how a pod waits in the queue of whoever is responsible for it."""
        clock = self._own.scheduler.clock
        found = (waiting(desk.scheduler.queue, key, clock.now_ns()) for desk in self._desks())
        return next((held for held in found if held is not None), None)

    def _warnings(self, story: PodStory, scheduler_name: str) -> list[str]:
        flush = flush_warning(story)
        places = rivals(self.known()).get(scheduler_name)
        return [*([flush] if flush else []), *([rival_warning(scheduler_name, places)] if places else [])]

    def untried(self, namespace: str, name: str) -> str:
        """Say why no attempt to schedule the pod is recorded."""
        key = f"{namespace}/{name}"
        text = why_untried(key, self._pods.get(name, namespace), self.known())
        held = self._waiting(key)
        if held is not None and held["place"] == "gated" and "gate" not in text:
            text += f"; {held['gatedBy']} keeps it out of the queue"
        return text


def _with_deed_last(story: PodStory) -> PodStory:
    """Return a story whose last attempt is the one that bound the pod: rivals may have tried in vain after it."""
    for at, attempt in enumerate(story.attempts[:-1]):
        if attempt.binding is not None and not attempt.binding.error:
            return replace(story, attempts=[*story.attempts[:at], *story.attempts[at + 1 :], attempt])
    return story


def _placed(attempt: Attempt, node: str) -> bool:
    binding = attempt.binding
    return attempt.head.selected == node and (binding is None or not binding.error)
