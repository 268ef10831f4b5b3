"""What extenders did in an attempt to nodes that fit, and to scores, told as if all of them were one more plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.status import Code
from schedlab.scheduler.runtime.diagnosis import EXTENDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedlab.scheduler.framework.record import CycleRecord

_LEFT_OUT: Final = "is not in an extender's answer, which says nothing of it"


def add_extenders(entries: Sequence[dict[str, Any]], cycle: CycleRecord) -> None:
    """Add to the entries of all nodes, in the scheduler's order, who was turned down and what was added to totals."""
    if cycle.passed_filters is not None and cycle.feasible is not None:
        dropped = np.setdiff1d(cycle.passed_filters, cycle.feasible).tolist()
        if dropped:
            _add_verdicts(entries, cycle, cycle.feasible.tolist(), dropped)
    if cycle.score is not None and cycle.score.complete:
        added = cycle.score.total - cycle.score.final.sum(axis=0)
        if added.any():
            _add_points(entries, cycle.score.rows.tolist(), added.tolist())


def _add_verdicts(
    entries: Sequence[dict[str, Any]], cycle: CycleRecord, left: Sequence[int], dropped: Sequence[int]
) -> None:
    for row in left:
        entries[row]["plugins"] = {**entries[row]["plugins"], EXTENDER: "passed"}
    for row in dropped:
        status = cycle.extender_failed.get(entries[row]["node"])
        reasons = [_LEFT_OUT] if status is None else list(status.reasons)
        entries[row].update(
            verdict="failed",
            plugins={**entries[row]["plugins"], EXTENDER: ", ".join(reasons)},
            failedPlugin=EXTENDER,
            reasons=reasons,
            code=(Code.UNSCHEDULABLE if status is None else status.code).text,
        )


def _add_points(entries: Sequence[dict[str, Any]], rows: Sequence[int], added: Sequence[int]) -> None:
    for row, points in zip(rows, added, strict=True):
        score = {"raw": points, "weight": 1, "final": points}
        entries[row]["scores"] = {**entries[row]["scores"], EXTENDER: score}
