"""A recorded scheduling cycle in the shape of the data's `expected` entries.

Only words and names change here; nothing is decided. Fields that the data leaves out when a phase did not run are left
out in the same places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.scheduler.framework.record import PASSED, BindingRecord, CycleRecord, ExtenderCall, FilterRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status, code_of, is_success

# Filter tables are only in the data for clusters of up to this many nodes.
TABLE_NODES_MAX: Final = 40

Json = dict[str, Any]


def attempt(cycle: CycleRecord, binding: BindingRecord | None) -> Json:
    """Return what one attempt says of itself; API side effects are added by the world that saw them."""
    out: Json = {
        "pod": cycle.pod.key,
        "profile": cycle.profile,
        "result": cycle.result,
        "start": cycle.start,
        "nextStart": cycle.next_start,
        "prefilter": {name: _pre_filter(cycle, name, status) for name, status in cycle.pre_filter.items()},
    }
    if cycle.node_names:
        out |= _filtering(cycle)
    if len(cycle.node_names) <= TABLE_NODES_MAX:
        out["filter"] = filter_table(cycle)
    if cycle.pre_score:
        out["prescore"] = {name: _phase(status) for name, status in cycle.pre_score.items()}
    out |= _scoring(cycle)
    out |= _after_choice(cycle, binding)
    if cycle.result != "scheduled":
        out |= _failure(cycle)
    if cycle.node_hint:
        out["nodeHint"] = cycle.node_hint
    return out


def _phase(status: Status | None) -> Json:
    return {"code": code_of(status).text, "status": _words(status)}


def _words(status: Status | None) -> str:
    if is_success(status):
        return "success"
    assert status is not None
    return status.message


def _pre_filter(cycle: CycleRecord, name: str, status: Status | None) -> Json:
    entry = _phase(status)
    if name in cycle.pre_filter_nodes:
        entry["nodes"] = sorted(cycle.pre_filter_nodes[name])
    return entry


def _filtering(cycle: CycleRecord) -> Json:
    result = _phase(cycle.pre_filter_status)
    if cycle.pre_filter_result is not None:
        result["nodes"] = sorted(cycle.pre_filter_result)
    out: Json = {"prefilterResult": result, "nodeStatus": node_codes(cycle)}
    if cycle.absent_nodes_status is not None:
        absent = cycle.absent_nodes_status
        out["absentNodesStatus"] = {"code": absent.code.text, "reasons": list(absent.reasons)}
    names = cycle.node_names
    if cycle.filter is not None and len(cycle.filter.visited) and cycle.filter.plugins:
        out["evaluated"] = [names[row] for row in cycle.filter.visited.tolist()]
    failed = _failed(cycle)
    if failed:
        out["failed"] = failed
    if cycle.passed_filters is not None:
        out["passedFilters"] = [names[row] for row in cycle.passed_filters.tolist()]
    out["feasible"] = [] if cycle.feasible is None else [names[row] for row in cycle.feasible.tolist()]
    return out


def _rejections(cycle: CycleRecord) -> dict[str, tuple[str, Code, list[str]]]:
    """Return node -> plugin, code, reasons; later entries of a node visited twice win."""
    out: dict[str, tuple[str, Code, list[str]]] = {}
    record = cycle.filter
    if record is not None:
        for index, (row, failed) in enumerate(
            zip(record.visited.tolist(), record.failed_plugin.tolist(), strict=True)
        ):
            if failed != PASSED:
                reasons = list(REASONS.texts(int(record.reason[index])))
                out[cycle.node_names[row]] = (record.plugins[failed], Code(int(record.code[index])), reasons)
    for node, status in cycle.extender_failed.items():
        out[node] = ("", status.code, list(status.reasons))
    return out


def _failed(cycle: CycleRecord) -> Json:
    return {
        node: {"plugin": plugin, "code": code.text, "reasons": reasons}
        for node, (plugin, code, reasons) in _rejections(cycle).items()
    }


def node_codes(cycle: CycleRecord) -> Json:
    """Return node -> code as handed to PostFilter; an internal error leaves none."""
    return {node: code.text for node, (_, code, _) in _rejections(cycle).items() if code != Code.ERROR}


def filter_table(cycle: CycleRecord) -> Json:
    """Return node -> plugin -> `passed` or the message of the last call."""
    record = cycle.filter
    if record is None or not record.plugins:
        return {}
    out: Json = {}
    for index, row in enumerate(record.visited.tolist()):
        out.setdefault(cycle.node_names[row], {}).update(_verdicts(record, index))
    return out


def _verdicts(record: FilterRecord, index: int) -> Json:
    failed = int(record.failed_plugin[index])
    if failed == PASSED:
        return dict.fromkeys(record.plugins, "passed")
    second = record.second_pass is not None and bool(record.second_pass[index])
    verdicts: Json = dict.fromkeys(record.plugins if second else record.plugins[:failed], "passed")
    verdicts[record.plugins[failed]] = ", ".join(REASONS.texts(int(record.reason[index])))
    return verdicts


def _scoring(cycle: CycleRecord) -> Json:
    names, out, record = cycle.node_names, Json(), cycle.score
    if record is not None:
        rows = [names[row] for row in record.rows.tolist()]
        for key, table in (("score", record.raw), ("final", record.final)):
            out[key] = {
                node: {plugin: int(table[number, column]) for number, plugin in enumerate(record.plugins)}
                for column, node in enumerate(rows)
            }
        out["total"] = {node: int(total) for node, total in zip(rows, record.total.tolist(), strict=True)}
        best = max(out["total"].values())
        out["top"] = [node for node in rows if out["total"][node] == best]
    elif cycle.selected and cycle.feasible is not None and len(cycle.feasible) == 1:
        out["top"] = [names[int(cycle.feasible[0])]]
    return out


def _after_choice(cycle: CycleRecord, binding: BindingRecord | None) -> Json:
    out: Json = {}
    if cycle.result == "scheduled":
        out["selected"] = cycle.selected
    if cycle.reserve:
        out["reserve"] = {name: _words(status) for name, status in cycle.reserve.items()}
    if cycle.permit:
        out["permit"] = {name: _words(status) for name, (status, _) in cycle.permit.items()}
    if binding is not None:
        for key, statuses in (("prebind", binding.pre_bind), ("bind", binding.bind)):
            said = {name: _words(status) for name, status in statuses.items() if code_of(status) != Code.SKIP}
            if said and (key == "prebind" or not binding.error):
                out[key] = said
    return out


def _failure(cycle: CycleRecord) -> Json:
    out: Json = {
        "failure": {"reason": cycle.failure_reason, "message": cycle.failure_message},
        "unschedulablePlugins": sorted(cycle.unschedulable_plugins),
    }
    if cycle.pending_plugins:
        out["pendingPlugins"] = sorted(cycle.pending_plugins)
    if cycle.post_filter:
        out["postfilter"] = {name: _post_filter(entry) for name, entry in cycle.post_filter.items()}
    if cycle.preemption is not None:
        out["preemption"] = _preemption(cycle)
    if cycle.victims:
        out["victims"] = list(cycle.victims)
    return out


def _post_filter(entry: tuple[Status | None, str | None, bool]) -> Json:
    status, node, override = entry
    out = _phase(status)
    if node is not None:
        out |= {"nominatedNodeName": node, "mode": 1 if override else 0}
    return out


def _preemption(cycle: CycleRecord) -> Json:
    record = cycle.preemption
    assert record is not None
    out: Json = {
        "candidates": [
            {"node": one.node, "victims": list(one.victims), "pdbViolations": one.pdb_violations}
            for one in sorted(record.candidates, key=lambda one: one.node)
        ],
        "notCandidates": {
            node: {"code": status.code.text, "reasons": list(status.reasons)}
            for node, status in record.not_candidates.items()
        },
        "maxCandidates": record.max_candidates,
        "best": sorted(record.best),
    }
    if record.dry_run_order:
        out["dryRunOrder"] = list(record.dry_run_order)
    return out


def extender_calls(calls: list[ExtenderCall], statuses: Mapping[int, int]) -> list[Json]:
    """Return the calls with whole pods and nodes abbreviated; `statuses` maps a call's position to its HTTP status."""
    shaped = [
        {
            "extender": call.url_prefix.rstrip("/").rsplit("/", 1)[-1],
            "verb": call.verb,
            "request": abbreviated(call.request),
            "response": abbreviated(call.response),
            "status": statuses.get(position, 200),
        }
        for position, call in enumerate(calls)
    ]
    first = next((i for i, call in enumerate(shaped) if call["verb"] == "prioritize"), len(shaped))
    last = first + sum(call["verb"] == "prioritize" for call in shaped)
    shaped[first:last] = sorted(shaped[first:last], key=lambda call: str(call["extender"]))
    return shaped


def abbreviated(value: Any) -> Any:
    """Return the value with every whole pod as `<pod ns/name>` and every whole node as `<node name>`."""
    if isinstance(value, list):
        return [abbreviated(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "metadata" in value and "spec" in value:
        meta, spec = value["metadata"], value["spec"]
        return f"<pod {meta['namespace']}/{meta['name']}>" if "containers" in spec else f"<node {meta['name']}>"
    return {key: abbreviated(one) for key, one in value.items()}
