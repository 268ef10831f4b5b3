"""Asks the plugins of an attempt's moment for the numbers behind their verdicts and scores.

A record says what was decided; a Moment (`moments`) can say from which numbers. The two are compared: where what the
plugins say now does not come to what was recorded, the numbers are marked as those of now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, code_of
from schedlab.scheduler.plugins.registry import IN_TREE

if TYPE_CHECKING:
    from schedlab.decisions.moments import Moment
    from schedlab.kernel.steps import Steps
    from schedlab.scheduler.framework.explanations import Fact, Formula
    from schedlab.scheduler.framework.record import CycleRecord, ScoreRecord
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict rests on. `of_now` when it does not come to the verdict that was recorded."""

    facts: tuple[Fact, ...]
    of_now: bool

    def as_json(self) -> list[dict[str, Any]]:
        """Return the facts as JSON values."""
        return [{"text": fact.text, "fits": fact.fits, **fact.values} for fact in self.facts]

    def failing(self) -> list[str]:
        """Return the lines of what does not fit."""
        return [fact.text for fact in self.facts if not fact.fits]


class Inquiry:
    """The plugins that took part in one attempt, to be asked once they are prepared."""

    def __init__(self, cycle: CycleRecord, moment: Moment) -> None:
        self._cycle = cycle
        self.moment = moment
        self._filter_state = CycleState()
        self._rows = self._scored_rows()

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

    # --- Verdicts ---

    def facts(self, plugin_name: str, node_name: str, *, passed: bool) -> Facts | None:
        """Return what a filter's verdict on a node rests on; None when nobody can say."""
        return self._safely(plugin_name, lambda: self._facts(plugin_name, node_name, passed=passed))

    def _facts(self, plugin_name: str, node_name: str, *, passed: bool) -> Facts | None:
        plugin, node = self.moment.plugin(plugin_name), self._node(node_name)
        if plugin is None or node is None or not hasattr(plugin, "explain_filter"):
            return None
        facts = tuple(plugin.explain_filter(self._filter_state, self.pod, node))
        fits = all(fact.fits for fact in facts)
        if fits and not passed:
            with_rivals = self._with_nominated(plugin, node)
            if with_rivals is not None:
                return with_rivals
        return Facts(facts, fits != passed)

    def _node(self, name: str) -> NodeInfo | None:
        row = self.moment.table.row_of.get(name)
        return None if row is None else self.moment.table.infos[row]

    def _with_nominated(self, plugin: Any, node: NodeInfo) -> Facts | None:
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
        facts = tuple(
            fact if fact.fits else replace(fact, text=f"{fact.text}, counting in {names}, nominated here")
            for fact in plugin.explain_filter(state, self.pod, copied)
        )
        return None if all(fact.fits for fact in facts) else Facts(facts, of_now=False)

    # --- Scores ---

    def score(self, index: int, at: int) -> dict[str, Any]:
        """Return how the score of plugin `index` of the record came about on its node `at`."""
        score = self._cycle.score
        assert score is not None
        return self._safely(score.plugins[index], lambda: self._score(score, index, at)) or {}

    def _score(self, score: ScoreRecord, index: int, at: int) -> dict[str, Any]:
        name = self._cycle.node_names[int(score.rows[at])]
        plugin, node = self.moment.plugin(score.plugins[index]), self._node(name)
        if plugin is None or node is None or not hasattr(plugin, "explain_score"):
            return {}
        if hasattr(plugin, "filter"):
            # Some plugins score what they found for the node when they filtered it.
            plugin.filter(self._filter_state, self.pod, node)
        raw: Formula = plugin.explain_score(self._filter_state, self.pod, node)
        out: dict[str, Any] = {"formula": raw.expression, "inputs": dict(raw.inputs)}
        if raw.value != int(score.raw[index, at]):
            out["ofNow"] = True
        if hasattr(plugin, "explain_normalized") and score.complete and len(self._rows) == len(score.rows):
            step: Formula = plugin.explain_normalized(
                self._filter_state, self.pod, self._rows, score.raw[index].copy(), at
            )
            out |= {"normalization": step.expression, "normalizationInputs": dict(step.inputs)}
            if step.value * score.weights[index] != int(score.final[index, at]):
                out["ofNow"] = True
        return out


def of_node(inquiry: Inquiry, entry: Mapping[str, Any], *, all_plugins: bool) -> dict[str, Facts]:
    """Return facts by plugin: of the plugins that turned a node down, or of all of them."""
    asked = {
        plugin: verdict == "passed"
        for plugin, verdict in entry["plugins"].items()
        if all_plugins or verdict != "passed"
    }
    found = {plugin: inquiry.facts(plugin, entry["node"], passed=passed) for plugin, passed in asked.items()}
    return {plugin: facts for plugin, facts in found.items() if facts is not None}
