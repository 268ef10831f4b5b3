"""A change must not make scheduling twice as slow: processor time per pod, in units of what the machine does meanwhile.

The unit is the calibration number (`scheduler_perf.machine`): a machine twice as fast has a number twice as large and
needs half the time. Bounds are twice what was measured when they were set; the best of some runs is what counts, so that
other load on the machine is not taken for a loss. `make bench` measures speed itself.
"""

from __future__ import annotations

import pytest

from schedlab.scheduler_perf import RunOptions, load, machine, run, shipped

PARAMS = (("initNodes", 500), ("initPods", 200), ("measurePods", 300))
ROUNDS = 4


@pytest.fixture(scope="module")
def calibration() -> float:
    return machine.calibrate()


@pytest.mark.parametrize(
    ("name", "bound"),
    [("SchedulingBasic", 13_000), ("TopologySpreading", 17_000), ("SchedulingPodAffinity", 19_000)],
)
def test_pod_costs_no_more_than_twice_what_it_did(name: str, bound: int, calibration: float) -> None:
    case = next(case for case in load(shipped()) if case.name == name)

    costs = []
    for _ in range(ROUNDS):
        (figures,) = run(shipped(), case, case.workload(), RunOptions(params=PARAMS))
        costs.append(figures.cpu_us_per_pod * calibration)

    assert min(costs) < bound, f"us per pod x calibration {calibration}: {[round(cost) for cost in costs]}"
