"""Annotations of pods in big clusters: never over the limit, as much history as fits, nothing lost behind them."""

from __future__ import annotations

import json

import pytest

from schedlab.decisions.annotations import HISTORY_KEY, SUMMARY_KEY, TOTAL_BYTES_MAX, AnnotationMode, Projection
from schedlab.decisions.log import DecisionLog
from tests.unit.decisions import records

MODES: tuple[AnnotationMode, ...] = ("auto", "full", "summary")


def _size(annotations: dict[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


def _log(nodes: int, attempts: int) -> DecisionLog:
    log = DecisionLog()
    for attempt in range(1, attempts + 1):
        log.cycle(records.many_nodes(attempt, nodes))
    return log


@pytest.mark.parametrize("mode", MODES)
def test_three_attempts_on_five_thousand_nodes(mode: AnnotationMode) -> None:
    """A summary with a pointer per attempt, all three in the history, and every verdict still in the log."""
    log = _log(5000, 3)
    story = log.find("default", "p")
    assert story is not None

    found = Projection(mode).annotations("default", "p", story.attempts, others_bytes=1000)

    assert _size(found) + 1000 <= TOTAL_BYTES_MAX
    assert json.loads(found[SUMMARY_KEY])["details"] == "/api/v1/decisions/default/p"
    assert len(json.loads(found[HISTORY_KEY])) == 3
    for attempt in story.attempts:
        cycle = attempt.cycle()
        assert cycle.filter is not None
        assert len(cycle.filter.visited) == 5000


def test_history_takes_the_room_there_is() -> None:
    """In mode full older attempts stay as long as all annotations together are within the limit."""
    log = _log(60, 40)
    story = log.find("default", "p")
    assert story is not None

    found = Projection("full").annotations("default", "p", story.attempts, others_bytes=20_000)

    entries = json.loads(found[HISTORY_KEY])
    entry_bytes = _size({"": json.dumps(entries[0], separators=(",", ":"))})
    assert 1 < len(entries) < 40
    assert TOTAL_BYTES_MAX - 20_000 - 2 * entry_bytes < _size(found) <= TOTAL_BYTES_MAX - 20_000


@pytest.mark.parametrize("room", [0, 500, 1500, 2500, 4000, 20_000])
def test_pods_with_many_annotations_of_their_own_get_no_more_than_fits(room: int) -> None:
    log = _log(20, 3)
    story = log.find("default", "p")
    assert story is not None

    found = Projection("full").annotations("default", "p", story.attempts, others_bytes=TOTAL_BYTES_MAX - room)

    assert _size(found) <= room
    assert bool(found) == (room >= 1500)
