"""Annotations with upstream's quirks: repeated failures in one entry, the first profile's weights, the same limits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from schedlab.decisions.annotations import HISTORY_KEY, PREFIX, TOTAL_BYTES_MAX
from schedlab.decisions.log import Attempt
from schedlab.decisions.packing import Packer
from schedlab.decisions.strict_upstream import StrictProjection
from schedlab.scheduler.framework.record import CycleRecord, FilterRecord
from schedlab.scheduler.framework.status import REASONS, Code
from tests.unit.decisions import records


def _shown(*cycles: CycleRecord, others: int = 0, **weights: int) -> dict[str, Any]:
    packer = Packer()
    attempts = [Attempt(*packer.pack(cycle), cycle.pod) for cycle in cycles]
    projection = StrictProjection("full", weights=lambda: weights)
    return projection.annotations("default", "p", attempts, others)


def _history(*cycles: CycleRecord) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(_shown(*cycles)[HISTORY_KEY])
    return found


def _failing_on(row: int, attempt: int) -> CycleRecord:
    """An attempt that looked at one node only and fails as all of these do."""
    record = records.failed(attempt)
    record.node_names = ("a", "b", "c", "d")
    record.filter = FilterRecord(
        plugins=("NodeResourcesFit",),
        visited=np.array([row], np.int32),
        failed_plugin=np.array([0], np.int8),
        code=np.array([Code.UNSCHEDULABLE], np.uint8),
        reason=np.array([REASONS.id_of((records.NO_CPU,))], np.int32),
    )
    return record


def test_failures_alike_are_not_written_and_pile_up_in_the_next_entry() -> None:
    history = _history(_failing_on(0, 1), _failing_on(1, 2), _failing_on(2, 3), records.scheduled(4))

    assert len(history) == 2
    assert list(json.loads(history[0][f"{PREFIX}filter-result"])) == ["a"]
    # b was tried in an attempt whose result nobody wrote; a was written with the first one.
    assert list(json.loads(history[1][f"{PREFIX}filter-result"])) == ["a", "b", "c"]
    assert json.loads(history[1][f"{PREFIX}filter-result"])["b"] == {
        "NodeResourcesFit": "Insufficient cpu",
        "TaintToleration": "passed",
    }
    assert history[1][f"{PREFIX}selected-node"] == "c"


def test_an_attempt_that_is_not_written_yet_is_not_shown() -> None:
    shown = _shown(_failing_on(0, 1), _failing_on(1, 2))

    assert list(json.loads(shown[f"{PREFIX}filter-result"])) == ["a"]


def test_weights_are_those_of_the_first_profile_and_others_count_nothing() -> None:
    shown = _shown(records.scheduled(), TaintToleration=5)

    assert json.loads(shown[f"{PREFIX}finalscore-result"]) == {
        "a": {"ImageLocality": "0", "TaintToleration": "500"},
        "c": {"ImageLocality": "0", "TaintToleration": "500"},
    }
    assert json.loads(shown[f"{PREFIX}score-result"])["c"]["ImageLocality"] == "70"


def test_the_limit_of_the_api_is_never_passed() -> None:
    for nodes in (1, 300, 5000):
        for others in (0, 200_000):
            shown = _shown(*(records.many_nodes(number, nodes) for number in (1, 2, 3)), others=others)
            size = sum(len(key.encode()) + len(value.encode()) for key, value in shown.items())

            assert 0 < size + others <= TOTAL_BYTES_MAX
