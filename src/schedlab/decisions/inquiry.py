"""Asks the plugins of an attempt's moment for the numbers behind their verdicts and scores.

A record says what was decided; a Moment (`moments`) can say from which numbers. The two are compared: where what the
plugins say now does not come to what was recorded, the numbers are marked as those of now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from schedlab.decisions.combinations import combinations
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, Status, code_of
from schedlab.scheduler.plugins.registry import IN_TREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.decisions.moments import Moment
    from schedlab.kernel.steps import Steps
    from schedlab.scheduler.framework.explanations import Fact, Formula
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict rests on, as JSON values. `of_now` when it does not come to the verdict that was recorded."""

    facts: Sequence[Mapping[str, Any]]
    of_now: bool


class Inquiry:
    """The plugins that took part in one attempt, to be asked once they are prepared."""

    def __init__(self, cycle: CycleRecord, moment: Moment) -> None:
        self._cycle = cycle
        self.moment = moment
        self._filter_state = CycleState()
        self._rows = self._scored_rows()
        #: By plugin which rows are alike to it, and its facts about those that were asked about.
        self._asked: dict[str, tuple[Sequence[int], dict[int, list[dict[str, Any]]]]] = {}

    def prepare(self) -> Steps[None]:
        """Let the plugins look around before they are asked, as in a cycle."""
        for prepare, statuses in (
            (self._prepare, self._cycle.pre_filter),
            (self._prepare_score, self._cycle.pre_score),
        ):
            for name, status in statuses.items():
                if code_of(status) == Code.SUCCESS:
                    self._safely(name, partial(prepare, name))
                    yield

    @staticmethod
    def _safely(name: str, ask: Callable[[], T]) -> T | None:
        """Ask a plugin; what one that does not come with the scheduler raises is no explanation, nothing more."""
        try:
            return ask()
        except Exception:
            if name in IN_TREE:
                raise
            return None

    @property
    def pod(self) -> PodInfo:
        """The pod as it was tried."""
        return self._cycle.pod

    def _prepare(self, name: str) -> None:
        plugin = self.moment.plugin(name)
        if plugin is not None and hasattr(plugin, "pre_filter") and hasattr(plugin, "explain_filter"):
            plugin.pre_filter(self._filter_state, self.pod, self.moment.table)

    def _prepare_score(self, name: str) -> None:
        plugin = self.moment.plugin(name)
        if plugin is not None and hasattr(plugin, "explain_score"):
            plugin.pre_score(self._filter_state, self.pod, self.moment.table, self._rows)

    def _scored_rows(self) -> Any:
        score = self._cycle.score
        names = self._cycle.node_names
        known = self.moment.table.row_of
        scored = () if score is None else score.rows.tolist()
        return np.array([known[names[row]] for row in scored if names[row] in known], np.int64)

    def _alike(self, looked_at: Callable[..., Iterable[NDArray[Any]]] | None) -> Sequence[int]:
        """Return by row of the table a number that is the same where a plugin looks at the same."""
        size = len(self.moment.table)
        if looked_at is None:
            return range(size)
        columns = looked_at(self._filter_state, self.pod, self.moment.table)
        numbers, _ = combinations(columns, size)
        return cast("list[int]", numbers.tolist())

    # --- Verdicts ---

    def facts(self, plugin_name: str, node_name: str, *, passed: bool) -> Facts | None:
        """Return what a filter's verdict on a node rests on; None when nobody can say."""
        return self._safely(plugin_name, lambda: self._facts(plugin_name, node_name, passed=passed))

    def _facts(self, plugin_name: str, node_name: str, *, passed: bool) -> Facts | None:
        plugin, row = self.moment.plugin(plugin_name), self.moment.table.row_of.get(node_name)
        if plugin is None or row is None or not hasattr(plugin, "explain_filter"):
            return None
        asked = self._asked.get(plugin_name)
        if asked is None:
            asked = self._asked[plugin_name] = self._alike(getattr(plugin, "explain_filter_by", None)), {}
        alike, known = asked
        facts = known.get(alike[row])
        node = self.moment.table.infos[row]
        if facts is None:
            facts = known[alike[row]] = _as_json(plugin.explain_filter(self._filter_state, self.pod, node))
        fits = all(fact["fits"] for fact in facts)
        if fits and not passed:
            with_rivals = self._with_nominated(plugin, node)
            if with_rivals is not None:
                return Facts(with_rivals, of_now=False)
        return Facts(facts, fits != passed)

    def _with_nominated(self, plugin: Any, node: NodeInfo) -> list[dict[str, Any]] | None:
        """Return what the filter says with the pods counted in that are nominated to the node (now)."""
        rivals = [
            other
            for other in self.moment.framework.nominator.pods_for_node(node.name)
            if other.priority >= self.pod.priority and other.uid != self.pod.uid
        ]
        if not rivals:
            return None
        state, copied = self._filter_state.copy(), node.copy()
        for rival in rivals:
            copied.add_pod(rival)
            self.moment.framework.run_pre_filter_add_pod(state, self.pod, rival, copied)
        names = ", ".join(rival.key for rival in rivals)
        facts = [
            fact if fact.fits else replace(fact, text=f"{fact.text}, counting in {names}, nominated here")
            for fact in plugin.explain_filter(state, self.pod, copied)
        ]
        return None if all(fact.fits for fact in facts) else _as_json(facts)

    # --- Scores ---

    def scores(self, index: int, places: Sequence[int]) -> Steps[Sequence[dict[str, Any]]]:
        """Return the scores of plugin `index` of the record on its nodes `places`, and how they came about.

        Nodes of which the same is to be said share it.
        """
        score = self._cycle.score
        assert score is not None
        plugin = self.moment.plugin(score.plugins[index])
        names, known_rows = self._cycle.node_names, self.moment.table.row_of
        rows = [known_rows.get(names[row], -1) for row in score.rows[places].tolist()]
        weight = score.weights[index]
        points = zip(score.raw[index, places].tolist(), score.final[index, places].tolist(), strict=True)
        told = [{"raw": raw, "weight": weight, "final": final} for raw, final in points]
        if plugin is None or not hasattr(plugin, "explain_score"):
            return told
        by = getattr(plugin, "explain_score_by", None)
        alike = self._safely(plugin.name, lambda: self._alike(by)) or range(len(self.moment.table))
        first: dict[tuple[int, int, int], int] = {}
        for at, row in enumerate(rows):
            if row >= 0:
                told[at] = told[first.setdefault((alike[row], told[at]["raw"], told[at]["final"]), at)]
        yield
        chosen = list(first.values())
        same = self._recomputed(index, plugin)
        formulas = self._formulas(plugin, [rows[at] for at in chosen])
        for at, formula in zip(chosen, formulas, strict=True):
            ask = partial(self._score, index, places[at], rows[at], same, formula)
            told[at] |= self._safely(plugin.name, ask) or {}
            yield
        return told

    def _formulas(self, plugin: Any, rows: Sequence[int]) -> Sequence[Formula | None]:
        """Return the formulas of rows of the table at once, if the plugin can give them so."""
        if not hasattr(plugin, "explain_scores"):
            return [None] * len(rows)
        places = np.array(rows, np.int64)
        found = self._safely(
            plugin.name, lambda: plugin.explain_scores(self._filter_state, self.pod, self.moment.table, places)
        )
        return [None] * len(rows) if found is None else cast("Sequence[Formula]", found)

    def _recomputed(self, index: int, plugin: Any) -> NDArray[np.bool_] | None:
        """Return bool[F]: where the plugin's array form comes to the recorded scores; None where nobody can say.

        Formulas equal the array form of plugins that come with the scheduler, but for those that score what their filter
        has kept of a node: they have something to reserve.
        """
        score = self._cycle.score
        name = plugin.name
        is_sure = name in IN_TREE and hasattr(plugin, "score_nodes") and not hasattr(plugin, "reserve")
        if score is None or not is_sure or len(self._rows) != len(score.rows):
            return None
        found = plugin.score_nodes(self._filter_state, self.pod, self.moment.table, self._rows)
        return None if isinstance(found, Status) else found == score.raw[index]

    def _score(
        self, index: int, at: int, row: int, same: NDArray[np.bool_] | None, formula: Formula | None
    ) -> dict[str, Any]:
        score, node = self._cycle.score, self.moment.table.infos[row]
        assert score is not None
        plugin = self.moment.plugin(score.plugins[index])
        assert plugin is not None
        if same is None and hasattr(plugin, "filter"):
            # Some plugins score what they found for the node when they filtered it.
            plugin.filter(self._filter_state, self.pod, node)
        raw: Formula = formula or plugin.explain_score(self._filter_state, self.pod, node)
        out: dict[str, Any] = {"formula": raw.expression, "inputs": dict(raw.inputs)}
        if (same is None or not same[at]) and raw.value != int(score.raw[index, at]):
            out["ofNow"] = True
        if hasattr(plugin, "explain_normalized") and score.complete and len(self._rows) == len(score.rows):
            step: Formula = plugin.explain_normalized(
                self._filter_state, self.pod, self._rows, score.raw[index].copy(), at
            )
            out |= {"normalization": step.expression, "normalizationInputs": dict(step.inputs)}
            if step.value * score.weights[index] != int(score.final[index, at]):
                out["ofNow"] = True
        return out


def _as_json(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    return [{"text": fact.text, "fits": fact.fits, **fact.values} for fact in facts]
