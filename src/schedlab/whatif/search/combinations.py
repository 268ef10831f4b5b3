"""Several changes together, for a pod that no single one helps: what every plugin that turns it down on a node needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.api.rules.taints import UNSCHEDULABLE_TAINT
from schedlab.whatif.search.affinity import drop_pod_terms
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.search.labels import missing_labels, set_label
from schedlab.whatif.search.ports import drop_port
from schedlab.whatif.search.requests import lower, shortages
from schedlab.whatif.search.spreading import relax
from schedlab.whatif.search.taints import tolerate, uncordon, untolerated

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_ROWS_MAX: Final = 400
_TRIES_MAX: Final = 12
_SUGGESTED_MAX: Final = 2


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the cheapest combinations of changes, none of which can be left out."""
    if not case.blocked.size:
        return
    counts = case.blocked.sum(axis=0)
    rows = np.argsort(counts, kind="stable")[:_ROWS_MAX].tolist()
    guesses: dict[tuple[str, ...], list[Edit]] = {}
    for row in rows:
        edits = _edits(case, row)
        # One node for each way to put it: nodes that need the same are as good as each other.
        key = tuple(edit.summary for edit in edits if not edit.node) + tuple(edit.kind for edit in edits if edit.node)
        if edits and key not in guesses:
            guesses[key] = edits
    ranked = sorted(guesses.values(), key=lambda edits: sum(edit.cost for edit in edits))
    found: dict[str, None] = {}
    for edits in ranked[:_TRIES_MAX]:
        if not case.land(edits):
            continue
        fewest = _without_needless(case, edits)
        suggestion = Suggestion(tuple(fewest), case.land(fewest))
        if suggestion.summary not in found:
            found[suggestion.summary] = None
            yield suggestion
        if len(found) == _SUGGESTED_MAX:
            return


def _without_needless(case: Case, edits: Sequence[Edit]) -> Sequence[Edit]:
    for edit in sorted(edits, key=lambda each: -each.cost):
        rest = [other for other in edits if other is not edit]
        if rest and case.land(rest):
            return _without_needless(case, rest)
    return edits


def _edits(case: Case, row: int) -> list[Edit]:
    """Return what has to change for one node; nothing when it is not known how."""
    edits: list[Edit] = []
    for plugin in case.blockers(row):
        more = _edits_for(case, plugin, row)
        if more is None:
            return []
        edits += more
    return edits


def _edits_for(case: Case, plugin: str, row: int) -> Sequence[Edit] | None:
    """Return what a plugin needs to let the pod onto a node; None when that is not known."""
    name, spec = case.table.names[row], case.pod.pod.spec
    match plugin:
        case "NodeResourcesFit":
            needs, short = shortages(case, np.array([row], np.int64))
            return [lower(resource, needs[resource], free) for resource, free in short[row].items()] or None
        case "TaintToleration":
            # Who is uncordoned loses the taint of that, too.
            taints = tuple(taint for taint in untolerated(case, row) if taint.key != UNSCHEDULABLE_TAINT.key)
            return [tolerate(taints)] if taints else []
        case "NodeUnschedulable":
            return [uncordon(name)]
        case "NodeAffinity":
            missing = missing_labels(case.pod.pod, case.table.infos[row].node)
            return [set_label(name, key, value) for key, value in missing or ()] or None
        case "PodTopologySpread":
            return [
                relax(constraint.topology_key, place)
                for place, constraint in enumerate(spec.topology_spread_constraints)
                if constraint.when_unsatisfiable == "DoNotSchedule"
            ]
        case "NodePorts":
            return [drop_port(port) for port in case.pod.host_ports]
        case "InterPodAffinity":
            return drop_pod_terms(case.stored.raw) or None
        case _:
            return None
