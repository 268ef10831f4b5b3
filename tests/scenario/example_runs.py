"""Runs the examples of scenarios and sweeps and prints their digests; `--write` records them beside the scenarios.

    python -m tests.scenario.example_runs --write

A digest changes when a decision or an object of a run does. Look at what changed before recording it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from schedlab.scenario.opening import open_runs
from schedlab.scenario.source import Source
from schedlab.scenario.sweeps.file import read_sweep
from schedlab.scenario.sweeps.results import SweepResult
from schedlab.scenario.sweeps.task import run_task

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scenarios"
SWEEPS = EXAMPLES.parent / "sweeps"
DIGESTS = EXAMPLES / "digests.json"


def examples() -> list[Path]:
    """The scenario files."""
    return sorted(EXAMPLES.glob("*.yaml"))


def digests() -> dict[str, str]:
    """The digest of every example; assertions that do not hold are a failure."""
    found = {}
    for file in examples():
        [opened] = open_runs(Source(file))
        run = opened.run()
        assert not run.failed, f"{file.name}: {run.failed}"
        assert not run.problems, f"{file.name}: {run.problems}"
        found[file.name] = run.digest
    for file in sorted(SWEEPS.glob("*.yaml")):
        plan = read_sweep(file)
        rows = {task.id: task.row("finished", run_task(plan.scenario, task)) for task in plan.tasks}
        found[f"sweeps/{file.name}"] = SweepResult(plan, rows).digest
    return found


if __name__ == "__main__":
    text = json.dumps(digests(), indent=2) + "\n"
    if "--write" in sys.argv:
        DIGESTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
