"""Azure's VM trace of 2019 (AzurePublicDatasetV2): the table of virtual machines, each of which becomes a pod.

The trace has no table of servers; nodes are given. Cores and memory are buckets; of an open one (`>24`) its lower end is
taken. A machine that was still there when the trace ended (its end is that of the trace) runs for ever.

Mirrors: vmtable.csv of github.com/Azure/AzurePublicDataset, AzurePublicDatasetV2
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from schedlab.kernel.errors import SchedlabError
from schedlab.traces.model import Manifest, TimedPod, Trace, in_order, pod
from schedlab.traces.rows import Row, read_rows

_VM: Final = (
    "vmid",
    "subscriptionid",
    "deploymentid",
    "vmcreated",
    "vmdeleted",
    "maxcpu",
    "avgcpu",
    "p95maxcpu",
    "vmcategory",
    "vmcorecountbucket",
    "vmmemorybucket",
)
#: Thirty days, the last reading five minutes before their end.
_END_S: Final = 30 * 24 * 3600 - 300


def read_azure(machines: Path, nodes: Sequence[Manifest] = ()) -> Trace:
    """Read a table of virtual machines; raises SchedlabError."""
    return in_order(nodes, [_pod(number, row) for number, row in enumerate(read_rows(machines, _VM, has_header=False))])


def _pod(number: int, row: Row) -> TimedPod:
    requests = {
        "cpu": f"{_bucket(row, 'vmcorecountbucket'):g}",
        "memory": f"{_bucket(row, 'vmmemorybucket') * 1024:.0f}Mi",
    }
    ids = {f"azure/{key}": row.text(key) for key in ("vmid", "deploymentid")}
    labels = {"category": row.text("vmcategory")} if row.text("vmcategory") else {}
    created_s, deleted_s = row.number("vmcreated"), row.number("vmdeleted")
    run_time_s = None if deleted_s >= _END_S else deleted_s - created_s
    return TimedPod(created_s, run_time_s, pod(f"vm-{number}", requests, labels, ids))


def _bucket(row: Row, column: str) -> float:
    text = row.text(column).removeprefix(">")
    try:
        return float(text)
    except ValueError:
        raise SchedlabError(
            f"{column} is {row.text(column)!r}, not a number", location=row.place, hint="like 4, or >24"
        ) from None
