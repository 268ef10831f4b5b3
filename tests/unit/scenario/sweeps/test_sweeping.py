"""A sweep makes each run once, whatever stops it, and each gives what the same scenario gives by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import plan_of, read_scenario, with_configuration
from schedlab.scenario.source import Source
from schedlab.scenario.sweeps.file import SweepPlan, read_sweep
from schedlab.scenario.sweeps.journal import FILE, Journal
from schedlab.scenario.sweeps.results import SweepResult, means, read_runs, table
from schedlab.scenario.sweeps.sweeping import run_sweep
from schedlab.scenario.sweeps.task import Task, run_task
from schedlab.scenario.workers.crew import Crew, Work
from schedlab.scenario.workers.local import LocalEngine
from tests.unit.scenario.sweeps.files import SWEEP, write_sweep


def sweep(plan: SweepPlan, folder: Path, *, work: Work | None = None, stop_after: int | None = None) -> SweepResult:
    def progress(over: int, _failed: int) -> None:
        if over == stop_after:
            raise KeyboardInterrupt

    engine = LocalEngine(work or partial(run_task, plan.scenario))
    with Journal(folder) as journal, Crew(engine, 2) as crew:
        return run_sweep(plan, journal, crew, progress=progress)


def test_runs_are_those_of_the_scenario_itself(tmp_path: Path) -> None:
    plan = read_sweep(write_sweep(tmp_path))

    found = sweep(plan, tmp_path / "out")

    own = read_scenario(tmp_path / "s.yaml")
    packed = with_configuration(own, Source(tmp_path / "packing.yaml"))
    digests = {(row["config"], *row["parameters"].values(), row["seed"]): row["digest"] for row in found.rows.values()}
    assert len(digests) == 8
    assert digests["default", 4, 2] == Experiment(own, seed=2).run().digest
    assert digests["packing.yaml", 4, 1] == Experiment(packed, seed=1).run().digest
    three = plan_of(json.loads(plan.tasks[0].document), "", Source(tmp_path / "s.yaml"))
    assert digests["default", 3, 1] == Experiment(three, seed=1).run().digest


def test_what_was_finished_is_not_made_again(tmp_path: Path) -> None:
    plan = read_sweep(write_sweep(tmp_path))

    first = sweep(plan, tmp_path / "out", stop_after=3)
    assert first.interrupted
    lines = (tmp_path / "out" / FILE).read_text(encoding="utf-8")
    assert lines.count("\n") == len(first.rows) == 3

    second = sweep(plan, tmp_path / "out")
    assert (second.known, second.interrupted, len(second.rows)) == (3, False, 8)
    after = (tmp_path / "out" / FILE).read_text(encoding="utf-8")
    assert after.startswith(lines)
    assert after.count("\n") == 8

    more = write_sweep(tmp_path, SWEEP.replace("[3, 4]", "[3, 4, 5]").replace("default", "plain"))
    third = sweep(read_sweep(more), tmp_path / "out")
    assert third.known == 8
    assert len(third.rows) == 12
    assert {row["config"] for row in third.rows.values()} == {"plain", "packing.yaml"}


def fail_sometimes(folder: Path, file: Path, task: Task) -> Mapping[str, Any]:
    """Fail the runs of seed 2 while a file is there."""
    if task.seed == 2 and (folder / "broken").exists():
        raise RuntimeError("broken")
    return run_task(file, task)


def test_failed_runs_are_told_and_made_again_the_next_time(tmp_path: Path) -> None:
    plan = read_sweep(write_sweep(tmp_path))
    (tmp_path / "broken").touch()
    work = partial(fail_sometimes, tmp_path, plan.scenario)

    first = sweep(plan, tmp_path / "out", work=work)
    assert [row["seed"] for row in first.failed] == [2] * 4
    assert all(row["reason"].startswith("RuntimeError: broken") for row in first.failed)
    assert [point["failed"] for point in first.points()] == [1] * 4

    (tmp_path / "broken").unlink()
    second = sweep(plan, tmp_path / "out", work=work)
    assert (second.known, second.failed) == (4, [])


def test_rows_make_a_table_and_a_frame(tmp_path: Path) -> None:
    plan = read_sweep(write_sweep(tmp_path, SWEEP + '- {path: "stop.when", values: [idle, time]}\n'))
    found = sweep(plan, tmp_path / "out")

    rows = table(found.ordered())
    assert [row["seed"] for row in rows] == [task.seed for task in plan.tasks]
    frame = read_runs(tmp_path / "out", "pandas")
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 16
    assert frame.groupby("config")["nodes_used_max"].max().to_dict() == {"default": 4, "packing.yaml": 2}


def test_columns_hold_values_of_one_type() -> None:
    def row(value: object) -> dict[str, object]:
        return {"id": "a", "config": "", "parameters": {"p": value}, "seed": 1, "state": "failed"}

    assert [one["p"] for one in table([row(1), row(2)])] == [1, 2]
    assert [one["p"] for one in table([row(1), row("a"), row({"b": 2})])] == ["1", "a", '{"b": 2}']


def test_means_leave_out_what_was_not_measured() -> None:
    assert means([{"a": 1, "b": None}, {"a": 2, "b": None}, {"a": None, "b": None}]) == {"a": 1.5, "b": None}


def test_folder_without_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="name the folder of a sweep's results"):
        read_runs(tmp_path)
