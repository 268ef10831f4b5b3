"""The answer in one sentence: where the pod went and by how much, or what keeps it from every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.decisions.choice import runner_up
from schedlab.kernel.words import counted
from schedlab.scheduler.framework.pod_groups import group_of
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord
from schedlab.scheduler.framework.status import is_success


def answer(cycle: CycleRecord, binding: BindingRecord | None, entries: Sequence[Mapping[str, Any]]) -> str:
    """Return one sentence; `entries` are the nodes of the explanation, with facts where there are some."""
    if cycle.result != "scheduled":
        return _failure(cycle, entries)
    if binding is not None and binding.error:
        return f"Chosen {cycle.selected}, but the binding failed: {binding.error}"
    record = cycle.filter
    if record is not None and 0 < record.nominated_first == len(record.visited):
        return f"Scheduled on {cycle.selected}, the node it was nominated to, which is tried before all others."
    if cycle.score is None:
        return f"Scheduled on {cycle.selected}, the only node that fits."
    second = runner_up(cycle)
    total = int(cycle.score.total.max())
    if second is None:
        return f"Scheduled on {cycle.selected} with {counted(total, 'point')}."
    if second["margin"] == 0:
        tied = int((cycle.score.total == total).sum())
        return f"Scheduled on {cycle.selected}: {tied} nodes share the best score of {total}."
    return (
        f"Scheduled on {cycle.selected} with {counted(total, 'point')}, "
        f"{second['margin']} ahead of {second['node']} ({second['total']})."
    )


def _failure(cycle: CycleRecord, entries: Sequence[Mapping[str, Any]]) -> str:
    if cycle.result == "error":
        return f"The attempt failed with an error: {cycle.failure_message}"
    for plugin, status in cycle.pre_filter.items():
        if status is not None and status.rejected:
            return f"Turned down by {plugin} before any node was looked at: {status.message}."
    if cycle.selected:
        who = [name for name, status in cycle.reserve.items() if not is_success(status)]
        who += [name for name, (status, _) in cycle.permit.items() if not is_success(status)]
        return f"Chosen {cycle.selected}, then turned down by {', '.join(who)}: {cycle.failure_message}"
    group = group_of(cycle.pod)
    if group is not None and cycle.feasible is not None and len(cycle.feasible):
        fits = "a node" if len(cycle.feasible) == 1 else f"{len(cycle.feasible)} nodes"
        return f"{cycle.pod.name} fits on {fits}, but not with its pod group {group}: {cycle.failure_message}"
    groups = _groups(cycle, entries)
    if not groups:
        return f"Not scheduled: {cycle.failure_message}"
    count = len(cycle.node_names)
    if count == 1:
        return f"{cycle.pod.name} does not fit on the only node: {groups[0]}.{_then(cycle)}"
    return f"{cycle.pod.name} fits on none of {count} nodes: {'; '.join(groups)}.{_then(cycle)}"


def _then(cycle: CycleRecord) -> str:
    """Say whether preemption made room."""
    for _, node, _ in cycle.post_filter.values():
        if node:
            victims = ", ".join(cycle.victims) or "pods that are going already"
            return f" It is nominated to {node}, where {victims} must go first."
    return ""


def _groups(cycle: CycleRecord, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return `NodeAffinity turns down 6 (example)` per plugin, most nodes first."""
    counts: dict[str, int] = {}
    examples: dict[str, tuple[str, str]] = {}
    for entry in entries:
        plugin = entry.get("failedPlugin")
        if plugin is None:
            continue
        counts[plugin] = counts.get(plugin, 0) + 1
        lines = [fact["text"] for fact in entry.get("facts", {}).get(plugin, ()) if not fact["fits"]]
        if lines and plugin not in examples:
            examples[plugin] = entry["node"], "; ".join(lines)
        elif not lines and plugin not in examples and not entry.get("facts"):
            examples[plugin] = "", ", ".join(entry["reasons"])
    out = []
    for plugin, number in sorted(counts.items(), key=lambda each: -each[1]):
        node, text = examples.get(plugin, ("", ""))
        where = f"on {node}: " if node and number > 1 else ""
        example = f" ({where}{text})" if text else ""
        out.append(f"{plugin} turns down {number}{example}")
    excluded = sum(entry["verdict"] == "excluded" for entry in entries)
    if excluded:
        why = "" if cycle.absent_nodes_status is None else f" ({cycle.absent_nodes_status.message})"
        out.append(f"{excluded} are left out before filtering{why}")
    return out
