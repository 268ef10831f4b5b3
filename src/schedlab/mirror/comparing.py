"""Why our scheduler did not choose the node that a pod has in the real cluster, from the record of its attempt."""

from __future__ import annotations

from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.framework.record import PASSED, CycleRecord
from schedlab.scheduler.framework.status import REASONS


def why_not(log: DecisionLog, namespace: str, name: str, node: str) -> str:
    """Say what the newest attempt of a pod said of a node, in words that pods can be counted by."""
    story = log.find(namespace, name)
    if story is None or not story.attempts:
        return "no attempt is recorded"
    cycle = story.attempts[-1].cycle()
    if node not in cycle.node_names:
        return "the node was not here"
    return _rejection(cycle, cycle.node_names.index(node)) or _outdone(cycle, cycle.node_names.index(node))


def _rejection(cycle: CycleRecord, row: int) -> str:
    record = cycle.filter
    if cycle.pre_filter_status is not None:
        return cycle.pre_filter_status.message
    if record is None:
        return "only one node was possible"
    at = record.visited.tolist()
    if row not in at:
        return "the node was not looked at"
    place = at.index(row)
    failed = int(record.failed_plugin[place])
    return (
        "" if failed == PASSED else f"{record.plugins[failed]}: {', '.join(REASONS.texts(int(record.reason[place])))}"
    )


def _outdone(cycle: CycleRecord, row: int) -> str:
    score = cycle.score
    if score is None or not score.complete or not cycle.selected:
        return "the node was possible, too"
    rows = score.rows.tolist()
    chosen = cycle.node_names.index(cycle.selected)
    if row not in rows or chosen not in rows:
        return "the node was possible, too"
    there, here = rows.index(row), rows.index(chosen)
    if score.total[there] == score.total[here]:
        return "as many points: luck decided"
    # Of the plugins that spoke for our node, the one that spoke loudest.
    lead = (score.final[:, here] - score.final[:, there]).tolist()
    return f"fewer points: {score.plugins[lead.index(max(lead))]}"
