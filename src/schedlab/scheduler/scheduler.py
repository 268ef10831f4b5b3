"""The scheduler: a part that is stepped, takes watch events and returns effects.

    scheduler = Scheduler(config, clock=…, random=…, listers=…, features=…, observer=…, full=False)
    for resource in scheduler.resources(): watch it and pass every event to scheduler.handle(event)
    scheduler.start()
    while scheduler.ready():
        carry(scheduler.step())              # one pod: filtering, scoring, assuming; then its binding begins

    def carry(effects):                      # depth first: what follows from an outcome comes before the rest
        for effect in effects:
            outcome = submit(effect)         # WriteEffect -> Outcome, CallEffect -> CallOutcome; now or later
            carry(scheduler.complete(effect, outcome))

`config` is a `KubeSchedulerConfiguration` with defaults (`config.load(raw, features)`). `listers` must know an object
before `handle` is told of it. `observer` (framework.record.Observer) hears of every cycle, binding and queue move;
`full` makes every filter judge every node for it, which changes no decision; nor does `shares_evaluations`, which lets
pods that were made alike share what plugins say of nodes (runtime.equal_pods). `metrics` is a `metrics.Recorder`,
`filter_tap` hears of single filter calls, `registry` adds plugins that do not come with the scheduler, `hooks` go around
plugins, by their names (framework.hooks).
`attempt(pod)` tries one given pod now, wherever it waits. `origin` is where to go on from, for a fork of the cluster
(`Origin.of(scheduler)`: cache and queue are copied, what is in flight there is dropped as by a restart) or for a moment of
the past. After `keep_past` the scheduler can tell what its cache was (`journal`).

While a cycle waits for extenders no other cycle begins, events are held back, and so is everything else that could
change the cache or the queue.

Mirrors: pkg/scheduler/scheduler.go (v1.36).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.binding import Binding
from schedlab.scheduler.cache.cache import AssumeError, SchedulerCache
from schedlab.scheduler.cache.journal import CacheJournal
from schedlab.scheduler.config.encode import encode
from schedlab.scheduler.config.load import ConfigError
from schedlab.scheduler.dra.devices import Devices
from schedlab.scheduler.event_handlers import NODES, PODS, WAKING_RESOURCES, EventHandlers, event_labels, is_over
from schedlab.scheduler.events import cut_note, event_write
from schedlab.scheduler.extender import build_extenders
from schedlab.scheduler.failure import REASON_ERROR, handle_failure
from schedlab.scheduler.framework.events import EventResource
from schedlab.scheduler.framework.pod_groups import PodGroups, group_of
from schedlab.scheduler.framework.pod_status import NewCondition, status_patch
from schedlab.scheduler.framework.record import CUSTOM_RESULTS
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.profile import build_profiles
from schedlab.scheduler.queue.environment import QueueEnvironment, QueueProfile, QueueSettings
from schedlab.scheduler.queue.hints import HintError, hint_map_of
from schedlab.scheduler.queue.scheduling_queue import SchedulingQueue
from schedlab.scheduler.queue.sort_keys import guarded
from schedlab.scheduler.runtime.framework import PLUGIN_FAILED, Services
from schedlab.scheduler.runtime.waiting import PodsOnTheWay, WaitingPod
from schedlab.scheduler.schedule_one import Answers, Assignment, Attempt, Failure, Outcome, Requests
from schedlab.scheduler.schedule_pod_group import (
    POD_GROUPS,
    PodGroupAttempt,
    Verdict,
    condition_write,
    framework_of,
    pop_group,
)
from schedlab.scheduler.work import Job, Outbox

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.effects import Effect
    from schedlab.client.listers import Lister, Listers
    from schedlab.client.protocol import WatchEvent
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler.config.types import KubeSchedulerConfiguration
    from schedlab.scheduler.framework.hooks import HooksFactory
    from schedlab.scheduler.framework.interface import (
        CycleState,
        FilterTap,
        PluginEntry,
        Work,
    )
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.record import CycleRecord, Observer
    from schedlab.scheduler.metrics import Recorder
    from schedlab.scheduler.queue.heap import SortKey
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
    from schedlab.scheduler.runtime.framework import Framework

T = TypeVar("T")

_EVENT_RESOURCES: Final[Mapping[str, EventResource]] = {
    PODS: EventResource.POD,
    NODES: EventResource.NODE,
    **WAKING_RESOURCES,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a scheduler goes on from; the cache becomes its own. Without a queue it begins with an empty one.

    held: events that the other one has heard of and not taken yet.
    """

    cache: SchedulerCache
    devices: Devices
    queue: SchedulingQueue | None = None
    next_start_node_index: int = 0
    scheduling_cycle: int = 0
    revision: int = 0
    last_event_ns: int = 0
    held: tuple[WatchEvent, ...] = ()

    @classmethod
    def of(cls, scheduler: Scheduler) -> Origin:
        """Return where a scheduler stands now."""
        return cls(
            scheduler.cache.copy(),
            scheduler.devices,
            scheduler.queue,
            scheduler.next_start_node_index,
            scheduler.scheduling_cycle,
            scheduler.revision,
            scheduler.last_event_ns,
            scheduler.handlers.held,
        )


