"""Why two evaluations of a pod end on different nodes: the plugin that flipped the choice.

The two may come from different configurations, different weights, or different states of the cluster; each is the record
of a whole cycle. Of a node that one of them chose and the other one did not, in this order:

    it was not there          no plugin: the nodes are others
    a filter turned it down   that plugin
    it was not looked at      no plugin: the search had found enough nodes before
    it scored less            the plugin whose difference between the two nodes changed most in favour of the new choice
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from schedlab.scheduler.framework.record import PASSED, CycleRecord
from schedlab.scheduler.framework.status import REASONS

How = Literal["filter", "score", "search", "nodes", "nominated", "tie", "cycle"]


@dataclass(frozen=True, slots=True)
class Flip:
    """What flipped a choice from node `before` to node `after`; either is empty for "none".

    how: a filter, scores, where the search ended, nodes that came or went, a nomination, a tie that was broken otherwise,
    or the cycle that ended before any node was looked at. plugin: the one that did it, empty where none did.
    differences: score of `after` less score of `before` by plugin, in the two evaluations, where scores decided.
    """

    before: str
    after: str
    how: How
    plugin: str
    reason: str
    differences: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def flipped(before: CycleRecord, after: CycleRecord) -> Flip | None:
    """Say what flipped the choice; None when both chose the same node, or none."""
    old, new = before.selected, after.selected
    if old == new:
        return None
    if old:
        lost = _turned_away(after, old)
        if lost is not None:
            how, plugin, words = lost
            return Flip(old, new, how, plugin, f"{_subject(plugin, old)} {words}")
    if new:
        opened = _turned_away(before, new)
        if opened is not None:
            how, plugin, words = opened
            return Flip(old, new, how, plugin, _no_longer(how, plugin, new, words))
    if old and new:
        return _by_scores(before, after)
    # Both records know the node and neither has turned it down: something after the filters did.
    failed = after if not new else before
    return Flip(old, new, "cycle", _blamed(failed), failed.failure_message)


# --- Filters ---------------------------------------------------------------------------------------------------------


def _turned_away(record: CycleRecord, node: str) -> tuple[How, str, str] | None:
    """Say why a cycle could not choose a node: how, who, in which words; None when it could."""
    names = list(record.node_names)
    if node not in names:
        return "nodes", "", "is not there"
    status = record.pre_filter_status
    if status is not None:
        return "cycle", status.plugin, f"turns the pod down: {status.message}"
    row = names.index(node)
    found = record.filter
    if found is not None:
        at = np.flatnonzero(found.visited == row)
        # The last time counts: a nominated node may be looked at twice.
        if len(at) and int(found.failed_plugin[at[-1]]) != PASSED:
            plugin = found.plugins[int(found.failed_plugin[at[-1]])]
            return "filter", plugin, f"turns it down: {', '.join(REASONS.texts(int(found.reason[at[-1]])))}"
    if node in record.extender_failed:
        status = record.extender_failed[node]
        return "filter", "extender", f"turns it down: {status.message}"
    if record.feasible is not None and row in record.feasible.tolist():
        return None
    every = None if found is None else found.every_verdict()
    if found is not None and every is not None:
        for place, plugin in enumerate(found.plugins):
            if every[0][place, row]:
                return (
                    "filter",
                    plugin,
                    f"turns it down: {', '.join(REASONS.texts(int(every[1][place, row])))}",
                )
    if found is not None and 0 < found.nominated_first == len(found.visited):
        return "nominated", "", "is not tried: the pod is nominated to another node"
    if record.pre_filter_result is not None and node not in record.pre_filter_result:
        plugin = next((name for name, kept in record.pre_filter_nodes.items() if node not in kept), "")
        return "filter", plugin, "leaves it out"
    return "search", "", "is not looked at: enough nodes were found before"


def _subject(plugin: str, node: str) -> str:
    return f"{node}: {plugin}" if plugin else node


def _no_longer(how: How, plugin: str, node: str, words: str) -> str:
    if how == "nodes":
        return f"{node} is new"
    if how == "search":
        return f"{node} is looked at now"
    if how == "nominated":
        return f"{node} is tried now: the pod is not nominated to another node"
    _, _, reason = words.partition(": ")
    return f"{node}: {plugin} no longer turns it down" + (f" ({reason})" if reason else "")


def _blamed(record: CycleRecord) -> str:
    for points in (record.permit, record.reserve, record.pre_score):
        for name, said in points.items():
            status = said[0] if isinstance(said, tuple) else said
            if status is not None and status.code:
                return name
    return record.unschedulable_plugins[0] if record.unschedulable_plugins else ""


# --- Scores ----------------------------------------------------------------------------------------------------------


def _by_scores(before: CycleRecord, after: CycleRecord) -> Flip:
    """Both cycles could choose both nodes."""
    old, new = before.selected, after.selected
    mine, theirs = _margins(before, new, old), _margins(after, new, old)
    differences = {name: (mine.get(name, 0), theirs.get(name, 0)) for name in dict.fromkeys((*mine, *theirs))}
    gains = {name: late - early for name, (early, late) in differences.items()}
    plugin = max(gains, key=lambda name: gains[name], default="")
    if not plugin or gains[plugin] <= 0:
        return Flip(old, new, "tie", "", f"{old} and {new} are as good as each other", differences)
    early, late = differences[plugin]
    reason = f"{plugin} now gives {new} {late:+d} points over {old}, before it were {early:+d}"
    return Flip(old, new, "score", plugin, reason, differences)


def _margins(record: CycleRecord, node: str, other: str) -> dict[str, int]:
    """Return by plugin how many points a node has more than another one; what extenders gave goes under their name."""
    score = record.score
    if score is None or not score.complete:
        return {}
    places = {record.node_names[row]: at for at, row in enumerate(score.rows.tolist())}
    if node not in places or other not in places:
        return {}
    one, two = places[node], places[other]
    found = {name: int(score.final[p, one] - score.final[p, two]) for p, name in enumerate(score.plugins)}
    rest = int(score.total[one] - score.total[two]) - sum(found.values())
    return {**found, "extenders": rest} if rest else found
