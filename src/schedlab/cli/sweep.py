"""`schedlab sweep FILE`: a scenario over configurations, parameters and seeds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli.run_files import Tables, write_table
from schedlab.cli.sweep_options import ResultsOption, WorkersOption, progress_bar, worker_count
from schedlab.cli.sweep_text import sweep_text
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scenario.sweeps.file import SweepPlan, read_sweep
from schedlab.scenario.sweeps.inputs import Inputs
from schedlab.scenario.sweeps.journal import Journal
from schedlab.scenario.sweeps.results import SweepResult, table
from schedlab.scenario.sweeps.sweeping import run_sweep
from schedlab.scenario.sweeps.task import run_task
from schedlab.scenario.workers.crew import Crew
from schedlab.scenario.workers.local import LocalEngine


def sweep(
    file: Path,
    *,
    directory: ResultsOption = None,
    workers: WorkersOption = 0,
    engine: Annotated[
        Literal["local", "ray"], Parameter(help="Where runs are made: on this machine, or on a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str, Parameter(help="A Ray cluster: HOST:6379, ray://HOST:10001 or auto; one on this machine if not given.")
    ] = "",
    tables: Annotated[Tables, Parameter(help="Form of the table of runs; parquet needs the extra `parquet`.")] = "csv",
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
) -> int:
    """Run a scenario in many ways: exit code 0, 1 when a run failed, 2 for a mistake in the file, 130 after Ctrl-C.

    Results are in FILE with `.results` for its ending if no folder is named: runs.jsonl, a line per run, and a table.
    The same command goes on where a sweep was stopped, and makes failed runs again.

    Parameters
    ----------
    file
        The sweep; docs/reference/sweeps.md has the format.
    """
    count = worker_count(workers)
    if ray_address and engine != "ray":
        raise SchedlabError("is of no use to the local engine", location="--ray-address", hint="add --engine ray")
    # What is optional is missed before anything runs.
    if tables == "parquet":
        import schedlab.cli.parquet
    if engine == "ray":
        import schedlab.scenario.sweeps.on_ray  # noqa: F401
    run = _on_ray if engine == "ray" else _here
    plan = read_sweep(file)
    folder = directory or file.with_suffix(".results")
    started = time.perf_counter()
    with Journal(folder) as journal, progress_bar(len(plan.tasks), "runs") as progress:
        found = run(plan, journal, count, ray_address, progress)
    write_table(table(found.ordered()), folder / f"runs.{tables}", tables)
    print(json.dumps(found.data(), indent=2) if output == "json" else sweep_text(found, str(file)))
    made = len(found.rows) - found.known
    known = f", {found.known} were there already" if found.known else ""
    print(f"{counted(made, 'run')} in {time.perf_counter() - started:.1f}s{known}; see {folder}", file=sys.stderr)
    if found.interrupted:
        print(f"interrupted: {len(found.rows)} of {counted(len(plan.tasks), 'run')} are told", file=sys.stderr)
        return 130
    return 1 if found.failed else 0


def _here(
    plan: SweepPlan, journal: Journal, workers: int, _address: str, progress: Callable[[int, int], None]
) -> SweepResult:
    with Crew(LocalEngine(partial(run_task, plan.scenario)), workers, plan.timeout_s) as crew:
        return run_sweep(plan, journal, crew, progress=progress)


def _on_ray(
    plan: SweepPlan, journal: Journal, workers: int, address: str, progress: Callable[[int, int], None]
) -> SweepResult:
    from schedlab.scenario.sweeps.on_ray import BundledWork, RayEngine, connected

    home, bundle = Inputs(plan.scenario.parent).bundle(plan.files)
    with connected(address, workers) as room:
        engine = RayEngine(BundledWork(home, plan.scenario.name, bundle))
        with Crew(engine, min(workers, room), plan.timeout_s) as crew:
            return run_sweep(plan, journal, crew, progress=progress)
