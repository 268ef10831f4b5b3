"""Equal pods share one evaluation: what plugins say of a node for a pod holds for the next one until the node changes.

A plugin takes part with a method `is_row_local(pod)`: its verdicts and raw scores for that pod depend on nothing but the
pod's facts (framework.pod_facts) and what the table has in the node's row. They are kept per row with the generation of
the row. Pods that were made alike share their facts, so after a placement only the rows that changed are asked about.
A filter with a method `changed_verdicts` takes part as well: it tells which of its verdicts have changed.
Everything else goes its usual way: other plugins are asked every time, scores are normalised over the feasible nodes of
the cycle. Decisions and records are the same with it and without.

Differs: upstream's batching (`batch`) takes over the order of nodes from one cycle to the next where that is sure to be
right; here every cycle decides by itself.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from schedlab.scheduler.framework.helpers.claims import says
from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.rows import columns
from schedlab.scheduler.framework.status import REASONS, Code, NodeStatuses, Status
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

V = TypeVar("V")

#: Evaluations that are kept, and facts that are remembered to tell a second pod from a first one.
_KEPT_MAX: Final = 8
_SEEN_MAX: Final = 64
#: Up to so many changed rows are asked about one by one, and of filters one more for so many rows of the table: asking an
#: array form about all of them costs as much.
_FEW_ROWS: Final = 6
_ROWS_PER_CHANGE: Final = 100
#: Up to so many in the whole table are scored at once, so that from then on only changes have to be looked at.
_FEW_TO_FINISH: Final = 64
#: So many different amounts of nodes are remembered.
_AMOUNTS_MAX: Final = 4096
#: Up to so many rows with other verdicts are told beside all of them.
_CHANGED_MAX: Final = 64
_REJECTIONS: Final = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
_IS_USUAL: Final = np.isin(np.arange(256), (0, *_REJECTIONS))
_FITS: Final = 0, 0


#: Some plugins, each with its place among all of a point.
_Places: TypeAlias = tuple[tuple[int, Any], ...]
#: Code and reason of each of some filters.
_Said: TypeAlias = tuple[tuple[int, int], ...]
#: Plugins of a point that do not skip, with their names and, where they score, their weights.
Active: TypeAlias = tuple[tuple[Any, ...], tuple[str, ...], tuple[int, ...]]


class KnownActive(NamedTuple):
    """Which of the plugins `of` a point are active when those of the names `skip` are not."""

    of: Sequence[Any]
    skip: frozenset[str]
    active: Active


class EveryVerdict(NamedTuple):
    """What P filters say of N nodes: see framework.record.FilterRecord."""

    full_code: NDArray[np.uint8]
    full_reason: NDArray[np.int32]
    changed_rows: NDArray[np.int32] | None = None
    changed_code: NDArray[np.uint8] | None = None
    changed_reason: NDArray[np.int32] | None = None


class _UnusualAnswerError(Exception):
    """A plugin that erred or said something that is not kept."""


class Evaluation:
    """What row-local plugins say of N nodes, for pods with the same facts.

    code: uint8[P, N], reason: int32[P, N] of P filters, rejected: bool[N] whether any of them objects, first_plugin:
    int8[N] the place of the first one that does, or PASSED, with its first_code: uint8[N] and first_reason: int32[N];
    raw: int64[S, N] of S scores; generation of each row when that was: filtered, scored: int64[N].
    """

    def __init__(self, filters: Sequence[Any], table: NodeTable) -> None:
        size = len(table)
        self._filters = tuple(filters)
        #: Filters that tell what has changed, and what each of them has told before.
        self._tellers = tuple(each for each in enumerate(self._filters) if _tells(each[1]))
        self._marks: dict[int, object] = {}
        self._told_of: CycleState | None = None
        #: The others, and of these the ones that must be asked again when only the pods of a node changed.
        self._all_filters = tuple(each for each in enumerate(self._filters) if not _tells(each[1]))
        self._pod_filters = _of_pods(self._all_filters, "looks_at")
        #: What those filters said of nodes by their amounts; None when other things count, too.
        self._by_amounts: dict[Hashable, _Said] | None = {} if _are_of_amounts(self._pod_filters) else None
        #: Place of each plugin that takes part, by name.
        self.filter_places = {plugin.name: place for place, plugin in enumerate(self._filters)}
        self.filter_names = tuple(self.filter_places)
        self.code = np.zeros((len(self._filters), size), np.uint8)
        self.reason = np.zeros((len(self._filters), size), np.int32)
        self.rejected = np.zeros(size, np.bool_)
        self.first_plugin = np.full(size, PASSED, np.int8)
        self.first_code = np.zeros(size, np.uint8)
        self.first_reason = np.zeros(size, np.int32)
        self._filtered = np.full(size, -1, np.int64)
        self._scored = np.full(size, -1, np.int64)
        #: The table's clock when all rows were filtered, and when all rows that nobody objects to were scored. From then
        #: on the table tells which rows have changed; before, every row that is asked about is compared.
        self._filtered_at: int | None = None
        self._scored_at: int | None = None
        #: How many rows are rejected.
        self.rejections = 0
        #: All verdicts as they were when they were last copied, and the rows with other ones by now.
        self._every: EveryVerdict | None = None
        self._changed: dict[int, None] = {}
        self._changes: EveryVerdict | None = None
        self.scores: KeptScores | None = None
        #: Which plugins ran for the pod before: mostly they do for the next one.
        self.running: KnownActive | None = None
        self.active: KnownActive | None = None
        self.order = table.order
        #: Set once a plugin has erred: then every pod is looked at by itself.
        self.is_broken = False

    # --- Filters ---

    def refresh_filters(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> bool:
        """Bring the verdicts on a slice of rows up to date; False when a plugin does not answer as it should."""
        if self.is_broken:
            return False
        if self._are_of(state, table):
            return True
        try:
            if self._filtered_at is None or not self._filter_changed(state, pod, table):
                self._filter_stale(state, pod, table, rows)
            if self._told_of is not state:
                self._filter_told(state, pod, table)
        except Exception:  # noqa: BLE001 - a plugin may raise anything; asked in the usual way it fails its pod
            self.is_broken = True
            return False
        return True

    def _are_of(self, state: CycleState, table: NodeTable) -> bool:
        """Whether the verdicts on all rows are known to be up to date for the pod of that state."""
        return self._filtered_at == table.clock and (self._told_of is state or not self._tellers)

    def is_whole(self, table: NodeTable) -> bool:
        """Whether the verdicts on all rows are known to be up to date, once some have been refreshed."""
        return self._filtered_at == table.clock

    def _filter_told(self, state: CycleState, pod: PodInfo, table: NodeTable) -> None:
        """Bring the verdicts of plugins up to date that tell which of them have changed."""
        for place, plugin in self._tellers:
            self._marks[place], rows = plugin.changed_verdicts(state, pod, table, self._marks.get(place))
            if rows is None or len(rows) > _FEW_ROWS:
                self._filter_slice(state, pod, table, slice(0, len(table)), ((place, plugin),))
            else:
                for row in dict.fromkeys(rows):
                    asked = ((place, plugin),)
                    self._note_row(row, asked, _ask_filters(asked, state, pod, table.infos[row]))
        self._told_of = state

    def _filter_changed(self, state: CycleState, pod: PodInfo, table: NodeTable) -> bool:
        """Bring all verdicts up to date by what the table says has changed; False when that is too much."""
        assert self._filtered_at is not None, "not all rows have been filtered"
        changed = table.changed_since(self._filtered_at)
        if changed is None or len(changed) > _FEW_ROWS + len(table) // _ROWS_PER_CHANGE:
            self._filtered_at = None
            return False
        for row in dict.fromkeys(changed):
            self._filter_row(state, pod, table, row)
            self._filtered[row] = table.generation[row]
        self._filtered_at = table.clock
        return True

    def _filter_stale(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> None:
        current = table.generation[rows]
        stale = (self._filtered[rows] != current).nonzero()[0]
        if 0 < len(stale) <= _FEW_ROWS:
            for row in (stale + rows.start).tolist():
                self._filter_row(state, pod, table, row)
        elif len(stale):
            self._filter_slice(state, pod, table, rows, self._all_filters)
        self._filtered[rows] = current
        if len(current) == len(self._filtered):
            self._filtered_at = table.clock

    def pass_all(self, state: CycleState, pod: PodInfo, table: NodeTable, start: int, size: int) -> bool:
        """Whether it is known that no filter objects to any of `size` nodes from `start` on, round the end of the table."""
        end, total = start + size, len(table)
        if end > total:
            after = self.pass_all(state, pod, table, start, total - start)
            return after and self.pass_all(state, pod, table, 0, end - total)
        rows = slice(start, end)
        return self.refresh_filters(state, pod, table, rows) and not self.rejects_any(rows)

    def rejects_any(self, rows: slice) -> bool:
        """Whether any filter objects to any of a slice of rows."""
        return self.rejections > 0 and bool(np.count_nonzero(self.rejected[rows]))

    def _filter_row(self, state: CycleState, pod: PodInfo, table: NodeTable, row: int) -> None:
        info = table.infos[row]
        if table.node_generation[row] > self._filtered[row]:
            self._note_row(row, self._all_filters, _ask_filters(self._all_filters, state, pod, info))
            return
        known, amounts, said = self._by_amounts, None, None
        if known is not None:
            amounts = info.amounts()
            said = known.get(amounts)
        if said is None:
            said = _ask_filters(self._pod_filters, state, pod, info)
            if known is not None:
                _remember(known, amounts, said)
        self._note_row(row, self._pod_filters, said)

    def _note_row(self, row: int, asked: _Places, said: _Said) -> None:
        was_rejected = bool(self.rejected[row])
        if not was_rejected and said.count(_FITS) == len(said):
            return
        code, reason, differs = self.code, self.reason, False
        for (place, _), found in zip(asked, said, strict=True):
            if (code[place, row], reason[place, row]) != found:
                code[place, row], reason[place, row] = found
                differs = True
        if not differs:
            return
        self._changed[row], self._changes = None, None
        first = next((place for place, each in enumerate(code[:, row].tolist()) if each), PASSED)
        self.first_plugin[row] = first
        self.first_code[row], self.first_reason[row] = (
            _FITS if first == PASSED else (code[first, row], reason[first, row])
        )
        self.rejected[row] = first != PASSED
        self.rejections += (first != PASSED) - was_rejected
        if was_rejected and first == PASSED:
            # Meanwhile it may have changed without being scored.
            self._scored_at = None

    def _filter_slice(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice, asked: _Places) -> None:
        for place, plugin in asked:
            found: NodeStatuses = plugin.filter_nodes(state, pod, table, rows)
            if not _IS_USUAL[found.code].all():
                raise _UnusualAnswerError(plugin.name)
            self.code[place, rows] = found.code
            self.reason[place, rows] = found.reason
        self.rejected[rows] = self.code[:, rows].any(axis=0)
        self._scored_at = None
        self.rejections = int(np.count_nonzero(self.rejected))
        self._find_first(rows)
        self._every = None

    def _find_first(self, rows: slice) -> None:
        plugin, code, reason = self.first_plugin[rows], self.first_code[rows], self.first_reason[rows]
        plugin[:], code[:], reason[:] = PASSED, 0, 0
        objects = self.code[:, rows] != 0
        for place in reversed(np.flatnonzero(objects.any(axis=1)).tolist()):
            np.copyto(plugin, place, where=objects[place])
            np.copyto(code, self.code[place, rows], where=objects[place])
            np.copyto(reason, self.reason[place, rows], where=objects[place])

    def verdicts(self, place: int, rows: slice) -> NodeStatuses:
        """Return what one filter says of a slice of rows; not to be changed."""
        return NodeStatuses(self.code[place, rows], self.reason[place, rows])

    def every_verdict(self) -> EveryVerdict:
        """Return what every filter says of every row, for keeping; the same arrays until any of it changes."""
        if self._every is None or len(self._changed) > _CHANGED_MAX:
            if self.rejections:
                self._every = EveryVerdict(self.code.copy(), self.reason.copy())
            else:
                shape = self.code.shape
                self._every = EveryVerdict(np.broadcast_to(np.uint8(0), shape), np.broadcast_to(np.int32(0), shape))
            self._changed.clear()
            self._changes = self._every
        if self._changes is None:
            rows = np.array(list(self._changed), np.int32)
            self._changes = self._every._replace(
                changed_rows=rows, changed_code=self.code[:, rows], changed_reason=self.reason[:, rows]
            )
        return self._changes

    # --- Scores ---

    def refresh_scores(
        self,
        active: Sequence[Any],
        weights: Mapping[str, int],
        state: CycleState,
        pod: PodInfo,
        table: NodeTable,
        rows: NDArray[np.int64],
    ) -> KeptScores | None:
        """Bring the raw scores of rows: int64[F] up to date; None when they are to be asked for as ever: a plugin does not
        answer as it should, or one of those whose scores are kept skips this pod.

        `active` are the plugins that score the pod; those of the first time take part.
        """
        kept = self.scores
        if kept is None:
            local = tuple(each for each in active if _is_local(each, pod, "score_nodes"))
            kept = self.scores = KeptScores(local, weights, len(table))
        if self.is_broken or not state.skip_score.isdisjoint(kept.places):
            return None
        try:
            if self._scored_at is None or not self._score_changed(kept, state, pod, table):
                self._score_stale(kept, state, pod, table, rows)
        except Exception:  # noqa: BLE001 - a plugin may raise anything; asked in the usual way it fails its pod
            self.is_broken = True
            return None
        return kept

    def _score_changed(self, kept: KeptScores, state: CycleState, pod: PodInfo, table: NodeTable) -> bool:
        """Bring the scores of all rows that nobody objects to up to date by what has changed; False when it is too much."""
        assert self._scored_at is not None, "not all rows have been scored"
        changed = table.changed_since(self._scored_at)
        if changed is None or len(changed) > _FEW_ROWS or not self._are_of(state, table):
            self._scored_at = None
            return False
        for row in dict.fromkeys(changed):
            if not self.rejected[row]:
                self._score_row(kept, state, pod, table, row)
        self._scored_at = table.clock
        return True

    def _score_stale(
        self, kept: KeptScores, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> None:
        stale = rows[self._scored.take(rows) != table.generation.take(rows)]
        if len(stale) > _FEW_ROWS:
            kept.set_rows(state, pod, table, stale)
            self._scored[stale] = table.generation[stale]
            return
        is_complete = self._are_of(state, table)
        if is_complete:
            # Perhaps all rows have had their turn, and what is left is little as well.
            every = ((self._scored != table.generation) & ~self.rejected).nonzero()[0]
            is_complete = len(every) <= _FEW_TO_FINISH
            stale = every if is_complete else stale
        for row in stale.tolist():
            self._score_row(kept, state, pod, table, row)
        if is_complete:
            self._scored_at = table.clock

    def _score_row(self, kept: KeptScores, state: CycleState, pod: PodInfo, table: NodeTable, row: int) -> None:
        kept.set_row(state, pod, table, row, same_node=table.node_generation[row] <= self._scored[row])
        self._scored[row] = table.generation[row]


class Layout(NamedTuple):
    """How the scores of S plugins lie in KeptScores.

    known, others: places of the plugins of which they are kept, and of the rest. order: int64[known] in which those lie,
    None when it is theirs. offsets: see framework.record.ScoreRecord.
    """

    names: tuple[str, ...]
    known: list[int]
    others: list[int]
    order: NDArray[np.int64] | None
    offsets: tuple[int | None, ...]


class KeptScores:
    """Raw scores of row-local plugins: int64[S, N], and what becomes of them while normalising changes nothing.

    A plugin is even where its normalised scores are known without looking at the others: it does not normalise, or its
    raw scores are 0 and it says what becomes of that. While all plugins are even in all rows, final: int64[S, N] and
    total: int64[N] hold.
    """

    def __init__(self, plugins: Sequence[Any], weights: Mapping[str, int], size: int) -> None:
        self.plugins = tuple(plugins)
        self.places = {plugin.name: place for place, plugin in enumerate(self.plugins)}
        self.names = tuple(self.places)
        self._factors = [weights[plugin.name] for plugin in self.plugins]
        count = len(self.plugins)
        self.raw, self.final, self.total = *np.zeros((2, count, size), np.int64), np.zeros(size, np.int64)
        #: Places of plugins that normalise, and what they make of 0.
        self._normal = [place for place, plugin in enumerate(self.plugins) if hasattr(plugin, "normalize_score")]
        self._zeros = [getattr(plugin, "normalized_zeros", 0) for plugin in self.plugins]
        #: While it is even, final is raw x weight + offset.
        self.offsets = tuple(
            zero * factor if place in self._normal else 0
            for place, (zero, factor) in enumerate(zip(self._zeros, self._factors, strict=True))
        )
        self._known = all(hasattr(self.plugins[place], "normalized_zeros") for place in self._normal)
        #: The raw scores of rows that are even, all from 0 to 100: int8[S, N].
        self._small = np.zeros((count, size), np.int8)
        self._uneven = np.zeros(size, np.bool_)
        #: Whether final and total hold for every row that is up to date.
        self.is_even = self._known
        self._layout: Layout | None = None
        self._all_scores = tuple(enumerate(self.plugins))
        self._pod_scores = _of_pods(self._all_scores, "score_looks_at")
        #: What those plugins said of nodes by their amounts; None when other things count, or scores are normalised.
        self._by_amounts: dict[Hashable, tuple[int, ...]] | None = (
            {}
            if self._known
            and _are_of_amounts(self._pod_scores)
            and not any(place in self._normal for place, _ in self._pod_scores)
            else None
        )

    def layout(self, names: tuple[str, ...]) -> Layout:
        """Return where to find what is known of the plugins with these names."""
        if self._layout is None or self._layout.names != names:
            self._layout = self._lay_out(names)
        return self._layout

    def _lay_out(self, names: tuple[str, ...]) -> Layout:
        known = [index for index, name in enumerate(names) if name in self.places]
        others = [index for index, name in enumerate(names) if name not in self.places]
        order = [self.places[names[index]] for index in known]
        in_order = order == list(range(len(self.plugins)))
        offsets = tuple(map(dict(zip(self.names, self.offsets, strict=True)).get, names))
        return Layout(names, known, others, None if in_order else np.array(order, np.int64), offsets)

    def take(self, rows: NDArray[np.int64], layout: Layout, *, is_small: bool = False) -> NDArray[Any]:
        """Return the raw scores that are kept of some plugins: int64[known, F] of rows: int64[F], as a copy.

        `is_small`: as int8, while all plugins are even.
        """
        return columns(self._small if is_small else self.raw, rows, len(self.total), layout.order)

    def set_row(self, state: CycleState, pod: PodInfo, table: NodeTable, row: int, *, same_node: bool) -> None:
        """Ask about one row."""
        info, asked = table.infos[row], self._pod_scores if same_node else self._all_scores
        if not same_node or self._by_amounts is None or self._uneven[row]:
            self._put_row(row, asked, self._ask(asked, state, pod, info))
            return
        amounts = info.amounts()
        known = self._by_amounts.get(amounts)
        if known is not None:
            self._change_row(row, known)
            return
        scores = self._ask(asked, state, pod, info)
        if min(scores, default=0) >= 0 and max(scores, default=0) <= MAX_NODE_SCORE:
            _remember(self._by_amounts, amounts, scores)
        self._put_row(row, asked, scores)

    def _put_row(self, row: int, asked: Sequence[tuple[int, Any]], scores: Sequence[int]) -> None:
        for (place, _), score in zip(asked, scores, strict=True):
            self.raw[place, row] = score
        if self._known:
            self._finish_row(row)

    @staticmethod
    def _ask(asked: Sequence[tuple[int, Any]], state: CycleState, pod: PodInfo, info: NodeInfo) -> tuple[int, ...]:
        scores = []
        for _, plugin in asked:
            score, status = plugin.score(state, pod, info)
            if status is not None:
                raise _UnusualAnswerError(plugin.name)
            scores.append(operator.index(score))
        return tuple(scores)

    def _change_row(self, row: int, scores: Sequence[int]) -> None:
        """Put scores of 0 to 100 in place of those that the plugins that look at pods gave before."""
        more = 0
        for (place, _), score in zip(self._pod_scores, scores, strict=True):
            final = score * self._factors[place]
            more += final - int(self.final[place, row])
            self.raw[place, row], self.final[place, row], self._small[place, row] = score, final, score
        self.total[row] += more

    def set_rows(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> None:
        """Ask about some rows: int64[F]."""
        for place, plugin in enumerate(self.plugins):
            scores = plugin.score_nodes(state, pod, table, rows)
            if isinstance(scores, Status):
                raise _UnusualAnswerError(plugin.name)
            self.raw[place, rows] = np.asarray(scores).astype(np.int64, casting="same_kind")
        self._finish(rows)

    def _finish_row(self, row: int) -> None:
        raw = self.raw[:, row].tolist()
        uneven = max(raw, default=0) > MAX_NODE_SCORE or min(raw, default=0) < 0
        if not uneven:
            self._small[:, row] = raw
        for place in self._normal:
            uneven = uneven or raw[place] != 0
            raw[place] = self._zeros[place]
        if uneven or self._uneven[row]:
            self._uneven[row] = uneven
            self.is_even = not self._uneven.any()
        final = [score * weight for score, weight in zip(raw, self._factors, strict=True)]
        self.final[:, row] = final
        self.total[row] = sum(final)

    def _finish(self, rows: NDArray[np.int64]) -> None:
        if not self._known:
            return
        raw = self.raw[:, rows]
        uneven = (raw < 0).any(axis=0) | (raw > MAX_NODE_SCORE).any(axis=0)
        for place in self._normal:
            uneven |= raw[place] != 0
        if uneven.any() or self._uneven[rows].any():
            self._uneven[rows] = uneven
            self.is_even = not self._uneven.any()
        self._small[:, rows] = raw
        final = raw.copy()
        for place in self._normal:
            final[place] = self._zeros[place]
        final *= np.array(self._factors, np.int64).reshape(-1, 1)
        self.final[:, rows] = final
        self.total[rows] = final.sum(axis=0)


class EqualPods:
    """The evaluations of one profile. Pods that come alone get none."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        # By the facts of pods and the filters that skip: of pods with the same facts some may be none of a filter's business.
        self._kept: OrderedDict[tuple[PodFacts, frozenset[str]], Evaluation] = OrderedDict()
        self._seen: OrderedDict[PodFacts, None] = OrderedDict()
        #: What keeps the texts of their reasons known; with others come other ids.
        self._texts = REASONS.pages

    def knows(self, pod: PodInfo) -> bool:
        """Whether there is an evaluation for pods like this one."""
        return any(facts is pod.facts for facts, _ in self._kept)

    def of(self, pod: PodInfo, filters: Sequence[Any], skip: frozenset[str]) -> Evaluation | None:
        """Return the evaluation for pods like this one; None for the first of them. Filters of the names `skip` do not run."""
        if self._texts is not REASONS.pages:
            self._kept.clear()
            self._texts = REASONS.pages
        facts = pod.facts
        key = facts, skip
        found = self._kept.get(key)
        if found is not None and found.order == self._table.order:
            self._kept.move_to_end(key)
            return None if found.is_broken else found
        if facts not in self._seen:
            self._seen[facts] = None
            if len(self._seen) > _SEEN_MAX:
                self._seen.popitem(last=False)
            return None
        running = [plugin for plugin in filters if plugin.name not in skip]
        local = [each for each in running if _tells(each) or _is_local(each, pod, "filter_nodes")]
        made = self._kept[key] = Evaluation(local, self._table)
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return made


