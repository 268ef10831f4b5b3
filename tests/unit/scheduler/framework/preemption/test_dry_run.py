"""Collecting candidates: when the search ends, what is kept, what errors come to."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from schedlab.scheduler.framework.interface import Victims
from schedlab.scheduler.framework.preemption.dry_run import NO_VICTIMS, DryRun, Result, collect
from schedlab.scheduler.framework.status import error
from tests.unit.scheduler.plugins.little_cluster import make_pod

SOUND = Victims((make_pod("v"),))
BREAKING = Victims((make_pod("v"),), 1)


def run(results: list[Result], wanted: int) -> tuple[DryRun, int]:
    """Collect these results of nodes n0, n1, …; return the dry run and how many results were asked for."""
    asked = iter(range(len(results)))

    def try_rows(rows: NDArray[np.int64]) -> Iterator[tuple[str, Result]]:
        for row in rows.tolist():
            next(asked)
            yield f"n{row}", results[row]

    return collect(np.arange(len(results)), wanted, try_rows), len(results) - sum(1 for _ in asked)


@pytest.mark.parametrize(
    ("results", "wanted", "candidates", "asked"),
    [
        pytest.param([SOUND] * 5, 2, "n0 n1", 2, id="ends when there are enough"),
        pytest.param([BREAKING, SOUND, SOUND], 2, "n1 n0", 2, id="those that break no budget come first"),
        pytest.param([BREAKING] * 4, 2, "n0 n1", 4, id="goes on until one breaks no budget, keeping so many"),
        pytest.param([BREAKING, BREAKING, BREAKING, SOUND, SOUND], 2, "n3 n0 n1", 4, id="and ends with it"),
        pytest.param([NO_VICTIMS, SOUND, NO_VICTIMS], 2, "n1", 3, id="too few candidates"),
        pytest.param([SOUND, SOUND], 0, "", 2, id="none wanted, all tried"),
        pytest.param([NO_VICTIMS] * 40 + [SOUND] * 3, 1, "n40", 41, id="in portions"),
    ],
)
def test_collect(results: list[Result], wanted: int, candidates: str, asked: int) -> None:
    found, tried = run(results, wanted)

    assert " ".join(found.candidates) == candidates
    assert tried == asked


def test_statuses_of_those_tried_in_vain() -> None:
    """A node where the pod fits without victims is an error, as it should not have been turned down."""
    found, _ = run([NO_VICTIMS, Victims(()), error("boom"), error("boom"), SOUND], 5)

    assert found.statuses["n0"] == NO_VICTIMS
    assert found.errors() == ('expected at least one victim pod on node "n1"', "boom")
