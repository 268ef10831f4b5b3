"""A scheduling cycle that takes what pods that were made alike have found out, and looks at nothing else (ADR 0013).

    refresh -> the pod skips what it skipped -> changed rows -> nodes in turn -> totals -> choose -> assume ...

It comes to what the ordinary cycle (`schedule_one`) would come to, record included, or to nothing: then that one goes its
way. When it may be taken is said in `runtime.routine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.record import NOTHING, CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.rows import recorded
from schedlab.scheduler.framework.status import REASONS
from schedlab.scheduler.runtime.filtering import all_passed

if TYPE_CHECKING:
    from schedlab.scheduler.runtime.routine import Found, Routine
    from schedlab.scheduler.schedule_one import Attempt


def choose_by_routine(attempt: Attempt) -> tuple[str, int, int] | None:
    """Return the node for a pod and how many were evaluated and are feasible; None when it takes an ordinary cycle to tell."""
    scheduler, framework, state, record = attempt.scheduler, attempt.framework, attempt.state, attempt.record
    routine = framework.routine(state, attempt.pod)
    if routine is None:
        return None
    start, total = scheduler.next_start_node_index, len(attempt.table)
    needs_all = scheduler.full and record is not None
    found = routine.find(framework, state, attempt.pod, attempt.wanted(total), start, needs_all=needs_all)
    if found is None:
        attempt.state = CycleState()
        return None
    node, count = attempt.table.names[int(found.feasible[found.chosen])], len(found.feasible)
    scheduler.next_start_node_index = next_start = (start + count) % total
    if record is not None:
        record.next_start = next_start
        _record(record, routine, found, total, full=scheduler.full)
    if framework.batch is not None:
        framework.batch.store(None, "", node, None, scheduler.scheduling_cycle)
    return node, count, count


def _record(record: CycleRecord, routine: Routine, found: Found, total: int, *, full: bool) -> None:
    passed, feasible = all_passed(len(found.visited)), recorded(found.feasible, total)
    every = found.evaluation.every_verdict() if full else ()
    record.pre_filter, record.pre_score = routine.pre_filter, routine.pre_score
    if routine.only is not None:
        node, record.absent_nodes_status = routine.only
        record.pre_filter_nodes, record.pre_filter_result = routine.pre_filter_nodes, (node,)
    record.filter = FilterRecord(
        routine.filters, recorded(found.visited, total), passed.plugin, passed.code, passed.reason, 0, None, *every
    )
    record.filter.follows = full
    record.filter.texts = REASONS.pages
    record.passed_filters = record.feasible = feasible
    if found.scores is not None:
        scores, layout = found.scores
        raw = scores.take(found.feasible, layout, is_small=True)
        record.score = ScoreRecord(
            layout.names, routine.weights, feasible, raw, NOTHING, NOTHING, complete=True, offsets=layout.offsets
        )
