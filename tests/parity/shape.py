"""What was recorded of an attempt, in the shape of the data's `expected` entries.

Only words and names change here; nothing is decided. Fields that the data leaves out when a phase did not run are left
out in the same places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.client.protocol import Write
from schedlab.scheduler.framework.record import PASSED, BindingRecord, CycleRecord, FilterRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status, code_of, is_success

if TYPE_CHECKING:
    from tests.parity.world import Observer

# Filter tables are only in the data for clusters of up to this many nodes.
TABLE_NODES_MAX: Final = 40

Json = dict[str, Any]


def attempt(observer: Observer) -> Json:
    """Return what one attempt says of itself; what the API saw of it is added by who watched the API."""
    cycle = observer.cycles[0]
    binding = observer.bindings[0] if observer.bindings else None
    out: Json = {
        "pod": cycle.pod.key,
        "profile": cycle.profile,
        "result": _result(cycle, binding),
        "start": cycle.start,
        "nextStart": cycle.next_start,
        "prefilter": {name: _pre_filter(cycle, name, status) for name, status in cycle.pre_filter.items()},
    }
    if cycle.node_names:
        out |= _filtering(cycle)
    if len(cycle.node_names) <= TABLE_NODES_MAX:
        out |= _tables(cycle, observer.filter_calls)
    if cycle.pre_score:
        out["prescore"] = {name: _phase(status) for name, status in cycle.pre_score.items()}
    out |= _scoring(cycle)
    out |= _after_choice(cycle, binding, out["result"])
    if out["result"] != "scheduled":
        out |= _failure(cycle, binding)
    if cycle.node_hint:
        out["nodeHint"] = cycle.node_hint
    return out


def _result(cycle: CycleRecord, binding: BindingRecord | None) -> str:
    if binding is None or not binding.error:
        return cycle.result
    return "unschedulable" if binding.failure_reason == "Unschedulable" else "error"


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
        for index, (row, failed) in enumerate(zip(record.visited.tolist(), record.failed_plugin.tolist(), strict=True)):
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


def _tables(cycle: CycleRecord, calls: Sequence[tuple[str, str, Status | None]]) -> Json:
    """Return node -> plugin -> `passed` or the message of the last call, before and, if different, after dry runs."""
    table: Json = {}
    record = cycle.filter
    if record is not None and record.plugins:
        for index, row in enumerate(record.visited.tolist()):
            table.setdefault(cycle.node_names[row], {}).update(_verdicts(record, index))
    later = {node: dict(verdicts) for node, verdicts in table.items()}
    for node, plugin, status in calls:
        later.setdefault(node, {})[plugin] = "passed" if is_success(status) else _words(status)
    return {"filter": table, "filterAfterPreemption": later} if later != table else {"filter": table}


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
        if record.complete:
            out["total"] = {node: int(total) for node, total in zip(rows, record.total.tolist(), strict=True)}
            best = max(out["total"].values())
            out["top"] = sorted(node for node in rows if out["total"][node] == best)
    elif cycle.selected and cycle.feasible is not None and len(cycle.feasible) == 1:
        out["top"] = [names[int(cycle.feasible[0])]]
    return out


def _after_choice(cycle: CycleRecord, binding: BindingRecord | None, result: str) -> Json:
    out: Json = {}
    if result == "scheduled":
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


def _failure(cycle: CycleRecord, binding: BindingRecord | None) -> Json:
    failed: CycleRecord | BindingRecord = cycle
    message, pending = cycle.failure_message, cycle.pending_plugins
    if binding is not None and binding.error:
        failed, message, pending = binding, binding.error, ()
    out: Json = {
        "failure": {"reason": failed.failure_reason, "message": message},
        "unschedulablePlugins": sorted(failed.unschedulable_plugins),
    }
    if pending:
        out["pendingPlugins"] = sorted(pending)
    if cycle.post_filter:
        out["postfilter"] = {name: _post_filter(entry) for name, entry in cycle.post_filter.items()}
    if cycle.preemption is not None:
        out["preemption"] = _preemption(cycle)
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
    }
    if record.best:
        out["best"] = sorted(record.best)
    if record.dry_run_order:
        out["dryRunOrder"] = list(record.dry_run_order)
    return out


# --- What the API saw ---


def event(body: Mapping[str, Any]) -> Json:
    """Return an event as the data has it."""
    kept = ("type", "reason", "action", "note", "reportingController")
    references = {name: _place(body[name]) for name in ("regarding", "related") if name in body}
    return {**references, **{name: body[name] for name in kept}}


def _place(reference: Mapping[str, str]) -> str:
    return f"{reference['namespace']}/{reference['name']}"


def status_patch(write: Write) -> Json:
    """Return a patch of a pod's status: conditions with all their texts, whether the patch has them or not."""
    assert isinstance(write.body, Mapping)
    status = write.body["status"]
    out: Json = {"pod": f"{write.namespace}/{write.name}"}
    if "conditions" in status:
        names = ("type", "status", "reason", "message")
        out["conditions"] = [{name: one.get(name) or "" for name in names} for one in status["conditions"]]
    if "nominatedNodeName" in status:
        out["nominatedNodeName"] = status["nominatedNodeName"]
    return out


def objects_after(objects: list[Json]) -> list[Json]:
    """Return volumes and claims without the times of allocations."""
    for obj in objects:
        (obj.get("status") or {}).get("allocation", {}).pop("allocationTimestamp", None)
    return objects
