"""Which node was chosen for preemption, and the rung of the ladder that decided.

    fewest broken budgets -> lowest top priority -> lowest sum of priorities -> fewest victims -> latest start

Mirrors: pickOneNodeForPreemption of pkg/scheduler/framework/preemption/preemption.go (v1.36), whose merits the dry run
records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.scheduler.framework.status import Status, code_of, is_success

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedlab.scheduler.framework.record import CandidateRecord, CycleRecord

#: The rungs, in order, as they are called in an explanation.
RUNGS: Final = (
    "fewest broken disruption budgets",
    "lowest priority of the most important victim",
    "lowest sum of the victims' priorities",
    "fewest victims",
    "latest start of the most important victims",
)
_PRIORITY_SHIFT: Final = 2**31


def preemption(cycle: CycleRecord) -> dict[str, Any] | None:
    """Return the dry run of an attempt as JSON values, with the rung that decided; None when there was none."""
    record = cycle.preemption
    if record is None:
        return None
    return {
        "candidates": [_candidate(one) for one in record.candidates],
        "notCandidates": {node: verdict(status) for node, status in record.not_candidates.items()},
        "maxCandidates": record.max_candidates,
        "best": list(record.best),
        "victims": list(cycle.victims),
        **decision(record.candidates, record.best),
    }


def _candidate(one: CandidateRecord) -> dict[str, Any]:
    out: dict[str, Any] = {"node": one.node, "victims": list(one.victims), "pdbViolations": one.pdb_violations}
    if one.merit:
        budgets, top, total, count, start_ns = one.merit
        out["merit"] = {
            "brokenBudgets": -budgets,
            "topPriority": -top,
            "prioritySum": -total - _PRIORITY_SHIFT * -count,
            "victims": -count,
            "start": format_micro_time(start_ns),
        }
    return out


def decision(candidates: Sequence[CandidateRecord], best: Sequence[str]) -> dict[str, Any]:
    """Return the rung that decided and the candidates that were left before and after it.

    An empty rung: there was one candidate only, all were equal to the end, or extenders had their say.
    """
    left = [one for one in candidates if one.merit]
    if len(left) < 2 or not best:
        return {"decidedBy": "", "equalBefore": [one.node for one in left]}
    for rung, name in enumerate(RUNGS):
        highest = max(one.merit[rung] for one in left)
        better = [one for one in left if one.merit[rung] == highest]
        if len(better) == 1:
            return {"decidedBy": name, "equalBefore": [one.node for one in left]}
        left = better
    return {"decidedBy": "the first of equals that was tried", "equalBefore": [one.node for one in left]}


def verdict(status: Status | None) -> dict[str, str]:
    """Return a status as JSON values."""
    return {"code": code_of(status).text, "message": "" if is_success(status) or status is None else status.message}
