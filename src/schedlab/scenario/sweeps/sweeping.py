"""Makes the runs of a sweep that are not in its folder yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schedlab.scenario.sweeps.file import SweepPlan
from schedlab.scenario.sweeps.journal import Journal
from schedlab.scenario.sweeps.results import SweepResult
from schedlab.scenario.workers.crew import Crew
from schedlab.scenario.workers.interrupts import not_now


def run_sweep(
    plan: SweepPlan,
    journal: Journal,
    crew: Crew[Any],
    *,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> SweepResult:
    """Make the runs that are not finished, each written down when it is over; Ctrl-C leaves what there is.

    `progress` hears how many runs are over, and how many of them failed.
    """
    found = SweepResult(plan)
    waiting = []
    for task in plan.tasks:
        known = journal.finished.get(task.id)
        if known is None:
            waiting.append(task)
        else:
            # A sweep may call its points by other names than the one that made the run.
            found.rows[task.id] = {**known, "config": task.config, "parameters": dict(task.parameters)}
    found.known = len(found.rows)
    failed = 0
    progress(found.known, failed)
    try:
        for task, state, result in crew.run(waiting):
            row = task.row(state, result)
            with not_now():
                journal.add(row)
                found.rows[task.id] = row
            failed += state == "failed"
            progress(len(found.rows), failed)
    except KeyboardInterrupt:
        found.interrupted = True
    return found
