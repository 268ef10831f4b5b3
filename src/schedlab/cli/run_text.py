"""A run in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.time import format_duration
from schedlab.kernel.clock import SECOND_NS
from schedlab.scenario.judging import Verdict
from schedlab.scenario.results import Run, Value

_ENDED: Final[Mapping[str, str]] = {
    "idle": "nothing more would happen",
    "allScheduled": "all pods are scheduled",
    "time": "the time was over",
    "pending": "a pod had waited for too long",
    "interrupted": "it was interrupted",
}
_WAITING_SHOWN: Final = 5


def run_text(run: Run, location: str) -> str:
    """Return what came out of a run."""
    return "\n".join(_lines(run, location))


def _lines(run: Run, location: str) -> Iterator[str]:
    metrics = run.metrics
    yield f"{run.scenario} ({location}), seed {run.seed}, scheduler configuration {run.scheduler_config}"
    yield f"ended after {_time(metrics['duration'])}: {_ENDED[run.ended]}"
    yield f"scheduler service time {run.service_time}"
    yield ""
    yield (
        f"pods         {_n(metrics, 'pods_created')} created, {_n(metrics, 'pods_scheduled')} scheduled, "
        f"{_n(metrics, 'pods_finished')} finished, {_n(metrics, 'pods_failed')} failed, "
        f"{_n(metrics, 'pods_pending')} pending"
    )
    yield (
        f"waits        p50 {_time(metrics['wait_p50'])}, p95 {_time(metrics['wait_p95'])}, "
        f"p99 {_time(metrics['wait_p99'])}, longest {_time(metrics['wait_max'])}"
    )
    yield (f"attempts     {_n(metrics, 'attempts')}; {_counted(metrics, 'preemption')}, {_counted(metrics, 'victim')}")
    for resource in _resources(metrics):
        yield (
            f"{resource:<12} requested {_share(metrics[f'requested_mean.{resource}'])} on average, "
            f"{_share(metrics[f'requested_max.{resource}'])} at most; "
            f"imbalance of nodes {_share(metrics[f'imbalance_nodes_mean.{resource}'])}"
        )
    yield (
        f"nodes        {_n(metrics, 'nodes_max')} at most, {_n(metrics, 'nodes_used_max')} in use at most, "
        f"{_n(metrics, 'nodes_needed_max')} needed at least"
    )
    if metrics["cost"]:
        yield f"cost         {metrics['cost']:.2f}"
    yield from _waiting(run.pods)
    for problem, times in Counter(run.problems).items():
        yield f"problem      {problem}{f' ({times} times)' if times > 1 else ''}"
    yield from _verdicts(run.verdicts)
    yield f"digest       {run.digest}"


def _resources(metrics: Mapping[str, Value]) -> list[str]:
    start = "requested_mean."
    return [name.removeprefix(start) for name in metrics if name.startswith(start)]


def _counted(metrics: Mapping[str, Value], one: str) -> str:
    number = _n(metrics, f"{one}s")
    return f"{number} {one}{'s' * (number != '1')}"


def _n(metrics: Mapping[str, Value], name: str) -> str:
    value = metrics[name]
    return "-" if value is None else f"{value:g}"


def _share(value: Value) -> str:
    return "-" if value is None else f"{value:.0%}"


def _time(seconds: Value) -> str:
    """A duration without more digits than anybody reads."""
    if seconds is None:
        return "-"
    return format_duration(round(seconds * 1000) * (SECOND_NS // 1000))


def _waiting(pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waiting = [pod for pod in pods if pod["reason"]]
    for pod in waiting[:_WAITING_SHOWN]:
        yield f"waits        {pod['namespace']}/{pod['pod']}: {pod['message'] or pod['reason']}"
    if len(waiting) > _WAITING_SHOWN:
        yield f"             and {len(waiting) - _WAITING_SHOWN} more"


def _verdicts(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for one in verdicts:
        yield f"{'holds' if one.holds else 'FAILS':<12} {one.text}: {one.found}"
