"""Any CSV of jobs, by a file that says which column is what.

apiVersion: schedlab.dev/v1alpha1
kind: TraceMapping
pods:
name: job-{id}                     texts hold columns in braces
at: "{submitted}"                  seconds, or a number of `timeUnit`
runTime: "{duration}"              or `end: "{finished}"`; neither, or nothing in it: it never ends
requests: {cpu: "{cores}", memory: "{mem_gb}Gi"}
labels: {team: "{team}"}
nodeSelector: {disk: "{disk}"}
nodes:
name: "{host}"
amounts: {cpu: "{cores}", memory: "{mem_gb}Gi"}
labels: {rack: "{rack}"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.file import document_of
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.shape import mistakes_of
from schedlab.traces.model import Manifest, TimedPod, Trace, in_order, node, pod
from schedlab.traces.rows import Row, finite, read_rows

_COLUMN: Final = re.compile(r"\{([^{}]+)\}")


class _Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A mapping of the file; fields that it does not have are mistakes."""


class PodMapping(_Part, frozen=True, kw_only=True):
    """How a row becomes a pod. runTime is how long it runs, end when it ends; a label of which nothing is left is none."""

    name: str
    at: str
    run_time: str | None = None
    end: str | None = None
    requests: dict[str, str] = {}
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    priority_class_name: str | None = None


class NodeMapping(_Part, frozen=True, kw_only=True):
    """How a row becomes a node."""

    name: str
    amounts: dict[str, str]
    labels: dict[str, str] = {}


class TraceMapping(_Part, frozen=True, kw_only=True):
    """The whole file. timeUnit: how many seconds one of the numbers of `at`, `runTime` and `end` is."""

    api_version: Literal["schedlab.dev/v1alpha1"]
    kind: Literal["TraceMapping"]
    pods: PodMapping
    nodes: NodeMapping | None = None
    time_unit: Annotated[float, Meta(gt=0)] = 1.0


def read_mapped(mapping: Path, pods: Path, nodes: Path | None = None) -> Trace:
    """Read CSV files as a mapping says; raises SchedlabError, MistakesError with all mistakes of the mapping."""
    text = read_text(mapping, "name a file with a TraceMapping")
    document = document_of(text, mapping)
    mistakes = [*mistakes_of(document, TraceMapping)]
    if mistakes:
        raise MistakesError(str(mapping), text, mistakes)
    plan = msgspec.convert(document, TraceMapping)
    if nodes is not None and plan.nodes is None:
        raise SchedlabError("says nothing of nodes", location=str(mapping), hint="add `nodes`, or name no node file")
    there = [] if nodes is None or plan.nodes is None else [*_nodes(plan.nodes, nodes)]
    return in_order(there, [_pod(plan, row) for row in read_rows(pods, _columns(plan.pods))])


def _columns(part: Struct) -> list[str]:
    """Return the columns that the texts of a mapping name."""
    found: dict[str, None] = {}
    for value in msgspec.structs.asdict(part).values():
        for text in value.values() if isinstance(value, dict) else [value or ""]:
            found |= dict.fromkeys(_COLUMN.findall(text))
    return [*found]


def _nodes(plan: NodeMapping, file: Path) -> Iterator[Manifest]:
    for row in read_rows(file, _columns(plan)):
        yield node(_filled(plan.name, row), _all_filled(plan.amounts, row), _all_filled(plan.labels, row))


def _pod(plan: TraceMapping, row: Row) -> TimedPod:
    pods = plan.pods
    at_s = _seconds(pods.at, plan, row)
    assert at_s is not None, "a time without a number is a mistake"
    run_time_s = _seconds(pods.run_time, plan, row)
    end_s = _seconds(pods.end, plan, row)
    spec: dict[str, Any] = {}
    selector = _all_filled(pods.node_selector, row)
    if selector:
        spec["nodeSelector"] = selector
    if pods.priority_class_name and _filled(pods.priority_class_name, row):
        spec["priorityClassName"] = _filled(pods.priority_class_name, row)
    manifest = pod(_filled(pods.name, row), _all_filled(pods.requests, row), _all_filled(pods.labels, row), **spec)
    return TimedPod(at_s, end_s - at_s if run_time_s is None and end_s is not None else run_time_s, manifest)


def _filled(text: str, row: Row) -> str:
    return _COLUMN.sub(lambda found: row.text(found[1]), text)


def _all_filled(texts: Mapping[str, str], row: Row) -> dict[str, str]:
    """Fill texts; one whose columns are all empty is left out."""
    return {
        key: _filled(text, row)
        for key, text in texts.items()
        if not _COLUMN.search(text) or any(row.text(column) for column in _COLUMN.findall(text))
    }


def _seconds(text: str | None, plan: TraceMapping, row: Row) -> float | None:
    """Return a time; None where there is none, which for `at` is a mistake."""
    filled = "" if text is None else _filled(text, row)
    if not filled and text is not plan.pods.at:
        return None
    found = finite(filled)
    if found is None:
        raise SchedlabError(f"{text} is {filled!r}, not a number", location=row.place, hint="see timeUnit")
    return found * plan.time_unit
