"""Workloads run in batch and live, small: every operation does what it says, and figures come out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf import RunOptions, load, run, shipped
from schedlab.scheduler_perf.live import Processes
from schedlab.scheduler_perf.measurement import Figures
from schedlab.scheduler_perf.run import Mode

POD = """
apiVersion: v1
kind: Pod
metadata:
  generateName: pod-
  labels: {color: blue, parity: "{{ Mod .Index 2 }}"}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: pause, resources: {requests: {cpu: 100m}}}]
"""
LARGE = POD.replace("100m", "9")


def _run(folder: Path, operations: str, *, mode: Mode = "batch", params: str = "") -> list[Figures]:
    (folder / "pod.yaml").write_text(POD, encoding="utf-8")
    (folder / "large.yaml").write_text(LARGE, encoding="utf-8")
    path = folder / "performance-config.yaml"
    path.write_text(
        f"""
- name: Case
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
{operations}
  workloads:
  - name: w
    params: {{{params}}}
""",
        encoding="utf-8",
    )
    (case,) = load(path)
    return run(path, case, case.workload(), RunOptions(mode=mode))


@pytest.mark.parametrize(("mode", "processes"), [("batch", 1), ("live", 1), ("live", 2)])
@pytest.mark.parametrize("name", ["SchedulingBasic", "Unschedulable"])
def test_shipped_workload_runs(name: str, mode: Mode, processes: Processes) -> None:
    case = next(case for case in load(shipped()) if case.name == name)
    options = RunOptions(mode=mode, processes=processes)

    (figures,) = run(shipped(), case, case.workload(case.workloads[0].name), options)

    assert figures.pods == 10
    assert figures.pods_per_second["Average"] > 0
    assert figures.cycle_us["Perc50"] > 0
    assert figures.cpu_us_per_pod > 0
    assert figures.facts["attempts"] >= 10
    assert figures.facts["memoryPeakMiB"] > 0


@pytest.mark.parametrize("name", [case.name for case in load(shipped())])
def test_every_shipped_workload_binds_its_pods(name: str) -> None:
    case = next(case for case in load(shipped()) if case.name == name)
    small = next(one for one in case.workloads if "short" in one.labels)

    (figures,) = run(shipped(), case, small, RunOptions())

    assert figures.pods == small.params["measurePods"]


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_all_operations_follow_each_other(tmp_path: Path, mode: Mode) -> None:
    """Sets of pods, deletions, barriers, churn, sleep and metrics that are started by hand."""
    operations = """
  - {opcode: createNodes, count: 3, uniqueNodeLabelStrategy: {labelKey: kubernetes.io/hostname}}
  - {opcode: createNamespaces, prefix: set, count: 2}
  - {opcode: createPodSets, count: 2, namespacePrefix: set, createPodsOp: {opcode: createPods, countParam: $some}}
  - {opcode: deletePods, namespace: set-0, labelSelector: {parity: "1"}}
  - {opcode: createPods, count: 1, namespace: waits, podTemplatePath: large.yaml, skipWaitToCompletion: true}
  - {opcode: barrier, namespaces: [waits], stageRequirement: Attempted}
  - {opcode: barrier, namespaces: [set-1], labelSelector: {color: blue}}
  - {opcode: churn, mode: recreate, number: 1, intervalMilliseconds: 20, templatePaths: [large.yaml]}
  - {opcode: sleep, duration: 100ms}
  - {opcode: deletePods, namespace: set-1, deletePodsPerSecond: 100, skipWaitToCompletion: true}
  - {opcode: startCollectingMetrics, name: blue, namespaces: [last], labelSelector: {parity: "0"}}
  - {opcode: createPods, count: 10, namespace: last}
  - {opcode: stopCollectingMetrics}
"""

    (figures,) = _run(tmp_path, operations, mode=mode, params="some: 4")

    assert figures.name == "blue"
    assert figures.pods == 5


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_steady_state_replaces_pods_for_a_while(tmp_path: Path, mode: Mode) -> None:
    operations = """
  - {opcode: createNodes, count: 2}
  - {opcode: createPods, count: 4, steadyState: true, duration: 200ms, collectMetrics: true}
