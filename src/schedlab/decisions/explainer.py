"""Answers questions about pods from everything there is: the log, the state of the moment, the queue, the API.

One Explainer serves the REST API, the command line behind it, and Python programs (`Cluster.explainer`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from schedlab.decisions.explain import PodQuestion, explain
from schedlab.decisions.fate import fate
from schedlab.decisions.journal import TableJournal
from schedlab.decisions.moments import JournalMoments
from schedlab.decisions.untried import why_untried
from schedlab.decisions.waiting import flush_warning, moves, waiting

if TYPE_CHECKING:
    from schedlab.decisions.log import DecisionLog
    from schedlab.scheduler.scheduler import Scheduler


class Explainer:
    """The log and the scheduler whose decisions it holds, with the pods as they are now."""

    def __init__(self, log: DecisionLog, scheduler: Scheduler) -> None:
        """Begin a journal of the scheduler's node table, which tells moments apart."""
        self._log = log
        #: Names of schedulers that run beside this one.
        self.others: Callable[[], Sequence[str]] = tuple
        self._begin(scheduler)

    def _begin(self, scheduler: Scheduler) -> None:
        journal = self._log.journal = TableJournal.of(scheduler.cache.table)
        self._scheduler = scheduler
        self._pods = scheduler.pods
        self._moments = JournalMoments(scheduler, journal)

    def follow(self, scheduler: Scheduler) -> None:
        """Explain another scheduler from now on; how things were at attempts of the old one can no longer be had."""
        self._log.lose_moments()
        self._begin(scheduler)

    def explain(self, namespace: str, name: str, question: PodQuestion = PodQuestion()) -> dict[str, Any]:  # noqa: B008 - frozen
        """Return an attempt of the newest pod of that name as JSON values.

        Raises LookupError with what is known instead when there is no such pod, attempt or node.
        """
        story = self._log.find(namespace, name)
        if story is None or not story.attempts:
            raise LookupError(self.untried(namespace, name))
        key = f"{namespace}/{name}"
        pod = self._pods.get(name, namespace)
        out = explain(story, question, self._moments)
        out["state"] = fate(story, pod, self._log.preempted_by(namespace, name))
        out["queue"] = waiting(self._scheduler.queue, key, self._scheduler.clock.now_ns())
        out["moves"] = moves(story)
        warning = flush_warning(story)
        out["warnings"] = [warning] if warning else []
        return out

    def untried(self, namespace: str, name: str) -> str:
        """Say why no attempt to schedule the pod is recorded."""
        key = f"{namespace}/{name}"
        text = why_untried(key, self._pods.get(name, namespace), (*self._scheduler.profiles, *self.others()))
        held = waiting(self._scheduler.queue, key, self._scheduler.clock.now_ns())
        if held is not None and held["place"] == "gated" and "gate" not in text:
            text += f"; {held['gatedBy']} keeps it out of the queue"
        return text
