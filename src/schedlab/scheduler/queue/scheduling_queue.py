"""The scheduling queue: which pod is tried next, and where the others wait.

                  add, update                                           pop
    (new) -----------------------------> active ----------------------------------> in flight
      |                                  ^  ^  ^                                     |  |  |
      | pre_enqueue turns it down        |  |  | backoff over, or popped when        |  |  | bound, gone
      v          event, backoff over     |  |  | nothing is active (no errors)       |  |  v
    gated  ------------------------------+  |  +-------------- backoff <-------------+  (out)
                                            |                    ^      error, or an    |
                    event, backoff over     |  event, still      |      event came     |
                 unschedulable -------------+  backing off       |      meanwhile      |
                    |  ^-----------------------------------------|----------------------+ turned down
                    +--------------------------------------------+

Gated pods are those of the unschedulable ones that a pre_enqueue plugin keeps out. Every pod the queue is responsible
for is in exactly one of these places.

Mirrors: pkg/scheduler/backend/queue/{scheduling_queue,active_queue}.go (v1.36).
Differs: queueing hints are always on, as their gate is locked; writing our own result annotations is no update;
pre_enqueue plugins are asked in the order of the profile; `pop` returns None instead of waiting; pods of a group wait
their backoff out, where upstream may try a group again at once when nothing else is there to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from schedlab.api.views.core import Pod
from schedlab.scheduler.framework.record import QueueMove
from schedlab.scheduler.framework.status import is_success
from schedlab.scheduler.queue import cluster_events
from schedlab.scheduler.queue.backoff_queue import Backoff, BackoffQueue
from schedlab.scheduler.queue.cluster_events import event_label, event_matches, is_wildcard
from schedlab.scheduler.queue.environment import Place, Position, QueueContents, QueueEnvironment, QueueProfile
from schedlab.scheduler.queue.flusher import Flusher
from schedlab.scheduler.queue.heap import Heap
from schedlab.scheduler.queue.hints import HintAnswer, RequeueVerdict, Strategy, ask_hints
from schedlab.scheduler.queue.in_flight import InFlight
from schedlab.scheduler.queue.nominator import PodNominator
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.scheduler.queue.unschedulable_pods import Group, UnschedulablePods
from schedlab.scheduler.runtime.errors import as_status, failure_of

if TYPE_CHECKING:
    from schedlab.scheduler.framework.events import ClusterEvent
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.metrics import Recorder

#: Says of a waiting pod whether an event concerns it at all.
PreCheck = Callable[["PodInfo"], bool]


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why a pod moves: a reason in upstream's words, and the event and answers behind it."""

    reason: str
    event: ClusterEvent | None = None
    answers: tuple[HintAnswer, ...] = ()

    @classmethod
    def of(cls, event: ClusterEvent, answers: tuple[HintAnswer, ...] = ()) -> _Cause:
        return cls(event_label(event), event, answers)

    def hints(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return the answers as an observer gets them."""
        label = event_label(self.event) if self.event is not None else ""
        return tuple((label, answer.plugin, answer.hint, answer.error) for answer in self.answers)


_ADDED: Final = _Cause.of(cluster_events.UNSCHEDULED_POD_ADD)
_UPDATED: Final = _Cause.of(cluster_events.UNSCHEDULED_POD_UPDATE)
_ACTIVATED: Final = _Cause(cluster_events.FORCE_ACTIVATE)
_POPPED: Final = _Cause("Pop")
_POPPED_EARLY: Final = _Cause(cluster_events.POP_FROM_BACKOFF)
_DELETED: Final = _Cause("Delete")
# Where pods come to, in the words of upstream's metric.
_QUEUE_LABELS: Final[Mapping[Place, str]] = {
    "active": "active",
    "backoff": "backoff",
    "errorBackoff": "backoff",
    "unschedulable": "unschedulable",
    "gated": "unschedulable",
}
_BACKOFF_COMPLETE: Final = _Cause(cluster_events.BACKOFF_COMPLETE)


class SchedulingQueue:
    """All pods that wait to be scheduled; see the drawing above.

    `on_verdict`, when set, hears what came of every event for every waiting pod; then all hints are asked, also those
    that cannot change the outcome.
    """

    def __init__(self, environment: QueueEnvironment) -> None:
        self._env = environment
        self._clock = environment.clock
        features, settings = environment.features, environment.settings
        self._pops_backoff = features.enabled("SchedulerPopFromBackoffQ")
        self._groups_pods = features.enabled("GenericWorkload")
        self._backoff = Backoff(settings.initial_backoff_ns, settings.max_backoff_ns, whole_windows=self._pops_backoff)
        self._active = Heap(environment.sort_key)
        self._backing_off = BackoffQueue(self._backoff, environment.sort_key, by_priority=self._pops_backoff)
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlight()
        self.nominator = PodNominator(self._find_pod, environment.pods)
        self.on_verdict: Callable[[RequeueVerdict], None] | None = None
        self._started_ns: int | None = None
        self._flusher: Flusher | None = None
        # Whether pods may wait for an event or the end of their backoff.
        self._any_waits = True
        # Whether what there is to flush may be other than when timers were set.
        self._waits_changed = True

    # --- Pods come, change and go ---

    def add(self, pod: PodInfo) -> None:
        """Take in a new pod."""
        self._to_active(self._queued(pod), _ADDED)
        self._settle()

    def _queued(self, pod: PodInfo) -> QueuedPodInfo:
        groups = self._groups_pods and pod.pod.spec.scheduling_group is not None
        return QueuedPodInfo(pod, self._clock.now_ns(), goes_with_group=groups)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Take over a pod's new state, and let it go on if that may help it."""
        harmless = cluster_events.only_results_written(old, new)
        events = () if harmless else cluster_events.pod_changes(old, new, self._env.features)
        if new.uid in self._in_flight:
            # Asked about should the pod come back; the scheduler puts it back in its newest state.
            for event in events:
                self._in_flight.add_event(event, old.pod, new.pod)
            return
        for heap in (self._active, self._backing_off):
            queued = heap.get(new.key)
            if queued is not None:
                queued.pod = new
                heap.put(queued)
                self.nominator.update(old, new)
                return
        queued = self._unschedulable.get(new.key)
        if queued is not None:
            queued.pod = new
            self.nominator.update(old, new)
            self._retry_updated(queued, events, old)
        elif not harmless:
            self._to_active(self._queued(new), _UPDATED)
        self._settle()

    def _retry_updated(self, queued: QueuedPodInfo, events: tuple[ClusterEvent, ...], old: PodInfo) -> None:
        for event in events:
            strategy, answers = self._worth_requeuing(queued, event, old.pod, queued.pod.pod)
            if self._requeue(queued, strategy, _Cause.of(event, answers)):
                return

    def delete(self, pod: PodInfo) -> None:
        """Forget a pod; one in flight stays so until it is done."""
        self.nominator.delete(pod)
        queued = self._active.delete(pod.key) or self._take_from_waiting(pod.key)
        if queued is not None:
            self._tell(queued, "gone", _DELETED)
        self._settle()

    # --- Attempts ---

    def has_ready(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(self._active) or (self._pops_backoff and self._backing_off.has_rejected())

    def pop(self) -> QueuedPodInfo | None:
        """Take out the pod to be tried next, or return None; it is in flight until `done` or `add_unschedulable`."""
        while True:
            queued, cause = self._active.pop(), _POPPED
            if queued is None and self._pops_backoff:
                queued, cause = self._backing_off.pop_rejected(), _POPPED_EARLY
                self._waits_changed = self._waits_changed or queued is not None
            if queued is None:
                self._settle()
                return None
            if self._take_off(queued, cause):
                return queued

    def pop_specific(self, pod: PodInfo) -> QueuedPodInfo | None:
        """Take out a given pod as if it were next; None when it is not here or gated."""
        self._activate(pod)
        queued = self._active.delete(pod.key)
        if queued is not None and self._take_off(queued, _POPPED):
            return queued
        self._settle()
        return None

    def _take_off(self, queued: QueuedPodInfo, cause: _Cause) -> bool:
        queued.attempts += 1
        if queued.pod.uid in self._in_flight:
            # It came a second time while its first attempt goes on, whose outcome decides.
            self._tell(queued, "gone", cause)
            return False
        self._in_flight.add_pod(queued.pod)
        if self._any_waits and self._unschedulable.gated_count:
            # Gated pods alone are flushed only while others are in flight.
            self._waits_changed = True
        self._tell(queued, "inFlight", cause)
        self._settle()
        return True

    def add_unschedulable(self, queued: QueuedPodInfo) -> bool:
        """Put a pod back after an attempt that failed (see `set_rejectors`); False when it is here already.

        The pod is retried for what happened since it was popped, else waits for an event.
        """
        key = queued.key
        known = key in self._active or key in self._backing_off or key in self._unschedulable
        if not known:
            if queued.rejectors:
                queued.unschedulable_count += 1
                queued.consecutive_errors_count = 0
            else:
                queued.consecutive_errors_count += 1
            queued.timestamp_ns = self._clock.now_ns()
            queued.backoff_expiration_ns = None
            queued.was_flushed = False
            queued.skipped = None
            strategy, cause = self._judge_attempt(queued)
            self._requeue(queued, strategy, cause)
        self.done(queued.pod.uid)
        return not known

    def _judge_attempt(self, queued: QueuedPodInfo) -> tuple[Strategy, _Cause]:
        """Say what the events since the pod was popped mean for it."""
        failed = _Cause(cluster_events.SCHEDULE_ATTEMPT_FAILURE)
        events = self._in_flight.events_for(queued.pod.uid)
        if not queued.rejectors or queued.goes_with_group or events is None:
            return Strategy.AFTER_BACKOFF, failed
        best, cause = Strategy.SKIP, failed
        for event, old, new in events:
            strategy, answers = self._worth_requeuing(queued, event, old, new)
            if strategy is Strategy.SKIP:
                continue
            best, cause = strategy, _Cause(failed.reason, event, answers)
            if strategy is Strategy.IMMEDIATELY or not queued.pending_plugins:
                break
        return best, cause

    def done(self, uid: str) -> None:
        """End an attempt: the pod is bound, on its way there, or gone; harmless when it is not in flight."""
        self._in_flight.done(uid)
        self._settle()

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move waiting pods to the active queue at once; pods in flight will be retried if they come back."""
        for pod in pods:
            if not self._activate(pod) and pod.uid in self._in_flight:
                self._in_flight.add_event(cluster_events.FORCE_ACTIVATE_EVENT, None, pod.pod)
        self._settle()

    def _activate(self, pod: PodInfo) -> bool:
        queued = self._unschedulable.get(pod.key)
        if queued is not None:
            return self._to_active(queued, _ACTIVATED)
        queued = self._take_from_waiting(pod.key)
        return queued is not None and self._to_active(queued, _ACTIVATED, from_backoff=True)

    # --- Events ---

    def move_all(self, event: ClusterEvent, old: object, new: object, pre_check: PreCheck | None = None) -> None:
        """Let every waiting pod go on that an event may help; `old` and `new` are typed views, None when absent."""
        if not (self._any_waits or self._in_flight) or not self._is_of_interest(event):
            return
        concerned = [group for group in self._unschedulable.groups() if self._concerns(group, event)]
        if concerned:
            members = self._unschedulable.members(concerned)
            self._move([queued for queued in members if pre_check is None or pre_check(queued.pod)], event, old, new)
        self._in_flight.add_event(event, old, new)

    def _move(self, pods: Iterable[QueuedPodInfo], event: ClusterEvent, old: object, new: object) -> None:
        for queued in pods:
            strategy, answers = self._worth_requeuing(queued, event, old, new)
            if strategy is not Strategy.SKIP:
                self._take_from_waiting(queued.key)
                self._requeue(queued, strategy, _Cause.of(event, answers))
        self._settle()

    def _is_of_interest(self, event: ClusterEvent) -> bool:
        for profile in self._env.profiles.values():
            if profile.hints.matching(event):
                return True
        return is_wildcard(event)

    def _concerns(self, group: Group, event: ClusterEvent) -> bool:
        """Whether an event can move the pods of a group, or must be accounted for."""
        if group.gating_plugin and not self._interests_gate(group.gating_plugin, event):
            return False
        if self.on_verdict is not None or is_wildcard(event):
            return True
        return bool(self._env.profiles[group.profile].hints.concerning(event, group.rejectors))

    def _interests_gate(self, plugin: str, event: ClusterEvent) -> bool:
        registered = chain.from_iterable(p.hints.registered_by(plugin) for p in self._env.profiles.values())
        return any(event_matches(wanted, event) for wanted in registered)

    def _worth_requeuing(
        self, queued: QueuedPodInfo, event: ClusterEvent, old: object, new: object
    ) -> tuple[Strategy, tuple[HintAnswer, ...]]:
        """Ask the plugins that turned the pod down whether the event may help."""
        answers: tuple[HintAnswer, ...] = ()
        if is_wildcard(event):
            meant = new is None or (isinstance(new, Pod) and new.metadata.uid == queued.pod.uid)
            strategy = Strategy.AFTER_BACKOFF if meant else Strategy.SKIP
        else:
            hints = self._profile(queued).hints.concerning(event, queued.rejectors)
            started_ns = self._clock.now_ns()
            strategy, answers = ask_hints(hints, queued, old, new, exhaustive=self.on_verdict is not None)
            if self._env.metrics is not None:
                self._count_hints(self._env.metrics, event, answers, self._clock.now_ns() - started_ns)
        if self.on_verdict is not None:
            self.on_verdict(RequeueVerdict(queued.pod, event, strategy, answers))
        if answers and strategy is Strategy.SKIP and self._env.observer is not None:
            queued.note_skipped(event_label(event), self._clock.now_ns(), answers)
        return strategy, answers

    def _count_hints(
        self, metrics: Recorder, event: ClusterEvent, answers: tuple[HintAnswer, ...], elapsed_ns: int
    ) -> None:
        for answer in answers:
            hint = "Error" if answer.error else answer.hint
            metrics.hint(answer.plugin, event_label(event), hint, elapsed_ns / len(answers))

    # --- Moves ---

    def _requeue(self, queued: QueuedPodInfo, strategy: Strategy, cause: _Cause) -> bool:
        """Put a pod where the strategy sends it; False when it ends up unschedulable."""
        if strategy is Strategy.SKIP:
            if self._unschedulable.get(queued.key) is not queued:
                self.keep(queued)
                self._tell(queued, "gated" if queued.gated else "unschedulable", cause)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued, self._clock.now_ns()):
            return self._to_backoff(queued, cause)
        return self._to_active(queued, cause)

    def _to_active(self, queued: QueuedPodInfo, cause: _Cause, *, from_backoff: bool = False) -> bool:
        """Make a pod active unless a pre_enqueue plugin gates it; those were asked on the way to backoff already."""
        if not (from_backoff and self._pops_backoff):
            self._run_pre_enqueue(queued, cause)
        if queued.gating_plugin:
            if queued.key not in self._active and queued.key not in self._backing_off:
                self.keep(queued)
            return False
        if queued.initial_attempt_ns is None:
            queued.initial_attempt_ns = self._clock.now_ns()
        if self._any_waits:
            self._take_from_waiting(queued.key)
        self._active.put(queued)
        self._tell(queued, "active", cause)
        if cause.event in (_ADDED.event, _UPDATED.event):
            self.nominator.add(queued.pod, None)
        return True

    def _to_backoff(self, queued: QueuedPodInfo, cause: _Cause) -> bool:
        # A pod may be popped from there, so that its gates count here already.
        if self._pops_backoff:
            self._run_pre_enqueue(queued, cause)
            if queued.gated:
                self.keep(queued)
                return False
        self._take_from_waiting(queued.key)
        self._backing_off.put(queued)
        self._any_waits = self._waits_changed = True
        self._tell(queued, "backoff" if queued.rejectors else "errorBackoff", cause)
        return True

    def _run_pre_enqueue(self, queued: QueuedPodInfo, cause: _Cause) -> None:
        metrics = self._env.metrics
        if metrics is None:
            self._ask_pre_enqueue(queued, cause)
            return
        started_ns = self._clock.now_ns()
        self._ask_pre_enqueue(queued, cause)
        # Upstream counts a gated pod as a success here, too.
        profile = queued.pod.pod.spec.scheduler_name
        metrics.point("PreEnqueue", "Success", profile, self._clock.now_ns() - started_ns)

    def _ask_pre_enqueue(self, queued: QueuedPodInfo, cause: _Cause) -> None:
        """Ask the pre_enqueue plugins, the gating one first, until one turns the pod down."""
        plugins = self._profile(queued).pre_enqueue
        gating = queued.gating_plugin
        for plugin in sorted(plugins, key=lambda plugin: plugin.name != gating) if gating else plugins:
            try:
                status = plugin.pre_enqueue(queued.pod)
                if status is None:
                    continue
                status = as_status(status)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the pod is gated and told
                status = failure_of(error)
                self._env.plugin_failed(queued.pod, plugin.name, status)
            if not is_success(status):
                assert status is not None
                queued.unschedulable_plugins |= {plugin.name}
                queued.gating_plugin = plugin.name
                self._tell(queued, "gated", cause, (plugin.name, status.message))
                return
        queued.gating_plugin = ""

    def _profile(self, queued: QueuedPodInfo) -> QueueProfile:
        return self._env.profiles[queued.pod.pod.spec.scheduler_name]

    def _tell(self, queued: QueuedPodInfo, place: Place, cause: _Cause, gate: tuple[str, str] | None = None) -> None:
        if self._env.metrics is not None:
            self._count_move(self._env.metrics, queued, place, cause.reason)
        if self._env.observer is None:
            return
        hints = cause.hints() if cause.answers else ()
        now_ns = self._clock.now_ns()
        self._env.observer.queue_move(QueueMove(queued.pod, now_ns, place, cause.reason, cause.event, hints, gate))

    def _count_move(self, metrics: Recorder, queued: QueuedPodInfo, place: Place, reason: str) -> None:
        queue = _QUEUE_LABELS.get(place, "")
        if reason == cluster_events.POP_FROM_BACKOFF:
            queue = "active"
        if queue and not (place == "gated" and self._unschedulable.get(queued.key) is queued):
            metrics.incoming(queue, reason)

    # --- Time passes ---

    def start(self) -> None:
        """Flush from now on when the time comes; without, the flushes are up to the caller."""
        if self._started_ns is None:
            self._started_ns = self._clock.now_ns()
        self._flusher = Flusher(
            self._clock,
            self._started_ns,
            self.flush_backoff_completed,
            self.flush_unschedulable_leftover,
            aligned=self._pops_backoff,
        )
        self._waits_changed = True
        self._settle()

    def stop(self) -> None:
        """Leave no timer behind."""
        if self._flusher is not None:
            self._flusher.stop()
            self._flusher = None

    def flush_backoff_completed(self) -> None:
        """Make the pods active whose backoff is over."""
        for queued in self._backing_off.pop_completed(self._clock.now_ns()):
            self._to_active(queued, _BACKOFF_COMPLETE, from_backoff=True)
        self._waits_changed = True
        self._settle()

    def flush_unschedulable_leftover(self) -> None:
        """Give another try to pods that have waited for an event for too long."""
        leftover = self._unschedulable.older_than(self._clock.now_ns() - self._env.settings.max_in_unschedulable_ns)
        for queued in leftover:
            queued.was_flushed = True
        if leftover:
            event = cluster_events.TIMEOUT_EVENT
            free = [q for q in leftover if not q.gated or self._interests_gate(q.gating_plugin, event)]
            self._move(free, event, None, None)
            self._in_flight.add_event(event, None, None)
        self._waits_changed = True
        self._settle()

    def _settle(self) -> None:
        """Set timers for what there is to flush now."""
        if self._waits_changed and self._flusher is not None:
            self._waits_changed = False
            self._set_timers(self._flusher)

    def _set_timers(self, flusher: Flusher) -> None:
        flusher.backoff.want(self._backing_off.next_expiration_ns())
        oldest_ns = self._unschedulable.oldest_ns
        if oldest_ns is None:
            flusher.leftover.stop()
        # Gated pods are not flushed; all that can be seen of their turn is that pods in flight hear of it.
        elif len(self._unschedulable) > self._unschedulable.gated_count or self._in_flight:
            flusher.leftover.want(oldest_ns + self._env.settings.max_in_unschedulable_ns)
        self._any_waits = bool(self._backing_off or self._unschedulable)

    def _take_from_waiting(self, key: str) -> QueuedPodInfo | None:
        """Take out a pod that waits for an event or the end of its backoff; None when there is none of that key."""
        queued = self._unschedulable.delete(key) or self._backing_off.delete(key)
        self._waits_changed = self._waits_changed or queued is not None
        return queued

    def keep(self, queued: QueuedPodInfo) -> None:
        """Take in a pod as one that waits for an event, whatever gates say: what made it wait is known elsewhere."""
        self._unschedulable.put(queued)
        self._any_waits = self._waits_changed = True

    # --- Looking inside ---

    def waiting(self) -> Iterator[QueuedPodInfo]:
        """Yield the pods that are not in flight."""
        yield from chain(self._active, self._backing_off, self._unschedulable)

    def events_in_flight(self) -> Mapping[str, int]:
        """Return how many events are kept for pods in flight, by their labels."""
        return self._in_flight.count_events()

    def find(self, key: str) -> QueuedPodInfo | None:
        """Return the pod of that namespace/name, unless it is in flight or unknown."""
        return self._active.get(key) or self._unschedulable.get(key) or self._backing_off.get(key)

    def position(self, key: str) -> Position | None:
        """Return where a pod waits and until when at most, None when it does not; pods in flight are not waiting."""
        queued = self.find(key)
        if queued is None:
            return None
        if key in self._active:
            return Position(queued, "active", 0, 0)
        if key in self._backing_off:
            return Position(queued, "backoff" if queued.rejectors else "errorBackoff", self._backoff_end(queued), 0)
        if queued.gated:
            return Position(queued, "gated", 0, 0)
        flush_ns = queued.timestamp_ns + self._env.settings.max_in_unschedulable_ns
        return Position(queued, "unschedulable", self._backoff_end(queued), flush_ns)

    def _backoff_end(self, queued: QueuedPodInfo) -> int:
        # Asked of a copy: the answer is kept in the pod, and looking must change nothing.
        return self._backoff.expiration_ns(queued.copy())

    def wakers(self, queued: QueuedPodInfo) -> tuple[tuple[str, tuple[ClusterEvent, ...]], ...]:
        """Return the plugins that keep a pod waiting, and the events they want to hear of."""
        plugins = sorted({*queued.rejectors, *([queued.gating_plugin] if queued.gated else ())})
        hints = self._profile(queued).hints
        return tuple((plugin, hints.registered_by(plugin)) for plugin in plugins)

    def _find_pod(self, key: str) -> PodInfo | None:
        queued = self.find(key)
        return queued.pod if queued is not None else None

    def in_flight(self) -> tuple[PodInfo, ...]:
        """Return the pods that were popped and are not done, oldest first."""
        return tuple(self._in_flight)

    def contents(self) -> QueueContents:
        """Return who is where."""
        waiting = list(self._unschedulable)
        return QueueContents(
            active=_keys(self._active),
            backoff=_keys(self._backing_off),
            error_backoff=_keys(self._backing_off.errors()),
            unschedulable=_keys(queued for queued in waiting if not queued.gated),
            gated=_keys(queued for queued in waiting if queued.gated),
            in_flight=tuple(sorted(pod.key for pod in self._in_flight)),
        )

    def copy(self, environment: QueueEnvironment) -> SchedulingQueue:
        """Return an independent copy for a fork; its flushes keep their rhythm once it is started."""
        other = SchedulingQueue(environment)
        other._active = self._active.copy(environment.sort_key)
        other._backing_off = self._backing_off.copy(other._backoff, environment.sort_key)
        other._unschedulable = self._unschedulable.copy()
        other._in_flight = self._in_flight.copy()
        other.nominator = self.nominator.copy(other._find_pod, environment.pods)
        other._started_ns = self._started_ns
        return other

    def validate(self) -> None:
        """Assert that every pod is in exactly one place, and that each place is sound."""
        for place in (self._active, self._backing_off, self._unschedulable, self._in_flight, self.nominator):
            place.validate()
        assert self._any_waits or not (self._backing_off or self._unschedulable), "pods wait unseen"
        queued = [*self._active, *self._backing_off, *self._unschedulable]
        keys = sorted(each.key for each in queued)
        assert len(set(keys)) == len(keys), f"a pod is in two places: {keys}"
        assert not any(each.pod.uid in self._in_flight for each in queued), f"a pod in flight waits too: {keys}"
        assert not any(each.gated for each in self._active), "a gated pod is active"
        assert not (self._pops_backoff and any(each.gated for each in self._backing_off)), "a gated pod may be popped"


def _keys(pods: Iterable[QueuedPodInfo]) -> tuple[str, ...]:
    return tuple(sorted(queued.key for queued in pods))
