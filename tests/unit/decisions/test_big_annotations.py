"""Annotations of pods in big clusters: never over the limit, as much history as fits, nothing lost behind them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from schedlab.decisions.annotations import HISTORY_KEY, SUMMARY_KEY, TOTAL_BYTES_MAX, AnnotationMode, Projection
from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.framework.record import CycleRecord, FilterRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status
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


def _turned_down(reasons: list[str]) -> CycleRecord:
    """An attempt that a node for each of the reasons turned down."""
    size = len(reasons)
    ids = np.array([REASONS.id_of((reason,)) for reason in reasons], np.int32)
    code = np.full(size, Code.UNSCHEDULABLE, np.uint8)
    rows = np.arange(size, dtype=np.int32)
    return records.failed(
        node_names=tuple(f"node-{row}" for row in range(size)),
        filter=FilterRecord(("Wordy",), rows, np.zeros(size, np.int8), code, ids),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("record", "rejected"),
    [
        pytest.param(_turned_down(["x" * 1_000_000] * 3), {f"Wordy: {'x' * 1016}…": 3}, id="a reason of a megabyte"),
        pytest.param(
            _turned_down([f"{number:01000}" for number in range(5000)]),
            {**{f"Wordy: {number:01000}": 1 for number in range(8)}, "…": 4992},
            id="each node has a reason of its own",
        ),
        pytest.param(
            records.scheduled(reserve={"Wordy": Status(Code.ERROR, ("y" * 1_000_000,))}),
            {"NodeResourcesFit: Insufficient cpu": 1},
            id="what is said once per plugin",
        ),
    ],
)
def test_whatever_plugins_say_there_is_a_summary(
    mode: AnnotationMode, record: CycleRecord, rejected: dict[str, int]
) -> None:
    """Neither the words of a plugin nor their number leave a pod without its result and the pointer to the rest."""
    log = DecisionLog()
    log.cycle(record)
    story = log.find("default", "p")
    assert story is not None

    found = Projection(mode).annotations("default", "p", story.attempts, others_bytes=1000)

    assert json.loads(found[SUMMARY_KEY])["rejected"] == rejected
    assert json.loads(found[SUMMARY_KEY])["details"] == "/api/v1/decisions/default/p"
    assert len(json.loads(found[HISTORY_KEY])) == 1
