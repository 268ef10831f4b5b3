"""What the scheduler saw at an attempt can be made again: run again there, each attempt ends as it is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from schedlab.scheduler.framework.record import CycleRecord, FilterRecord
from schedlab.whatif.state import state_at
from tests.scenario.stress import Life

# What comes after the cycle, names the moment itself and not what came of it, or says how much of the rest is kept.
_NOT_COMPARED = {"position", "nominated", "chance", "offsets", "follows", "texts"}
# Every verdict, as it is kept: compared is what `every_verdict` makes of it.
_VERDICTS = {"full_code", "full_reason", "changed_rows", "changed_code", "changed_reason"}


def differences(mine: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Say where two records differ."""
    if isinstance(mine, msgspec.Struct) and type(mine) is type(theirs):
        for name in mine.__struct_fields__:
            if name not in _NOT_COMPARED | _VERDICTS:
                yield from differences(getattr(mine, name), getattr(theirs, name), f"{where}.{name}")
        if isinstance(mine, FilterRecord) and isinstance(theirs, FilterRecord):
            yield from differences(mine.every_verdict(), theirs.every_verdict(), f"{where}.every_verdict")
    elif isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        if not np.array_equal(mine, theirs):
            yield f"{where}: {mine} is recorded, {theirs} came of it"
    elif isinstance(mine, dict) and isinstance(theirs, dict):
        if list(mine) != list(theirs):
            yield f"{where}: {list(mine)} is recorded, {list(theirs)} came of it"
        for key in mine:
            yield from differences(mine[key], theirs.get(key), f"{where}[{key}]")
    elif isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        if len(mine) != len(theirs):
            yield f"{where}: {mine} is recorded, {theirs} came of it"
        for at, (one, other) in enumerate(zip(mine, theirs, strict=False)):
            yield from differences(one, other, f"{where}[{at}]")
    elif where.endswith(".pod"):
        if mine.uid != theirs.uid:
            yield f"{where}: {mine} is recorded, {theirs} came of it"
    elif mine != theirs:
        yield f"{where}: {mine!r} is recorded, {theirs!r} came of it"


def recorded(life: Life) -> list[CycleRecord]:
    """Return every recorded attempt, also those of pods that are gone."""
    return [attempt.cycle() for story in life.cluster.log.stories() for attempt in story.attempts]


@pytest.mark.parametrize(("seed", "full"), [(1, False), (2, True)])
def test_attempts_run_again_end_as_recorded(seed: int, *, full: bool) -> None:
    """A thousand attempts of two lives: verdicts, scores, choice, victims and words, long after everything changed."""
    life = Life(seed, full=full, history=1_000_000)
    life.live(500)
    records = recorded(life)

    assert len(records) >= 500
    for record in records:
        state = state_at(life.cluster, record)
        found = list(differences(record, state.rerun()))
        assert not found, f"{record.pod.key} attempt {record.attempt}: {found[:3]}"
