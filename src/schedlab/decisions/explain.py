"""Why a pod is where it is, or nowhere: one attempt as plain data, for people and programs.

Every verdict and number comes from the record of the attempt; nothing is computed anew. The text begins with
kube-scheduler's own message.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.log import Attempt, PodStory
from schedlab.scheduler.framework.record import PASSED, CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status, code_of, is_success

_PASSED_TEXT: Final = "passed"


def explain(story: PodStory, number: int | None = None) -> dict[str, Any]:
    """Return one attempt of a pod (the newest unless `number` names another) as JSON-shaped data.

    Raises LookupError when the pod has no such attempt.
    """
    attempt = _pick(story, number)
    cycle = attempt.cycle()
    return {
        "pod": f"{story.namespace}/{story.name}",
        "uid": story.uid,
        "attempt": cycle.attempt,
        "attempts": [one.number for one in story.attempts],
        "time": format_micro_time(cycle.started_ns),
        "scheduler": cycle.profile,
        "result": cycle.result,
        "answer": _answer(cycle, attempt),
        "message": cycle.failure_message,
        "selected": cycle.selected,
        "runnerUp": _runner_up(cycle),
        "nominatedFirst": _nominated(cycle),
        "nodes": _nodes(cycle),
        "preFilter": {name: _verdict(status) for name, status in cycle.pre_filter.items()},
        "postFilter": {name: _verdict(status) for name, (status, _, _) in cycle.post_filter.items()},
        "preemption": _preemption(cycle),
        "reserve": {name: _verdict(status) for name, status in cycle.reserve.items()},
        "permit": {name: _verdict(status) for name, (status, _) in cycle.permit.items()},
        "preBind": {name: _verdict(status) for name, status in attempt.binding.pre_bind.items()}
        if attempt.binding
        else {},
        "customResults": {**cycle.custom, **(attempt.binding.custom if attempt.binding else {})},
        "bind": {name: _verdict(status) for name, status in attempt.binding.bind.items()} if attempt.binding else {},
    }


def _pick(story: PodStory, number: int | None) -> Attempt:
    if not story.attempts:
        raise LookupError(f"pod {story.namespace}/{story.name} has not been tried yet")
    if number is None:
        return story.attempts[-1]
    for attempt in story.attempts:
        if attempt.number == number:
            return attempt
    have = ", ".join(str(attempt.number) for attempt in story.attempts)
    raise LookupError(f"pod {story.namespace}/{story.name} has no attempt {number}; it has: {have}")


def _answer(cycle: CycleRecord, attempt: Attempt) -> str:
    if cycle.result != "scheduled":
        return f"Not scheduled: {cycle.failure_message}"
    if attempt.binding is not None and attempt.binding.error:
        return f"Chosen {cycle.selected}, but the binding failed: {attempt.binding.error}"
    if _nominated(cycle):
        return f"Scheduled on {cycle.selected}, the node it was nominated to, which is tried before all others."
    if cycle.score is None:
        return f"Scheduled on {cycle.selected}, the only node that fits."
    runner_up = _runner_up(cycle)
    total = int(cycle.score.total.max())
    if runner_up is None:
        return f"Scheduled on {cycle.selected} with {total} points."
    if runner_up["margin"] == 0:
        tied = int((cycle.score.total == total).sum())
        return f"Scheduled on {cycle.selected}: {tied} nodes share the best score of {total}."
    return (
        f"Scheduled on {cycle.selected} with {total} points, "
        f"{runner_up['margin']} ahead of {runner_up['node']} ({runner_up['total']})."
    )


def _nominated(cycle: CycleRecord) -> bool:
    """Whether the search ended with the nodes that are tried first: nominated, or proposed by an equal pod."""
    record = cycle.filter
    return record is not None and 0 < record.nominated_first == len(record.visited)


def _runner_up(cycle: CycleRecord) -> dict[str, Any] | None:
    score = cycle.score
    if score is None or len(score.rows) < 2 or not cycle.selected:
        return None
    names = [cycle.node_names[row] for row in score.rows.tolist()]
    chosen = names.index(cycle.selected)
    totals = score.total.copy()
    totals[chosen] = np.iinfo(np.int64).min
    second = int(totals.argmax())
    return {
        "node": names[second],
        "total": int(score.total[second]),
        "margin": int(score.total[chosen] - score.total[second]),
        "byPlugin": {
            plugin: int(score.final[index, chosen] - score.final[index, second])
            for index, plugin in enumerate(score.plugins)
        },
    }


def _nodes(cycle: CycleRecord) -> list[dict[str, Any]]:
    """One entry per node of the cluster, in the scheduler's order; nodes not visited say so.

    In full mode every filter has judged every node, visited or not; what turned a visited node down in the search
    (nominated pods counted in) goes before what the filter says of it alone.
    """
    visited = _visited(cycle)
    scores = _scores(cycle)
    left_out = None if cycle.pre_filter_result is None else frozenset(cycle.pre_filter_result)
    out = []
    for row, name in enumerate(cycle.node_names):
        entry: dict[str, Any] = {"node": name, "verdict": "notVisited", "plugins": _full_verdicts(cycle.filter, row)}
        if row in visited:
            found = visited[row]
            entry |= {**found, "plugins": {**entry["plugins"], **found["plugins"]}}
        elif left_out is not None and name not in left_out:
            entry["verdict"] = "excluded"
        if row in scores:
            entry |= scores[row]
        out.append(entry)
    return out


def _visited(cycle: CycleRecord) -> dict[int, dict[str, Any]]:
    record = cycle.filter
    if record is None:
        return {}
    out = {}
    for index, row in enumerate(record.visited.tolist()):
        failed = int(record.failed_plugin[index])
        entry: dict[str, Any] = {
            "verdict": _PASSED_TEXT if failed == PASSED else "failed",
            "plugins": _first_failure(record, index),
        }
        if failed != PASSED:
            entry["failedPlugin"] = record.plugins[failed]
            entry["reasons"] = list(REASONS.texts(int(record.reason[index])))
            entry["code"] = Code(int(record.code[index])).text
        out[row] = entry
    return out


def _full_verdicts(record: FilterRecord | None, row: int) -> dict[str, str]:
    if record is None or record.full_code is None or record.full_reason is None:
        return {}
    return {
        plugin: ", ".join(REASONS.texts(int(record.full_reason[number, row])))
        if record.full_code[number, row]
        else _PASSED_TEXT
        for number, plugin in enumerate(record.plugins)
    }


def _first_failure(record: FilterRecord, index: int) -> dict[str, str]:
    failed = int(record.failed_plugin[index])
    if failed == PASSED:
        return dict.fromkeys(record.plugins, _PASSED_TEXT)
    verdicts = dict.fromkeys(record.plugins[:failed], _PASSED_TEXT)
    verdicts[record.plugins[failed]] = ", ".join(REASONS.texts(int(record.reason[index])))
    return verdicts


def _scores(cycle: CycleRecord) -> dict[int, dict[str, Any]]:
    record = cycle.score
    if record is None:
        return {}
    return {row: _score_entry(record, index) for index, row in enumerate(record.rows.tolist())}


def _score_entry(record: ScoreRecord, index: int) -> dict[str, Any]:
    return {
        "total": int(record.total[index]),
        "scores": {
            plugin: {
                "raw": int(record.raw[number, index]),
                "weight": record.weights[number],
                "final": int(record.final[number, index]),
            }
            for number, plugin in enumerate(record.plugins)
        },
    }


def _verdict(status: Status | None) -> dict[str, str]:
    return {"code": code_of(status).text, "message": "" if is_success(status) or status is None else status.message}


def _preemption(cycle: CycleRecord) -> dict[str, Any] | None:
    record = cycle.preemption
    if record is None:
        return None
    return {
        "candidates": [
            {"node": one.node, "victims": list(one.victims), "pdbViolations": one.pdb_violations}
            for one in record.candidates
        ],
        "notCandidates": {node: _verdict(status) for node, status in record.not_candidates.items()},
        "best": list(record.best),
        "victims": list(cycle.victims),
    }


def reason_groups(explanation: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return (plugin: reason, nodes) of the failed nodes, biggest group first."""
    groups: dict[str, list[str]] = {}
    for entry in explanation["nodes"]:
        if entry["verdict"] == "failed":
            groups.setdefault(f"{entry['failedPlugin']}: {', '.join(entry['reasons'])}", []).append(entry["node"])
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