def _ask_filters(asked: _Places, state: CycleState, pod: PodInfo, info: NodeInfo) -> _Said:
    said = []
    for _, plugin in asked:
        status: Status | None = plugin.filter(state, pod, info)
        if status is None:
            said.append(_FITS)
        elif status.code in _REJECTIONS:
            said.append((int(status.code), REASONS.id_of(status.reasons)))
        else:
            raise _UnusualAnswerError(plugin.name)
    return tuple(said)


def _of_pods(plugins: _Places, attribute: str) -> _Places:
    """Return the plugins whose answers depend on the pods of a node."""
    return tuple(each for each in plugins if getattr(each[1], attribute, "pods") != "node")


def _tells(plugin: Any) -> bool:
    return hasattr(plugin, "changed_verdicts") and hasattr(plugin, "filter_nodes")


def _are_of_amounts(plugins: Sequence[tuple[int, Any]]) -> bool:
    return all(getattr(plugin, "is_of_amounts", False) for _, plugin in plugins)


def _remember(known: dict[Hashable, V], amounts: Hashable, value: V) -> None:
    if len(known) >= _AMOUNTS_MAX:
        known.clear()
    known[amounts] = value


def _is_local(plugin: Any, pod: PodInfo, array_form: str) -> bool:
    return hasattr(plugin, array_form) and says(plugin, "is_row_local", pod)
