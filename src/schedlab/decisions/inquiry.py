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
    """What a verdict rests on, as JSON values. `of_now` when it does not come to the verdict that was recorded.

    shared: whether it is the same for all nodes that are alike to the plugin.
    """

    facts: Sequence[Mapping[str, Any]]
    of_now: bool
    shared: bool


class Inquiry:
    """The plugins that took part in one attempt, to be asked once they are prepared."""

    def __init__(self, cycle: CycleRecord, moment: Moment) -> None:
        self._cycle = cycle
        self.moment = moment
        self._filter_state = CycleState()
        #: Row of the table of each node that was scored, int64[F], -1 of those that are not in it; and of those that are.
        self._scored = self._scored_rows()
        self._rows = self._scored[self._scored >= 0]
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

    def _scored_rows(self) -> NDArray[np.int64]:
        score, row_of = self._cycle.score, self.moment.table.row_of
        names = self._cycle.node_names
        scored = () if score is None else score.rows.tolist()
        return np.array([row_of.get(names[row], -1) for row in scored], np.int64)

    def _alike(self, looked_at: Callable[..., Iterable[NDArray[Any]]] | None) -> NDArray[np.int64]:
        """Return by row of the table a number that is the same where a plugin looks at the same, int64[N]."""
        size = len(self.moment.table)
        if looked_at is None:
            return np.arange(size)
        return combinations(looked_at(self._filter_state, self.pod, self.moment.table), size)[0]

    # --- Verdicts ---

    def asking(self, filters: Sequence[tuple[str, bool]]) -> Asking:
        """Return what asks these plugins, each with whether it lets the nodes pass, about nodes one after the other."""
        askable = [(name, passed) for name, passed in filters if hasattr(self.moment.plugin(name), "explain_filter")]
        columns = [(name, passed, self._alike_to(name)) for name, passed in askable]
        return Asking(self, [(name, passed, alike) for name, passed, alike in columns if alike is not None])

    def _alike_to(self, plugin_name: str) -> Sequence[int] | None:
        """Return by row what is the same where a filter looks at the same; None when it cannot say what it looks at."""
        if plugin_name not in self._asked:
            by = getattr(self.moment.plugin(plugin_name), "explain_filter_by", None)
            alike = self._safely(plugin_name, lambda: self._alike(by))
            if alike is None:
                return None
            self._asked[plugin_name] = alike.tolist(), {}
        return self._asked[plugin_name][0]

    def facts(self, plugin_name: str, row: int, *, passed: bool) -> Facts | None:
        """Return what a filter's verdict on a row of the table rests on; None when nobody can say."""
        return self._safely(plugin_name, lambda: self._facts(plugin_name, row, passed=passed))

    def _facts(self, plugin_name: str, row: int, *, passed: bool) -> Facts:
        plugin: Any = self.moment.plugin(plugin_name)
        alike, known = self._asked[plugin_name]
        facts = known.get(alike[row])
        node = self.moment.table.infos[row]
        if facts is None:
            facts = known[alike[row]] = _as_json(plugin.explain_filter(self._filter_state, self.pod, node))
        fits = all(fact["fits"] for fact in facts)
        if fits and not passed:
            with_rivals = self._with_nominated(plugin, node)
            if with_rivals is not None:
                return Facts(with_rivals, of_now=False, shared=False)
        return Facts(facts, fits != passed, shared=passed or not fits)

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

    def scores(self, index: int, places: Sequence[int], told: Sequence[dict[str, Any]]) -> Steps[list[dict[str, Any]]]:
        """Return what is `told` of the scores of plugin `index` of the record on its nodes `places`, with how they came about.

        Nodes of which the same is to be said share it.
        """
        score, out = self._cycle.score, list(told)
        assert score is not None
        plugin = self.moment.plugin(score.plugins[index])
        if plugin is None or not hasattr(plugin, "explain_score"):
            return out
        by = getattr(plugin, "explain_score_by", None)
        alike = self._safely(plugin.name, lambda: self._alike(by))
        if alike is None:
            alike = self._alike(None)
        rows = self._scored[places]
        there = np.flatnonzero(rows >= 0)
        points = (score.raw[index, places], score.final[index, places])
        numbers, first = combinations((alike[rows[there]], *(each[there] for each in points)), len(there))
        for at, same in zip(there.tolist(), there[first[numbers]].tolist(), strict=True):
            out[at] = out[same]
        yield
        chosen = there[first]
        recomputed = self._recomputed(index, plugin)
        formulas = self._formulas(plugin, rows[chosen])
        for at, row, formula in zip(chosen.tolist(), rows[chosen].tolist(), formulas, strict=True):
            ask = partial(self._score, index, places[at], row, recomputed, formula)
            out[at] |= self._safely(plugin.name, ask) or {}
            yield
        return out

    def _formulas(self, plugin: Any, rows: NDArray[np.int64]) -> Sequence[Formula | None]:
        """Return the formulas of rows of the table, int64[F], at once, if the plugin can give them so."""
        if not hasattr(plugin, "explain_scores"):
            return [None] * len(rows)
        found = self._safely(
            plugin.name, lambda: plugin.explain_scores(self._filter_state, self.pod, self.moment.table, rows)
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


class Asking:
    """Asks filters about nodes that they have the same verdicts on; where all of them look at the same, only once."""

    def __init__(self, inquiry: Inquiry, filters: Sequence[tuple[str, bool, Sequence[int]]]) -> None:
        """`filters`: name of each, whether it lets the nodes pass, and by row what is the same where it looks at the same."""
        self._inquiry, self._filters = inquiry, filters
        self._row_of = inquiry.moment.table.row_of
        self._known: dict[tuple[int, ...], dict[str, Any]] = {}

    def about(self, node_name: str) -> Mapping[str, Any]:
        """Return the facts by plugin and which of them are of now, as an entry has them; nothing when nobody can say."""
        row = self._row_of.get(node_name)
        if row is None:
            return {}
        key = tuple([alike[row] for _, _, alike in self._filters])
        found = self._known.get(key)
        return self._ask(row, key) if found is None else found

    def _ask(self, row: int, key: tuple[int, ...]) -> Mapping[str, Any]:
        answers = [(name, self._inquiry.facts(name, row, passed=passed)) for name, passed, _ in self._filters]
        told = {name: facts for name, facts in answers if facts is not None}
        out: dict[str, Any] = {"facts": {name: each.facts for name, each in told.items()}} if told else {}
        of_now = [name for name, each in told.items() if each.of_now]
        if of_now:
            out["factsOfNow"] = of_now
        if all(each.shared for each in told.values()):
            self._known[key] = out
        return out


def _as_json(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    return [{"text": fact.text, "fits": fact.fits, **fact.values} for fact in facts]
