"""What /metrics says of this moment: who waits where, what the cache holds, what is under way.

Mirrors: the gauges of pkg/scheduler/metrics/metrics.go (v1.36)
Differs: read when somebody asks instead of counted along the way; what upstream calls goroutines are bindings here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.kernel.metrics import Gauge

if TYPE_CHECKING:
    from schedlab.scheduler.scheduler import Scheduler


def gauges_of(scheduler: Scheduler) -> list[Gauge]:
    """Return the gauges with their values."""
    return [
        _pending(scheduler),
        _unschedulable(scheduler),
        _in_flight_events(scheduler),
        _cache_size(scheduler),
        _goroutines(scheduler),
    ]


def _pending(scheduler: Scheduler) -> Gauge:
    gauge = Gauge(
        "scheduler_pending_pods",
        ("queue",),
        "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
        "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler "
        "attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never "
        "attempted to schedule because they are gated.",
    )
    contents = scheduler.queue.contents()
    gauge.set(len(contents.active), "active")
    gauge.set(len(contents.backoff), "backoff")
    gauge.set(len(contents.unschedulable), "unschedulable")
    gauge.set(len(contents.gated), "gated")
    return gauge


def _unschedulable(scheduler: Scheduler) -> Gauge:
    gauge = Gauge(
        "scheduler_unschedulable_pods",
        ("plugin", "profile"),
        "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
        "plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
    )
    for queued in scheduler.queue.waiting():
        for plugin in queued.rejectors:
            gauge.add(1, plugin, queued.pod.pod.spec.scheduler_name)
    return gauge


def _in_flight_events(scheduler: Scheduler) -> Gauge:
    gauge = Gauge(
        "scheduler_inflight_events",
        ("event",),
        "[ALPHA] Number of events currently tracked in the scheduling queue.",
    )
    gauge.set(len(scheduler.queue.in_flight()), "PodPopped")
    for event, count in scheduler.queue.events_in_flight().items():
        gauge.set(count, event)
    return gauge


def _cache_size(scheduler: Scheduler) -> Gauge:
    gauge = Gauge(
        "scheduler_cache_size",
        ("type",),
        "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    )
    for type_, count in scheduler.cache.sizes().items():
        gauge.set(count, type_)
    return gauge


def _goroutines(scheduler: Scheduler) -> Gauge:
    gauge = Gauge(
        "scheduler_goroutines",
        ("operation",),
        "[BETA] Number of running goroutines split by the work they do such as binding.",
    )
    gauge.set(len(scheduler.bindings), "binding")
    return gauge
