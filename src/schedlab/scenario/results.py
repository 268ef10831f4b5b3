"""What a run came to: metrics, their series over time, the pods, what was asserted, and the digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from schedlab.scenario.judging import Verdict
from schedlab.scenario.metrics import COLUMNS

if TYPE_CHECKING:
    from schedlab.scenario.fates import Fates

#: Why a run ended: see model.Stop; interrupted: by the user.
Ending = Literal["idle", "allScheduled", "time", "pending", "interrupted"]
Value = float | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario. Everything in it is JSON-shaped, and the same on every machine.

    series, pending, pods: rows of tables (dicts with the same keys). metrics: by the names of `metrics.METRICS`; None
    where nothing was measured. problems: operations that the API refused.
    """

    scenario: str
    seed: int
    version: str
    scheduler_config: str
    service_time: str
    ended: Ending
    digest: str
    metrics: Mapping[str, Value]
    verdicts: Sequence[Verdict]
    problems: Sequence[str]
    series: Sequence[Mapping[str, Any]]
    pending: Sequence[Mapping[str, Any]]
    pods: Sequence[Mapping[str, Any]]

    @property
    def failed(self) -> Sequence[Verdict]:
        """The assertions that do not hold."""
        return [one for one in self.verdicts if not one.holds]

    def summary(self) -> dict[str, Any]:
        """Return all but the tables, as JSON-shaped data."""
        return {key: value for key, value in asdict(self).items() if key not in ("series", "pending", "pods")}


def measure(fates: Fates, series: Sequence[Mapping[str, Any]], duration_s: float) -> dict[str, Value]:
    """Return the metrics of a run."""
    waits = np.array([fate.wait_s for fate in fates.all.values() if fate.wait_s is not None])
    p50, p95, p99 = np.percentile(waits, (50, 95, 99)).tolist() if len(waits) else (None, None, None)
    found: dict[str, Value] = {
        "pods_created": len(fates.all),
        "pods_scheduled": fates.scheduled,
        "pods_pending": len(fates.waiting),
        "pods_finished": fates.finished,
        "pods_failed": fates.failed,
        "pods_deleted": fates.deleted,
        "wait_p50": p50,
        "wait_p95": p95,
        "wait_p99": p99,
        "wait_max": float(waits.max()) if len(waits) else None,
        "wait_mean": float(waits.sum() / len(waits)) if len(waits) else None,
        "attempts": fates.attempts,
        "attempts_per_pod": fates.attempts / fates.tried if fates.tried else None,
        "preemptions": fates.preemptions,
        "victims": fates.victims,
        "duration": duration_s,
    }
    found |= _over_time(series, duration_s)
    found |= fates.gauges()
    per_hour = found["cost_per_hour_mean"]
    found["cost"] = None if per_hour is None else per_hour * duration_s / 3600
    # Sums of floats differ in their last digits from one processor to another.
    return {name: None if value is None else round(value, 9) for name, value in found.items()}


def quantiles(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    """Return the quantiles of a column at 0 %, 1 % … 100 %; none when nothing is known."""
    known = [row[column] for row in rows if row[column] is not None]
    found = np.percentile(known, np.arange(101)).tolist() if known else []
    # Sums of floats differ in their last digits from one processor to another.
    return [round(value, 9) for value in found]


def uniform(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows that all have the same keys, None where one says nothing."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _over_time(series: Sequence[Mapping[str, Any]], duration_s: float) -> dict[str, Value]:
    """Return mean and maximum of each state; each sample counts for the time until the next one."""
    names = dict.fromkeys(name for row in series for name in row if name.partition(".")[0] in COLUMNS)
    times = np.array([row["time_s"] for row in series])
    lengths = np.diff(times, append=max(duration_s, times[-1]) if len(times) else 0.0)
    found: dict[str, Value] = {}
    for name in names:
        base, dot, resource = name.partition(".")
        values = np.array([row.get(name, np.nan) for row in series], np.float64)
        known = ~np.isnan(values)
        span = float(lengths[known].sum())
        mean = float((values[known] * lengths[known]).sum() / span) if span else float(values[known][-1])
        found[f"{base}_mean{dot}{resource}"] = mean
        found[f"{base}_max{dot}{resource}"] = float(values[known].max())
    return found
