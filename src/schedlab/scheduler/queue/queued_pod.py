"""A pod while the scheduling queue is responsible for it: the pod and the history of its attempts.

Mirrors: QueuedPodInfo in pkg/scheduler/framework/types.go (v1.36).
Differs: the pod's signature is not kept here, it is a matter of the pod alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.queue.hints import HintAnswer


class SkippedEvent(NamedTuple):
    """How often an event was of no help to a pod, when it was so last, and what the plugins answered then."""

    times: int
    last_ns: int
    answers: tuple[HintAnswer, ...]


_NONE: Final[frozenset[str]] = frozenset()


class QueuedPodInfo(msgspec.Struct, eq=False):
    """One pod and its attempts; changes in place, and is in one place of the queue or in flight.

    timestamp_ns: when it (re)entered the queue; the sort key and the backoff count from it.
    initial_attempt_ns: when it first reached the active queue.
    unschedulable_count: attempts that plugins turned down. consecutive_errors_count: errors since the last of those.
    backoff_expiration_ns: kept once computed; None when it has to be computed anew.
    unschedulable_plugins, pending_plugins: who turned the last attempt down. gating_plugin: who gates it, or "".
    was_flushed: it came back because it had waited for too long, not because of an event.
    skipped: the events that did not help since the last attempt, by their texts, when somebody observes.
    goes_with_group: it is tried together with the pods of its group.
    """

    pod: PodInfo
    timestamp_ns: int
    attempts: int = 0
    initial_attempt_ns: int | None = None
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    backoff_expiration_ns: int | None = None
    unschedulable_plugins: frozenset[str] = _NONE
    pending_plugins: frozenset[str] = _NONE
    gating_plugin: str = ""
    was_flushed: bool = False
    skipped: dict[str, SkippedEvent] | None = None
    goes_with_group: bool = False

    @property
    def key(self) -> str:
        """namespace/name: what pods are told apart by in the queue."""
        return self.pod.key

    @property
    def gated(self) -> bool:
        """Whether a pre_enqueue plugin keeps the pod out."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that turned the last attempt down."""
        return self.unschedulable_plugins | self.pending_plugins if self.pending_plugins else self.unschedulable_plugins

    @property
    def may_pop_early(self) -> bool:
        """Whether the pod may be popped before its backoff is over.

        Not after an error; and not with its group, which hears of no events: it would be tried without a pause.
        """
        return bool(self.rejectors) and not self.goes_with_group

    def set_rejectors(self, unschedulable: Iterable[str] = (), pending: Iterable[str] = ()) -> None:
        """Note who turned an attempt down, after its end and before the pod is put back; none means an error."""
        self.unschedulable_plugins, self.pending_plugins = frozenset(unschedulable), frozenset(pending)
        self.gating_plugin = ""

    def note_skipped(self, label: str, now_ns: int, answers: tuple[HintAnswer, ...]) -> None:
        """Note an event that no plugin thought helpful."""
        if self.skipped is None:
            self.skipped = {}
        before = self.skipped.get(label)
        self.skipped[label] = SkippedEvent(1 if before is None else before.times + 1, now_ns, answers)

    def copy(self) -> QueuedPodInfo:
        """Return an independent copy; the pod is shared, it does not change."""
        return msgspec.structs.replace(self, skipped=None if self.skipped is None else dict(self.skipped))
