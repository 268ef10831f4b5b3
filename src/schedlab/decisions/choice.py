"""Why this node of those that fit: the tie, the margin, how much the weights matter, and where chance came in.

The chosen node is the first of the best in the order of a heap (`runtime.choice`); which that is depends on the order in
which nodes were found to fit. Here nodes are visited in one fixed order. kube-scheduler visits them with 16 workers, so
that among equals any may come first: there the choice is a matter of luck, and `luck` shows how much.

Mirrors: selectHost of pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.runtime.choice import heap_root, pre_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.record import CycleRecord, ScoreRecord

SEEDS: Final = 100


def runner_up(cycle: CycleRecord) -> dict[str, Any] | None:
    """Return the best of the other nodes and what tells it from the chosen one; None when there is none."""
    score, chosen = cycle.score, chosen_place(cycle)
    if score is None or chosen is None or len(score.rows) < 2:
        return None
    totals = score.total.copy()
    totals[chosen] = np.iinfo(np.int64).min
    return difference(cycle, score, chosen, int(totals.argmax()))


def difference(cycle: CycleRecord, score: ScoreRecord, one: int, other: int) -> dict[str, Any]:
    """Return how two scored nodes (places in the record) differ, by plugin; extenders by what is left."""
    by_plugin = {
        plugin: int(score.final[index, one] - score.final[index, other]) for index, plugin in enumerate(score.plugins)
    }
    margin = int(score.total[one] - score.total[other])
    rest = margin - sum(by_plugin.values())
    out = {
        "node": cycle.node_names[int(score.rows[other])],
        "total": int(score.total[other]),
        "margin": margin,
        "byPlugin": by_plugin,
    }
    return out | ({"byExtenders": rest} if rest else {})


def chosen_place(cycle: CycleRecord) -> int | None:
    """Return the place of the chosen node among the scored ones."""
    score = cycle.score
    if score is None or not score.complete or not cycle.selected:
        return None
    names = cycle.node_names
    return next((at for at, row in enumerate(score.rows.tolist()) if names[row] == cycle.selected), None)


def choice(cycle: CycleRecord, seeds: int = SEEDS) -> dict[str, Any] | None:
    """Return the tie set, the margin, the weights in which the choice stands, and the luck; None without a choice."""
    score, chosen = cycle.score, chosen_place(cycle)
    if score is None or chosen is None:
        return None
    best = np.flatnonzero(score.total == score.total.max())
    others = np.delete(score.total, chosen)
    return {
        "selected": cycle.selected,
        "total": int(score.total[chosen]),
        "candidates": len(score.rows),
        "tied": [cycle.node_names[int(score.rows[at])] for at in best.tolist()],
        "margin": int(score.total[chosen] - others.max()) if len(others) else None,
        "weights": weight_intervals(score, chosen),
        "luck": luck(cycle, score, seeds),
        "visited": 0 if cycle.filter is None else len(cycle.filter.visited),
        "nodes": len(cycle.node_names),
        "searchBeganAt": cycle.node_names[cycle.start] if cycle.start < len(cycle.node_names) else "",
    }


def weight_intervals(score: ScoreRecord, chosen: int) -> dict[str, dict[str, Any]]:
    """Return by plugin its weight, and the least and greatest one (None: any) with which the choice stands.

    The other weights stay as they are. Weights are at least 1. Empty where dice were thrown.
    """
    if heap_root(score.total) != chosen:
        return {}
    order = np.empty(len(score.rows), np.int64)
    order[pre_order(len(score.rows))] = np.arange(len(score.rows))
    # A node that comes earlier in the heap's order wins a tie, so it has to stay behind by at least one point.
    needed = (order < order[chosen]).astype(np.int64)
    lead = score.total[chosen] - score.total - needed
    lead[chosen] = 0
    out: dict[str, dict[str, Any]] = {}
    for index, (plugin, weight) in enumerate(zip(score.plugins, score.weights, strict=True)):
        normalized = score.final[index] // weight
        low, high = _interval(lead, normalized[chosen] - normalized, weight)
        out[plugin] = {"weight": weight, "least": low, "greatest": high}
    return out


def _interval(lead: NDArray[np.int64], slope: NDArray[np.int64], weight: int) -> tuple[int, int | None]:
    """Return the range of weights w with lead + (w - weight) * slope >= 0 everywhere; both int64[F]."""
    low, high = 1, None
    rising, falling = slope > 0, slope < 0
    if rising.any():
        # w >= weight - lead / slope, rounded up
        low = max(low, int((weight - lead[rising] // slope[rising]).max()))
    if falling.any():
        # w <= weight + lead / -slope, rounded down
        high = int((weight + lead[falling] // -slope[falling]).min())
    return low, high


def luck(cycle: CycleRecord, score: ScoreRecord, seeds: int) -> dict[str, Any]:
    """Return how often each node comes out when equal nodes are found in any order, over so many seeds.

    With one best node there is nothing to be lucky about. In a random order each of the best is equally likely to be
    the first of them in the heap's order, so one draw among them stands for a whole order; extenders' nodes are drawn
    so upstream anyway.
    """
    best = np.flatnonzero(score.total == score.total.max())
    counts: dict[str, int] = {}
    for seed in range(seeds):
        place = int(best[SeededRandom(seed).below(len(best))])
        name = cycle.node_names[int(score.rows[place])]
        counts[name] = counts.get(name, 0) + 1
    return {"seeds": seeds, "outcomes": counts}
