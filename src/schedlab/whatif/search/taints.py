"""One more toleration, or a node that is uncordoned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.api.rules.taints import DO_NOT_SCHEDULE, UNSCHEDULABLE_TAINT, tolerates_any
from schedlab.api.views.core import Taint
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_TAINTS: Final = "TaintToleration"
_UNSCHEDULABLE: Final = "NodeUnschedulable"
_TOLERATION_COST: Final = 20
#: Taints that say that a node is not well: to tolerate them helps the pod to a node that does not run it.
_CONDITION_PREFIX: Final = "node.kubernetes.io/"
_CONDITION_COST: Final = 40
_UNCORDON_COST: Final = 10
_SETS_MAX: Final = 6
_NODES_MAX: Final = 6


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the fewest tolerations that open nodes, for the most frequent sets of taints first."""
    sets: dict[tuple[Taint, ...], int] = {}
    for row in case.only(_TAINTS).tolist():
        missing = untolerated(case, row)
        if missing:
            sets[missing] = sets.get(missing, 0) + 1
    fewest = 0
    ranked = sorted(sets, key=lambda taints: (len(taints), _is_condition(taints), -sets[taints]))
    for taints in ranked[:_SETS_MAX]:
        if fewest and len(taints) > fewest:
            return
        edit = tolerate(taints)
        node = case.land([edit])
        if node:
            fewest = len(taints)
            yield Suggestion((edit,), node)


def suggest_uncordon(case: Case) -> Iterator[Suggestion]:
    """Yield a cordoned node that the pod would go to."""
    for row in case.only(_UNSCHEDULABLE, _TAINTS).tolist()[:_NODES_MAX]:
        if not case.table.unschedulable[row] or any(
            taint.key != UNSCHEDULABLE_TAINT.key for taint in untolerated(case, row)
        ):
            continue
        edit = uncordon(case.table.names[row])
        node = case.land([edit])
        if node:
            yield Suggestion((edit,), node)
            return


def untolerated(case: Case, row: int) -> tuple[Taint, ...]:
    """Return the taints of a node that keep the pod away, without their times."""
    taints = case.table.infos[row].node.spec.taints
    tolerations = case.pod.pod.spec.tolerations
    comparison = case.features.enabled("TaintTolerationComparisonOperators")
    return tuple(
        Taint(taint.key, taint.value, taint.effect)
        for taint in taints
        if taint.effect in DO_NOT_SCHEDULE and not tolerates_any(tolerations, taint, comparison=comparison)
    )


def tolerate(taints: tuple[Taint, ...]) -> Edit:
    """Return the edit that makes the pod tolerate the taints."""
    texts = [f"{taint.key}={taint.value}:{taint.effect}".replace("=:", ":") for taint in taints]
    cost = _TOLERATION_COST * len(taints) + (_CONDITION_COST if _is_condition(taints) else 0)
    return Edit(
        "toleration",
        f"tolerate {' and '.join(texts)}",
        cost,
        pod=partial(_tolerate, taints),
        in_place=True,
        details={"taints": texts},
    )


def _is_condition(taints: tuple[Taint, ...]) -> bool:
    return any(taint.key.startswith(_CONDITION_PREFIX) for taint in taints)


def _tolerate(taints: tuple[Taint, ...], pod: Object) -> None:
    tolerations = pod["spec"].setdefault("tolerations", [])
    for taint in taints:
        toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        if not taint.value:
            toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
        tolerations.append(toleration)


def uncordon(name: str) -> Edit:
    """Return the edit that lets a node take pods again."""
    return Edit(
        "uncordon",
        f"uncordon node {name}",
        _UNCORDON_COST,
        node=name,
        node_change=_uncordon,
        changes=({"uncordon": name},),
        details={"uncordoned": name},
    )


def _uncordon(node: Object) -> None:
    spec = node["spec"]
    spec.pop("unschedulable", None)
    taints = [taint for taint in spec.get("taints", ()) if taint["key"] != UNSCHEDULABLE_TAINT.key]
    spec["taints"] = taints
