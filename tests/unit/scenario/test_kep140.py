"""A Scenario of KEP-140 goes step by step: a step ends when nothing more happens, and its timeline tells what did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.opening import open_runs
from schedlab.scenario.source import Source
from schedlab.scenario.stepped_experiment import SteppedExperiment

HEAD = "apiVersion: simulation.kube-scheduler-simulator.x-k8s.io/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n"
NODE = "{apiVersion: v1, kind: Node, metadata: {name: one}, status: {capacity: {cpu: '1', memory: 1Gi, pods: '9'}}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, image: a, resources: {requests: {cpu: '1'}}}]}}"


def opened(folder: Path, *operations: str) -> SteppedExperiment:
    file = folder / "s.yaml"
    lines = "".join(f"  - {{{operation}}}\n" for operation in operations)
    file.write_text(f"{HEAD}spec:\n  operations:\n{lines}", encoding="utf-8")
    [found] = open_runs(Source(file))
    assert isinstance(found, SteppedExperiment)
    return found


def words(experiment: SteppedExperiment) -> dict[str, list[str]]:
    return {
        step: [next(key for key in event if key not in ("id", "step")) for event in events]
        for step, events in experiment.timeline.items()
    }


def create(step: int, obj: str) -> str:
    return f"step: {step}, createOperation: {{object: {obj}}}"


def delete(step: int, kind: str, name: str) -> str:
    return (
        f"step: {step}, deleteOperation: {{typeMeta: {{apiVersion: v1, kind: {kind}}}, objectMeta: {{name: {name}}}}}"
    )


def test_steps_follow_each_other_and_end_when_done(tmp_path: Path) -> None:
    """The second pod gets its node in the step that deletes the first one; what comes after `done` never happens."""
    experiment = opened(
        tmp_path,
        create(1, NODE),
        create(2, POD % "one"),
        create(2, POD % "two"),
        delete(4, "Pod", "one"),
        "step: 4, doneOperation: {}",
        create(9, POD % "three"),
    )

    run = experiment.run()

    assert experiment.phase == "Succeeded"
    assert words(experiment) == {
        "1": ["create"],
        "2": ["create", "create", "podScheduled"],
        "4": ["delete", "done", "delete", "podScheduled"],
    }
    assert [event["step"]["minor"] for event in experiment.timeline["2"]] == [0, 1, 2]
    status = experiment.status(run)
    assert status["scenarioResult"]["timeline"]["2"][2]["podScheduled"]["result"]["spec"]["nodeName"] == "one"
    assert {pod["pod"] for pod in run.pods} == {"one", "two"}


def test_scenario_without_done_is_paused_and_a_refused_operation_fails_it(tmp_path: Path) -> None:
    paused = opened(tmp_path, create(1, NODE))
    paused.run()
    failed = opened(tmp_path, create(1, NODE), create(2, NODE))
    run = failed.run()

    assert paused.phase == "Paused"
    assert failed.phase == "Failed"
    assert run.problems == ['operation 2: nodes "one" already exists']


def test_deleted_node_takes_its_pods_along_within_its_step(tmp_path: Path) -> None:
    experiment = opened(tmp_path, create(1, NODE), create(1, POD % "one"), delete(2, "Node", "one"))

    experiment.run()

    assert words(experiment)["2"] == ["delete", "delete"]


def test_patches_are_made(tmp_path: Path) -> None:
    patch = """patch: '{"metadata": {"labels": {"disk": "ssd"}}}'"""
    experiment = opened(
        tmp_path,
        create(1, NODE),
        f"step: 2, patchOperation: {{typeMeta: {{apiVersion: v1, kind: Node}}, objectMeta: {{name: one}}, {patch}}}",
    )

    experiment.run()

    [event] = experiment.timeline["2"]
    result: dict[str, Any] = event["patch"]["result"]
    assert result["metadata"]["labels"]["disk"] == "ssd"


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("step: 1", "spec.operations[0]: nothing is to be done"),
        ("step: -1, doneOperation: {}", "spec.operations[0].step: is -1"),
        (
            "step: 1, doneOperation: {}, createOperation: {object: {}}",
            "createOperation and doneOperation is to be done",
        ),
        (create(1, "{kind: Node}"), "is no manifest"),
        (
            create(1, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}"),
            'Pod "p" is invalid: spec.containers',
        ),
        (delete(1, "Node", "nobody"), "there is no node/nobody"),
        ("step: 1, doneOperation: {}, foo: 1", "spec.operations[0].foo: there is no such field"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, operation: str, message: str) -> None:
    with pytest.raises(MistakesError) as caught:
        opened(tmp_path, operation)

    told = str(caught.value)
    assert "s.yaml:6: " in told
    assert message in told
