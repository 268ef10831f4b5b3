"""What a sweep came to: rows of runs, flat tables and data frames of them, means over the seeds of each point."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab.apimachinery.yaml_file import read_text
from schedlab.laboratory.frames import Frame, as_frame
from schedlab.scenario.results import uniform
from schedlab.scenario.sweeps.file import SweepPlan
from schedlab.scenario.sweeps.journal import FILE, rows_of
from schedlab.scenario.sweeps.task import Row, Task


@dataclass(slots=True)
class SweepResult:
    """Rows of the runs that are over, by their ids. known: how many of them were in the folder already."""

    plan: SweepPlan
    rows: dict[str, Row] = field(default_factory=dict)
    known: int = 0
    interrupted: bool = False

    @property
    def failed(self) -> list[Row]:
        """The runs that failed, in the order of the sweep."""
        return [row for row in self.ordered() if row["state"] == "failed"]

    def ordered(self) -> Iterator[Row]:
        """Yield the rows in the order of the sweep."""
        return (self.rows[task.id] for task in self.plan.tasks if task.id in self.rows)

    @property
    def digest(self) -> str:
        """One number for the digests of all runs, "" while one is not finished: the same wherever they were made."""
        digests = [row.get("digest", "") for row in self.ordered()]
        if len(digests) < len(self.plan.tasks) or not all(digests):
            return ""
        return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"

    def points(self) -> list[dict[str, Any]]:
        """Return per point its values, how many runs it has and how many failed, and the means of all metrics."""
        found: dict[str, tuple[Task, list[Row]]] = {}
        for task in self.plan.tasks:
            rows = found.setdefault(task.document, (task, []))[1]
            if task.id in self.rows:
                rows.append(self.rows[task.id])
        return [_point(task, rows) for task, rows in found.values()]

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data, without the rows."""
        failed = [{key: row[key] for key in ("config", "parameters", "seed", "reason")} for row in self.failed]
        return {
            "scenario": str(self.plan.scenario),
            "runs": len(self.plan.tasks),
            "over": len(self.rows),
            "known": self.known,
            "interrupted": self.interrupted,
            "digest": self.digest,
            "points": self.points(),
            "failed": failed,
        }


def _point(task: Task, rows: Sequence[Row]) -> dict[str, Any]:
    finished = [row for row in rows if row["state"] == "finished"]
    return {
        "config": task.config,
        "parameters": dict(task.parameters),
        "runs": len(rows),
        "failed": len(rows) - len(finished),
        "metrics": means(row["metrics"] for row in finished),
    }


def means(metrics: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the mean of each metric over the runs in which it was measured."""
    values: dict[str, list[float]] = {}
    for one in metrics:
        for name, value in one.items():
            of = values.setdefault(name, [])
            if value is not None:
                of.append(value)
    return {name: sum(of) / len(of) if of else None for name, of in values.items()}


def table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows that are flat and all have the same columns: what varies, the metrics, and what became of the run."""
    rows = [*rows]
    flat = uniform([_flat(row) for row in rows])
    for name in dict.fromkeys(name for row in rows for name in row["parameters"]):
        for row, value in zip(flat, _one_type([row[name] for row in flat]), strict=True):
            row[name] = value
    return flat


def _flat(row: Row) -> dict[str, Any]:
    """Return a row without anything inside of anything; its own columns are task.COLUMNS."""
    return {
        "config": row["config"],
        **row["parameters"],
        "seed": row["seed"],
        "state": row["state"],
        "reason": row.get("reason", ""),
        "digest": row.get("digest", ""),
        "ended": row.get("ended", ""),
        "failed_assertions": len(row.get("assertions", ())),
        "problems": len(row.get("problems", ())),
        "seconds": row.get("seconds"),
        **row.get("metrics", {}),
        "id": row["id"],
    }


def _one_type(values: list[Any]) -> list[Any]:
    """Return values that a column can hold together: as they are, or all as texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and not kinds & {dict, list}:
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def read_runs(folder: Path, frame: Frame = "rows") -> Any:
    """Return all runs of a results folder, also of a sweep that goes on, as a table; raises SchedlabError.

    frame: "pandas", "polars", or "rows" for a list of dicts.
    """
    read_text(folder / FILE, "name the folder of a sweep's results")
    newest = {row["id"]: row for row, _ in rows_of(folder / FILE)}
    return as_frame(table(newest.values()), frame)
