"""What is measured: names, units, and formulas in words. docs/reference/scenarios.md is checked against this table.

A metric of a resource has the resource's name behind a dot: `requested_mean.cpu`, `stranded_mean.memory`.
Of a column of the time series, NAME_mean is the mean weighted by time and NAME_max the highest value; of `pending` and
`running` exactly, of the others as far as samples show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

Better = Literal["lower", "higher", ""]


@dataclass(frozen=True, slots=True)
class Metric:
    """unit: s, pods, nodes, share (of 1), currency or a count. better: which way is wished for, "" if neither."""

    unit: str
    better: Better
    text: str


#: Columns of the time series; the first ones are counts since the start, the others are states.
COLUMNS: Final[Mapping[str, Metric]] = {
    "pending": Metric("pods", "lower", "pods that wait for a node"),
    "running": Metric("pods", "", "pods that are on a node and have not ended"),
    "nodes": Metric("nodes", "lower", "nodes of the cluster"),
    "nodes_used": Metric("nodes", "lower", "nodes with at least one pod"),
    "nodes_needed": Metric(
        "nodes",
        "lower",
        "the fewest nodes whose allocatable amounts, the largest first, cover all that is requested, "
        "in the resource that needs most: a lower bound, no packing",
    ),
    "requested": Metric("share", "higher", "sum of requests by sum of allocatable, of a resource"),
    "used": Metric("share", "", "measured usage by sum of allocatable, of cpu and memory; only with ResourceUsages"),
    "imbalance_nodes": Metric("share", "lower", "standard deviation over nodes of requested by allocatable"),
    "imbalance_zones": Metric("share", "lower", "highest less lowest zone of requested by allocatable"),
    "stranded": Metric(
        "share",
        "lower",
        "free amount of a resource that cannot be used because cpu or memory of its node is fuller: "
        "sum of allocatable · (free share - lowest free share of the node's cpu and memory), by sum of allocatable",
    ),
    "fragmentation_gpu": Metric(
        "share",
        "lower",
        "FGD (Weng et al., ATC'23): sum over nodes n of F_n(M) by sum of free GPUs; "
        "F_n(M) = sum over shapes m of the run's pods of p_m · F_n(m); F_n(m) is all free GPU of n when m does not fit "
        "on n or asks for no GPU, else the sum of those free parts of single GPUs that are smaller than min(1, GPU of m)",
    ),
    "cost_per_hour": Metric("currency", "lower", "sum of the prices of all nodes"),
    "spread_skew": Metric(
        "pods",
        "lower",
        "the largest, over the topology spread constraints of pods, of most less fewest matching pods in a domain",
    ),
}
#: Columns that are about one resource each.
OF_RESOURCES: Final = ("requested", "used", "imbalance_nodes", "imbalance_zones", "stranded")

_ONCE: Final[Mapping[str, Metric]] = {
    "pods_created": Metric("pods", "", "pods that came to be"),
    "pods_scheduled": Metric("pods", "higher", "pods that got a node"),
    "pods_pending": Metric("pods", "lower", "pods that wait for a node at the end"),
    "pods_finished": Metric("pods", "higher", "pods that ended well"),
    "pods_failed": Metric("pods", "lower", "pods that ended badly"),
    "pods_deleted": Metric("pods", "", "pods that were deleted before they ended"),
    "wait_p50": Metric("s", "lower", "time from creation to binding, over the pods that were scheduled: median"),
    "wait_p95": Metric("s", "lower", "the same: 95th percentile (linear interpolation)"),
    "wait_p99": Metric("s", "lower", "the same: 99th percentile"),
    "wait_max": Metric("s", "lower", "the same: longest"),
    "wait_mean": Metric("s", "lower", "the same: mean"),
    "attempts": Metric("", "lower", "scheduling cycles"),
    "attempts_per_pod": Metric("", "lower", "attempts by pods that were tried"),
    "preemptions": Metric("", "lower", "cycles that decided to evict pods"),
    "victims": Metric("pods", "lower", "pods that these evicted"),
    "duration": Metric("s", "lower", "virtual time until the end"),
    "cost": Metric("currency", "lower", "cost_per_hour over the hours of the run"),
}
METRICS: Final[Mapping[str, Metric]] = {
    **_ONCE,
    **{
        f"{name}_{how}": Metric(metric.unit, metric.better, f"{words}: {metric.text}")
        for name, metric in COLUMNS.items()
        for how, words in (("mean", "mean over time"), ("max", "highest"))
    },
}


def metric_of(name: str) -> Metric | None:
    """Return what a metric is, None when there is none of that name."""
    base, _, resource = name.partition(".")
    metric = METRICS.get(base)
    is_of_resource = base.rpartition("_")[0] in OF_RESOURCES
    return metric if bool(resource) == is_of_resource else None


def hint_for(name: str) -> str:
    """Return what to do about the name of a metric that there is not."""
    base, _, resource = name.partition(".")
    if base in METRICS and not resource:
        return f"name its resource: {base}.cpu"
    close = get_close_matches(base, METRICS, 1)
    return f"did you mean {close[0]}?" if close else "docs/reference/scenarios.md lists the metrics"
