"""What a what-if says, as text: one line per pod that is elsewhere, the reason below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def what_if_text(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer of what-if."""
    moves = answer["moves"]
    lines = [f"If you {', then '.join(answer['changes'])}:"]
    if not moves:
        lines += ["", f"nothing moves: all {answer['pods']} pods stay as they are"]
    lines += move_lines(moves)
    if moves:
        waiting = sum(move["after"] == "" for move in moves)
        tail = f", {waiting} of them wait" if waiting else ""
        lines += ["", f"{len(moves)} pod{'s' if len(moves) > 1 else ''}{tail}"]
    lines += [f"warning: {problem}" for problem in answer["problems"]]
    return "\n".join(lines)


def move_lines(moves: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield for each pod that is elsewhere a blank line, the places, and the reason."""
    width = max((len(move["pod"]) for move in moves), default=0)
    for move in moves:
        where = f"{_place(move['before'], 'new')} -> {_place(move['after'], 'gone')}"
        replaced = move["replaces"] if move["replaces"] != move["pod"] else ""
        why = f"{move['why']} (in place of {replaced})" if replaced else move["why"]
        yield from ("", f"  {move['pod']:<{width}}  {where}", f"    {why}")


def _place(node: str | None, absent: str) -> str:
    if node is None:
        return f"({absent})"
    return node or "(waits)"
