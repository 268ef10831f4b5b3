"""What a what-if says, as text: one line per pod that is elsewhere, the reason below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedlab.kernel.words import counted


def what_if_text(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer of what-if."""
    if "at" in answer:
        return _then_text(answer)
    moves = answer["moves"]
    lines = [f"If you {', then '.join(answer['changes'])}:"]
    if not moves:
        lines += ["", f"nothing moves: {counted(answer['pods'], 'pod stays as it is', 'pods stay as they are')}"]
    lines += move_lines(moves)
    if moves:
        waiting = sum(move["after"] == "" for move in moves)
        tail = ", " + counted(waiting, "of them waits", "of them wait") if waiting else ""
        lines += ["", counted(len(moves), "pod") + tail]
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


def _then_text(answer: Mapping[str, Any]) -> str:
    """Return the same about the past: where each pod was, would have gone, and was in truth."""
    at, really, moves = answer["at"], answer["really"], answer["moves"]
    when = f" ({at['time']})" if at["time"] else ""
    lines = [f"If you had done this at revision {at['revision']}{when}: {', then '.join(answer['changes'])}"]
    width = max((len(move["pod"]) for move in moves), default=0)
    for move in moves:
        lines += ["", f"  {move['pod']:<{width}}  {_place(move['before'], 'new')} -> {_place(move['after'], 'gone')}"]
        lines += [f"    in truth: {_place(move['really'], 'gone')}", f"    {move['why']}"]
    otherwise = sum(move["after"] != move["really"] for move in moves)
    end = f"would be elsewhere than they were in truth by {really['time']}"
    lines += ["", f"{otherwise} of {counted(answer['pods'], 'pod')} {end}"]
    if really["came"]:
        lines.append(f"{counted(really['came'], 'pod has', 'pods have')} come in truth that the fork does not know")
    return "\n".join([*lines, *(f"warning: {problem}" for problem in answer["problems"])])


def _place(node: str | None, absent: str) -> str:
    if node is None:
        return f"({absent})"
    return node or "(waits)"
