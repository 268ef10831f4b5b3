"""Why a pod is where it is, or nowhere: one attempt as plain data, for people and programs.

Every verdict and score comes from the record of the attempt. The numbers behind them (`inquiry`) come from the plugins
over the state of that moment; where they cannot be had, the explanation does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.answers import answer
from schedlab.decisions.choice import choice, chosen_place, difference, runner_up
from schedlab.decisions.inquiry import Inquiry, of_node
from schedlab.decisions.ladder import preemption, verdict
from schedlab.decisions.log import Attempt, PodStory
from schedlab.decisions.moments import Moments, NoMoments
from schedlab.kernel.steps import Steps, finish
from schedlab.scheduler.framework.record import PASSED, CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS, Code

_PASSED_TEXT: Final = "passed"
#: So many nodes are explained in numbers unless more are asked for.
DETAILED: Final = 40
#: So many nodes are gathered in one step.
_NODES_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """What is asked of a pod.

    attempt: the newest unless given. uid: that of an earlier pod of the same name. nodes: only these. all_plugins: numbers of what passed, too. versus: a node to
    compare the chosen one (or the first of `nodes`) with. detailed: of how many nodes numbers are wanted.
    """

    attempt: int | None = None
    uid: str = ""
    nodes: tuple[str, ...] = ()
    all_plugins: bool = False
    versus: str = ""
    detailed: int = DETAILED


_EVERYTHING: Final = PodQuestion()


def explain(story: PodStory, question: PodQuestion = _EVERYTHING, moments: Moments | None = None) -> dict[str, Any]:
    """Return one attempt of a pod as JSON-shaped data.

    Raises LookupError when the pod has no such attempt, or the cluster had no such node.
    """
    return finish(explaining(story, question, moments or NoMoments()))


def explaining(story: PodStory, question: PodQuestion, moments: Moments) -> Steps[dict[str, Any]]:
    """Do the same step by step."""
    attempt = pick(story, question.attempt)
    cycle = attempt.cycle()
    _check_nodes(cycle, (*question.nodes, *([question.versus] if question.versus else ())))
    found = yield from _nodes(cycle)
    every = entries = _in_order(found, cycle)
    if question.nodes:
        entries = [entry for entry in every if entry["node"] in question.nodes]
    inquiry = yield from _add_numbers(entries, attempt, cycle, question, moments)
    out = {
        "pod": f"{story.namespace}/{story.name}",
        "uid": story.uid,
        "attempt": cycle.attempt,
        "attempts": [one.number for one in story.attempts],
        "time": format_micro_time(cycle.started_ns),
        "revision": cycle.revision,
        "scheduler": cycle.profile,
        "by": attempt.by,
        "result": cycle.result,
        "answer": answer(cycle, attempt.binding, every),
        "message": cycle.failure_message,
        "numbers": "none" if inquiry is None else "of the attempt" if inquiry.moment.exact else "of now",
        "selected": cycle.selected,
        "runnerUp": runner_up(cycle),
        "choice": choice(cycle),
        "nominatedFirst": nominated_first(cycle),
        "nodes": entries,
        "preemption": preemption(cycle),
        **_phases(cycle, attempt),
    }
    if question.versus:
        out["versus"] = _versus(cycle, question, {entry["node"]: entry for entry in found})
    return out


def _phases(cycle: CycleRecord, attempt: Attempt) -> dict[str, Any]:
    binding = attempt.binding
    return {
        "preFilter": {name: verdict(status) for name, status in cycle.pre_filter.items()},
        "preScore": {name: verdict(status) for name, status in cycle.pre_score.items()},
        "postFilter": {name: verdict(status) for name, (status, _, _) in cycle.post_filter.items()},
        "reserve": {name: verdict(status) for name, status in cycle.reserve.items()},
        "permit": {name: verdict(status) for name, (status, _) in cycle.permit.items()},
        "preBind": {name: verdict(status) for name, status in binding.pre_bind.items()} if binding else {},
        "bind": {name: verdict(status) for name, status in binding.bind.items()} if binding else {},
        "extenders": [
            {"extender": call.url_prefix, "verb": call.verb, "answer": call.response, "error": call.error}
            for call in (*cycle.extender_calls, *(binding.extender_calls if binding else ()))
        ],
        "customResults": {**cycle.custom, **(binding.custom if binding else {})},
    }


def pick(story: PodStory, number: int | None) -> Attempt:
    """Return an attempt by its number, the newest without one; LookupError when there is none."""
    if not story.attempts:
        raise LookupError(f"pod {story.namespace}/{story.name} has not been tried yet")
    if number is None:
        return story.attempts[-1]
    # Schedulers of one name count each for itself: the newest of a number is meant.
    for attempt in reversed(story.attempts):
        if attempt.number == number:
            return attempt
    have = ", ".join(str(attempt.number) for attempt in story.attempts)
    raise LookupError(f"pod {story.namespace}/{story.name} has no attempt {number}; it has: {have}")


def _check_nodes(cycle: CycleRecord, names: Sequence[str]) -> None:
    known = dict.fromkeys(cycle.node_names)
    for name in names:
        if name not in known:
            some = ", ".join(cycle.node_names[:5]) + (", …" if len(cycle.node_names) > 5 else "")
            raise LookupError(f"there was no node {name} in attempt {cycle.attempt}; nodes then: {some or 'none'}")


def nominated_first(cycle: CycleRecord) -> bool:
    """Whether the search ended with the nodes that are tried first: nominated, or proposed by an equal pod."""
    record = cycle.filter
    return record is not None and 0 < record.nominated_first == len(record.visited)


# --- Nodes -----------------------------------------------------------------------------------------------------------


def _nodes(cycle: CycleRecord) -> Steps[list[dict[str, Any]]]:
    """One entry per node of the cluster, in the scheduler's order; nodes not visited say so.

    In full mode every filter has judged every node, visited or not; what turned a visited node down in the search
    (nominated pods counted in) goes before what the filter says of it alone.
    """
    visited = _visited(cycle)
    yield
    scores = {} if cycle.score is None else dict(zip(cycle.score.rows.tolist(), _scores(cycle.score), strict=True))
    yield
    full = _full_verdicts(cycle.filter)
    left_out = None if cycle.pre_filter_result is None else frozenset(cycle.pre_filter_result)
    out = []
    for row, name in enumerate(cycle.node_names):
        entry: dict[str, Any] = {"node": name, "verdict": "notVisited", "plugins": full[row] if full else {}}
        if row in visited:
            found = visited[row]
            entry |= {**found, "plugins": {**entry["plugins"], **found["plugins"]}}
        elif left_out is not None and name not in left_out:
            entry["verdict"] = "excluded"
        if row in scores:
            entry |= scores[row]
        out.append(entry)
        if row % _NODES_AT_ONCE == 0:
            yield
    return out


def _in_order(entries: list[dict[str, Any]], cycle: CycleRecord) -> list[dict[str, Any]]:
    """Where not all can be shown, the chosen node goes first and those that were not visited last."""
    if len(entries) <= DETAILED:
        return entries
    return sorted(
        entries, key=lambda each: (each["node"] != cycle.selected, each["verdict"] in {"notVisited", "excluded"})
    )


def _visited(cycle: CycleRecord) -> dict[int, dict[str, Any]]:
    """Return by row what the search found; nodes that were turned down alike share it."""
    record = cycle.filter
    if record is None:
        return {}
    columns = (record.failed_plugin, record.code, record.reason)
    found: dict[tuple[int, int, int], dict[str, Any]] = {}
    out = {}
    for row, *key in zip(record.visited.tolist(), *(column.tolist() for column in columns), strict=True):
        failed, code, reason = key
        known = found.get((failed, code, reason))
        out[row] = found[failed, code, reason] = known or _outcome(record, failed, code, reason)
    return out


def _outcome(record: FilterRecord, failed: int, code: int, reason: int) -> dict[str, Any]:
    if failed == PASSED:
        return {"verdict": _PASSED_TEXT, "plugins": dict.fromkeys(record.plugins, _PASSED_TEXT)}
    reasons = list(REASONS.texts(reason))
    name = record.plugins[failed]
    return {
        "verdict": "failed",
        "plugins": {**dict.fromkeys(record.plugins[:failed], _PASSED_TEXT), name: ", ".join(reasons)},
        "failedPlugin": name,
        "reasons": reasons,
        "code": Code(code).text,
    }


def _full_verdicts(record: FilterRecord | None) -> list[dict[str, str]]:
    """Return by row what every plugin says of it; nodes of one opinion share it."""
    every = None if record is None else record.every_verdict()
    if record is None or every is None:
        return []
    code, reason = every
    # A plugin that is content gives no reason.
    opinions = (reason * (code != 0)).T.tolist()
    known: dict[tuple[int, ...], dict[str, str]] = {}
    out = []
    for opinion in map(tuple, opinions):
        verdicts = known.get(opinion)
        if verdicts is None:
            texts = (", ".join(REASONS.texts(reason)) if reason else _PASSED_TEXT for reason in opinion)
            verdicts = known[opinion] = dict(zip(record.plugins, texts, strict=True))
        out.append(verdicts)
    return out


def _scores(record: ScoreRecord) -> Iterator[dict[str, Any]]:
    """Yield total and scores of each node that was scored."""
    points = zip(record.raw.T.tolist(), record.final.T.tolist(), strict=True)
    for total, (raw, final) in zip(record.total.tolist(), points, strict=True):
        numbers = zip(record.plugins, raw, record.weights, final, strict=True)
        yield {
            "total": total,
            "scores": {name: {"raw": one, "weight": weight, "final": all_} for name, one, weight, all_ in numbers},
        }


# --- Numbers ---------------------------------------------------------------------------------------------------------


def _add_numbers(
    entries: Sequence[dict[str, Any]], attempt: Attempt, cycle: CycleRecord, question: PodQuestion, moments: Moments
) -> Steps[Inquiry | None]:
    """Add to entries what their verdicts and scores rest on, as far as somebody knows."""
    moment = yield from moments.of(attempt, cycle)
    if moment is None:
        return None
    inquiry = Inquiry(cycle, moment)
    yield from inquiry.prepare()
    shown = _detailed(entries, question)
    places = {} if cycle.score is None else {row: at for at, row in enumerate(cycle.score.rows.tolist())}
    row_of = {name: row for row, name in enumerate(cycle.node_names)}
    for entry in shown:
        found = of_node(inquiry, entry, all_plugins=question.all_plugins)
        if found:
            entry["facts"] = {plugin: each.as_json() for plugin, each in found.items()}
            of_now = [plugin for plugin, each in found.items() if each.of_now]
            if of_now:
                entry["factsOfNow"] = of_now
        yield
    for entry in _best(shown, question):
        at = places[row_of[entry["node"]]]
        for index, plugin in enumerate(entry["scores"]):
            entry["scores"][plugin] |= inquiry.score(index, at)
        yield
    return inquiry


def _detailed(entries: Sequence[dict[str, Any]], question: PodQuestion) -> list[dict[str, Any]]:
    """Return the entries to explain in numbers: the first ones, those with the best scores, one per kind of failure."""
    chosen = {id(entry): entry for entry in entries[: question.detailed]}
    kinds: dict[str, None] = {}
    for entry in entries:
        plugin = entry.get("failedPlugin", "")
        if plugin and plugin not in kinds:
            kinds[plugin] = None
            chosen[id(entry)] = entry
    chosen |= {id(entry): entry for entry in _best(entries, question)}
    return list(chosen.values())


def _best(entries: Sequence[dict[str, Any]], question: PodQuestion) -> list[dict[str, Any]]:
    scored = [entry for entry in entries if "scores" in entry]
    return sorted(scored, key=lambda entry: -entry["total"])[: question.detailed]


def _versus(cycle: CycleRecord, question: PodQuestion, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Compare a node with the chosen one (or the one asked about): by plugin, or by what keeps it out."""
    score = cycle.score
    names = [] if score is None else [cycle.node_names[row] for row in score.rows.tolist()]
    chosen = chosen_place(cycle)
    one = question.nodes[0] if question.nodes else cycle.selected
    other = question.versus
    if score is not None and one in names and other in names:
        at = names.index(one) if question.nodes or chosen is None else chosen
        return {"of": one, **difference(cycle, score, at, names.index(other))}
    entry = entries[other] if other not in names else entries.get(one, {})
    who = other if other not in names else one
    failed = {plugin: text for plugin, text in entry.get("plugins", {}).items() if text != _PASSED_TEXT}
    return {"of": one, "node": other, "notScored": who, "verdict": entry.get("verdict", ""), "failed": failed}


def reason_groups(explanation: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return (plugin: reason, nodes) of the failed nodes, biggest group first."""
    groups: dict[str, list[str]] = {}
    for entry in explanation["nodes"]:
        if entry["verdict"] == "failed":
            groups.setdefault(f"{entry['failedPlugin']}: {', '.join(entry['reasons'])}", []).append(entry["node"])
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