class Scheduler:
    """All profiles of one kube-scheduler, with their queue and cache."""

    journal: CacheJournal | None = None
    _listed_revision: Callable[[], int] | None = None

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        *,
        clock: Clock,
        random: RandomSource,
        listers: Listers,
        features: FeatureGates,
        registry: Mapping[str, PluginEntry] | None = None,
        hooks: Mapping[str, HooksFactory] | None = None,
        observer: Observer | None = None,
        full: bool = False,
        shares_evaluations: bool = True,
        metrics: Recorder | None = None,
        filter_tap: FilterTap | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.config, self._registry = config, {**IN_TREE, **(registry or {})}
        self.clock, self.random, self.features = clock, random, features
        self.observer, self.metrics, self.full = observer, metrics, full
        self.pods = listers.lister(PODS)
        self.cache = SchedulerCache() if origin is None else origin.cache
        self.devices = Devices(features, None if origin is None else origin.devices)
        self.on_the_way = PodsOnTheWay()
        self.pod_groups = PodGroups(self.cache, self._pod_group_lister(listers))
        self.outbox = Outbox(clock, self._between_cycles)
        self.bindings: dict[str, Binding] = {}
        self.extenders = build_extenders(config.extenders, listers.lister(NODES))
        self.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score or 0
        self.nominates_before_binding = features.enabled("NominatedNodeNameForExpectation")
        self.next_start_node_index = self.scheduling_cycle = self.revision = self.last_event_ns = 0
        self._in_cycle = False
        self._deferred: deque[Callable[[], None]] = deque()
        self._services = services = Services(
            features=features,
            clock=clock,
            random=random,
            table=self.cache.table,
            listers=listers,
            on_the_way=self.on_the_way,
            extenders=self.extenders,
            activate=self._activate,
            send_event=self.send_event,
            filter_tap=filter_tap,
            metrics=metrics,
            observed=observer is not None,
            shares_evaluations=shares_evaluations,
            start_work=self.start_background,
            devices=self.devices,
            pod_groups=self.pod_groups,
            hooks=hooks or {},
        )
        self.profiles = build_profiles(config, self._registry, services)
        queue_profiles = {name: self._queue_profile(framework) for name, framework in self.profiles.items()}
        self.queue = self._queue(self._queue_environment(queue_profiles), origin)
        self.handlers = self._event_handlers(queue_profiles)
        services.nominator = self.queue.nominator
        if origin is not None:
            self._go_on_from(origin)

    def keep_past(
        self,
        listed_revision: Callable[[], int] | None = None,
        oldest_revision: Callable[[], int] | None = None,
        journal: CacheJournal | None = None,
    ) -> None:
        """Note in records what it takes to make again what a cycle saw; before `start`.

        `listed_revision` says up to which revision the listers have been told, `oldest_revision` from which one on objects
        of the past are kept; None: none are. `journal` is that of a scheduler that this one takes over from.
        """
        self._listed_revision = listed_revision
        if journal is not None:
            self.journal = journal
            journal.go_on(self.cache, lambda: self.revision)
        else:
            self.journal = CacheJournal(lambda: self.revision, oldest_revision or (lambda: self.revision))
            self.journal.begin(self.cache, self.clock.now_ns())

    def listed_revision(self) -> int:
        """Return the revision up to which the listers have been told."""
        return self.revision if self._listed_revision is None else self._listed_revision()

    @cached_property
    def configuration_digest(self) -> str:
        """What tells the configuration in force from others."""
        return blake2b(orjson.dumps(encode(self.config), option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()

    @staticmethod
    def _queue(environment: QueueEnvironment, origin: Origin | None) -> SchedulingQueue:
        if origin is None or origin.queue is None:
            return SchedulingQueue(environment)
        return origin.queue.copy(environment)

    def _go_on_from(self, origin: Origin) -> None:
        for pod in self.pods.list() if self.features.enabled("GenericWorkload") else ():
            if not is_over(pod):
                self.pod_groups.put(PodInfo(pod))
        self.next_start_node_index = origin.next_start_node_index
        self.scheduling_cycle, self.revision = origin.scheduling_cycle, origin.revision
        self.last_event_ns = origin.last_event_ns
        if origin.queue is not None:
            self._drop_bindings()
        for event in origin.held:
            self.handle(event)

    def _drop_bindings(self) -> None:
        """Go on without the cycle and the bindings that were in flight: their pods start anew."""
        for pod in self.cache.assumed_pods():
            stored = self.pods.stored(pod.name, pod.namespace)
            if stored is not None and stored.view.spec.node_name:
                self.cache.add_pod(PodInfo(stored.view, stored))
            else:
                self.cache.forget_pod(pod)
                self._requeue(pod)
        for pod in self.queue.in_flight():
            self._requeue(pod)

    def _requeue(self, pod: PodInfo) -> None:
        self.queue.done(pod.uid)
        stored = self.pods.stored(pod.name, pod.namespace)
        if stored is not None and stored.uid == pod.uid:
            self.queue.add(PodInfo(stored.view, stored))

    def _pod_group_lister(self, listers: Listers) -> Lister | None:
        return listers.lister(POD_GROUPS) if self.features.enabled("GenericWorkload") else None

    def _event_handlers(self, profiles: Mapping[str, QueueProfile]) -> EventHandlers:
        return EventHandlers(
            self.cache, self.queue, self.devices, self.pod_groups, profiles, self.features, self._reject_waiting_pod
        )

    def _queue_profile(self, framework: Framework) -> QueueProfile:
        try:
            hints = hint_map_of(framework.plugins, self.features, has_extenders=bool(self.extenders))
        except HintError as error:
            raise ConfigError(str(error)) from error
        return QueueProfile(framework.points["pre_enqueue"], hints)

    def _queue_environment(self, profiles: Mapping[str, QueueProfile]) -> QueueEnvironment:
        config = self.config
        assert config.pod_initial_backoff_seconds is not None
        assert config.pod_max_backoff_seconds is not None
        first = self.profiles[config.profiles[0].scheduler_name or ""]
        return QueueEnvironment(
            clock=self.clock,
            sort_key=self._sort_key(first.points["queue_sort"][0]),
            profiles=profiles,
            features=self.features,
            settings=QueueSettings(
                config.pod_initial_backoff_seconds * SECOND_NS, config.pod_max_backoff_seconds * SECOND_NS
            ),
            pods=self.pods,
            observer=self.observer,
            metrics=self.metrics,
            plugin_failed=self._pre_enqueue_failed,
        )

    def _sort_key(self, plugin: Any) -> SortKey:
        return plugin.sort_key if plugin.name in IN_TREE else guarded(plugin, self._queue_sort_failed)

    def extra_plugins(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return (scheduler name, plugin, extension points) of the plugins that do not come with the scheduler."""
        return [
            (scheduler, plugin.name, tuple(point for point, plugins in framework.points.items() if plugin in plugins))
            for scheduler, framework in self.profiles.items()
            for plugin in framework.plugins
            if plugin.name not in IN_TREE
        ]

    def profiles_over(self, table: NodeTable) -> Mapping[str, Framework]:
        """Return the same profiles over another table, to ask their plugins about it; what they do reaches nobody."""
        services = replace(
            self._services,
            table=table,
            random=SeededRandom(0),
            activate=lambda _pods: None,
            send_event=lambda *_event: None,
            start_work=lambda *_work: None,
            filter_tap=None,
            metrics=None,
            observed=False,
            shares_evaluations=False,
            hooks={},
        )
        services.nominator = self.queue.nominator
        return build_profiles(self.config, self._registry, services)

    # --- The part ---

    def resources(self) -> tuple[str, ...]:
        """Return the resources whose events `handle` must get."""
        return self.handlers.resources()

    def start(self) -> None:
        """Begin the queue's periodic flushes."""
        self.queue.start()

    def stop(self) -> None:
        """Leave no timer behind: another scheduler takes over, and what is under way here ends without a word."""
        self.queue.stop()
        for waiting in self.on_the_way.waiting.values():
            waiting.abandon()
        self.outbox.abandon()

    def handle(self, event: WatchEvent) -> None:
        """Take a change of the cluster."""
        started_ns = 0 if self.metrics is None else self.clock.now_ns()
        obj = event.object
        self.revision = max(self.revision, obj.revision)
        self.handlers.handle(event)
        self.outbox.happened(_EVENT_RESOURCES[obj.resource])
        if self.metrics is not None:
            elapsed_ns = self.clock.now_ns() - started_ns
            for label in event_labels(event, self.features):
                self.metrics.handled(label, elapsed_ns)

    def ready(self) -> bool:
        """See client.effects.Part."""
        return bool(self.outbox) or (not self._in_cycle and self.queue.has_ready())

    def step(self) -> Sequence[Effect]:
        """Try the next pod."""
        if not self._in_cycle:
            queued = self.queue.pop()
            if queued is not None:
                self._try_next(queued)
        return self.outbox.drain()

    def attempt(self, pod: PodInfo) -> Sequence[Effect]:
        """Try a given pod now, wherever it waits; nothing happens when it is gated or unknown."""
        assert not self._in_cycle, "a cycle is under way"
        queued = self.queue.pop_specific(pod)
        if queued is not None:
            self._try_next(queued)
        return self.outbox.drain()

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """See client.effects.Part."""
        self.outbox.complete(effect, outcome)
        return self.outbox.drain()

    # --- Cycles ---

    def _try_next(self, queued: QueuedPodInfo) -> None:
        group = group_of(queued.pod) if queued.goes_with_group else None
        if group is None:
            self._schedule(queued)
        else:
            self._schedule_group(queued, group)

    def _schedule(self, queued: QueuedPodInfo) -> None:
        self.scheduling_cycle += 1
        pod = queued.pod
        framework = self.profiles.get(pod.pod.spec.scheduler_name)
        if framework is None or self._is_skipped(framework, pod):
            self.queue.done(pod.uid)
            return
        attempt = Attempt(self, framework, queued)
        self._in_cycle = True
        self._advance(attempt.run(), None, lambda outcome: self._end_cycle(attempt, outcome))

    def _schedule_group(self, first: QueuedPodInfo, group: str) -> None:
        self.scheduling_cycle += 1
        members = pop_group(self, first, group)
        framework = framework_of(self, members)
        if isinstance(framework, str):
            for queued in members:
                attempt = Attempt(self, self.profiles[queued.pod.pod.spec.scheduler_name], queued)
                attempt.begin()
                self._settle(attempt, Failure(Status(Code.ERROR, (), "", framework)))
            return
        left = []
        for queued in members:
            if self._is_skipped(framework, queued.pod):
                self.queue.done(queued.pod.uid)
            else:
                left.append(queued)
        if left:
            self._in_cycle = True
            cycle = PodGroupAttempt(self, framework, left)
            self._advance(cycle.run(), None, lambda verdict: self._end_group(group, cycle, verdict))

    def _is_skipped(self, framework: Framework, pod: PodInfo) -> bool:
        """Whether the pod is being deleted, or is on its way to a node already."""
        if pod.pod.metadata.deletion_timestamp:
            note = f"skip schedule deleting pod: {pod.key}"
            self.send_event(pod, None, "Warning", "FailedScheduling", "Scheduling", note, framework.profile_name)
            return True
        return self.cache.is_assumed(pod.uid)

    def _advance(
        self, steps: Generator[Requests, Answers, T], answers: Answers | None, ended: Callable[[T], None]
    ) -> None:
        try:
            requests = next(steps) if answers is None else steps.send(answers)
        except StopIteration as end:
            ended(end.value)
            return
        self.handlers.hold()
        self.outbox.ask(requests, lambda found: self._advance(steps, found, ended), in_cycle=True)

    def _end_cycle(self, attempt: Attempt, outcome: Outcome) -> None:
        self._settle(attempt, outcome)
        self._go_on()

    def _end_group(self, group: str, cycle: PodGroupAttempt, verdict: Verdict) -> None:
        for attempt, outcome in cycle.decide(verdict):
            self._settle(attempt, outcome)
        known = self.pod_groups.get(group)
        write = None if known is None else condition_write(known, verdict, self.clock.now_ns())
        if write is not None:
            self.outbox.write(write)
        self._go_on()

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        framework, record = attempt.framework, attempt.record
        if record is not None:
            record.custom = dict(attempt.state.find(CUSTOM_RESULTS) or {})
        if isinstance(outcome, Assignment):
            self._tell(record)
            self._begin_binding(attempt, outcome)
        else:
            handle_failure(self, framework, attempt.queued, outcome, attempt.started_ns, record)
            self._tell(record)

    def _go_on(self) -> None:
        """Take what was held back while the cycle went on."""
        self._in_cycle = False
        self.handlers.release()
        while self._deferred and not self._in_cycle:
            self._deferred.popleft()()

    def _tell(self, record: CycleRecord | None) -> None:
        if record is not None and self.observer is not None:
            self.observer.cycle(record)

    def _begin_binding(self, attempt: Attempt, assignment: Assignment) -> None:
        if assignment.waits:
            waiting = WaitingPod(assignment.pod, assignment.waits, self.clock)
            self.on_the_way.waiting[assignment.pod.uid] = waiting
        self.activate_pods_of(attempt.state)
        binding = Binding(
            self,
            attempt.framework,
            attempt.queued,
            assignment.pod,
            assignment.node,
            attempt.state,
            attempt.started_ns,
        )
        binding.start()

    def _between_cycles(self, callback: Callable[[], None]) -> None:
        if self._in_cycle:
            self._deferred.append(callback)
        else:
            callback()

    # --- Plugins that raise where no cycle is under way ---

    def _pre_enqueue_failed(self, pod: PodInfo, plugin: str, failure: Status) -> None:
        """Say on the pod why it stays out of the queue; once, as long as the reason stays the same."""
        message = f'running PreEnqueue plugin "{plugin}": {failure.error}'
        patch = status_patch(
            pod.pod, NewCondition("PodScheduled", "False", REASON_ERROR, message), None, self.clock.now_ns()
        )
        if patch is not None:
            controller = pod.pod.spec.scheduler_name
            note = cut_note(message)
            self.send_event(pod, None, "Warning", "FailedScheduling", "Scheduling", note, controller)
            self.outbox.write(patch)

    def _queue_sort_failed(self, pod: PodInfo, plugin: str, failure: Status) -> None:
        note = cut_note(f'running QueueSort plugin "{plugin}": {failure.error}')
        controller = pod.pod.spec.scheduler_name
        self.send_event(pod, None, "Warning", PLUGIN_FAILED, "Scheduling", note, controller)

    # --- What cycles, bindings and plugins ask for ---

    def unreserve_and_forget(self, framework: Framework, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        """Take back an assumption; False when the cache knows the pod differently."""
        framework.run_unreserve(state, pod, node_name)
        try:
            self.cache.forget_pod(pod)
        except AssumeError:
            return False
        return True

    def activate_pods_of(self, state: CycleState) -> None:
        """Move the pods that plugins asked for to the active queue."""
        if state.pods_to_activate:
            self.queue.activate(state.pods_to_activate)
            state.pods_to_activate = []

    def start_background(self, plugin: object, state: CycleState, pod: PodInfo, work: Work) -> None:
        """Carry out work that no cycle waits for."""

        def ended(_: object) -> None:
            if job.raised is not None:
                name, framework = getattr(plugin, "name", ""), self.profiles[pod.pod.spec.scheduler_name]
                framework.report_failure(pod, f'background work of plugin "{name}"', job.raised)

        job = Job(self.outbox, plugin, state, pod, "", ended)
        job.start(work)

    def send_event(
        self,
        regarding: PodInfo,
        related: PodInfo | None,
        type_: str,
        reason: str,
        action: str,
        note: str,
        controller: str,
    ) -> None:
        """Send an event; no two have the same time, since the time is part of their names."""
        now_ns = self.last_event_ns = max(self.clock.now_ns(), self.last_event_ns + 1)
        self.outbox.write(event_write(regarding, related, type_, reason, action, note, controller, now_ns))

    def _activate(self, pods: Iterable[PodInfo]) -> None:
        self.queue.activate(pods)

    def _reject_waiting_pod(self, pod: PodInfo) -> bool:
        waiting = self.on_the_way.waiting.get(pod.uid)
        return waiting is not None and waiting.reject("", "removed")
