"""The newest attempts of a pod as kube-scheduler-simulator's result annotations.

Mirrors: kube-scheduler-simulator's keys and formats (simulator/scheduler/plugin/annotation, resultstore): JSON as Go
encodes it, a node stops at its first failing plugin, skipped plugins are absent.
Differs: written once per attempt, never over the API's size limit; weights are those of the pod's own profile; a big
result becomes a summary with a pointer instead of a failed write (docs/reference/annotations.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from schedlab.decisions.log import Attempt
from schedlab.decisions.rendering import filter_result, go_json, least_size, rejections, score_result
from schedlab.scheduler.framework.record import PASSED, BindingRecord, CycleRecord, ExtenderCall
from schedlab.scheduler.framework.status import Code, Status, is_success
from schedlab.scheduler.queue.cluster_events import CUSTOM_RESULTS_ANNOTATION

PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
HISTORY_KEY: Final = f"{PREFIX}result-history"
SUMMARY_KEY: Final = f"{PREFIX}result-summary"
# The API's limit for the sum of all annotation keys and values of an object.
TOTAL_BYTES_MAX: Final = 262_144
# `auto` writes results in full up to here.
AUTO_BYTES_MAX: Final = 64 * 1024
# What grows with the number of nodes, as a summary has it.
_EMPTY_RESULTS: Final = {
    f"{PREFIX}{name}-result": "{}" for name in ("prefilter", "postfilter", "filter", "score", "finalscore")
}
# A summary holds each result up to here, and of one reason so many characters: plugins may say whatever they like.
_SUMMARY_BYTES_MAX: Final = 8 * 1024
_REASON_MAX: Final = 1024
_MORE: Final = "…"

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
        size = _size(newest)
        if size > TOTAL_BYTES_MAX - others_bytes:
            # The pod's own annotations leave no room, not even to say where the result is.
            return {}
        entry = go_json(newest)
        left = limit - size - len(HISTORY_KEY) - len(entry.encode()) - 2
        if left < 0:
            return newest
        history = [entry]
        for attempt in reversed(attempts[:-1]):
            entry = go_json(self._one(attempt, f"{self.pointer}/{namespace}/{name}", limit))
            left -= len(entry.encode()) + 1
            if left < 0:
                break
            history.append(entry)
        return {**newest, HISTORY_KEY: f"[{','.join(reversed(history))}]"}

    def _one(self, attempt: Attempt, pointer: str, limit: int) -> dict[str, str]:
        outline = attempt.outline()
        # In mode `auto` a result has to fit twice: it is also the newest entry of the history.
        room = limit if self.mode == "full" else limit // 2
        if self.mode != "summary" and least_size(outline) <= room:
            full = result_annotations(attempt.cycle(), attempt.binding)
            if _size(full) <= room:
                return full
        return summary_annotations(outline, attempt.binding, pointer)


def result_annotations(cycle: CycleRecord, binding: BindingRecord | None) -> dict[str, str]:
    """Return the thirteen result keys of one attempt, the extender keys where an extender was called, and custom ones."""
    out = _plugin_results(cycle, binding, _custom_results(cycle, binding), cycle.extender_calls)
    out[f"{PREFIX}prefilter-result"] = go_json({name: list(nodes) for name, nodes in cycle.pre_filter_nodes.items()})
    out[f"{PREFIX}postfilter-result"] = go_json(_post_filter_result(cycle))
    out[f"{PREFIX}filter-result"] = filter_result(cycle)
    out[f"{PREFIX}score-result"] = score_result(cycle, "raw")
    out[f"{PREFIX}finalscore-result"] = score_result(cycle, "final")
    return out


def summary_annotations(cycle: CycleRecord, binding: BindingRecord | None, pointer: str) -> dict[str, str]:
    """Return the same keys without what grows with the number of nodes, and a summary that says where the rest is."""
    record = cycle.filter
    visited = 0 if record is None else len(record.visited)
    summary = {
        "nodes": len(cycle.node_names),
        "visited": visited,
        "feasible": 0 if cycle.feasible is None else len(cycle.feasible),
        "rejected": {} if record is None else _most(rejections(record)),
        "details": pointer,
    }
    custom = _custom_results(cycle, binding)
    if _size(custom) > _SUMMARY_BYTES_MAX:
        custom = {}
    said = {
        key: "{}" if key not in custom and len(text.encode()) > _SUMMARY_BYTES_MAX else text
        for key, text in _plugin_results(cycle, binding, custom, ()).items()
    }
    return {**said, **_EMPTY_RESULTS, SUMMARY_KEY: go_json(summary)}


def _most(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the first reasons with their numbers as far as a summary holds them, and the number of all others together."""
    out: dict[str, int] = {}
    left = _SUMMARY_BYTES_MAX
    for reason, count in counts.items():
        short = reason if len(reason) <= _REASON_MAX else reason[: _REASON_MAX - 1] + _MORE
        left -= len(short.encode())
        key = short if left >= 0 else _MORE
        out[key] = out.get(key, 0) + count
    return out


def _plugin_results(
    cycle: CycleRecord, binding: BindingRecord | None, custom: Mapping[str, str], calls: Sequence[ExtenderCall]
) -> dict[str, str]:
    """Return what is said once per plugin or extender and not per node; `calls` are those of the scheduling cycle."""
    permit = cycle.permit
    texts = {
        "prefilter-result-status": _statuses(cycle.pre_filter),
        "prescore-result": _statuses(cycle.pre_score),
        "reserve-result": _statuses(cycle.reserve),
        "permit-result": _object((name, _permit_text(permit[name][0])) for name in permit),
        "permit-result-timeout": _object((name, go_duration(permit[name][1])) for name in permit),
        "prebind-result": _statuses(binding.pre_bind if binding else {}),
        "bind-result": _statuses(binding.bind if binding else {}),
        "selected-node": cycle.selected,
        **_extender_results([*calls, *(binding.extender_calls if binding else ())]),
    }
    return {**custom, **{f"{PREFIX}{key}": text for key, text in texts.items()}}


def _custom_results(cycle: CycleRecord, binding: BindingRecord | None) -> dict[str, str]:
    """Return what plugins and hooks left, under the keys they chose, and the list of those keys."""
    custom = {**cycle.custom, **(binding.custom if binding else {})}
    return {**custom, CUSTOM_RESULTS_ANNOTATION: ",".join(sorted(custom))} if custom else {}


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


def _statuses(statuses: Mapping[str, Status | None]) -> str:
    return _object((name, _text(status)) for name, status in statuses.items())


def _object(members: Iterable[tuple[str, str]]) -> str:
    return _known_object(tuple(members))


@lru_cache(maxsize=1024)
def _known_object(members: tuple[tuple[str, str], ...]) -> str:
    """Return JSON of what plugins say of a pod: the same again and again."""
    return go_json(dict(members))


def _extender_results(calls: Sequence[ExtenderCall]) -> dict[str, str]:
    if not calls:
        return {}
    out: dict[str, dict[str, Any]] = {
        f"extender-{verb}-result": {} for verb in ("filter", "prioritize", "preempt", "bind")
    }
    for call in calls:
        out[f"extender-{call.verb}-result"][call.url_prefix] = call.response
    return {key: go_json(responses) for key, responses in out.items()}


def go_duration(nanoseconds: int) -> str:
    """Return whole seconds as Go prints a duration (`0s`, `10s`, `1m30s`, `1h0m0s`)."""
    seconds = nanoseconds // 1_000_000_000
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _size(annotations: Mapping[str, str]) -> int:
    return len("".join((*annotations, *annotations.values())).encode())
