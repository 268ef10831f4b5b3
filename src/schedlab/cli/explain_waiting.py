"""The part of an explanation about making room and waiting, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.cli.columns import columns
from schedlab.kernel.words import counted

_MOVES_SHOWN: Final = 10
_CANDIDATES_SHOWN: Final = 20


def preemption(explanation: Mapping[str, Any], *, wide: bool) -> str:
    """Return the candidates, what they are compared by, and the rung that decided."""
    found = explanation["preemption"]
    if found is None or not found["candidates"]:
        return ""
    rows = [["NODE", "VICTIMS", "BUDGETS BROKEN", "TOP PRIORITY", "SUM", "COUNT", "START"]]
    shown = found["candidates"] if wide else found["candidates"][:_CANDIDATES_SHOWN]
    for one in shown:
        merit = one.get("merit", {})
        numbers = [str(merit.get(key, "")) for key in ("topPriority", "prioritySum", "victims", "start")]
        rows.append([one["node"], ", ".join(one["victims"]) or "none", str(one["pdbViolations"]), *numbers])
    lines = ["Preemption candidates", *columns(rows)]
    hidden = len(found["candidates"]) - len(shown)
    if hidden:
        lines.append(f"  … and {hidden} more; -o wide shows all")
    if found.get("decidedBy"):
        others = [node for node in found["equalBefore"] if node not in found["best"]]
        against = f" against {', '.join(others)}" if others else ""
        lines.append(f"  {', '.join(found['best'][:1])} was decided{against} by: {found['decidedBy']}")
    return "\n".join(lines)


def queue(explanation: Mapping[str, Any], *, wide: bool) -> str:
    """Return where the pod waits, for what, and (wide) how it came there."""
    found = explanation.get("queue")
    lines: list[str] = []
    if found is not None:
        lines += [f"Waits in the queue: {_place(found)}", *_waits(found), *_hints(found)]
    if wide and explanation.get("moves"):
        rows = [["TIME", "PLACE", "REASON", "ANSWERS"]]
        for move in explanation["moves"][-_MOVES_SHOWN:]:
            answers = ", ".join(f"{plugin} {answer}" for plugin, answer in move.get("answers", {}).items())
            rows.append([move["time"], move["place"], move["reason"], answers])
        lines += ["Moves in the queue", *columns(rows)]
    return "\n".join(lines)


def _place(found: Mapping[str, Any]) -> str:
    return f"{found['place']} since {found['since']}, after {counted(found['attempts'], 'attempt')}"


def _waits(found: Mapping[str, Any]) -> list[str]:
    lines = []
    if found["gatedBy"]:
        lines.append(f"  gated by {found['gatedBy']}")
    if found["rejectedBy"]:
        lines.append(f"  turned down by {', '.join(found['rejectedBy'])}")
    if "backoffLeftSeconds" in found and found["place"] != "unschedulable":
        lines.append(f"  backoff ends in {found['backoffLeftSeconds']} s")
    lines += [f"  {each['plugin']} hears of {'; '.join(each['events']) or 'nothing'}" for each in found["wokenBy"]]
    if "flushedAfter" in found:
        lines.append(f"  without an event it is tried again after {found['flushedAfter']}")
    return lines


def _hints(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for event in found["skipped"]:
        answers = ", ".join(f"{plugin} {answer}" for plugin, answer in event["answers"].items()) or "nobody was asked"
        lines.append(f"  {event['event']} happened {counted(event['count'], 'time')} and did not help: {answers}")
    return lines
