"""The scheduler's metrics."""

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.metrics import SchedulerMetrics


def test_attempts_and_latencies_have_upstreams_labels() -> None:
    metrics = SchedulerMetrics()
    metrics.attempt("scheduled", "default-scheduler", 2 * SECOND_NS)
    metrics.algorithm(SECOND_NS)
    metrics.bound(17, 3 * SECOND_NS, flushed=True)
    metrics.bound(1, None, flushed=False)
    metrics.permit_wait("Success", SECOND_NS)
    metrics.batch("default-scheduler", "hint_used")
    metrics.batch_flushed("default-scheduler", "expired")

    assert metrics.schedule_attempts.values == {("scheduled", "default-scheduler"): 1}
    assert metrics.scheduling_attempt_duration.count("scheduled", "default-scheduler") == 1
    assert metrics.scheduling_algorithm_duration.count() == 1
    assert metrics.pod_scheduling_attempts.count() == 2
    assert list(metrics.pod_scheduling_sli_duration.values) == [("15+",)]
    assert metrics.pod_scheduled_after_flush.values == {(): 1}
    assert metrics.permit_wait_duration.count("Success") == 1
    assert metrics.batch_attempts.values == {("default-scheduler", "hint_used"): 1}
    assert metrics.batch_cache_flushed.values == {("default-scheduler", "expired"): 1}
