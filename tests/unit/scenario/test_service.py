"""Runs in processes of their own: told while they go on, cancelled with what had happened, bounded, forgotten."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.scenario.comparing import Variant
from schedlab.scenario.service import RESULT, BusyError, Kept, ScenarioRuns, Task
from schedlab.scenario.source import Source
from tests.unit.scenario.test_comparing import PACKING, SCENARIO

WORKER = (sys.executable, "-P", "-m", "schedlab.cli.scenario_worker")
#: Does nothing, and says so.
QUICK = (sys.executable, "-c", 'print(\'{"end": "finished"}\')')
#: Goes on for days of virtual time, until somebody ends it.
LONG = SCENARIO.replace("count: 6", "until: 168h").replace("loads:", "stop: {at: 192h, when: time}\nloads:")


def task_of(text: str = SCENARIO, kind: Any = "run", config: str = "", **more: Any) -> Task:
    variant = Variant(Source(Path("s.yaml"), text))
    other = [Variant(variant.scenario, Source(Path("packing.yaml"), config))] if config else []
    return Task(kind, (variant, *other), **more)


def served(folder: Path, work: Callable[[ScenarioRuns], Awaitable[None]], **limits: Any) -> None:
    async def serve() -> None:
        runs = ScenarioRuns(folder, limits.pop("worker", WORKER), **limits)
        try:
            await work(runs)
        finally:
            await runs.close()

    asyncio.run(serve())


async def over(runs: ScenarioRuns, kept: Kept) -> list[dict[str, Any]]:
    return [told async for told in runs.follow(kept)]


def result(kept: Kept) -> Any:
    return json.loads((kept.folder / RESULT).read_text(encoding="utf-8"))


def test_a_run_is_told_and_leaves_files(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(), "s.yaml")
        told = await over(runs, kept)

        assert kept.state == "finished"
        assert told[0]["fresh"]
        rows = [row for line in told for row in line["rows"]]
        assert rows[-1]["scheduled"] == 6
        assert "wait_p95" in rows[-1]
        assert kept.files() == ["pending.csv", "pods.csv", "report.html", "run.json", "series.csv"]
        [run] = result(kept)["runs"]
        assert run["digest"] == json.loads((kept.folder / "run.json").read_text())["digest"]
        assert len(run["waits"]) == 101

    served(tmp_path / "runs", work)
    assert not (tmp_path / "runs").exists()


def test_a_comparison_says_what_schedlab_compare_says(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(kind="comparison", config=PACKING, seeds="1..3"), "s.yaml")
        await over(runs, kept)

        found = result(kept)["comparison"]
        assert found["configs"] == ["the scenario's own", "packing.yaml"]
        assert found["moved"][0]["byPlugin"]["NodeResourcesFit"]
        [nodes] = [one for one in found["metrics"] if one["name"] == "nodes_used_max"]
        assert nodes["means"] == [4, 2]
        assert nodes["differences"][0]["clear"]
        assert kept.files() == ["comparison.json", "metrics.csv", "moved.csv", "report.html"]

    served(tmp_path / "runs", work)


def test_a_cancelled_run_can_be_read(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(LONG), "s.yaml")
        async for told in runs.follow(kept):
            if told["run"]["progress"]:
                runs.cancel(kept)

        assert kept.state == "cancelled"
        [run] = result(kept)["runs"]
        assert run["ended"] == "interrupted"
        assert "run.json" in kept.files()

    served(tmp_path / "runs", work)


def test_a_run_that_takes_too_long_is_cancelled_and_says_so(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(LONG), "s.yaml")
        await over(runs, kept)

        assert kept.state == "cancelled"
        assert kept.error is not None
        assert "ended after 3 seconds" in kept.error["message"]

    served(tmp_path / "runs", work, run_s_max=3.0)


def test_there_are_so_many_at_once_and_the_others_wait(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        first = await runs.start(task_of(LONG), "s.yaml")
        second = await runs.start(task_of(), "s.yaml")
        with pytest.raises(BusyError, match="2 runs are under way already"):
            await runs.start(task_of(), "s.yaml")
        async for told in runs.follow(first):
            if told["run"]["progress"]:
                break
        assert (first.state, second.state) == ("running", "waiting")

        runs.cancel(second)
        await over(runs, second)
        assert second.state == "cancelled"
        assert second.files() == []

    served(tmp_path / "runs", work, at_once_max=1, waiting_max=1)


def test_the_oldest_is_forgotten_with_its_files(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = []
        for _ in range(3):
            kept.append(await runs.start(task_of(), "s.yaml"))
            await over(runs, kept[-1])

        assert [one.id for one in runs.all()] == ["3", "2"]
        assert not kept[0].folder.exists()
        with pytest.raises(LookupError, match="there is no run 1"):
            runs.find("1")

    served(tmp_path / "runs", work, kept_max=2, worker=QUICK)


def test_what_is_forgotten_while_it_runs_ends(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(LONG), "s.yaml")
        async for told in runs.follow(kept):
            if told["run"]["progress"]:
                break
        assert kept.process is not None
        await runs.remove(kept)

        with pytest.raises(ProcessLookupError):
            os.kill(kept.process.pid, 0)

    served(tmp_path / "runs", work)


def test_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(SCENARIO.replace("count: 4", "count: x")), "s.yaml")
        await over(runs, kept)

        assert kept.state == "failed"
        assert kept.error is not None
        assert kept.error["location"] == "s.yaml:3"

    served(tmp_path / "runs", work)


@pytest.mark.parametrize(
    ("worker", "words"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), "without a result (exit code 3)"),
        (("/no/such/program",), "no process can be started"),
    ],
)
def test_a_worker_that_dies_is_told(tmp_path: Path, worker: tuple[str, ...], words: str) -> None:
    async def work(runs: ScenarioRuns) -> None:
        kept = await runs.start(task_of(), "s.yaml")
        await over(runs, kept)

        assert kept.state == "failed"
        assert kept.error is not None
        assert words in kept.error["message"]

    served(tmp_path / "runs", work, worker=worker)


def test_what_an_earlier_simulator_left_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "runs" / "1").mkdir(parents=True)

    async def work(runs: ScenarioRuns) -> None:
        assert runs.all() == []
        assert not (tmp_path / "runs").exists()

    served(tmp_path / "runs", work)
