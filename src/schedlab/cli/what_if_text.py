"""What a what-if says, as text: one line per pod that is elsewhere, the reason below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def what_if_text(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer of what-if."""
    moves = answer["moves"]
    lines = [f"If you {', then '.join(answer['changes'])}:"]
    if not moves:
        lines += ["", f"nothing moves: all {answer['pods']} pods stay as they are"]
    width = max((len(move["pod"]) for move in moves), default=0)
    for move in moves:
        where = f"{_place(move['before'], 'new')} -> {_place(move['after'], 'gone')}"
        lines += ["", f"  {move['pod']:<{width}}  {where}", f"    {move['why']}"]
        if move["replaces"] and move["replaces"] != move["pod"]:
            lines[-1] += f" (in place of {move['replaces']})"
    if moves:
        waiting = sum(move["after"] == "" for move in moves)
        tail = f", {waiting} of them wait" if waiting else ""
        lines += ["", f"{len(moves)} pod{'s' if len(moves) > 1 else ''}{tail}"]
    lines += [f"warning: {problem}" for problem in answer["problems"]]
    return "\n".join(lines)


def _place(node: str | None, absent: str) -> str:
    if node is None:
        return f"({absent})"
    return node or "(waits)"
