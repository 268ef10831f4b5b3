"""Scores of feasible nodes: raw scores, normalised, weighted and added up.

Mirrors: RunPreScorePlugins and RunScorePlugins of pkg/scheduler/framework/runtime/framework.go (v1.36).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schedlab.scheduler.framework.record import NOTHING
from schedlab.scheduler.framework.status import Code, Status, is_success
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.runtime.equal_pods import KnownActive
from schedlab.scheduler.runtime.errors import as_status, error_text, failure_of, wrapped
from schedlab.scheduler.runtime.prepared import Known, Recorder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.runtime.equal_pods import Active, Evaluation, KeptScores


@dataclass(slots=True)
class Scores:
    """plugins: S names; raw, final: int64[S, F] (final = normalised x weight); total: int64[F].

    offsets: see framework.record.ScoreRecord; if it is not whole, raw and final are without what follows, as there.
    """

    plugins: tuple[str, ...]
    weights: tuple[int, ...]
    raw: NDArray[np.int64]
    final: NDArray[np.int64]
    total: NDArray[np.int64]
    offsets: tuple[int | None, ...] | None = None
    is_whole: bool = True


@dataclass(slots=True)
class ScoreFailure:
    """A plugin could not score: the pod's status, and the scores of the first node up to that plugin."""

    status: Status
    scores: Scores


def run_pre_score(
    plugins: Sequence[Any],
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    rows: NDArray[np.int64],
    record: dict[str, Status | None] | None,
    recorder: Recorder | None = None,
) -> Status | None:
    """Let plugins look at the pod and the feasible nodes; those that skip do not score."""
    skip: list[str] = []
    try:
        for plugin in plugins:
            if isinstance(plugin, Known):
                plugin.apply(state, record, skip)
                continue
            try:
                status = plugin.pre_score(state, pod, table, rows)
                if status is not None:
                    status = as_status(status)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                status = failure_of(error)
            if record is not None:
                record[plugin.name] = status
            skips = status is not None and status.code == Code.SKIP
            if recorder is not None:
                recorder.note(plugin, status, skips=skips, is_plain=skips or is_success(status))
            if status is None or status.code == Code.SUCCESS:
                continue
            if skips:
                skip.append(plugin.name)
                continue
            return wrapped(f'running PreScore plugin "{plugin.name}"', status)
    finally:
        state.skip_score = frozenset(skip)
    return None


def run_score(
    plugins: Sequence[Any],
    weights: Mapping[str, int],
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    rows: NDArray[np.int64],
    infos: Sequence[NodeInfo] | None = None,
    kept: Evaluation | None = None,
) -> Scores | ScoreFailure:
    """Score `rows: int64[F]`; an error of any plugin fails the pod. `infos` stand in for the table's own.

    `kept` is what pods like this one have found out.
    """
    active, names, factors = known_active = _active(plugins, weights, state.skip_score, kept)
    found = None
    if kept is not None and infos is None:
        found = kept.refresh_scores(active, weights, state, pod, table, rows)
    if found is not None and found.is_even:
        scores = _score_beside(found, known_active, state, pod, table, rows)
        if scores is not None:
            return scores
    raw, final = np.zeros((2, len(names), len(rows)), np.int64)
    unscored: Sequence[int] = range(len(names))
    if found is not None:
        layout = found.layout(names)
        raw[layout.known], unscored = found.take(rows, layout), layout.others
    for index in unscored:
        failure = _score(active[index], state, pod, table, rows, infos, raw[index])
        if failure is not None:
            text = f'running Score plugins: plugin "{names[index]}" failed with: {error_text(failure)}'
            return _failed(text, names[: index + 1], factors[: index + 1], raw[: index + 1, :1])
    final[:] = raw
    for index, plugin in enumerate(active):
        failure = _normalize(plugin, state, pod, rows, final[index])
        if failure is not None:
            text = f'running Normalize on Score plugins: plugin "{names[index]}" failed with: {error_text(failure)}'
            return _failed(text, names, factors, raw[:, :1])
    if final.size and (final.max() > MAX_NODE_SCORE or final.min() < 0):
        text = f"applying score defaultWeights on Score plugins: {_invalid(names, final)}"
        return _failed(text, names, factors, raw[:, :1])
    final *= np.array(factors, np.int64).reshape(-1, 1)
    return Scores(names, factors, raw, final, final.sum(axis=0))


