"""The rung of the ladder that decided a preemption."""

from __future__ import annotations

import pytest

from schedlab.decisions.ladder import RUNGS, decision, preemption
from schedlab.scheduler.framework.record import CandidateRecord, PreemptionRecord
from schedlab.scheduler.framework.status import unresolvable
from tests.unit.decisions import records

_SHIFT = 2**31
BASE = (0, -5, -(10 + 2 * _SHIFT), -2, 100)


def _candidate(node: str, **better: int) -> CandidateRecord:
    merit = list(BASE)
    for place, value in better.items():
        merit[int(place[1:])] += value
    return CandidateRecord(node, (f"default/v-{node}",), -merit[0], tuple(merit))


@pytest.mark.parametrize("rung", range(5))
def test_the_first_difference_decides(rung: int) -> None:
    candidates = [_candidate("a"), _candidate("b", **{f"m{rung}": 1})]

    assert decision(candidates, ("b",)) == {"decidedBy": RUNGS[rung], "equalBefore": ["a", "b"]}


def test_who_fell_off_earlier_was_not_in_the_decision() -> None:
    candidates = [_candidate("a", m0=-1), _candidate("b"), _candidate("c", m4=1)]

    assert decision(candidates, ("c",)) == {"decidedBy": RUNGS[4], "equalBefore": ["b", "c"]}


def test_equals_are_decided_by_the_order() -> None:
    found = decision([_candidate("a"), _candidate("b")], ("a", "b"))

    assert found == {"decidedBy": "the first of equals that was tried", "equalBefore": ["a", "b"]}


@pytest.mark.parametrize(
    ("candidates", "best"), [([_candidate("a")], ("a",)), ([_candidate("a"), _candidate("b")], ())]
)
def test_nothing_to_decide(candidates: list[CandidateRecord], best: tuple[str, ...]) -> None:
    """One candidate alone, or extenders that had their say."""
    assert decision(candidates, best)["decidedBy"] == ""


def test_merits_are_told_in_plain_numbers() -> None:
    cycle = records.failed()
    cycle.preemption = PreemptionRecord([_candidate("a")], {"b": unresolvable("none")}, 3, ("a",))

    found = preemption(cycle)

    assert found is not None
    [candidate] = found["candidates"]
    assert candidate["merit"] == {
        "brokenBudgets": 0,
        "topPriority": 5,
        "prioritySum": 10,
        "victims": 2,
        "start": "1970-01-01T00:00:00.000000Z",
    }
    assert found["notCandidates"] == {"b": {"code": "UnschedulableAndUnresolvable", "message": "none"}}
