"""Another maxSkew, or a spread constraint that only prefers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "PodTopologySpread"
_SKEW_COST: Final = 30
_POLICY_COST: Final = 45
#: More pods than any domain will have.
_ANY_SKEW: Final = 1_000_000


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield, for each constraint that must hold, the smallest maxSkew that works, else that it may be broken."""
    if _PLUGIN not in case.plugins or not case.blocked[case.plugins.index(_PLUGIN)].any():
        return
    for place, constraint in enumerate(case.pod.pod.spec.topology_spread_constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        if case.try_pod(partial(_set_skew, place, _ANY_SKEW)):
            skew = _smallest(case, place, constraint.max_skew)
            edit = wider(constraint.topology_key, place, constraint.max_skew, skew)
            yield Suggestion((edit,), case.land([edit]))
        else:
            edit = relax(constraint.topology_key, place)
            node = case.land([edit])
            if node:
                yield Suggestion((edit,), node)


def _smallest(case: Case, place: int, current: int) -> int:
    """Return the smallest maxSkew that works, looking further in growing steps and then between."""
    step, low = 1, current
    while not case.try_pod(partial(_set_skew, place, low + step)):
        low += step
        step *= 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        if case.try_pod(partial(_set_skew, place, middle)):
            high = middle
        else:
            low = middle
    return high


def wider(topology_key: str, place: int, before: int, after: int) -> Edit:
    """Return the edit that lets domains differ more."""
    return Edit(
        "maxSkew",
        f"maxSkew {after} instead of {before} over {topology_key}",
        _SKEW_COST + min(10, after - before),
        pod=partial(_set_skew, place, after),
        details={"topologyKey": topology_key, "from": before, "to": after},
    )


def relax(topology_key: str, place: int) -> Edit:
    """Return the edit that makes a constraint a preference."""
    return Edit(
        "whenUnsatisfiable",
        f"whenUnsatisfiable: ScheduleAnyway over {topology_key}",
        _POLICY_COST,
        pod=partial(_set_policy, place),
        details={"topologyKey": topology_key, "whenUnsatisfiable": "ScheduleAnyway"},
    )


def _set_skew(place: int, skew: int, pod: Object) -> None:
    pod["spec"]["topologySpreadConstraints"][place]["maxSkew"] = skew


def _set_policy(place: int, pod: Object) -> None:
    constraint = pod["spec"]["topologySpreadConstraints"][place]
    constraint["whenUnsatisfiable"] = "ScheduleAnyway"
    # Only a constraint that must hold may ask for a number of domains.
    constraint.pop("minDomains", None)
