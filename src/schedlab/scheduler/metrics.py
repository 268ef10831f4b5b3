"""Counters and latencies of the scheduler, under upstream's names, as plain Python values.

Nothing is exported from here; whoever serves /metrics reads `SchedulerMetrics`. Amounts of time are seconds, measured
on the injected clock.

Mirrors: pkg/scheduler/metrics/metrics.go (v1.36), what a single process without goroutines can have of it.
"""

from __future__ import annotations

from typing import Final, Protocol

from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.metrics import Counter, Gauge, Histogram, exponential

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"


class Recorder(Protocol):
    """What the scheduler reports while it works."""

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


class SchedulerMetrics:
    """The scheduler's metrics by upstream's names (prefix `scheduler_`)."""

    def __init__(self) -> None:
        latency = exponential(0.001, 2, 15)
        self.schedule_attempts = Counter("schedule_attempts_total", ("result", "profile"))
        self.scheduling_attempt_duration = Histogram(
            "scheduling_attempt_duration_seconds", latency, ("result", "profile")
        )
        self.scheduling_algorithm_duration = Histogram("scheduling_algorithm_duration_seconds", latency)
        self.pod_scheduling_attempts = Histogram("pod_scheduling_attempts", exponential(1, 2, 5))
        self.pod_scheduling_sli_duration = Histogram(
            "pod_scheduling_sli_duration_seconds", exponential(0.01, 2, 20), ("attempts",)
        )
        self.pod_scheduled_after_flush = Counter("pod_scheduled_after_flush_total")
        self.permit_wait_duration = Histogram("permit_wait_duration_seconds", latency, ("result",))
        self.batch_attempts = Counter("batch_attempts_total", ("profile", "result"))
        self.batch_cache_flushed = Counter("batch_cache_flushed_total", ("profile", "reason"))
        self.cache_size = Gauge("cache_size", ("type",))

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
            label = str(attempts) if attempts < 15 else "15+"
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
