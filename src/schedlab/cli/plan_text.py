"""What `schedlab fit` and `schedlab plan` print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from schedlab.cli.what_if_text import move_lines
from schedlab.kernel.words import counted


def fit_text(answer: Mapping[str, Any]) -> str:
    """Return the text of how many pods fit."""
    count, stops = answer["fits"], answer["stops"]
    fit = "fits" if count == 1 else "fit"
    lines = [f"{'' if stops else 'at least '}{count} more of {answer['pod']} {fit}"]
    if stops:
        lines += ["", f"The next one: {stops}"]
    for group in answer["groups"]:
        lines += ["", f"{group['nodes']} x {group['group']}: {counted(group['placed'], 'fits', 'fit')}"]
        lines += [f"  no more on {nodes}: {reason}" for reason, nodes in group["reasons"].items()]
    return "\n".join(lines)


def nodes_text(answer: Mapping[str, Any]) -> str:
    """Return the text of how many nodes of a template hold a workload."""
    name, count, pods = answer["template"], answer["nodes"], answer["pods"]
    if count is None:
        lines = [
            f"{counted(answer['tried'], f'new node like {name} is', f'new nodes like {name} are')} not enough for {counted(pods, 'pod')}, and more would not help"
        ]
        lines += [f"  {counted(number, 'waits', 'wait')}: {reason}" for reason, number in answer["waits"].items()]
    elif count == 0:
        lines = [f"no new node like {name} is needed for {counted(pods, 'pod')}"]
    else:
        used = ", ".join(f"{share:.0%} of {resource}" for resource, share in answer["used"].items())
        nodes = f"{count} new nodes like {name} hold" if count > 1 else f"one new node like {name} holds"
        lines = [f"{nodes} {counted(pods, 'pod')}, which ask for {used}"]
    lines += [f"  {counted(number, 'pod')} on {where}" for where, number in answer["placed"].items()]
    return "\n".join(lines)


def drain_text(answer: Mapping[str, Any]) -> str:
    """Return the text of where pods land when nodes are emptied."""
    nodes = [change.removeprefix("drain ") for change in answer["changes"] if change.startswith("drain ")]
    moves = answer["moves"]
    lines = [f"If {', '.join(nodes)} {'is' if len(nodes) == 1 else 'are'} emptied:", *move_lines(moves)]
    landed = Counter(move["after"] for move in moves if move["after"])
    leaves = counted(len(moves), "pod leaves its place", "pods leave their places")
    lines += ["", leaves if moves else "nothing moves"]
    lines += [f"  {count} to {node}" for node, count in sorted(landed.items())]
    for text, after in (("to no node: they wait", ""), ("to nowhere: nothing makes them anew", None)):
        count = sum(move["after"] == after for move in moves)
        lines += [f"  {count} {text}"] if count else []
    lines += [f"warning: {problem}" for problem in answer["problems"]]
    return "\n".join(lines)
