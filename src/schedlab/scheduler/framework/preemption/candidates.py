"""Candidates: nodes with the victims that would make room there, and the choice of the best one.

Mirrors: pickOneNodeForPreemption of pkg/scheduler/framework/preemption/preemption.go (v1.36).
Differs: of equally good nodes the first tried is taken, where upstream takes one in the random order of a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import Victims

# Makes priorities positive, so that few pods of negative priority are not worse than more of them.
_PRIORITY_SHIFT: Final = 2**31


#: See Victims.standing.
_Standing: TypeAlias = tuple[int, int, int, int, int | None, bool]


class Merit(NamedTuple):
    """What makes a candidate better, the first difference decides; greater is better."""

    kept_budgets: int
    lowest_top_priority: int
    lowest_priority_sum: int
    fewest_pods: int
    latest_start_ns: int


def merits(candidates: Mapping[str, Victims], now_ns: int) -> dict[str, Merit]:
    """Return the merit of each candidate: of evicting its victims (at least one). Many are alike."""
    known: dict[_Standing, Merit] = {}
    found = {}
    for name, victims in candidates.items():
        standing = victims.standing
        merit = known.get(standing)
        if merit is None:
            merit = known[standing] = _merit(standing, now_ns)
        found[name] = merit
    return found


def _merit(standing: _Standing, now_ns: int) -> Merit:
    broken, count, first, total, start_ns, some_wait = standing
    if start_ns is None or (some_wait and start_ns > now_ns):
        # Who has not started is as young as who starts now.
        start_ns = now_ns
    return Merit(-broken, -first, -total - _PRIORITY_SHIFT * count, -count, start_ns)


def best_candidates(merits: Mapping[str, Merit]) -> tuple[str, ...]:
    """Return the nodes with the greatest merit, in their order."""
    highest = max(merits.values(), default=None)
    return tuple([name for name, own in merits.items() if own == highest])
