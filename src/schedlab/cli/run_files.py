"""A run as files: run.json, a file per table, and the status of a Scenario of KEP-140."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from schedlab.cli.output_file import write_file
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.opening import Runnable
from schedlab.scenario.results import Run
from schedlab.scenario.stepped_experiment import SteppedExperiment

Tables = Literal["csv", "json", "parquet"]


def write_run(ran: Runnable, run: Run, directory: Path, form: Tables) -> None:
    """Write a run into a folder; raises SchedlabError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SchedlabError(
            f"cannot be made: {error.strerror}", location=str(directory), hint="name another folder: --directory"
        ) from error
    write_file(directory / "run.json", [json.dumps(run.summary(), indent=2), "\n"], "--directory")
    if isinstance(ran, SteppedExperiment):
        write_file(directory / "status.json", [json.dumps(ran.status(run), indent=2), "\n"], "--directory")
    for name in ("series", "pending", "pods"):
        write_table(getattr(run, name), directory / f"{name}.{form}", form)


def write_table(rows: Sequence[Mapping[str, Any]], file: Path, form: Tables) -> None:
    """Write rows, all with the same keys, to a file; raises SchedlabError."""
    match form:
        case "json":
            write_file(file, [json.dumps(rows, indent=1), "\n"], "--directory")
        case "csv":
            write_file(file, [csv_text(rows)], "--directory")
        case "parquet":
            from schedlab.cli.parquet import write_parquet

            write_parquet(map(dict, rows), file)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows that all have the same keys as CSV, with a line of names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0] if rows else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