"""

    (figures,) = _run(tmp_path, operations, mode=mode)

    assert figures.pods > 4


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_objects_are_created_and_updated(tmp_path: Path, mode: Mode) -> None:
    """A node that is made unschedulable leaves the pods to the others; a label lets them onto a node."""
    (tmp_path / "node.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: 'n{{.Index}}'}, "
        "status: {allocatable: {cpu: '{{.cpu}}', pods: '9'}}}",
        encoding="utf-8",
    )
    (tmp_path / "off.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n0}, spec: {unschedulable: true}}", encoding="utf-8"
    )
    operations = """
  - {opcode: createAny, templatePath: node.yaml, countParam: $nodes, templateParams: {cpu: $cpu}}
  - {opcode: updateAny, templatePath: off.yaml, updatePerSecond: 1000}
  - {opcode: createPods, count: 9, collectMetrics: true, signatureBatchSize: 3}
"""

    (figures,) = _run(tmp_path, operations, mode=mode, params='nodes: 2, cpu: "4"')

    assert figures.pods == 9


@pytest.mark.parametrize(
    ("operations", "params", "message"),
    [
        (["{opcode: createNodes, countParam: $none}"], "", "parameter none is undefined"),
        (["{opcode: createNodes, count: 1}"], "more: 1", "more are defined but unused"),
        (["{opcode: createNodes, count: 1, nodeTemplatePath: none.yaml}"], "", "No such file"),
        (["{opcode: createPods, count: 1, podTemplatePath: bad.yaml}"], "", "holds no object with a kind"),
        (["{opcode: createAny, templatePath: pod.yaml, namespace: none/}"], "", "refused an object"),
        (
            ["{opcode: createNodes, count: 1, labelNodePrepareStrategy: {key: a}}"],
            "",
            "Object contains unknown field `key`",
        ),
        (
            ["{opcode: createNodes, count: 1, labelNodePrepareStrategy: {labelKey: a}, uniqueNodeLabelStrategy: {}}"],
            "",
            "at most one strategy",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    tmp_path: Path, operations: Iterable[str], params: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text("metadata: {}", encoding="utf-8")

    with pytest.raises(SchedlabError) as refused:
        _run(tmp_path, "".join(f"  - {operation}\n" for operation in operations), params=params)

    assert message in str(refused.value)


def test_pods_that_never_fit_end_the_run(tmp_path: Path) -> None:
    operations = """
  - {opcode: createNodes, count: 1}
  - {opcode: createPods, count: 2, podTemplatePath: large.yaml}
"""

    with pytest.raises(SchedlabError, match="2 pods are still not scheduled after 120 s"):
        _run(tmp_path, operations)


def test_profile_tells_the_stages(tmp_path: Path) -> None:
    case = next(case for case in load(shipped()) if case.name == "SchedulingBasic")

    (figures,) = run(shipped(), case, case.workload("5Nodes"), RunOptions(profile=True))

    assert {"create pods", "bind", "event", "record", "queue"} <= figures.stages_us.keys()
    assert all(value >= 0 for value in figures.stages_us.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("a: [", "yaml: line 1"),
        ("- a", "holds list, not a KubeSchedulerConfiguration"),
    ],
)
def test_configuration_of_the_scheduler_that_is_none(text: str | None, message: str, tmp_path: Path) -> None:
    """The file that a case names is judged like one that the user names."""
    if text is not None:
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    path = tmp_path / "performance-config.yaml"
    path.write_text(
        """
- name: Case
  schedulerConfigPath: config.yaml
  workloadTemplate:
  - {opcode: createNodes, count: 1}
  workloads:
  - name: w
""",
        encoding="utf-8",
    )
    (case,) = load(path)

    with pytest.raises(SchedlabError) as caught:
        run(path, case, case.workload(), RunOptions())

    assert str(caught.value).startswith(f"{tmp_path / 'config.yaml'}: ")
    assert message in str(caught.value)
