"""Where a pod waits in the scheduling queue, why, what would wake it, and how it came there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedlab.apimachinery.time import format_micro_time
from schedlab.scheduler.queue.cluster_events import UNSCHEDULABLE_TIMEOUT, event_words

if TYPE_CHECKING:
    from schedlab.decisions.log import Move, PodStory
    from schedlab.scheduler.queue.environment import Position
    from schedlab.scheduler.queue.scheduling_queue import SchedulingQueue


def waiting(queue: SchedulingQueue, key: str, now_ns: int) -> dict[str, Any] | None:
    """Return how the pod `namespace/name` waits, as JSON values; None when it does not."""
    position = queue.position(key)
    if position is None:
        return None
    queued = position.queued
    skipped = queued.skipped or {}
    return {
        "place": position.place,
        "since": format_micro_time(queued.timestamp_ns),
        "attempts": queued.attempts,
        "rejectedBy": sorted(queued.unschedulable_plugins),
        "pendingOn": sorted(queued.pending_plugins),
        "gatedBy": queued.gating_plugin,
        **_ends(position, now_ns),
        "wokenBy": [
            {"plugin": plugin, "events": [event_words(event) for event in events]}
            for plugin, events in queue.wakers(queued)
        ],
        "skipped": [
            {
                "event": label,
                "count": event.times,
                "last": format_micro_time(event.last_ns),
                "answers": {each.plugin: each.error or each.hint for each in event.answers},
            }
            for label, event in skipped.items()
        ],
        "onlyTheFlushHelped": queued.was_flushed,
    }


def _ends(position: Position, now_ns: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    left_ns = position.backoff_end_ns - now_ns
    if left_ns > 0:
        out["backoffEnds"] = format_micro_time(position.backoff_end_ns)
        out["backoffLeftSeconds"] = round(left_ns / 1e9, 3)
    if position.flush_ns:
        out["flushedAfter"] = format_micro_time(position.flush_ns)
    return out


def moves(story: PodStory) -> list[dict[str, Any]]:
    """Return how the pod went through the queue, oldest move first."""
    return [_move(move) for move in story.moves]


def _move(move: Move) -> dict[str, Any]:
    out: dict[str, Any] = {"time": format_micro_time(move.at_ns), "place": move.place, "reason": move.reason}
    if move.hints:
        out["event"] = move.hints[0][0]
        out["answers"] = {plugin: error or hint for _, plugin, hint, error in move.hints}
    if move.gate is not None:
        out["gate"] = {"plugin": move.gate[0], "message": move.gate[1]}
    return out


def flush_warning(story: PodStory) -> str:
    """Return a warning when the newest attempt came about by the periodic flush alone, else nothing."""
    active = [move for move in story.moves if move.place in ("active", "backoff")]
    if not active or active[-1].reason != UNSCHEDULABLE_TIMEOUT:
        return ""
    return (
        "No event woke this pod: only the periodic flush gave it another try. A plugin that turned it down does not "
        "register the event that would have helped, or nothing has happened that could help."
    )
