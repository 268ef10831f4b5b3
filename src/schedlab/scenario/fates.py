"""What becomes of every pod of a run, kept as it happens: nothing is ever looked through again.

It hears of pods by the informers and of attempts as an observer of the scheduler.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.kernel.clock import SECOND_NS

if TYPE_CHECKING:
    from schedlab.api.object import WatchEvent
    from schedlab.api.views.core import Pod
    from schedlab.kernel.clock import Clock
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove

#: How long a pod runs, in the life of which more is said by other annotations, and in the quick one.
RUN_TIME: Final = "kubelet.schedlab.dev/run-time"
QUICK_RUN_TIME: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
NOT_TRIED: Final = "not tried yet"
GATED: Final = "SchedulingGates"
_OVER: Final = frozenset(("Succeeded", "Failed"))


@dataclass(slots=True)
class Fate:
    """One pod. Times are nanoseconds from the start of the run, -1 for what has not happened.

    `was_there`: it had a node when it was first seen, so it did not wait. ends: it runs for a time only. owner: its controller as KIND/NAME. reason: the
    plugins that turned it down last.
    """

    namespace: str
    name: str
    uid: str
    created_ns: int
    was_there: bool
    ends: bool
    owner: str = ""
    node: str = ""
    phase: str = "Pending"
    scheduled_ns: int = -1
    finished_ns: int = -1
    deleted_ns: int = -1
    attempts: int = 0
    reason: str = NOT_TRIED
    message: str = ""
    preempted_by: str = ""
    is_waiting: bool = False
    is_on_its_way: bool = False

    @property
    def wait_s(self) -> float | None:
        """How long it has waited for its node, None when it got none."""
        if self.scheduled_ns < 0 or self.was_there:
            return None
        return (self.scheduled_ns - self.created_ns) / SECOND_NS

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table, times in seconds."""
        return {
            "namespace": self.namespace,
            "pod": self.name,
            "created_s": _seconds(self.created_ns),
            "scheduled_s": _seconds(self.scheduled_ns),
            "finished_s": _seconds(self.finished_ns),
            "deleted_s": _seconds(self.deleted_ns),
            "wait_s": self.wait_s,
            "node": self.node,
            "phase": self.phase,
            "attempts": self.attempts,
            "reason": self.reason if self.is_waiting else "",
            "message": self.message if self.is_waiting else "",
            "preempted_by": self.preempted_by,
        }


def _seconds(time_ns: int) -> float | None:
    return None if time_ns < 0 else time_ns / SECOND_NS


@dataclass(slots=True)
class Gauge:
    """A number over time: its mean weighted by time and its highest value, exactly."""

    value: int = 0
    highest: int = 0
    _since_ns: int = 0
    _sum: int = 0

    def set(self, value: int, now_ns: int) -> None:
        """Take a value that holds from now on."""
        self._sum += self.value * (now_ns - self._since_ns)
        self._since_ns, self.value = now_ns, value
        self.highest = max(self.highest, value)

    def mean(self, now_ns: int) -> float:
        """Return the mean since time 0."""
        return (self._sum + self.value * (now_ns - self._since_ns)) / now_ns if now_ns else float(self.value)


