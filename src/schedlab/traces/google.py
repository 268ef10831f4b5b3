"""Google's cluster trace of 2011 (clusterdata-2011-2): machine events and task events.

Amounts are parts of the largest machine, whose size is given. A machine that was ever added is a node. A task comes when it
is first submitted; it runs from its last start to its last end, or for ever when it has none. Priorities become priority
classes; tasks of a job that must not share a machine get an anti-affinity.

Mirrors: machine_events and task_events of github.com/google/cluster-data, ClusterData2011_2
Differs: a task that was evicted and started again is one pod, which runs as long as its last run; machines stay as they
were first added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schedlab.traces.model import Manifest, TimedPod, Trace, in_order, node, pod
from schedlab.traces.rows import Row, read_rows

_MACHINE: Final = ("time", "machine ID", "event type", "platform ID", "CPUs", "Memory")
_TASK: Final = (
    "time",
    "missing info",
    "job ID",
    "task index",
    "machine ID",
    "event type",
    "user",
    "scheduling class",
    "priority",
    "CPU request",
    "memory request",
    "disk space request",
    "different machines restriction",
)
_ADD: Final = 0
_SUBMIT, _SCHEDULE = 0, 1
#: The time of what happened after the end of the trace, which began at 0.
_AFTER_US: Final = 2**63 - 1
#: Evicted, failed, finished, killed, lost.
_ENDS: Final = (2, 3, 4, 5, 6)
_MICROSECONDS: Final = 1_000_000
_HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(slots=True)
class _Task:
    row: Row
    began_us: float | None = None
    run_us: float | None = None


def read_google(machines: Path, tasks: Path, *, cpu: float = 64, memory_gib: float = 256) -> Trace:
    """Read machine events and task events, of a largest machine of this size; raises SchedlabError."""
    nodes: dict[str, Manifest] = {}
    for row in read_rows(machines, _MACHINE, has_header=False):
        name = f"machine-{row.text('machine ID')}"
        if row.number("event type") == _ADD and name not in nodes:
            nodes[name] = node(name, _amounts(row, "CPUs", "Memory", cpu, memory_gib), {"platform": _platform(row)})
    found: dict[tuple[str, str], _Task] = {}
    for row in sorted(read_rows(tasks, _TASK, has_header=False), key=lambda one: one.number("time")):
        _take(found, row)
    pods = [_pod(task, cpu, memory_gib) for task in found.values()]
    priorities = sorted({int(task.row.number("priority", 0)) for task in found.values()})
    return in_order([*map(_class, priorities), *nodes.values()], pods)


def _platform(row: Row) -> str:
    # Hashes are longer than labels may be, and may hold what labels may not.
    return "".join(letter for letter in row.text("platform ID") if letter.isalnum())[:63]


def _amounts(row: Row, cpu_column: str, memory_column: str, cpu: float, memory_gib: float) -> dict[str, str]:
    milli = round(row.number(cpu_column, 0) * cpu * 1000)
    return {"cpu": f"{milli}m", "memory": f"{round(row.number(memory_column, 0) * memory_gib * 1024)}Mi"}


def _take(found: dict[tuple[str, str], _Task], row: Row) -> None:
    """Take note of an event; events of tasks that were there before the trace began submit them."""
    kind, time_us = int(row.number("event type")), row.number("time")
    if time_us >= _AFTER_US:
        return
    task = found.setdefault((row.text("job ID"), row.text("task index")), _Task(row))
    if kind == _SCHEDULE:
        task.began_us, task.run_us = time_us, None
    elif kind in _ENDS and task.began_us is not None:
        task.run_us = time_us - task.began_us
        task.began_us = None


def _class(priority: int) -> Manifest:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**head, "metadata": {"name": f"priority-{priority}"}, "value": priority}


def _pod(task: _Task, cpu: float, memory_gib: float) -> TimedPod:
    row = task.row
    job = row.text("job ID")
    spec: dict[str, Any] = {"priorityClassName": f"priority-{int(row.number('priority', 0))}"}
    if row.number("different machines restriction", 0):
        spec["affinity"] = _apart({"job": job})
    labels = {"job": job, "scheduling-class": str(int(row.number("scheduling class", 0)))}
    requests = _amounts(row, "CPU request", "memory request", cpu, memory_gib)
    manifest = pod(f"task-{job}-{row.text('task index')}", requests, labels, **spec)
    run_time_s = None if task.run_us is None else task.run_us / _MICROSECONDS
    return TimedPod(row.number("time") / _MICROSECONDS, run_time_s, manifest)


def _apart(labels: Mapping[str, str]) -> dict[str, Any]:
    term = {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": dict(labels)}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
