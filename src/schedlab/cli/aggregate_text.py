"""What `schedlab pending` and `schedlab why-not-full` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.cli.plain_text import clipped, one_line
from schedlab.kernel.words import counted

_NAMES_MAX = 5


def pending_text(answer: Mapping[str, Any]) -> str:
    """Return the text of all waiting pods by reason."""
    if not answer["pending"]:
        return f"no pod waits; there are {answer['pods']}"
    lines = [f"{answer['pending']} of {counted(answer['pods'], 'pod waits', 'pods wait')}", "", "PODS  REASON"]
    lines += [f"{entry['pods']:>4}  {clipped(one_line(entry['reason']))}" for entry in answer["reasons"]]
    for group in answer["groups"]:
        lines += ["", _names(group["pods"])]
        reasons = [
            f"  {clipped(one_line(entry['reason']))} (on {counted(entry['nodes'], 'node')})"
            for entry in group["reasons"]
        ]
        lines += reasons or [f"  {clipped(one_line(group['message']))}"]
        if group["fits"] and not group["fix"]:
            lines.append(f"  {group['help']}")
        if group["fix"]:
            fix = group["fix"]
            whose = f" for {group['pods'][0]}" if group["count"] > 1 else ""
            lines.append(f"  least change{whose}: {fix['summary']}; it goes to {fix['node']}")
            lines += [f"    $ {command}" for command in fix["commands"]]
    return "\n".join(lines)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_MAX])
    return shown if len(names) <= _NAMES_MAX else f"{shown} and {len(names) - _NAMES_MAX} more"


def not_full_text(answer: Mapping[str, Any]) -> str:
    """Return the text of what keeps free capacity from being used."""
    lines = [counted(answer["nodes"], "node"), *_resources(answer["resources"], "")]
    for group in answer["groups"]:
        lines += ["", f"{group['nodes']} x {group['group']}", *_resources(group["resources"], "  ")]
    if answer["taints"]:
        lines += ["", "Taints: " + ", ".join(f"{entry['taint']} on {entry['nodes']}" for entry in answer["taints"])]
    largest, typical = answer["largestPod"], answer["typicalPod"]
    lines.append("")
    if largest is None:
        lines.append("No node takes any pod.")
    else:
        lines.append(
            f"Largest pod that fits: {largest['cpu']} cpu with {largest['memory']} memory, on {largest['node']}"
        )
    if typical is not None:
        lines.append(f"Typical pods ({typical['cpu']} cpu, {typical['memory']} memory) that fit: {typical['fit']}")
    for entry in answer["keptAway"]:
        room = f"{counted(entry['nodes'], 'node')} with room ({entry['cpu']} cpu, {entry['memory']} memory free)"
        lines.append(f"{entry['plugin']} alone keeps {_names(entry['pods'])} from {room}")
    return "\n".join(lines)


def _resources(resources: Sequence[Mapping[str, Any]], indent: str) -> list[str]:
    lines = []
    for entry in resources:
        causes = [
            f"{cause['amount']} {cause['cause']} ({counted(cause['nodes'], 'node')})" for cause in entry["causes"]
        ]
        free = f"free {entry['free']}" + (f": {', '.join(causes)}" if causes else "")
        lines.append(f"{indent}{entry['resource']}: {entry['requested']} of {entry['allocatable']} requested, {free}")
    return lines