def _score_beside(
    found: KeptScores, active: Active, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
) -> Scores | None:
    """Add to the totals that are kept what plugins give of which nothing is; None when one of them fails in any way."""
    plugins, names, factors = active
    layout = found.layout(names)
    others, total = layout.others, found.total.take(rows)
    beside = np.zeros((2 * len(others), len(rows)), np.int64)
    raw, final = beside[: len(others)], beside[len(others) :]
    for at, index in enumerate(others):
        if _score(plugins[index], state, pod, table, rows, None, raw[at]) is not None:
            return None
    final[:] = raw
    for at, index in enumerate(others):
        if _normalize(plugins[index], state, pod, rows, final[at]) is not None:
            return None
    if final.size and (final.max() > MAX_NODE_SCORE or final.min() < 0):
        return None
    for at, index in enumerate(others):
        final[at] *= factors[index]
        total += final[at]
    kept, nothing = found.take(rows, layout, is_small=True), NOTHING
    return Scores(names, factors, kept, beside if others else nothing, total, layout.offsets, is_whole=False)


def _active(
    plugins: Sequence[Any], weights: Mapping[str, int], skip: frozenset[str], kept: Evaluation | None
) -> Active:
    """Return the plugins that score, with names and weights; for equal pods that is worked out once."""
    known = None if kept is None else kept.active
    if known is not None and known.of is plugins and known.skip == skip:
        return known.active
    active = tuple(plugin for plugin in plugins if plugin.name not in skip)
    names = tuple(plugin.name for plugin in active)
    found = active, names, tuple(weights[name] for name in names)
    if kept is not None:
        kept.active = KnownActive(plugins, skip, found)
    return found


def _failed(text: str, names: tuple[str, ...], factors: tuple[int, ...], raw: NDArray[np.int64]) -> ScoreFailure:
    final = raw * np.array(factors, np.int64).reshape(-1, 1)
    return ScoreFailure(Status(Code.ERROR, (), "", text), Scores(names, factors, raw, final, final.sum(axis=0)))


def _score(
    plugin: Any,
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    rows: NDArray[np.int64],
    infos: Sequence[NodeInfo] | None,
    out: NDArray[np.int64],
) -> Status | None:
    try:
        array_form = getattr(plugin, "score_nodes", None)
        if array_form is not None and infos is None:
            scores = array_form(state, pod, table, rows)
            if isinstance(scores, Status):
                return scores
            out[:] = np.asarray(scores).astype(np.int64, casting="same_kind", copy=False)
            return None
        for at, info in enumerate(infos or [table.infos[row] for row in rows.tolist()]):
            score, status = plugin.score(state, pod, info)
            failure = as_status(status)
            if failure is not None and failure.code != Code.SUCCESS:
                return failure
            out[at] = operator.index(score)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        return failure_of(error)
    return None


def _normalize(
    plugin: Any, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
) -> Status | None:
    normalize = getattr(plugin, "normalize_score", None)
    if normalize is None:
        return None
    try:
        status = as_status(normalize(state, pod, rows, scores))
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        return failure_of(error)
    return None if status is None or status.code == Code.SUCCESS else status


def _invalid(names: Sequence[str], final: NDArray[np.int64]) -> str:
    """Name the first score out of range, node by node as upstream looks at them."""
    wrong = (final > MAX_NODE_SCORE) | (final < 0)
    node = int(wrong.any(axis=0).argmax())
    plugin = int(wrong[:, node].argmax())
    return (
        f'plugin "{names[plugin]}" returns an invalid score {int(final[plugin, node])}, '
        f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
    )
