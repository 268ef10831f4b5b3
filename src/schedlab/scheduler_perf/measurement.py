"""The figures of a run, in upstream's terms where it has them.

Mirrors: throughputCollector of test/integration/scheduler_perf/util.go (v1.36).
Differs: Average is pods by the time until the last of them was bound; percentiles are over windows of a fiftieth of it,
because whole seconds are too coarse here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from schedlab.scheduler_perf.config import THROUGHPUT, MetricSelector
from schedlab.scheduler_perf.target import Measured

_WINDOWS: Final = 50
_PERCENTILES: Final = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one measured stretch of a run came to."""

    name: str
    pods: int
    seconds: float
    setup_seconds: float
    #: By bucket: Average, Perc50, Perc90, Perc95, Perc99.
    pods_per_second: Mapping[str, float]
    #: Microseconds by bucket; empty where cycles cannot be timed.
    cycle_us: Mapping[str, float]
    cpu_us_per_pod: float
    #: That of clients, which a batch run does not have.
    client_cpu_us_per_pod: float
    #: Microseconds of processor time per pod, by stage; only when a profile was asked for.
    stages_us: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def bucket(self, selector: MetricSelector) -> float | None:
        """Return the figure a threshold is about; None when it is not collected here."""
        return self.pods_per_second.get(selector.data_bucket) if selector.name == THROUGHPUT else None


def figures_of(name: str, measured: Measured, setup_s: float, facts: Mapping[str, Any]) -> Figures:
    """Return the figures of a stretch."""
    bound = np.sort(np.asarray(measured.bound_s, np.float64))
    seconds = float(bound[-1]) if len(bound) else 0.0
    pods = len(bound)
    per_pod = 1e6 / pods if pods else 0.0
    throughput = {"Average": round(pods / seconds, 1)} if seconds else {}
    if pods > _WINDOWS and seconds:
        counts, _ = np.histogram(bound, _WINDOWS, (0.0, seconds))
        throughput |= _percentiles(counts * (_WINDOWS / seconds))
    return Figures(
        name,
        pods,
        round(seconds, 3),
        round(setup_s, 2),
        throughput,
        _percentiles(np.asarray(measured.cycles_s) * 1e6),
        round(measured.cpu_s * per_pod, 1),
        round(measured.client_cpu_s * per_pod, 1),
        {stage: round(value * per_pod, 1) for stage, value in measured.stages_s.items()},
        facts,
    )


def _percentiles(values: Sequence[float] | Any) -> dict[str, float]:
    if not len(values):
        return {}
    found = np.percentile(values, _PERCENTILES)
    return {f"Perc{percent}": round(float(value), 1) for percent, value in zip(_PERCENTILES, found, strict=True)}
