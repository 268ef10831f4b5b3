"""What the scheduler counts and times, under upstream's names; whoever serves /metrics asks `text`.

Amounts of time are seconds, measured on the injected clock: on the virtual one most of them are 0. What is known at any
moment (who waits where, how big the cache is) is not counted along the way but read when somebody asks: see
`metric_gauges`.

Mirrors: pkg/scheduler/metrics/{metrics,profile_metrics}.go and plugins/volumebinding/metrics/metrics.go (v1.36)
Differs: a filter or a score in its array form is observed once for each node, with its share of the time; API calls are
effects and no queue of calls, so with SchedulerAsyncAPICalls there is nothing to count for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.metrics import Counter, Gauge, Histogram, exponential, expose

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates

Metric: TypeAlias = Counter | Gauge | Histogram

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"
# From so many attempts on a pod's latency is counted together with that of all others.
_ATTEMPTS_MAX: Final = 15

# How messages of failed binding conditions begin, and what that is in the metric.
_CONDITION_FAILURES: Final[Mapping[str, str]] = {
    "device binding timeout": "timeout",
    "device binding failed": "failure",
}


class Recorder(Protocol):
    """What the scheduler reports while it works. Codes and events are upstream's texts, times ns."""

    def attempt(self, result: str, profile: str, elapsed_ns: int) -> None:
        """An attempt ended: scheduled, unschedulable or error."""

    def algorithm(self, elapsed_ns: int) -> None:
        """Filtering, scoring and post_filter of an attempt took that long."""

    def bound(self, attempts: int, since_first_ns: int | None, *, flushed: bool) -> None:
        """A pod is bound, after so many attempts and so long after it first reached the active queue."""

    def permit_wait(self, result: str, elapsed_ns: int) -> None:
        """A wait in permit ended."""

    def batch(self, profile: str, result: str) -> None:
        """Batching gave a hint or none: hint_used, hint_not_used or no_hint."""

    def batch_flushed(self, profile: str, reason: str) -> None:
        """Batching threw its state away."""

    def node_hint(self, profile: str, elapsed_ns: int, *, hinted: bool) -> None:
        """Batching was asked for a node."""

    def results_stored(self, profile: str, elapsed_ns: int) -> None:
        """Batching kept what a cycle found."""

    def point(self, point: str, code: str, profile: str, elapsed_ns: float, times: int = 1) -> None:
        """All plugins of an extension point ran, so many times with that result."""

    def plugin(self, name: str, point: str, code: str, elapsed_ns: float, times: int = 1) -> None:
        """A plugin ran in a cycle that is sampled."""

    def evaluated(self, plugin: str, point: str, profile: str, times: int = 1) -> None:
        """A plugin was asked in PreFilter, Filter, PreScore or Score."""

    def incoming(self, queue: str, event: str) -> None:
        """A pod came to the active, backoff or unschedulable pods."""

    def hint(self, plugin: str, event: str, hint: str, elapsed_ns: float) -> None:
        """A queueing hint was asked."""

    def handled(self, event: str, elapsed_ns: int) -> None:
        """A change of the cluster was taken in."""

    def preemption_attempted(self) -> None:
        """Default preemption was asked to make room."""

    def victims_chosen(self, count: int) -> None:
        """A node was chosen for preemption."""

    def preemption_started(self) -> None:
        """Victims are evicted beside the scheduling cycles."""

    def claim_created(self, error: Exception | None) -> None:
        """A claim for extended resources was to be created."""

    def conditions_awaited(
        self, profile: str, drivers: Sequence[str], waiting: Sequence[str], failure: str, elapsed_ns: int
    ) -> None:
        """Waiting for binding conditions ended, well when there is no `failure`.

        drivers: one for each allocated device, waiting: one for each of those that have conditions.
        """

    def volume_stage_failed(self, stage: str) -> None:
        """Volumes could not be found, assumed or bound: predicate, assume, bind."""


