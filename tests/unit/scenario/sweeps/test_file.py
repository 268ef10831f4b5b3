"""Sweep files are read strictly, and every point is tried on the scenario before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.comparing import OWN
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.sweeps.file import read_sweep
from tests.unit.scenario.sweeps.files import SWEEP, write_sweep
from tests.unit.scenario.test_comparing import SCENARIO

COUNT = "cluster.nodes[0].count"


def parameters(*lines: str) -> str:
    return "parameters:\n" + "".join(f"- {{{line}}}\n" for line in lines)


def test_grid_has_every_point_with_every_seed(tmp_path: Path) -> None:
    plan = read_sweep(write_sweep(tmp_path))

    points = [(task.config, task.parameters[COUNT], task.seed) for task in plan.tasks]
    assert points == [
        (config, count, seed) for config in ("default", "packing.yaml") for count in (3, 4) for seed in (1, 2)
    ]
    assert len({task.id for task in plan.tasks}) == 8
    assert plan.names == ["config", COUNT]


def test_values_stand_in_the_documents(tmp_path: Path) -> None:
    body = "configs: [{set: {percentageOfNodesToScore: 30}, weights: {ImageLocality: 0, NodeAffinity: 7}}]\n"
    body += parameters(
        'name: rate, path: "loads[w].arrivals.poisson", range: {from: 1, to: 2}, format: "{}/s"',
        "path: serviceTime.cycle, values: [1ms]",
        'path: "schedulerConfig.profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type", '
        "values: [MostAllocated]",
    )

    first, second = (json.loads(task.document) for task in read_sweep(write_sweep(tmp_path, body)).tasks)

    assert [one["loads"][0]["arrivals"]["poisson"] for one in (first, second)] == ["1/s", "2/s"]
    assert first["serviceTime"] == {"cycle": "1ms"}
    config = first["schedulerConfig"]
    assert config["percentageOfNodesToScore"] == 30
    [profile] = config["profiles"]
    assert profile["plugins"]["score"] == {
        "enabled": [{"name": "NodeAffinity", "weight": 7}],
        "disabled": [{"name": "ImageLocality"}],
    }
    assert profile["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    ]


def test_without_anything_that_varies_the_scenario_runs_with_its_own_seed(tmp_path: Path) -> None:
    [task] = read_sweep(write_sweep(tmp_path, "", SCENARIO + "seed: 7\n")).tasks

    assert (task.config, task.seed, task.parameters) == (OWN, 7, {})


def test_random_points_are_drawn_alike_and_more_keep_the_first(tmp_path: Path) -> None:
    ranges = parameters(
        'path: "cluster.nodes[0].count", range: {from: 1, to: 50, log: true}',
        'path: stop.at, range: {from: 0.5, to: 2}, format: "{}h"',
    )

    def drawn(random: str) -> list[str]:
        return [task.document for task in read_sweep(write_sweep(tmp_path, f"{ranges}random: {random}\n")).tasks]

    few, more = drawn("{points: 5}"), drawn("{points: 9}")
    assert more[:5] == few
    assert len(set(more)) == 9
    assert drawn("{points: 5, seed: 2}") != few


@pytest.mark.parametrize(
    ("body", "line", "message", "hint"),
    [
        ("sed: 1\n", 4, "sed: there is no such field", "did you mean seeds?"),
        ("seeds: x\n", 4, "seeds: 'x' names no seeds", "1..20"),
        ("seeds: []\n", 4, "seeds: is empty", ""),
        ("seeds: [3, -1]\n", 4, "seeds: -1 is no seed", ""),
        ("timeout: soon\n", 4, "timeout: 'soon' is no duration", "90s"),
        ("timeout: 0s\n", 4, "timeout: 0s is no time at all", ""),
        ("metrics: [wait_p9]\n", 4, "metrics[0]: there is no metric wait_p9", "did you mean wait_p99?"),
        ("configs:\n- no.yaml\n", 5, "configs[0]: ", "name a readable file"),
        ("configs: [{weights: {Nope: 3}}]\n", 4, '"Nope" does not exist', "plugins are"),
        ("configs: [{weights: {NodeName: 3}}]\n", 4, "does not extend ScorePlugin", ""),
        ("configs: [{weights: {NodeAffinity: -1}}]\n", 4, "-1 is no weight", ""),
        ("configs: [{set: {percentageOfNodes: 3}}]\n", 4, "unknown field", "percentageOfNodesToScore?"),
        ("configs: [{set: {percentageOfNodesToScore: 300}}]\n", 4, "not in valid range [0-100]", ""),
        ("configs: [{}, {}]\n", 4, f"configs[1]: {OWN} is there twice", "name of its own"),
        (parameters("values: [1]"), 5, "parameters[0]: says neither", "give one of path, weight"),
        (parameters(f'path: "{COUNT}"'), 5, "parameters[0]: has neither values nor a range", ""),
        (parameters(f'path: "{COUNT}", values: []'), 5, "parameters[0].values: is empty", ""),
        (parameters(f'path: "{COUNT}", values: [1, 1]'), 5, "values[1]: 1 is there twice", ""),
        (parameters('path: "cluster.nodes[0].cout", values: [1]'), 5, "there is no such field", "count?"),
        (parameters('path: "cluster.nodes[1].count", values: [1]'), 5, "there is no item [1]", "there are 1"),
        (parameters('path: "loads[x].count", values: [1]'), 5, "there is no item called x", "there are: w"),
        (
            parameters('path: "loads[w].count", values: [1, -1]'),
            5,
            "parameters[0].values[1]: -1 cannot be: loads[0].count: is -1",
            "give 0 or more",
        ),
        (
            parameters('path: "loads[w].pods[0].template.spec.containrs", values: [a]'),
            5,
            "there is no containrs",
            "did you mean containers?",
        ),
        (parameters("path: seed, values: [1]"), 5, "seed is no parameter", "seeds has them"),
        (parameters("path: schedulerConfig, values: [a]"), 5, "schedulerConfig is no parameter", "configs"),
        (parameters('path: "a..b", values: [1]'), 5, "'a..b' is no path", "write it like"),
        (parameters("path: featureGates.Nope, values: [true]"), 5, "unrecognized feature gate: Nope", ""),
        (parameters("path: stop.at, range: {from: 1.5, to: 3}"), 5, "has no step", "add step, or random"),
        (parameters("path: stop.at, range: {from: 3, to: 1}"), 5, "ends at 1, before 3", ""),
        (parameters("path: stop.at, range: {from: 1, to: 3, step: 0}"), 5, "range.step: is 0", ""),
        (parameters("path: stop.at, range: {from: 0, to: 3, log: true}"), 5, "numbers above 0", ""),
        (parameters("path: stop.at, range: {from: 0, to: 99999}"), 5, "holds too many numbers", ""),
        (parameters("path: stop.at, values: [1], format: h"), 5, "'h' has no place for the value", "{}"),
        (parameters("weight: ImageLocality, values: [1.5]"), 5, "1.5 is no weight", ""),
        (parameters("weight: Nope, values: [1]"), 5, '"Nope" does not exist', ""),
        (parameters("name: config, weight: NodeAffinity, values: [1]"), 5, "config is another column", "another name"),
        (parameters("path: stop.at, values: [1h]", "path: stop.at, values: [2h]"), 4, "stop.at is there twice", ""),
        (
            parameters('path: "loads[w].from", values: [0s, 9m]', 'path: "loads[w].until", values: [1h, 5m]'),
            4,
            '{"loads[w].from": "9m", "loads[w].until": "5m"} cannot be: loads[0].until: 5m is not after',
            "let it end later",
        ),
        ("random: {points: 3}\n", 4, "the axes have 1 point, not 3", ""),
        ("seeds: 1..9999\n" + parameters('path: "loads[w].count", range: {from: 1, to: 99}'), 1, "runs, more than", ""),
    ],
)
def test_mistake_is_told_with_its_line(tmp_path: Path, body: str, line: int, message: str, hint: str) -> None:
    with pytest.raises(MistakesError) as caught:
        read_sweep(write_sweep(tmp_path, body))

    told = str(caught.value)
    assert f"sweep.yaml:{line}: " in told
    assert message in told
    assert hint in told


def test_mistakes_of_the_scenario_are_its_own(tmp_path: Path) -> None:
    file = write_sweep(tmp_path, SWEEP, SCENARIO + "sed: 1\n")

    with pytest.raises(MistakesError, match=r"s\.yaml:9: sed: there is no such field"):
        read_sweep(file)


@pytest.mark.parametrize("text", ["- 1\n", "a: [\n", "a: 1\na: 2\n"])
def test_file_that_is_no_sweep_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(SchedlabError, match=r"sweep\.yaml"):
        read_sweep(file)


def test_run_is_another_one_when_anything_that_it_depends_on_is(tmp_path: Path) -> None:
    trace = SCENARIO.replace("{poisson: 1/s}", "{trace: t.csv}")
    (tmp_path / "t.csv").write_text("at\n1\n2\n", encoding="utf-8")
    before = read_sweep(write_sweep(tmp_path, SWEEP, trace))
    assert list(before.files) == ["t.csv"]

    (tmp_path / "t.csv").write_text("at\n1\n3\n", encoding="utf-8")
    after = read_sweep(tmp_path / "sweep.yaml")
    renamed = read_sweep(write_sweep(tmp_path, SWEEP.replace("default", "plain"), f"# A remark.\n{trace}"))

    assert not {task.id for task in before.tasks} & {task.id for task in after.tasks}
    assert [task.id for task in renamed.tasks] == [task.id for task in after.tasks]
