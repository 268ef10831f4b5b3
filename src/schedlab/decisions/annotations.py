"""The newest attempts of a pod as kube-scheduler-simulator's result annotations.

Mirrors: kube-scheduler-simulator's keys and formats (simulator/scheduler/plugin/annotation, resultstore): JSON as Go
encodes it, a node stops at its first failing plugin, skipped plugins are absent.
Differs: written once per attempt, never over the API's size limit; weights are those of the pod's own profile; a big
result becomes a summary with a pointer instead of a failed write (docs/reference/annotations.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from schedlab.decisions.log import Attempt
from schedlab.scheduler.framework.record import PASSED, BindingRecord, CycleRecord, ExtenderCall, FilterRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status, is_success

PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
HISTORY_KEY: Final = f"{PREFIX}result-history"
SUMMARY_KEY: Final = f"{PREFIX}result-summary"
# The API's limit for the sum of all annotation keys and values of an object.
TOTAL_BYTES_MAX: Final = 262_144
# `auto` writes results in full up to here.
AUTO_BYTES_MAX: Final = 64 * 1024

AnnotationMode = Literal["auto", "full", "summary", "off"]


@dataclass(frozen=True, slots=True)
class Projection:
    """How results become annotations: the mode, and where the whole result can be read."""

    mode: AnnotationMode = "auto"
    pointer: str = "/api/v1/decisions"

    def annotations(self, namespace: str, name: str, attempts: Sequence[Attempt], others_bytes: int) -> dict[str, str]:
        """Return the annotations for a pod whose other annotations take `others_bytes`; empty in mode `off`."""
        if self.mode == "off" or not attempts:
            return {}
        limit = AUTO_BYTES_MAX if self.mode == "auto" else TOTAL_BYTES_MAX - others_bytes
        limit = min(limit, TOTAL_BYTES_MAX - others_bytes)
        newest = self._one(attempts[-1], f"{self.pointer}/{namespace}/{name}", limit)
        history = [newest]
        left = limit - _size(newest) - len(HISTORY_KEY) - len(go_json([newest]).encode())
        if left < 0:
            return newest
        for attempt in reversed(attempts[:-1]):
            older = self._one(attempt, f"{self.pointer}/{namespace}/{name}", limit)
            left -= len(go_json(older).encode()) + 1
            if left < 0:
                break
            history.insert(0, older)
        return {**newest, HISTORY_KEY: go_json(history)}

    def _one(self, attempt: Attempt, pointer: str, limit: int) -> dict[str, str]:
        cycle = attempt.cycle()
        if self.mode != "summary" and _least_size(cycle) <= limit:
            full = result_annotations(cycle, attempt.binding)
            if 2 * _size(full) <= limit or (self.mode == "full" and _size(full) <= limit):
                return full
        return summary_annotations(cycle, attempt.binding, pointer)


def go_json(value: object) -> str:
    """Return JSON as Go's encoder writes maps: sorted keys, no blanks, <, > and & escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def result_annotations(cycle: CycleRecord, binding: BindingRecord | None) -> dict[str, str]:
    """Return the thirteen result keys of one attempt, the extender keys where an extender was called, and custom ones."""
    values: dict[str, object] = {
        "prefilter-result-status": {name: _text(status) for name, status in cycle.pre_filter.items()},
        "prefilter-result": {name: list(nodes) for name, nodes in cycle.pre_filter_nodes.items()},
        "filter-result": filter_result(cycle),
        "postfilter-result": _post_filter_result(cycle),
        "prescore-result": {name: _text(status) for name, status in cycle.pre_score.items()},
        "score-result": score_result(cycle, "raw"),
        "finalscore-result": score_result(cycle, "final"),
        "reserve-result": {name: _text(status) for name, status in cycle.reserve.items()},
        "permit-result": {name: _permit_text(status) for name, (status, _) in cycle.permit.items()},
        "permit-result-timeout": {name: go_duration(timeout) for name, (_, timeout) in cycle.permit.items()},
        "prebind-result": _statuses(binding.pre_bind if binding else {}),
        "bind-result": _statuses(binding.bind if binding else {}),
    }
    calls = [*cycle.extender_calls, *(binding.extender_calls if binding else ())]
    values |= _extender_results(calls)
    out = {f"{PREFIX}{key}": text for key, text in cycle.custom.items()}
    out |= {f"{PREFIX}{key}": go_json(value) for key, value in values.items()}
    out[f"{PREFIX}selected-node"] = cycle.selected
    return out


