"""The same pods in two runs of one scenario, and why they are elsewhere.

Pods of loads and of the file have the same names in both. Those that controllers make have random ones: of the same
owner the first one created is the first one, and so on.

A pod is elsewhere because the other configuration would have put it elsewhere in the very state that the first one found,
which a shadow in the first run tells; or because pods before it are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.whatif.flips import Flip, flipped

if TYPE_CHECKING:
    from schedlab.scenario.experiment import Experiment
    from schedlab.scenario.fates import Fate
    from schedlab.scheduler.framework.record import CycleRecord

#: So many nodes of a decision are shown, the best ones.
_NODES_MAX: Final = 5
CONFIGURATION: Final = "configuration"
EARLIER: Final = "earlier placements"
SCENARIO: Final = "another scenario or seed"


def moved_pods(before: Experiment, after: Experiment) -> Iterator[tuple[Fate, Fate]]:
    """Yield the pods that ended up on another node, in the order of their creation."""
    others = {_identity(fate, number): fate for fate, number in _numbered(after)}
    for fate, number in _numbered(before):
        other = others.get(_identity(fate, number))
        if other is not None and other.node != fate.node:
            yield fate, other


def _numbered(experiment: Experiment) -> Iterator[tuple[Fate, int]]:
    """Number the pods of each owner."""
    counts: dict[tuple[str, str], int] = {}
    for fate in experiment.fates.all.values():
        family = fate.namespace, fate.owner
        counts[family] = counts.get(family, 0) + 1
        yield fate, counts[family]


def _identity(fate: Fate, number: int) -> tuple[str, str, str | int]:
    return (fate.namespace, fate.owner, number) if fate.owner else (fate.namespace, "", fate.name)


def describe_move(
    before: Experiment, after: Experiment, fates: tuple[Fate, Fate], shadowed: Mapping[str, Flip], *, tables: bool
) -> dict[str, Any]:
    """Tell where a pod went in the two runs, and which plugin flipped the choice; with the decisions if asked for.

    shadowed: what the other configuration would have done otherwise in the first run, by pod.
    """
    old, new = _record(before, fates[0]), _record(after, fates[1])
    is_same = before.plan.scenario == after.plan.scenario and before.seed == after.seed
    key = f"{fates[0].namespace}/{fates[0].name}"
    own = shadowed.get(key)
    flip = own or (None if old is None or new is None else flipped(old, new))
    if flip is None:
        flip = Flip(fates[0].node, fates[1].node, "cycle", "", "one of the two was not decided by the scheduler")
    found = {
        "pod": key,
        "created": fates[0].created_ns / 1e9,
        "before": fates[0].node,
        "after": fates[1].node,
        "cause": CONFIGURATION if own is not None else EARLIER if is_same else SCENARIO,
        "how": flip.how,
        "plugin": flip.plugin,
        "reason": flip.reason,
        "differences": {name: list(both) for name, both in flip.differences.items()},
    }
    if tables and old is not None and new is not None:
        nodes = (fates[0].node, fates[1].node)
        found["decisions"] = [_decision(old, nodes), _decision(new, nodes)]
    return found


def _record(experiment: Experiment, fate: Fate) -> CycleRecord | None:
    story = experiment.cluster.log.story(fate.uid)
    return None if story is None or not story.attempts else story.attempts[-1].cycle()


def _decision(record: CycleRecord, nodes: tuple[str, str]) -> dict[str, Any]:
    """Return the scores of the best nodes and of those that were chosen, best first."""
    score = record.score
    found: dict[str, Any] = {"selected": record.selected, "message": record.failure_message, "plugins": [], "rows": []}
    if score is None or not score.complete:
        return found
    names = [record.node_names[row] for row in score.rows.tolist()]
    order = sorted(range(len(names)), key=lambda at: (-int(score.total[at]), at))
    shown = [at for rank, at in enumerate(order) if rank < _NODES_MAX or names[at] in nodes]
    found["plugins"] = list(score.plugins)
    found["rows"] = [
        {"node": names[at], "total": int(score.total[at]), "scores": [int(one) for one in score.final[:, at]]}
        for at in shown
    ]
    return found


def flipped_by(one: Mapping[str, Any]) -> str:
    """Name the plugin that flipped a moved pod, or what else did."""
    return str(one["plugin"] or one["how"] if one["cause"] == CONFIGURATION else one["cause"])


def by_plugin(moved: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count moved pods by the plugin that flipped them, or by what else did, the most frequent first."""
    counts: dict[str, int] = {}
    for one in moved:
        name = flipped_by(one)
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))
