"""The scheduler's metrics: their names, labels and buckets are upstream's, and what happens is counted in them."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.metrics import Histogram, exponential
from schedlab.scheduler.metric_gauges import gauges_of
from schedlab.scheduler.metric_resources import resource_gauges
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile

DEFAULT = "default-scheduler"
LATENCY = exponential(0.001, 2, 15)
QUICK = exponential(0.0001, 2, 12)
PLUGIN = exponential(0.00001, 1.5, 20)

#: Name without the prefix, labels, buckets of a histogram: what pkg/scheduler/metrics/metrics.go registers.
UPSTREAM: list[tuple[str, tuple[str, ...], tuple[float, ...]]] = [
    ("schedule_attempts_total", ("result", "profile"), ()),
    ("event_handling_duration_seconds", ("event",), QUICK),
    ("scheduling_attempt_duration_seconds", ("result", "profile"), LATENCY),
    ("scheduling_algorithm_duration_seconds", (), LATENCY),
    ("preemption_victims", (), exponential(1, 2, 7)),
    ("preemption_attempts_total", (), ()),
    ("pending_pods", ("queue",), ()),
    ("inflight_events", ("event",), ()),
    ("goroutines", ("operation",), ()),
    ("batch_attempts_total", ("profile", "result"), ()),
    ("batch_cache_flushed_total", ("profile", "reason"), ()),
    ("get_node_hint_duration_seconds", ("hinted", "profile"), exponential(0.00001, 2, 12)),
    ("store_schedule_results_duration_seconds", ("profile",), exponential(0.00001, 2, 12)),
    ("pod_scheduling_sli_duration_seconds", ("attempts",), exponential(0.01, 2, 20)),
    ("pod_scheduling_attempts", (), exponential(1, 2, 5)),
    ("pod_scheduled_after_flush_total", (), ()),
    ("framework_extension_point_duration_seconds", ("extension_point", "status", "profile"), QUICK),
    ("plugin_execution_duration_seconds", ("plugin", "extension_point", "status"), PLUGIN),
    ("permit_wait_duration_seconds", ("result",), LATENCY),
    ("cache_size", ("type",), ()),
    ("unschedulable_pods", ("plugin", "profile"), ()),
    ("plugin_evaluation_total", ("plugin", "extension_point", "profile"), ()),
    ("queueing_hint_execution_duration_seconds", ("plugin", "event", "hint"), PLUGIN),
    ("queue_incoming_pods_total", ("queue", "event"), ()),
    ("preemption_goroutines_duration_seconds", ("result",), exponential(0.01, 2, 20)),
    ("preemption_goroutines_execution_total", ("result",), ()),
    ("resourceclaim_creates_total", ("status",), ()),
    ("dra_bindingconditions_allocations_total", ("profile", "driver", "status"), ()),
    ("dra_bindingconditions_wait_duration_seconds", ("profile", "driver", "status"), exponential(0.1, 2, 14)),
    ("volume_binder_cache_requests_total", ("operation",), ()),
    ("volume_scheduling_stage_error_total", ("operation",), ()),
]
#: Only registered while their gates are on, and off by default.
GATED = {
    "async_api_call_execution_total",
    "async_api_call_execution_duration_seconds",
    "pending_async_api_calls",
    "podgroup_schedule_attempts_total",
    "podgroup_scheduling_attempt_duration_seconds",
    "podgroup_scheduling_algorithm_duration_seconds",
}


def cluster(*nodes: str, cpu: str = "4", **options: Any) -> FakeCluster:
    made = FakeCluster(configuration(profile(*BASIC_PLUGINS, **options)))
    made.add(*(make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110") for name in nodes))
    return made


def test_names_labels_and_buckets_are_upstreams() -> None:
    made = cluster()
    metrics = [*made.metrics.every(), *gauges_of(made.scheduler)]

    found = {metric.name: (metric.labels, metric.bounds if isinstance(metric, Histogram) else ()) for metric in metrics}
    assert found == {f"scheduler_{name}": (labels, bounds) for name, labels, bounds in UPSTREAM}
    assert all(metric.description.startswith(("[STABLE]", "[BETA]", "[ALPHA]")) for metric in metrics)


def test_metrics_of_a_gate_that_is_off_are_not_there() -> None:
    gates = {"SchedulerAsyncPreemption": False, "DRAExtendedResource": False}
    names = {metric.name for metric in SchedulerMetrics(FeatureGates.default().with_overrides(gates)).every()}

    assert not any(name.startswith("scheduler_preemption_goroutines") for name in names)
    assert "scheduler_resourceclaim_creates_total" not in names
    assert not {name.removeprefix("scheduler_") for name in names} & GATED


def test_attempts_and_latencies_have_upstreams_labels() -> None:
    metrics = SchedulerMetrics(FeatureGates.default())
    metrics.attempt("scheduled", DEFAULT, 2 * SECOND_NS)
    metrics.algorithm(SECOND_NS)
    metrics.bound(17, 3 * SECOND_NS, flushed=True)
    metrics.bound(1, None, flushed=False)
    metrics.permit_wait("Success", SECOND_NS)
    metrics.batch(DEFAULT, "hint_used")
    metrics.batch_flushed(DEFAULT, "expired")

    assert metrics.schedule_attempts.values == {("scheduled", DEFAULT): 1}
    assert metrics.scheduling_attempt_duration.count("scheduled", DEFAULT) == 1
    assert metrics.scheduling_algorithm_duration.count() == 1
    assert metrics.pod_scheduling_attempts.count() == 2
    assert list(metrics.pod_scheduling_sli_duration.values) == [("15+",)]
    assert metrics.pod_scheduled_after_flush.values == {(): 1}
    assert metrics.permit_wait_duration.count("Success") == 1
    assert metrics.batch_attempts.values == {(DEFAULT, "hint_used"): 1}
    assert metrics.batch_cache_flushed.values == {(DEFAULT, "expired"): 1}


def test_extension_points_of_a_scheduled_pod_are_timed() -> None:
    made = cluster("a", "b")
    made.schedule(make_pod("p").req(cpu="1"))
    count = made.metrics.extension_point_duration.count

    for point in ("PreEnqueue", "PreFilter", "PreScore", "Score", "Reserve", "Permit", "PreBind", "Bind", "PostBind"):
        assert count(point, "Success", DEFAULT) == 1, point
    assert count("Filter", "Success", DEFAULT) == 2


def test_a_filter_is_counted_for_every_node_it_was_asked_about() -> None:
    """Who comes after the one that turned a node down was not asked about it."""
    made = cluster("a", "b")
    made.add(make_node("shut").capacity(cpu="4", memory="8Gi", pods="110").unschedulable())
    made.schedule(make_pod("p").req(cpu="1"))

    values = made.metrics.plugin_evaluations.values
    assert values["NodeUnschedulable", "Filter", DEFAULT] == 3
    assert values["NodeResourcesFit", "Filter", DEFAULT] == 2
    assert values["NodeResourcesFit", "PreFilter", DEFAULT] == 1
    assert values["NodeResourcesFit", "Score", DEFAULT] == 2


def test_every_tenth_cycle_times_single_plugins() -> None:
    made = cluster("a", "b", cpu="100")
    for number in range(9):
        made.schedule(make_pod(f"p{number}").req(cpu="1"))
    assert not made.metrics.plugin_execution_duration.values

    made.schedule(make_pod("tenth").req(cpu="2"))

    timed = made.metrics.plugin_execution_duration
    assert timed.count("NodeResourcesFit", "Filter", "Success") == 2
    assert timed.count("NodeResourcesFit", "Score", "Success") == 2
    assert timed.count("DefaultBinder", "Bind", "Success") == 1


def test_queues_and_their_events_are_counted() -> None:
    made = cluster("a")
    made.schedule(make_pod("big").req(cpu="8"))

    assert made.metrics.queue_incoming_pods.values == {
        ("active", "UnschedulablePodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
    }
    made.add(make_node("b").capacity(cpu="16", memory="8Gi", pods="110"))
    assert made.metrics.queue_incoming_pods.values["backoff", "NodeAdd"] == 1
    assert made.metrics.queueing_hint_duration.count("NodeResourcesFit", "NodeAdd", "Queue") == 1
    assert made.metrics.event_handling_duration.count("NodeAdd") == 2
    assert made.metrics.event_handling_duration.count("UnschedulablePodAdd") == 1


def test_gauges_tell_of_this_moment() -> None:
    made = cluster("a")
    made.schedule(make_pod("fits").req(cpu="1"), make_pod("big").req(cpu="8"))
    gauges = {gauge.name: gauge.values for gauge in gauges_of(made.scheduler)}

    assert gauges["scheduler_pending_pods"] == {
        ("active",): 0,
        ("backoff",): 0,
        ("unschedulable",): 1,
        ("gated",): 0,
    }
    assert gauges["scheduler_unschedulable_pods"] == {("NodeResourcesFit", DEFAULT): 1}
    assert gauges["scheduler_cache_size"][("nodes",)] == 1
    assert gauges["scheduler_cache_size"][("pods",)] == 1
    assert gauges["scheduler_inflight_events"] == {("PodPopped",): 0}
    assert gauges["scheduler_goroutines"] == {("binding",): 0}


def test_preemption_is_counted() -> None:
    made = FakeCluster(configuration(profile(*BASIC_PLUGINS, "DefaultPreemption")))
    made.add(make_node("a").capacity(cpu="4", memory="8Gi", pods="110"))
    made.add(make_pod("small").req(cpu="3").node("a").priority(0))
    made.schedule(make_pod("urgent").req(cpu="3").priority(10))

    assert made.metrics.preemption_attempts.values == {(): 1}
    assert made.metrics.preemption_victims.count() == 1
    assert made.metrics.preemption_goroutines.values == {("success",): 1}


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        ("", "success"),
        ("device binding timeout: claim=c", "timeout"),
        ("device binding failed: claim=c, reason=r, message=m", "failure"),
        ("resourceclaim c not found", "error"),
    ],
)
def test_binding_conditions_are_counted_by_how_they_ended(failure: str, status: str) -> None:
    metrics = SchedulerMetrics(FeatureGates.default())
    metrics.conditions_awaited(DEFAULT, ["gpu", "gpu", "nic"], ["gpu"], failure, SECOND_NS)

    assert metrics.conditions_allocations.values == {(DEFAULT, "gpu", status): 1}
    assert metrics.conditions_wait_duration.count(DEFAULT, "gpu", status) == 2
    assert metrics.conditions_wait_duration.count(DEFAULT, "nic", status) == 1


def test_resources_of_pods_have_units_and_leave_out_who_is_over() -> None:
    pods = [
        make_pod("p").scheduler_name(DEFAULT).req(cpu="1500m", memory="1Gi").node("a").priority(5).obj().pod,
        make_pod("over").req(cpu="1").node("a").phase("Succeeded").obj().pod,
    ]
    requests, limits = resource_gauges(pods)

    assert requests.values == {
        ("default", "p", "a", DEFAULT, "5", "cpu", "cores"): 1.5,
        ("default", "p", "a", DEFAULT, "5", "memory", "bytes"): 1024**3,
    }
    assert not limits.values
