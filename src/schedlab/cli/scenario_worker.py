"""A process that runs or compares scenarios for the web UI (`scenario.service` starts it), and writes what came out.

It reads one task from its standard input, a line of JSON, and tells on its standard output, in lines of JSON:

    {"progress": {"seed": 1, "variant": 0, "time_s": 40.0, "until_s": 86400.0}, "rows": [{"time_s": 30.0, "pending": 2, …}]}
    {"end": "finished" | "interrupted"}
    {"error": {"message": …, "location": …, "hint": …, "more": […]}} or {"bug": "Traceback …"}

SIGINT ends a run as Ctrl-C ends `schedlab run` and `schedlab compare`: what had happened until then is written.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from schedlab.cli.charts import thinned
from schedlab.cli.compare_html import compare_html
from schedlab.cli.output_file import write_file
from schedlab.cli.run import interrupted_by_user
from schedlab.cli.run_files import csv_text, write_run
from schedlab.cli.run_html import run_html
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.comparing import Comparison, compare
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.metrics import COLUMNS, metric_of
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.observing import Observation
from schedlab.scenario.opening import Runnable, open_runs
from schedlab.scenario.results import Run, quantiles
from schedlab.scenario.seeds import read_seeds
from schedlab.scenario.service import RESULT, Task

#: The simulator and whoever else works on this machine go first.
_NICE: Final = 10
_TOLD_EVERY_S: Final = 0.5
#: Of the samples that came meanwhile so many are told.
_ROWS_TOLD: Final = 10
#: So many waiting and moved pods are shown; files have all that are described.
_PODS_SHOWN: Final = 500
_NOTHING: Final[Mapping[str, int]] = {}


def main() -> None:
    """Do the one task."""
    os.nice(_NICE)
    try:
        task = Task.read(sys.stdin.buffer.readline())
        _tell({"end": "interrupted" if _work(task) else "finished"})
    except SchedlabError as error:
        more = error.errors if isinstance(error, MistakesError) else ()
        _tell({"error": {**_told(error), "more": [_told(one) for one in more[1:]]}})
    except Exception:  # noqa: BLE001 - whatever it is, who has asked must hear of it
        _tell({"bug": traceback.format_exc()})


def _tell(line: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()


def _told(error: SchedlabError) -> dict[str, str]:
    return {"message": error.message, "location": error.location, "hint": error.hint}


def _work(task: Task) -> bool:
    """Run or compare; returns whether it was interrupted."""
    calm_garbage_collector()
    folder = Path(task.folder)
    return _run(task, folder) if task.kind == "run" else _compare(task, folder)


@contextmanager
def _telling(one: Runnable, variant: int, more: Mapping[str, int] = _NOTHING) -> Iterator[None]:
    """Tell what is sampled in a run, not too often, and once more at its end."""
    rows: list[Mapping[str, float]] = []
    watched: list[Observation] = []
    told_s = time.monotonic()

    def tell() -> None:
        nonlocal told_s
        [observation] = watched
        shown = [*_some(rows)]
        waits = [fate.wait_s for fate in observation.fates.all.values() if fate.wait_s is not None]
        if shown and waits:
            shown[-1] = {**shown[-1], "wait_p95": float(np.percentile(waits, 95))}
        progress = {"seed": one.seed, "variant": variant, "time_s": observation.duration_s(), "until_s": one.until_s}
        _tell({"progress": {**progress, **more}, "rows": shown})
        rows.clear()
        told_s = time.monotonic()

    def hear(row: Mapping[str, float]) -> None:
        rows.append(row)
        if time.monotonic() - told_s >= _TOLD_EVERY_S:
            tell()

    def watch(observation: Observation) -> None:
        watched.append(observation)
        observation.sampler.listener = hear

    one.watched_by(watch)
    yield
    tell()


def _some(rows: Sequence[Mapping[str, float]]) -> Iterator[Mapping[str, float]]:
    """Yield some of the rows, the last one included."""
    step = max(1, len(rows) // _ROWS_TOLD)
    yield from rows[(len(rows) - 1) % step :: step]


# --- Runs ------------------------------------------------------------------------------------------------------------


def _run(task: Task, folder: Path) -> bool:
    [variant] = task.variants
    opened = open_runs(
        variant.scenario,
        seed=variant.seed,
        workload=task.workload,
        config=variant.config,
        interrupted=interrupted_by_user(),
    )
    found = []
    for number, one in enumerate(opened):
        with _telling(one, number):
            found.append(one.run())
        if found[-1].ended == "interrupted":
            break
    for number, (ran, result) in enumerate(zip(opened, found, strict=False)):
        place = folder if len(found) == 1 else folder / f"{number + 1}"
        write_run(ran, result, place, "csv")
        write_file(place / "report.html", [run_html(result, str(variant.scenario.file))])
    warnings = [warning for one in opened for warning in one.warnings]
    _write_result(folder, {"runs": [_run_view(result) for result in found], "warnings": warnings})
    return found[-1].ended == "interrupted"


def _run_view(run: Run) -> dict[str, Any]:
    waiting = [pod for pod in run.pods if pod["reason"]]
    attempts = [pod["attempts"] for pod in run.pods]
    return {
        **run.summary(),
        "metrics": [{**_known(name), "value": value} for name, value in run.metrics.items() if value is not None],
        "series": _lines(run.series),
        "waits": quantiles(run.pods, "wait_s"),
        "attempts": {str(number): attempts.count(number) for number in sorted({*attempts})},
        "waiting": {"pods": len(waiting), "shown": waiting[:_PODS_SHOWN]},
    }


# --- Comparisons -----------------------------------------------------------------------------------------------------


def _compare(task: Task, folder: Path) -> bool:
    seeds = read_seeds(task.seeds, "seeds")
    done = [0]

    def finished(count: int) -> None:
        done[0] = count

    def watch(place: int, one: Experiment) -> AbstractContextManager[None]:
        return _telling(one, place, {"done": done[0], "seeds": len(seeds)})

    found = compare(task.variants, seeds, progress=finished, watch=watch)
    metrics = found.metrics()
    write_file(folder / "comparison.json", [orjson.dumps(found.data(), option=orjson.OPT_INDENT_2)])
    write_file(folder / "metrics.csv", [csv_text([*_metric_rows(metrics)])])
    write_file(folder / "moved.csv", [csv_text([*_moved_rows(found)])])
    write_file(folder / "report.html", [compare_html(found)])
    view = {
        **found.data(),
        "metrics": [{**_known(name), **one} for name, one in metrics.items()],
        "series": [_lines(rows) for rows in found.series],
        "waits": found.waits,
    }
    for one in view["moved"]:
        one["described"] = one["described"][:_PODS_SHOWN]
    _write_result(folder, {"comparison": view})
    return found.interrupted


def _metric_rows(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, one in metrics.items():
        for place, mean in enumerate(one["means"]):
            difference = one["differences"][place - 1] if place else None
            ends = difference or {"mean": None, "low": None, "high": None, "clear": None}
            yield {"metric": name, "unit": one["unit"], "configuration": place, "mean": mean} | {
                "difference": ends["mean"],
                "low": ends["low"],
                "high": ends["high"],
                "clear": ends["clear"],
            }


def _moved_rows(found: Comparison) -> Iterator[dict[str, Any]]:
    for place, moved in enumerate(found.moved):
        for one in moved:
            columns = ("seed", "pod", "created", "before", "after", "cause", "how", "plugin", "reason")
            yield {"configuration": place + 1, **{name: one[name] for name in columns}}


# --- Both ------------------------------------------------------------------------------------------------------------


def _known(name: str) -> dict[str, str]:
    known = metric_of(name)
    return {
        "name": name,
        "unit": known.unit if known else "",
        "better": known.better if known else "",
        "text": known.text if known else "",
    }


def _lines(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the columns of a series that were ever other than 0, each with so many points that no peak is lost."""
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row if name != "time_s"):
        points = [(row["time_s"], row[name]) for row in rows if row.get(name) is not None]
        if any(value for _, value in points):
            known = COLUMNS.get(name.partition(".")[0])
            found[name] = {
                "unit": known.unit if known else "",
                "text": known.text if known else "",
                "points": thinned(points),
            }
    return found


def _write_result(folder: Path, result: Mapping[str, Any]) -> None:
    write_file(folder / RESULT, [orjson.dumps(result)])


if __name__ == "__main__":
    main()
