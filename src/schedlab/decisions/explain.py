"""Why a pod is where it is, or nowhere: one attempt as plain data, for people and programs.

Every verdict and score comes from the record of the attempt. The numbers behind them (`inquiry`) come from the plugins
over the state of that moment; where they cannot be had, the explanation does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.answers import answer
from schedlab.decisions.choice import choice, chosen_place, difference, runner_up
from schedlab.decisions.combinations import combinations
from schedlab.decisions.extenders import add_extenders
from schedlab.decisions.inquiry import Asking, Inquiry
from schedlab.decisions.ladder import preemption, verdict
from schedlab.decisions.log import Attempt, PodStory
from schedlab.decisions.moments import Moments, NoMoments
from schedlab.kernel.steps import Steps, finish
from schedlab.scheduler.framework.record import PASSED, CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS, Code

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PASSED_TEXT: Final = "passed"
#: So many nodes are explained in numbers unless more are asked for.
DETAILED: Final = 40
#: So many nodes are gathered in one step.
_NODES_AT_ONCE: Final = 1000
#: So many nodes are explained in numbers in one step.
_EXPLAINED_AT_ONCE: Final = 20
#: In place of a plugin's place, where the search has not come.
_NOT_VISITED: Final = PASSED - 1


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """What is asked of a pod.

    attempt: the newest unless given. uid: that of an earlier pod of the same name. nodes: only these. all_plugins: numbers of what passed, too. versus: a node to
    compare the chosen one (or the first of `nodes`) with. detailed: of how many nodes numbers are wanted. formulas: of how
    many of these how their scores came about, of all unless given.
    """

    attempt: int | None = None
    uid: str = ""
    nodes: tuple[str, ...] = ()
    all_plugins: bool = False
    versus: str = ""
    detailed: int = DETAILED
    formulas: int | None = None


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
    add_extenders(found, cycle)
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


class UnknownNameError(LookupError):
    """There is no such pod, attempt or node; `hint` says what to ask for."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


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
    message = f"pod {story.namespace}/{story.name} has no attempt {number}; it has: {have}"
    raise UnknownNameError(message, "ask for one of these, or for none: then it is the newest")


def _check_nodes(cycle: CycleRecord, names: Sequence[str]) -> None:
    known = frozenset(cycle.node_names) if names else frozenset()
    for name in names:
        if name not in known:
            some = ", ".join(cycle.node_names[:5]) + (", …" if len(cycle.node_names) > 5 else "")
            message = f"there was no node {name} in attempt {cycle.attempt}; nodes then: {some or 'none'}"
            raise UnknownNameError(message, "ask for a node of that attempt")


def nominated_first(cycle: CycleRecord) -> bool:
    """Whether the search ended with the nodes that are tried first: nominated, or proposed by an equal pod."""
    record = cycle.filter
    return record is not None and 0 < record.nominated_first == len(record.visited)