class Fates:
    """The fates of all pods, by uid. `settled` is called at the end of every instant."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start_ns = clock.now_ns()
        self.all: dict[str, Fate] = {}
        #: Pods that wait for a node, in the order in which they began to.
        self.waiting: dict[str, Fate] = {}
        self.reasons: Counter[str] = Counter()
        self._uid_of: dict[str, str] = {}
        #: Pods that are being deleted, or run for a time only and have not ended.
        self.on_their_way = 0
        self.attempts = self.tried = self.preemptions = self.victims = 0
        self.scheduled = self.running = self.finished = self.failed = self.deleted = 0
        self._pending_gauge, self._running_gauge = Gauge(), Gauge()

    def settled(self) -> None:
        """Take note of how many pods wait and run; what lasts no time does not count."""
        now_ns = self._now_ns()
        self._pending_gauge.set(len(self.waiting), now_ns)
        self._running_gauge.set(self.running, now_ns)

    def gauges(self) -> dict[str, float]:
        """Return means and highest values of the pods that wait and run."""
        now_ns = self._now_ns()
        return {
            "pending_mean": self._pending_gauge.mean(now_ns),
            "pending_max": self._pending_gauge.highest,
            "running_mean": self._running_gauge.mean(now_ns),
            "running_max": self._running_gauge.highest,
        }

    def _now_ns(self) -> int:
        return self._clock.now_ns() - self._start_ns

    # --- Pods --------------------------------------------------------------------------------------------------------

    def pod_changed(self, event: WatchEvent) -> None:
        """Take a change of a pod (client.informers.Handler)."""
        pod: Pod = event.object.view
        fate = self.all.get(pod.metadata.uid)
        if fate is None:
            if event.type == "DELETED":
                return
            fate = self._born(pod)
        was_running = self._is_running(fate)
        if pod.spec.node_name and not fate.node:
            fate.node = pod.spec.node_name
            fate.scheduled_ns = self._now_ns()
            self.scheduled += 1
        if pod.status.phase in _OVER and fate.finished_ns < 0:
            fate.finished_ns = self._now_ns()
            if pod.status.phase == "Succeeded":
                self.finished += 1
            else:
                self.failed += 1
        fate.phase = pod.status.phase or fate.phase
        if event.type == "DELETED" and fate.deleted_ns < 0:
            fate.deleted_ns = self._now_ns()
            self.deleted += fate.finished_ns < 0
        self.running += self._is_running(fate) - was_running
        self._place(fate, pod)

    def _born(self, pod: Pod) -> Fate:
        meta = pod.metadata
        owner = meta.controller()
        is_of_job = owner is not None and owner.kind == "Job"
        ends = is_of_job or RUN_TIME in meta.annotations or QUICK_RUN_TIME in meta.annotations
        named = "" if owner is None else f"{owner.kind}/{owner.name}"
        fate = Fate(meta.namespace, meta.name, meta.uid, self._now_ns(), bool(pod.spec.node_name), ends, named)
        if pod.spec.scheduling_gates:
            fate.reason = GATED
        self.all[meta.uid] = fate
        self._uid_of[f"{meta.namespace}/{meta.name}"] = meta.uid
        return fate

    @staticmethod
    def _is_running(fate: Fate) -> bool:
        return bool(fate.node) and fate.finished_ns < 0 and fate.deleted_ns < 0

    def _place(self, fate: Fate, pod: Pod) -> None:
        """Note whether a pod waits, and whether something will still happen to it by itself."""
        is_over = fate.finished_ns >= 0 or fate.deleted_ns >= 0
        is_leaving = bool(pod.metadata.deletion_timestamp) and fate.deleted_ns < 0
        waits = not fate.node and not is_over and not is_leaving
        if waits != fate.is_waiting:
            fate.is_waiting = waits
            self.reasons[fate.reason] += 1 if waits else -1
            if waits:
                self.waiting[fate.uid] = fate
            else:
                del self.waiting[fate.uid]
        if waits and fate.reason == GATED and not pod.spec.scheduling_gates:
            self._turned_down(fate, NOT_TRIED)
        # A pod without a run time that has just got its node still starts.
        on_its_way = is_leaving or (not is_over and bool(fate.node) and (fate.ends or fate.phase == "Pending"))
        self.on_their_way += on_its_way - fate.is_on_its_way
        fate.is_on_its_way = on_its_way

    def _turned_down(self, fate: Fate, reason: str) -> None:
        if fate.is_waiting:
            self.reasons[fate.reason] -= 1
            self.reasons[reason] += 1
        fate.reason = reason

    # --- Observer ----------------------------------------------------------------------------------------------------

    def cycle(self, record: CycleRecord) -> None:
        """Count an attempt, and note why it failed."""
        self.attempts += 1
        if record.victims:
            self.preemptions += 1
            self.victims += len(record.victims)
        for victim in record.victims:
            uid = self._uid_of.get(victim)
            if uid is not None:
                self.all[uid].preempted_by = record.pod.key
        fate = self.all.get(record.pod.uid)
        if fate is None:
            return
        self.tried += not fate.attempts
        fate.attempts += 1
        if record.result != "scheduled":
            self._turned_down(fate, ", ".join(record.unschedulable_plugins) or record.failure_reason)
            fate.message = record.failure_message

    def binding(self, record: BindingRecord) -> None:
        """Note why a binding failed."""
        fate = self.all.get(record.pod.uid)
        if record.error and fate is not None:
            self._turned_down(fate, ", ".join(record.unschedulable_plugins) or record.failure_reason)
            fate.message = record.error

    def queue_move(self, move: QueueMove) -> None:
        """Moves say nothing that attempts do not."""
