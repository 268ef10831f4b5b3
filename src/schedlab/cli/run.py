"""`schedlab run FILE`: run a scenario and tell what came out."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli.output_file import check_file, write_file
from schedlab.cli.run_files import write_run
from schedlab.cli.run_html import run_html
from schedlab.cli.run_text import run_text
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.opening import open_runs
from schedlab.scenario.source import Source


def run(
    file: Path,
    *,
    config: Annotated[
        Path | None, Parameter(help="A KubeSchedulerConfiguration in place of the scenario's own.")
    ] = None,
    seed: Annotated[int | None, Parameter(help="Seed in place of the scenario's own.")] = None,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    workload: Annotated[
        str, Parameter(help="Of a scheduler_perf file: TestCase or TestCase/Workload; all test cases if not given.")
    ] = "",
    directory: Annotated[
        Path | None,
        Parameter(
            name=["--directory", "-d"],
            help="Folder for the tables: run.json, series, pending and pods; it is made if it is not there.",
        ),
    ] = None,
    tables: Annotated[
        Literal["csv", "json", "parquet"], Parameter(help="Form of the tables; parquet needs the extra `parquet`.")
    ] = "csv",
    html: Annotated[
        Path | None, Parameter(help="File for a report that needs nothing else: metrics, assertions, charts.")
    ] = None,
) -> int:
    """Run a scenario: exit code 0, 1 when an assertion does not hold, 2 for a mistake in the file.

    Parameters
    ----------
    file
        A scenario, a Scenario of KEP-140, or a file of scheduler_perf; docs/reference/scenarios.md has the formats.
    """
    other = None if config is None else Source(config)
    runs = open_runs(Source(file), seed=seed, workload=workload, config=other, interrupted=interrupted_by_user())
    if html is not None and len(runs) > 1:
        raise SchedlabError(
            f"one report cannot tell of {len(runs)} runs", location="--html", hint="choose one of them: --workload"
        )
    check_file(html, "--html")
    code = 0
    calm_garbage_collector()
    for number, one in enumerate(runs):
        for warning in one.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        started = time.perf_counter()
        result = one.run()
        if directory is not None:
            write_run(one, result, directory / result.scenario if len(runs) > 1 else directory, tables)
        if html is not None:
            write_file(html, [run_html(result, str(file))], "--html")
        print(json.dumps(result.summary(), indent=2) if output == "json" else run_text(result, str(file)))
        if output == "text" and number < len(runs) - 1:
            print()
        print(f"ran in {time.perf_counter() - started:.1f}s", file=sys.stderr)
        if result.ended == "interrupted":
            print("interrupted: what is told is what had happened until then", file=sys.stderr)
            return 130
        code = max(code, int(bool(result.failed)))
    return code


def interrupted_by_user() -> Callable[[], bool]:
    """Return what tells whether the user has pressed Ctrl-C; the second time ends everything at once."""
    pressed: list[bool] = []

    def press(_signal: int, _frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)

    signal.signal(signal.SIGINT, press)
    return lambda: bool(pressed)
