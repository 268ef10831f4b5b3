"""What happens in a scenario happens at its time, is measured as the reference says, and ends when it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedlab.kernel.clock import SECOND_NS
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import read_scenario
from schedlab.scenario.results import Run

HEAD = "apiVersion: schedlab.dev/v1alpha1\nkind: Scenario\n"
POD = "{spec: {containers: [{name: a, image: a, resources: {requests: {cpu: '1'}}}]}}"


def experiment(folder: Path, body: str, **options: Any) -> Experiment:
    file = folder / "s.yaml"
    file.write_text(HEAD + body, encoding="utf-8")
    return Experiment(read_scenario(file), **options)


def run(folder: Path, body: str, **options: Any) -> Run:
    return experiment(folder, body, **options).run()


def pods(found: Run) -> dict[str, Any]:
    return {pod["pod"]: pod for pod in found.pods}


def test_pods_of_a_load_come_at_their_times_and_end_after_their_run_times(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        f"cluster: {{nodes: [{{count: 1}}]}}\n"
        f"loads: [{{name: w, arrivals: {{every: 10s}}, count: 3, pods: [{{template: {POD}, runTime: 25s}}]}}]\n",
    )

    assert found.ended == "idle"
    assert [(pod["created_s"], pod["scheduled_s"]) for pod in found.pods] == [(10, 10), (20, 20), (30, 30)]
    assert all(25 <= pod["finished_s"] - pod["created_s"] < 26 for pod in found.pods)
    assert found.metrics["pods_finished"] == 3
    assert found.metrics["running_max"] == 3


def test_waits_reasons_and_capacity_are_measured(tmp_path: Path) -> None:
    """Six pods of one CPU, four fit: the other two wait until two have ended, and say why meanwhile."""
    found = run(
        tmp_path,
        f"cluster: {{nodes: [{{count: 1}}], pods: [{{count: 6, template: {POD}, runTime: 100s}}]}}\n"
        "metrics: {every: 1s, prices: [{perHour: 36}]}\n",
    )

    waits = sorted(pod["wait_s"] for pod in found.pods)
    assert waits[:4] == [0, 0, 0, 0]
    assert 100 <= waits[4] <= waits[5] < 115
    assert found.metrics["pending_max"] == 2
    assert {row["reason"] for row in found.pending} == {"NodeResourcesFit"}
    assert found.metrics["requested_max.cpu"] == 1
    assert found.metrics["requested_max.cpu"] == max(row["requested.cpu"] for row in found.series)
    duration = found.metrics["duration"]
    assert duration is not None
    assert found.metrics["cost"] == pytest.approx(duration / 100)
    assert found.metrics["wait_max"] == pytest.approx(waits[-1])


def test_operations_happen_in_order_and_refused_ones_are_problems(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "cluster:\n"
        "  nodes: [{count: 2}]\n"
        "  objects:\n"
        "  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, "
        "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, "
        "spec: {containers: [{name: a, image: a}]}}}}\n"
        "operations:\n"
        "- {at: 10s, scale: deployment/web, replicas: 3}\n"
        "- {at: 20s, cordon: node-0}\n"
        "- {at: 30s, drain: node-1}\n"
        "- {at: 40s, addNodes: {count: 1}}\n"
        "- {at: 50s, patch: node/node-2, change: {metadata: {labels: {disk: ssd}}}}\n"
        "- {at: 60s, delete: pod/nobody}\n"
        "assertions:\n"
        "- {at: 25s, pods: {selector: app=web}, count: 3, scheduled: true}\n"
        "- {at: 35s, pods: {selector: app=web}, notOnNodes: node-1}\n"
        "- {pods: {selector: app=web}, onNodes: disk=ssd}\n"
        "- {metric: nodes_max, equals: 3}\n",
    )

    assert [verdict.holds for verdict in found.verdicts] == [True, True, False, True]
    assert "is on node-0" in found.verdicts[2].found
    assert found.problems == ['operations[5]: pods "nobody" not found']


def test_failed_nodes_lose_their_pods_and_recover(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "cluster: {nodes: [{count: 2}]}\n"
        "stop: {at: 20m, when: time}\n"
        f"loads: [{{name: w, arrivals: {{every: 1s}}, count: 4, pods: [{{template: {POD}}}]}}]\n"
        "operations: [{at: 10s, fail: node-0}, {at: 15m, recover: node-0}]\n",
    )

    deleted = [pod for pod in found.pods if pod["deleted_s"] is not None]
    assert {pod["node"] for pod in deleted} == {"node-0"}
    # 40 to 50 s until the node is unreachable, 300 s that its pods tolerate it.
    assert all(340 < pod["deleted_s"] < 960 for pod in deleted)
    assert found.ended == "time"
    assert found.metrics["duration"] == 1200


def test_started_load_waits_for_its_operation_and_stops_at_one(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "cluster: {nodes: [{count: 9}]}\n"
        f"loads: [{{name: w, arrivals: {{every: 1s}}, pods: [{{template: {POD}}}]}}]\n"
        "operations: [{at: 60s, start: w}, {at: 65500ms, stop: w}]\n",
    )

    assert [pod["created_s"] for pod in found.pods] == [61, 62, 63, 64, 65]


def test_traces_fill_templates(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at,runTime,cpu,team\n0,10,1,red\n1m,20s,2,blue\n", encoding="utf-8")
    made = experiment(
        tmp_path,
        "cluster: {nodes: [{count: 2}]}\n"
        "loads:\n"
        "- name: w\n"
        "  arrivals: {trace: t.csv}\n"
        "  pods:\n"
        "  - template:\n"
        "      metadata: {name: 'job-{{.Index}}', labels: {team: '{{.team}}'}}\n"
        "      spec: {containers: [{name: a, image: a, resources: {requests: {cpu: '{{.cpu}}'}}}]}\n",
    )

    found = made.run()

    assert [(pod["pod"], pod["created_s"]) for pod in found.pods] == [("job-0", 0), ("job-1", 60)]
    assert 80 <= found.pods[1]["finished_s"] < 81
    blue = made.cluster.informers.lister("pods").stored("job-1", "default")
    assert blue is not None
    assert blue.raw["metadata"]["labels"]["team"] == "blue"
    assert blue.raw["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


def test_scheduler_service_time_delays_decisions_one_after_the_other(tmp_path: Path) -> None:
    body = f"cluster: {{nodes: [{{count: 3}}], pods: [{{count: 4, template: {POD}}}]}}\n"

    plain = run(tmp_path, body)
    paced = run(tmp_path, f"{body}serviceTime: {{cycle: 100ms, perNode: 10ms}}\n")

    assert plain.service_time.startswith("zero")
    assert plain.metrics["wait_max"] == 0
    assert paced.service_time == "100ms per cycle, 10ms per node that it looks at"
    assert [round(pod["wait_s"], 3) for pod in paced.pods] == [0.13, 0.26, 0.39, 0.52]
    assert [pod["node"] for pod in plain.pods] == [pod["node"] for pod in paced.pods]


def test_configuration_can_be_changed_on_the_way(tmp_path: Path) -> None:
    most = (
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: "
        "[{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}"
        "], plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}}}]}"
    )
    found = run(
        tmp_path,
        "cluster: {nodes: [{count: 4}]}\n"
        f"loads: [{{name: w, arrivals: {{every: 1s}}, count: 7, pods: [{{template: {POD}}}]}}]\n"
        f"operations: [{{at: 4500ms, schedulerConfig: {most}}}]\n",
    )

    nodes = [pod["node"] for pod in found.pods]
    assert len(set(nodes[:4])) == 4
    assert len(set(nodes[4:])) == 1


@pytest.mark.parametrize(
    ("stop", "ended", "duration"),
    [
        ("{when: allScheduled}", "allScheduled", 0),
        ("{when: idle}", "idle", 60),
        ("{at: 30s}", "time", 30),
        ("{when: time, at: 2m}", "time", 120),
    ],
)
def test_run_ends_when_it_should(tmp_path: Path, stop: str, ended: str, duration: float) -> None:
    found = run(
        tmp_path,
        f"stop: {stop}\ncluster: {{nodes: [{{count: 1}}], pods: [{{template: {POD}, runTime: 1m}}]}}\n",
    )

    assert found.ended == ended
    assert found.metrics["duration"] == pytest.approx(duration, abs=1.5)


def test_pod_that_waits_for_too_long_ends_the_run(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        f"stop: {{pendingFor: 10m}}\ncluster: {{nodes: [{{count: 1}}], pods: [{{count: 5, template: {POD}}}]}}\n",
    )

    assert found.ended == "pending"
    assert 600 <= (found.metrics["duration"] or 0) < 660
    assert found.metrics["pods_pending"] == 1


def test_preemption_is_counted_and_its_victims_are_named(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "cluster:\n"
        "  nodes: [{count: 1}]\n"
        "  objects: [{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}]\n"
        f"  pods: [{{count: 4, template: {POD}}}]\n"
        "operations:\n"
        "- {at: 10s, create: {apiVersion: v1, kind: Pod, metadata: {name: urgent}, spec: {priorityClassName: high, "
        "containers: [{name: a, image: a, resources: {requests: {cpu: '2'}}}]}}}\n"
        "stop: {at: 2m}\n",
    )

    assert found.metrics["preemptions"] == 1
    assert found.metrics["victims"] == 2
    assert [pod["preempted_by"] for pod in found.pods].count("default/urgent") == 2
    assert pods(found)["urgent"]["node"] == "node-0"


def test_interrupted_run_tells_what_had_happened(tmp_path: Path) -> None:
    made: list[Experiment] = []
    made.append(
        experiment(
            tmp_path,
            f"cluster: {{nodes: [{{count: 1}}]}}\n"
            f"loads: [{{name: w, arrivals: {{every: 1s}}, pods: [{{template: {POD}, runTime: 1s}}]}}]\n",
            interrupted=lambda: made[0].clock.now_ns() - made[0].begin_ns >= 30 * SECOND_NS,
        )
    )

    found = made[0].run()

    assert found.ended == "interrupted"
    assert 29 <= len(found.pods) <= 31
    assert found.digest.startswith("sha256:")


def test_seed_decides_what_comes_and_nothing_else_does(tmp_path: Path) -> None:
    body = (
        "cluster: {nodes: [{count: 2}]}\n"
        f"loads: [{{name: w, arrivals: {{poisson: 1/s}}, count: 9, pods: [{{template: {POD}, runTime: exponential(3s)}}]}}]\n"
    )

    first, second, other = run(tmp_path, body), run(tmp_path, body), run(tmp_path, body, seed=2)

    assert first == second
    assert first.digest != other.digest
    # Another configuration changes nothing of what comes.
    slow = run(tmp_path, f"{body}serviceTime: {{cycle: 1s}}\n")
    assert [pod["created_s"] for pod in slow.pods] == [pod["created_s"] for pod in first.pods]


def test_spread_skew_and_stranded_amounts_are_those_of_the_nodes(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "cluster:\n"
        "  nodes: [{count: 3}]\n"
        "  pods:\n"
        "  - count: 4\n"
        "    template:\n"
        "      metadata: {labels: {app: a}}\n"
        "      spec:\n"
        "        containers: [{name: a, image: a, resources: {requests: {cpu: '2', memory: 8Gi}}}]\n"
        "        topologySpreadConstraints:\n"
        "        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,"
        " labelSelector: {matchLabels: {app: a}}}\n"
        "stop: {when: allScheduled}\n",
    )

    last = found.series[-1]
    assert last["spread_skew"] == 1
    # One node is full of cpu and half of its 32Gi is free: a sixth of all memory. The others have half of each less
    # a quarter: 1 - 8/32 = 0.75 of memory free, 0.5 of cpu.
    assert last["stranded.memory"] == pytest.approx((0.5 + 0.25 + 0.25) / 3)
    assert last["stranded.cpu"] == 0
    assert last["nodes_needed"] == 2
    assert last["imbalance_zones.cpu"] == 0.5


def test_usage_is_measured_where_the_scenario_says_what_pods_use(tmp_path: Path) -> None:
    """Two pods that use half a CPU and 2Gi each, on a node of 4 CPU and 32Gi."""
    usage = (
        "{apiVersion: kwok.x-k8s.io/v1alpha1, kind: ClusterResourceUsage, metadata: {name: all}, spec: {usages: %s}}"
    )
    uses = usage % "[{usage: {cpu: {value: 500m}, memory: {value: 2Gi}}}]"
    body = f"  nodes: [{{count: 1}}]\n  pods: [{{count: 2, template: {POD}}}]\nstop: {{at: 5m, when: time}}\n"

    plain = run(tmp_path, f"cluster:\n{body}")
    found = run(tmp_path, f"cluster:\n  objects: [{uses}]\n{body}")

    assert "used_max.cpu" not in plain.metrics
    assert found.series[-1]["used.cpu"] == pytest.approx(0.25)
    assert found.series[-1]["used.memory"] == pytest.approx(0.125)