class _NotCounted:
    """A recorder that forgets."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        # Kept, so that it is found in the ordinary way the next time.
        setattr(self, name, _forget)
        return _forget


def _forget(*_: object, **__: object) -> None:
    """Keep nothing."""


NOT_COUNTED: Final[Recorder] = cast("Recorder", _NotCounted())


class SchedulerMetrics:
    """The metrics of one scheduler; those of gates that are off are not there."""

    def __init__(self, features: FeatureGates) -> None:
        self._features = features
        self._make_attempts()
        self._make_latencies()
        self._make_queue()
        self._make_batching()
        self._make_gated()

    def _make_attempts(self) -> None:
        self.schedule_attempts = Counter(
            "scheduler_schedule_attempts_total",
            ("result", "profile"),
            "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
        )
        self.pod_scheduling_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            exponential(1, 2, 5),
            (),
            "[STABLE] Number of attempts to successfully schedule a pod.",
        )
        self.pod_scheduled_after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            (),
            "[ALPHA] Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
            "timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims",
            exponential(1, 2, 7),
            (),
            "[STABLE] Number of selected preemption victims",
        )
        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts_total", (), "[STABLE] Total preemption attempts in the cluster till now"
        )
        self.plugin_evaluations = Counter(
            "scheduler_plugin_evaluation_total",
            ("plugin", "extension_point", "profile"),
            "[BETA] Number of attempts to schedule pods by each plugin and the extension point (available only in "
            "PreFilter, Filter, PreScore, and Score).",
        )
        self.volume_stage_errors = Counter(
            "scheduler_volume_scheduling_stage_error_total",
            ("operation",),
            "[ALPHA] Volume scheduling stage error count",
        )
        self.volume_cache_requests = Counter(
            "scheduler_volume_binder_cache_requests_total",
            ("operation",),
            "[ALPHA] Total number for request volume binding cache",
        )

    def _make_latencies(self) -> None:
        latency = exponential(0.001, 2, 15)
        self.scheduling_attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            latency,
            ("result", "profile"),
            "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        )
        self.scheduling_algorithm_duration = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            latency,
            (),
            "[ALPHA] Scheduling algorithm latency in seconds",
        )
        self.pod_scheduling_sli_duration = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            exponential(0.01, 2, 20),
            ("attempts",),
            "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
            "involve multiple scheduling attempts.",
        )
        self.extension_point_duration = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            exponential(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
            "[STABLE] Latency for running all plugins of a specific extension point.",
        )
        self.plugin_execution_duration = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            exponential(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
            "[ALPHA] Duration for running a plugin at a specific extension point.",
        )
        self.permit_wait_duration = Histogram(
            "scheduler_permit_wait_duration_seconds", latency, ("result",), "[BETA] Duration of waiting on permit."
        )

    def _make_queue(self) -> None:
        self.queue_incoming_pods = Counter(
            "scheduler_queue_incoming_pods_total",
            ("queue", "event"),
            "[STABLE] Number of pods added to scheduling queues by event and queue type.",
        )
        self.event_handling_duration = Histogram(
            "scheduler_event_handling_duration_seconds",
            exponential(0.0001, 2, 12),
            ("event",),
            "[ALPHA] Event handling latency in seconds.",
        )
        self.queueing_hint_duration = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            exponential(0.00001, 1.5, 20),
            ("plugin", "event", "hint"),
            "[ALPHA] Duration for running a queueing hint function of a plugin.",
        )

    def _make_batching(self) -> None:
        hint_latency = exponential(0.00001, 2, 12)
        self.batch_attempts = Counter(
            "scheduler_batch_attempts_total",
            ("profile", "result"),
            "[ALPHA] Counts of results when we attempt to use batching.",
        )
        self.batch_cache_flushed = Counter(
            "scheduler_batch_cache_flushed_total",
            ("profile", "reason"),
            "[ALPHA] Counts of cache flushes by reason.",
        )
        self.get_node_hint_duration = Histogram(
            "scheduler_get_node_hint_duration_seconds",
            hint_latency,
            ("hinted", "profile"),
            "[ALPHA] Latency for getting a node hint.",
        )
        self.store_results_duration = Histogram(
            "scheduler_store_schedule_results_duration_seconds",
            hint_latency,
            ("profile",),
            "[ALPHA] Latency for getting a no.",
        )

    def _make_gated(self) -> None:
        self.preemption_goroutines_duration = Histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            exponential(0.01, 2, 20),
            ("result",),
            "[ALPHA] Duration in seconds for running goroutines for the preemption.",
        )
        self.preemption_goroutines = Counter(
            "scheduler_preemption_goroutines_execution_total",
            ("result",),
            "[ALPHA] Number of preemption goroutines executed.",
        )
        self.claim_creates = Counter(
            "scheduler_resourceclaim_creates_total",
            ("status",),
            "[ALPHA] Number of ResourceClaims creation requests within scheduler",
        )
        self.conditions_allocations = Counter(
            "scheduler_dra_bindingconditions_allocations_total",
            ("profile", "driver", "status"),
            "[ALPHA] Number of allocations using devices with BindingConditions, counted per driver per scheduling "
            "attempt",
        )
        self.conditions_wait_duration = Histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            exponential(0.1, 2, 14),
            ("profile", "driver", "status"),
            "[ALPHA] Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
        )

    def every(self) -> list[Metric]:
        """Return the metrics that are registered."""
        off: list[Metric] = []
        gated: dict[str, tuple[Metric, ...]] = {
            "SchedulerAsyncPreemption": (self.preemption_goroutines_duration, self.preemption_goroutines),
            "DRAExtendedResource": (self.claim_creates,),
            "DRADeviceBindingConditions": (self.conditions_allocations, self.conditions_wait_duration),
        }
        for gate, metrics in gated.items():
            if not self._features.enabled(gate):
                off.extend(metrics)
        mine = (value for value in vars(self).values() if isinstance(value, (Counter, Gauge, Histogram)))
        return [metric for metric in mine if metric not in off]

    def text(self, gauges: list[Gauge]) -> str:
        """Return everything in Prometheus' text form."""
        return expose([*self.every(), *gauges])

    # --- See Recorder ---

    def attempt(self, result: str, profile: str, elapsed_ns: int) -> None:
        """See Recorder."""
        self.schedule_attempts.add(result, profile)
        self.scheduling_attempt_duration.observe(elapsed_ns / SECOND_NS, result, profile)

    def algorithm(self, elapsed_ns: int) -> None:
        """See Recorder."""
        self.scheduling_algorithm_duration.observe(elapsed_ns / SECOND_NS)

    def bound(self, attempts: int, since_first_ns: int | None, *, flushed: bool) -> None:
        """See Recorder."""
        self.pod_scheduling_attempts.observe(attempts)
        if since_first_ns is not None:
            label = str(attempts) if attempts < _ATTEMPTS_MAX else f"{_ATTEMPTS_MAX}+"
            self.pod_scheduling_sli_duration.observe(since_first_ns / SECOND_NS, label)
        if flushed:
            self.pod_scheduled_after_flush.add()

    def permit_wait(self, result: str, elapsed_ns: int) -> None:
        """See Recorder."""
        self.permit_wait_duration.observe(elapsed_ns / SECOND_NS, result)

    def batch(self, profile: str, result: str) -> None:
        """See Recorder."""
        self.batch_attempts.add(profile, result)

    def batch_flushed(self, profile: str, reason: str) -> None:
        """See Recorder."""
        self.batch_cache_flushed.add(profile, reason)

    def node_hint(self, profile: str, elapsed_ns: int, *, hinted: bool) -> None:
        """See Recorder."""
        self.get_node_hint_duration.observe(elapsed_ns / SECOND_NS, "true" if hinted else "false", profile)

    def results_stored(self, profile: str, elapsed_ns: int) -> None:
        """See Recorder."""
        self.store_results_duration.observe(elapsed_ns / SECOND_NS, profile)

    def point(self, point: str, code: str, profile: str, elapsed_ns: float, times: int = 1) -> None:
        """See Recorder."""
        self.extension_point_duration.observe(elapsed_ns / SECOND_NS, point, code, profile, times=times)

    def plugin(self, name: str, point: str, code: str, elapsed_ns: float, times: int = 1) -> None:
        """See Recorder."""
        self.plugin_execution_duration.observe(elapsed_ns / SECOND_NS, name, point, code, times=times)

    def evaluated(self, plugin: str, point: str, profile: str, times: int = 1) -> None:
        """See Recorder."""
        if times:
            self.plugin_evaluations.add(plugin, point, profile, amount=times)

    def incoming(self, queue: str, event: str) -> None:
        """See Recorder."""
        self.queue_incoming_pods.add(queue, event)

    def hint(self, plugin: str, event: str, hint: str, elapsed_ns: float) -> None:
        """See Recorder."""
        self.queueing_hint_duration.observe(elapsed_ns / SECOND_NS, plugin, event, hint)

    def handled(self, event: str, elapsed_ns: int) -> None:
        """See Recorder."""
        self.event_handling_duration.observe(elapsed_ns / SECOND_NS, event)

    def preemption_attempted(self) -> None:
        """See Recorder."""
        self.preemption_attempts.add()

    def victims_chosen(self, count: int) -> None:
        """See Recorder."""
        self.preemption_victims.observe(count)

    def preemption_started(self) -> None:
        """See Recorder; upstream settles result and time in the moment in which it begins, too."""
        self.preemption_goroutines.add("success")
        self.preemption_goroutines_duration.observe(0, "success")

    def claim_created(self, error: Exception | None) -> None:
        """See Recorder."""
        self.claim_creates.add("success" if error is None else "failure")

    def conditions_awaited(
        self, profile: str, drivers: Sequence[str], waiting: Sequence[str], failure: str, elapsed_ns: int
    ) -> None:
        """See Recorder."""
        known = (label for text, label in _CONDITION_FAILURES.items() if failure.startswith(text))
        status = next(known, "error" if failure else "success")
        for driver in drivers:
            self.conditions_wait_duration.observe(elapsed_ns / SECOND_NS, profile, driver, status)
        for driver in waiting:
            self.conditions_allocations.add(profile, driver, status)

    def volume_stage_failed(self, stage: str) -> None:
        """See Recorder."""
        self.volume_stage_errors.add(stage)
