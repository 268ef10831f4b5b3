"""Figures of a stretch: averages, percentiles, ratios."""

from __future__ import annotations

import pytest

from schedlab.scheduler_perf import machine
from schedlab.scheduler_perf.config import MetricSelector
from schedlab.scheduler_perf.measurement import figures_of
from schedlab.scheduler_perf.target import Measured


def test_average_is_pods_by_the_time_until_the_last_is_bound() -> None:
    bound = [0.01 * (number + 1) for number in range(200)]

    figures = figures_of("", Measured(200, bound, 0.5, [0.001] * 200), 3.0, {})

    assert figures.pods_per_second["Average"] == pytest.approx(100.0)
    assert figures.pods_per_second["Perc50"] == pytest.approx(100.0)
    assert figures.cycle_us["Perc99"] == pytest.approx(1000.0)
    assert figures.cpu_us_per_pod == pytest.approx(2500.0)
    assert figures.bucket(MetricSelector("SchedulingThroughput", "Average")) == pytest.approx(100.0)
    assert figures.bucket(MetricSelector("scheduler_scheduling_attempt_duration_seconds", "Perc99")) is None


def test_percentiles_show_a_pause_that_the_average_hides() -> None:
    """Half of the pods in the first tenth of the time: the median window sees only the slow half."""
    bound = [0.1 * number / 500 for number in range(500)] + [0.1 + 0.9 * number / 500 for number in range(1, 501)]

    figures = figures_of("", Measured(1000, bound, 0.0), 0.0, {})

    assert figures.pods_per_second["Average"] == pytest.approx(1000.0)
    assert figures.pods_per_second["Perc50"] < 600
    assert figures.pods_per_second["Perc95"] > 4000


def test_nothing_measured_has_no_figures() -> None:
    figures = figures_of("", Measured(0, [], 0.1), 0.0, {})

    assert figures.pods_per_second == {}
    assert figures.cpu_us_per_pod == 0


def test_ratio_scales_kube_schedulers_figure_to_this_machine() -> None:
    """A machine twice as fast has to be twice as fast for the same ratio."""
    assert machine.ratio("SchedulingBasic", 2440.0, 16.4) == pytest.approx(10.0)
    assert machine.ratio("SchedulingBasic", 2440.0, 32.8) == pytest.approx(5.0)
    assert machine.ratio("Other", 2440.0, 16.4) is None


def test_machine_is_described() -> None:
    assert {"cpu", "cores", "python", "numpy", "schedlab"} <= machine.describe().keys()