# --- Nodes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a record says of N nodes, in numbers.

    full: int32[P, N], the reason each plugin has against a node, 0 when it is content; P is 0 when not all were asked.
    found: int64[3, N], what the search found: the place of the plugin that turned a node down, or PASSED; code, reason;
    _NOT_VISITED of the others. left_out: bool[N], before filtering.
    """

    full: NDArray[np.int32]
    found: NDArray[np.int64]
    left_out: NDArray[np.bool_]

    @classmethod
    def of(cls, cycle: CycleRecord) -> _Columns:
        record, size = cycle.filter, len(cycle.node_names)
        every = None if record is None else record.every_verdict()
        full = np.zeros((0, size), np.int32) if every is None else every[1] * (every[0] != 0)
        found = np.full((3, size), _NOT_VISITED, np.int64)
        if record is not None:
            found[:, record.visited] = record.failed_plugin, record.code, record.reason
        left_out = np.zeros(size, np.bool_)
        if cycle.pre_filter_result is not None:
            kept = frozenset(cycle.pre_filter_result)
            left_out[:] = [name not in kept for name in cycle.node_names]
        return cls(full, found, left_out)


def _nodes(cycle: CycleRecord) -> Steps[list[dict[str, Any]]]:
    """One entry per node of the cluster, in the scheduler's order; nodes not visited say so.

    In full mode every filter has judged every node, visited or not; what turned a visited node down in the search
    (nominated pods counted in) goes before what the filter says of it alone.
    """
    size = len(cycle.node_names)
    columns = _Columns.of(cycle)
    numbers, first = combinations((*columns.full, *columns.found, columns.left_out), size)
    yield
    entries = [_entry(cycle, columns, row) for row in first.tolist()]
    out: list[dict[str, Any]] = []
    for begin in range(0, size, _NODES_AT_ONCE):
        part = slice(begin, begin + _NODES_AT_ONCE)
        names = zip(cycle.node_names[part], numbers[part].tolist(), strict=True)
        out += [{"node": name, **entries[number]} for name, number in names]
        yield
    if cycle.score is not None:
        for row, scored in zip(cycle.score.rows.tolist(), _scores(cycle.score), strict=True):
            out[row] |= scored
    return out


def _entry(cycle: CycleRecord, columns: _Columns, row: int) -> dict[str, Any]:
    """Return what was found about a node and all that are like it."""
    record = cycle.filter
    if record is None:
        return {"verdict": "excluded" if columns.left_out[row] else "notVisited", "plugins": {}}
    texts = (", ".join(REASONS.texts(reason)) if reason else _PASSED_TEXT for reason in columns.full[:, row].tolist())
    plugins = dict(zip(record.plugins, texts, strict=False))
    failed, code, reason = columns.found[:, row].tolist()
    if failed == _NOT_VISITED:
        return {"verdict": "excluded" if columns.left_out[row] else "notVisited", "plugins": plugins}
    found = _outcome(record, failed, code, reason)
    return {**found, "plugins": {**plugins, **found["plugins"]}}


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


def _in_order(entries: list[dict[str, Any]], cycle: CycleRecord) -> list[dict[str, Any]]:
    """Where not all can be shown, the chosen node goes first and those that were not visited last."""
    if len(entries) <= DETAILED:
        return entries
    names = cycle.node_names
    rank = np.full(len(entries), 2)
    if cycle.filter is not None:
        rank[cycle.filter.visited] = 1
    if cycle.selected in names:
        rank[names.index(cycle.selected)] = 0
    return [entries[row] for row in np.argsort(rank, kind="stable").tolist()]


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
    yield from _add_facts(inquiry, shown, all_plugins=question.all_plugins)
    if cycle.score is not None:
        count = question.detailed if question.formulas is None else question.formulas
        yield from _add_formulas(inquiry, cycle, _best(shown, count))
    return inquiry


def _add_facts(inquiry: Inquiry, entries: Sequence[dict[str, Any]], *, all_plugins: bool) -> Steps[None]:
    """Add the facts of the plugins that turned a node down, or of all of them."""
    # Nodes of the same verdicts share them.
    asked: dict[int, Asking | None] = {}
    for at, entry in enumerate(entries):
        verdicts = entry["plugins"]
        if id(verdicts) not in asked:
            said = [(plugin, verdict == _PASSED_TEXT) for plugin, verdict in verdicts.items()]
            wanted = [each for each in said if all_plugins or not each[1]]
            asked[id(verdicts)] = inquiry.asking(wanted) if wanted else None
        asking = asked[id(verdicts)]
        if asking is None:
            continue
        entry.update(asking.about(entry["node"]))
        if at % _EXPLAINED_AT_ONCE == 0:
            yield


def _add_formulas(inquiry: Inquiry, cycle: CycleRecord, entries: Sequence[dict[str, Any]]) -> Steps[None]:
    """Add how the scores of some nodes came about."""
    assert cycle.score is not None
    places = {cycle.node_names[row]: at for at, row in enumerate(cycle.score.rows.tolist())}
    scored = [places[entry["node"]] for entry in entries]
    scores = [entry["scores"] for entry in entries]
    for index, plugin in enumerate(cycle.score.plugins):
        told = yield from inquiry.scores(index, scored, [each[plugin] for each in scores])
        for mine, score in zip(scores, told, strict=True):
            mine[plugin] = score


def _detailed(entries: Sequence[dict[str, Any]], question: PodQuestion) -> list[dict[str, Any]]:
    """Return the entries to explain in numbers: the first ones, those with the best scores, one per kind of failure."""
    if len(entries) <= question.detailed:
        return list(entries)
    chosen = {id(entry): entry for entry in entries[: question.detailed]}
    kinds: dict[str, None] = {}
    for entry in entries:
        plugin = entry.get("failedPlugin", "")
        if plugin and plugin not in kinds:
            kinds[plugin] = None
            chosen[id(entry)] = entry
    chosen |= {id(entry): entry for entry in _best(entries, question.detailed)}
    return list(chosen.values())


def _best(entries: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    scored = [entry for entry in entries if "scores" in entry]
    return sorted(scored, key=lambda entry: -entry["total"])[:count]


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
