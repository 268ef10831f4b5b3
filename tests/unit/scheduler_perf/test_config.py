"""scheduler_perf files: what is read, and how mistakes are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf import load, machine, shipped
from schedlab.scheduler_perf.config import Params
from schedlab.scheduler_perf.operations import Churn, CreateNodes, CreatePods

GOOD = """
- name: Basic
  featureGates: {SchedulerAsyncAPICalls: true}
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
  - opcode: createNodes
    countParam: $initNodes
  - {opcode: churn, mode: recreate, number: 1, templatePaths: [pod.yaml]}
  - opcode: createPods
    count: 10
    collectMetrics: true
  workloads:
  - name: small
    params: {initNodes: 5}
  - name: large
    labels: [performance]
    threshold: {"": 100, fast: 200}
    thresholdMetricSelector: {name: SchedulingThroughput, dataBucket: Perc50}
    featureGates: {OpportunisticBatching: true}
    params: {initNodes: 500}
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "performance-config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_file_is_read_into_operations_and_workloads(tmp_path: Path) -> None:
    (case,) = load(_write(tmp_path, GOOD))

    nodes, churn, pods = case.workload_template
    assert isinstance(nodes, CreateNodes)
    assert nodes.count_param == "$initNodes"
    assert isinstance(churn, Churn)
    assert churn.interval_milliseconds == 500
    assert isinstance(pods, CreatePods)
    assert pods.collect_metrics
    large = case.workload()
    assert large.name == "large"
    assert case.workload("small").params == {"initNodes": 5}
    assert case.gates(large) == {"SchedulerAsyncAPICalls": True, "OpportunisticBatching": True}
    assert case.gates(case.workload("small"))["OpportunisticBatching"] is False
    assert (case.threshold(large)[0], case.threshold(large)[1].data_bucket) == (100, "Perc50")
    assert case.threshold(case.workload("small"))[1].data_bucket == "Average"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("GOOD", "kind: Pod", "holds a mapping, not a list of test cases"),
        ("GOOD", "", "holds nothing, not a list of test cases"),
        ("GOOD", "- [", "did not find expected node content"),
        ("opcode: createNodes", "opcode: makeNodes", "Basic.workloadTemplate[0].opcode: Invalid value 'makeNodes'"),
        ("opcode: createNodes", "op: createNodes", "Basic.workloadTemplate[0]: Object missing required field `opcode`"),
        ("count: 10", "amount: 10", "Basic.workloadTemplate[2]: Object contains unknown field `amount`"),
        ("count: 10", "count: -1", "invalid count=-1; should be non-negative"),
        ("count: 10", "countParam: pods", 'invalid countParam="pods"'),
        ("count: 10", "skipWaitToCompletion: true", "collectMetrics and skipWaitToCompletion cannot be true"),
        ("count: 10", "duration: soon", "invalid duration"),
        ("mode: recreate, number: 1", "mode: recreate", "number cannot be 0 when mode is recreate"),
        ("mode: recreate", "mode: destroy", "Invalid enum value 'destroy'"),
        ("templatePaths: [pod.yaml]", "templatePaths: []", "at least one template spec file needs to be specified"),
        ("- name: large", "- name: small", "workload name small is not unique"),
        ('threshold: {"": 100, fast: 200}', "threshold: -1", "Basic/large: invalid threshold=-1"),
        ("opcode: createNodes", "opcode: allocResourceClaims", "Basic: allocResourceClaims is not supported"),
        ("count: 10", "count: 10\n    count: 11", 'key "count" already set'),
    ],
)
def test_mistake_is_refused_with_its_place(tmp_path: Path, before: str, after: str, message: str) -> None:
    path = _write(tmp_path, after if before == "GOOD" else GOOD.replace(before, after))

    with pytest.raises(SchedlabError) as refused:
        load(path)

    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert refused.value.hint or "unique" in message or "threshold" in message


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="No such file"):
        load(tmp_path / "none.yaml")


def test_unknown_workload_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    (case,) = load(_write(tmp_path, GOOD))

    with pytest.raises(SchedlabError, match="it has: small, large"):
        case.workload("medium")


def test_parameters_are_typed_and_all_are_used() -> None:
    params = Params({"nodes": 5.0, "steady": True, "time": "2m", "color": "blue", "more": 1}, "file")

    assert params.count(0, "$nodes") == 5
    assert params.count(7, "") == 7
    assert params.flag(False, "$steady")
    assert params.duration_ns("", "$time") == 120_000_000_000
    assert params.resolve({"a": "$color", "b": 2}) == {"a": "blue", "b": 2}
    with pytest.raises(SchedlabError, match="the workload parameters more are defined but unused"):
        params.refuse_unused()


@pytest.mark.parametrize(
    ("value", "message"),
    [("five", "parameter nodes is 'five', not a count"), (-1, "not a count"), (True, "not a count")],
)
def test_parameter_of_another_type_is_refused(value: object, message: str) -> None:
    with pytest.raises(SchedlabError, match=message):
        Params({"nodes": value}, "file").count(0, "$nodes")


def test_undefined_parameter_is_refused() -> None:
    with pytest.raises(SchedlabError, match="parameter pods is undefined"):
        Params({"nodes": 1}, "file").count(0, "$pods")


def test_shipped_workloads_are_those_with_known_figures() -> None:
    """Each can be compared with kube-scheduler, at the size at which that was measured."""
    cases = {case.name: case for case in load(shipped())}

    assert cases.keys() == machine.KUBE_SCHEDULER.keys()
    assert all("performance" in case.workload().labels for case in cases.values())
    assert cases["SchedulingDaemonset"].workload().params == {"initNodes": 15000, "measurePods": 30000}
    assert cases["PreemptionAsync"].workload().params == {"initNodes": 5000, "initPods": 20000, "measurePods": 5000}
