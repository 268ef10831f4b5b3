"""A trace as a scenario: a folder with `scenario.yaml`, the nodes, and a CSV with a whole pod on every line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import yaml

from schedlab.traces.model import TimedPod, Trace

_TEMPLATE: Final = "{{.pod}}\n"


def scenario_files(trace: Trace, name: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files of a scenario that runs a trace."""
    objects = [dict(one) for one in trace.objects]
    yield "cluster.yaml", yaml.safe_dump_all(objects, sort_keys=False)
    yield "pods.csv", "".join(_lines(trace))
    yield "pod.yaml", _TEMPLATE
    yield "scenario.yaml", yaml.safe_dump(_scenario(trace, name), sort_keys=False)


def _lines(trace: Trace) -> Iterator[str]:
    yield "at,runTime,pod\n"
    for one in trace.pods:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(_fields(one))
        yield line.getvalue()


def _fields(one: TimedPod) -> tuple[str, str, str]:
    run_time = "never" if one.run_time_s is None else f"{max(one.run_time_s, 0):.6f}s"
    return f"{one.at_s:.6f}", run_time, orjson.dumps(one.manifest).decode()


def _scenario(trace: Trace, name: str) -> Mapping[str, Any]:
    load = {"name": "trace", "arrivals": {"trace": "pods.csv"}, "pods": [{"template": "pod.yaml"}]}
    last_s = max((one.at_s + (one.run_time_s or 0) for one in trace.pods), default=0.0)
    return {
        "apiVersion": "schedlab.dev/v1alpha1",
        "kind": "Scenario",
        "name": name,
        "cluster": {"files": ["cluster.yaml"]} if trace.objects else {"nodes": [{"count": 100}]},
        "loads": [load],
        "stop": {"at": f"{int(2 * last_s) + 3600}s"},
    }
