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

from schedlab.cli.run_files import write_run
from schedlab.cli.run_text import run_text
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import read_scenario


def run(
    file: Path,
    *,
    seed: Annotated[int | None, Parameter(help="Seed in place of the scenario's own.")] = None,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
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
) -> int:
    """Run a scenario: exit code 0, 1 when an assertion does not hold, 2 for a mistake in the file.

    Parameters
    ----------
    file
        The scenario; docs/reference/scenarios.md has the format.
    """
    plan = read_scenario(file)
    for warning in plan.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    started = time.perf_counter()
    with_interrupts = interrupted_by_user()
    result = Experiment(plan, seed=seed, interrupted=with_interrupts).run()
    if directory is not None:
        write_run(result, directory, tables)
    print(json.dumps(result.summary(), indent=2) if output == "json" else run_text(result, str(file)))
    print(f"ran in {time.perf_counter() - started:.1f}s", file=sys.stderr)
    if result.ended == "interrupted":
        print("interrupted: what is told is what had happened until then", file=sys.stderr)
        return 130
    return 1 if result.failed else 0


def interrupted_by_user() -> Callable[[], bool]:
    """Return what tells whether the user has pressed Ctrl-C; the second time ends everything at once."""
    pressed: list[bool] = []

    def press(_signal: int, _frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)

    signal.signal(signal.SIGINT, press)
    return lambda: bool(pressed)