def summary_annotations(cycle: CycleRecord, binding: BindingRecord | None, pointer: str) -> dict[str, str]:
    """Return the same keys without what grows with the number of nodes, and a summary that says where the rest is."""
    record = cycle.filter
    reasons: dict[str, int] = {}
    if record is not None:
        for index, failed in enumerate(record.failed_plugin.tolist()):
            if failed != PASSED:
                text = f"{record.plugins[failed]}: {', '.join(REASONS.texts(int(record.reason[index])))}"
                reasons[text] = reasons.get(text, 0) + 1
    visited = 0 if record is None else len(record.visited)
    summary = {
        "nodes": len(cycle.node_names),
        "visited": visited,
        "feasible": 0 if cycle.feasible is None else len(cycle.feasible),
        "rejected": reasons,
        "details": pointer,
    }
    slim = CycleRecord(
        cycle.pod, cycle.profile, cycle.attempt, cycle.started_ns, cycle.revision, (), selected=cycle.selected
    )
    slim.pre_filter, slim.pre_score = cycle.pre_filter, cycle.pre_score
    slim.reserve, slim.permit = cycle.reserve, cycle.permit
    return {**result_annotations(slim, binding), SUMMARY_KEY: go_json(summary)}


def filter_result(cycle: CycleRecord) -> dict[str, dict[str, str]]:
    """Return node -> plugin -> `passed` or the message; a node stops at its first failing plugin."""
    record = cycle.filter
    if record is None:
        return {}
    names = cycle.node_names
    passed = dict.fromkeys(record.plugins, "passed")
    out: dict[str, dict[str, str]] = {}
    for index, (row, failed) in enumerate(zip(record.visited.tolist(), record.failed_plugin.tolist(), strict=True)):
        if failed == PASSED:
            out[names[row]] = passed
        else:
            out[names[row]] = _until_failure(record, index, failed)
    return out


def _until_failure(record: FilterRecord, index: int, failed: int) -> dict[str, str]:
    verdicts = dict.fromkeys(record.plugins[:failed], "passed")
    verdicts[record.plugins[failed]] = ", ".join(REASONS.texts(int(record.reason[index])))
    return verdicts


def score_result(cycle: CycleRecord, which: Literal["raw", "final"]) -> dict[str, dict[str, str]]:
    """Return node -> plugin -> score as text."""
    record = cycle.score
    if record is None:
        return {}
    columns = getattr(record, which).T.tolist()
    return {
        cycle.node_names[row]: {plugin: str(score) for plugin, score in zip(record.plugins, scores, strict=True)}
        for row, scores in zip(record.rows.tolist(), columns, strict=True)
    }


def _post_filter_result(cycle: CycleRecord) -> dict[str, dict[str, str]]:
    if not cycle.post_filter or cycle.filter is None:
        return {}
    record = cycle.filter
    out: dict[str, dict[str, str]] = {
        cycle.node_names[row]: {}
        for row, failed in zip(record.visited.tolist(), record.failed_plugin.tolist(), strict=True)
        if failed != PASSED
    }
    for plugin, (_, node, _) in cycle.post_filter.items():
        if node:
            out[node] = {plugin: "preemption victim"}
    return out


def _text(status: Status | None) -> str:
    return "success" if is_success(status) else status.message if status is not None else ""


def _permit_text(status: Status | None) -> str:
    return "wait" if status is not None and status.code == Code.WAIT else _text(status)


def _statuses(statuses: Mapping[str, Status | None]) -> dict[str, str]:
    return {name: _text(status) for name, status in statuses.items()}


def _extender_results(calls: Sequence[ExtenderCall]) -> dict[str, object]:
    if not calls:
        return {}
    out: dict[str, dict[str, Any]] = {
        f"extender-{verb}-result": {} for verb in ("filter", "prioritize", "preempt", "bind")
    }
    for call in calls:
        out[f"extender-{call.verb}-result"][call.url_prefix] = call.response
    return dict(out)


def go_duration(nanoseconds: int) -> str:
    """Return whole seconds as Go prints a duration (`0s`, `10s`, `1m30s`, `1h0m0s`)."""
    seconds = nanoseconds // 1_000_000_000
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _least_size(cycle: CycleRecord) -> int:
    """A lower bound of the rendered size, cheap enough to ask before rendering."""
    visited = 0 if cycle.filter is None else len(cycle.filter.visited)
    plugins = 0 if cycle.filter is None else len(cycle.filter.plugins)
    scored = 0 if cycle.score is None else cycle.score.raw.size
    return visited * (20 + 2 * plugins) + 2 * 10 * scored


def _size(annotations: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
