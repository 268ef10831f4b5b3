"""Equal pods share one evaluation: what plugins say of a node for a pod holds for the next one until the node changes.

A plugin takes part with a method `is_row_local(pod)`: its verdicts and raw scores for that pod depend on nothing but the
pod's facts (framework.pod_facts) and what the table has in the node's row. They are kept per row with the generation of
the row. Pods that were made alike share their facts, so after a placement only the rows that changed are asked about.
Everything else goes its usual way: plugins that are not row-local are asked every time, scores are normalised over the
feasible nodes of the cycle. Decisions and records are the same with it and without.

Differs: upstream's batching (`batch`) takes over the order of nodes from one cycle to the next where that is sure to be
right; here every cycle decides by itself.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.status import REASONS, Code, NodeStatuses, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import PodInfo

#: Evaluations that are kept, and facts that are remembered to tell a second pod from a first one.
_KEPT_MAX: Final = 8
_SEEN_MAX: Final = 64
#: Up to so many changed rows are asked about one by one.
_FEW_ROWS: Final = 6
_REJECTIONS: Final = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class _UnusualAnswerError(Exception):
    """A plugin that erred or said something that is not kept."""


class Evaluation:
    """What row-local plugins say of N nodes, for pods with the same facts.

    code: uint8[P, N], reason: int32[P, N] of P filters; raw: int64[S, N] of S scores; generation of each row when that
    was: filtered, scored: int64[N].
    """

    def __init__(self, filters: Sequence[Any], table: NodeTable) -> None:
        size = len(table)
        self._filters = tuple(filters)
        self._scores: tuple[Any, ...] | None = None
        #: Place of each plugin that takes part, by name.
        self.filter_places = {plugin.name: place for place, plugin in enumerate(self._filters)}
        self.score_places: dict[str, int] = {}
        self.code = np.zeros((len(self._filters), size), np.uint8)
        self.reason = np.zeros((len(self._filters), size), np.int32)
        self.raw = np.zeros((0, size), np.int64)
        self._filtered = np.full(size, -1, np.int64)
        self._scored = np.full(size, -1, np.int64)
        self.order = table.order
        #: Set once a plugin has erred: then every pod is looked at by itself.
        self.is_broken = False

    # --- Filters ---

    def refresh_filters(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> bool:
        """Bring the verdicts on a slice of rows up to date; False when a plugin does not answer as it should."""
        current = table.generation[rows]
        stale = np.flatnonzero(self._filtered[rows] != current)
        if not len(stale):
            return True
        try:
            if len(stale) <= _FEW_ROWS:
                for row in (stale + rows.start).tolist():
                    self._filter_row(state, pod, table, row)
            else:
                self._filter_slice(state, pod, table, rows)
        except Exception:  # noqa: BLE001 - a plugin may raise anything; asked in the usual way it fails its pod
            self.is_broken = True
            return False
        self._filtered[rows] = current
        return True

    def _filter_row(self, state: CycleState, pod: PodInfo, table: NodeTable, row: int) -> None:
        info = table.infos[row]
        for place, plugin in enumerate(self._filters):
            status: Status | None = plugin.filter(state, pod, info)
            if status is None:
                self.code[place, row] = self.reason[place, row] = 0
            elif status.code in _REJECTIONS:
                self.code[place, row] = status.code
                self.reason[place, row] = REASONS.id_of(status.reasons)
            else:
                raise _UnusualAnswerError(plugin.name)

    def _filter_slice(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> None:
        for place, plugin in enumerate(self._filters):
            found: NodeStatuses = plugin.filter_nodes(state, pod, table, rows)
            if found.code.any() and not np.isin(found.code, (0, *_REJECTIONS)).all():
                raise _UnusualAnswerError(plugin.name)
            self.code[place, rows] = found.code
            self.reason[place, rows] = found.reason

    def verdicts(self, place: int, rows: slice) -> NodeStatuses:
        """Return what one filter says of a slice of rows; not to be changed."""
        return NodeStatuses(self.code[place, rows], self.reason[place, rows])

    # --- Scores ---

    def refresh_scores(
        self, active: Sequence[Any], state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> bool:
        """Bring the raw scores of rows: int64[F] up to date; False when a plugin does not answer as it should.

        `active` are the plugins that score the pod; those of the first time take part.
        """
        if self._scores is None:
            self._scores = tuple(each for each in active if _is_local(each, pod, "score_nodes"))
            self.score_places = {plugin.name: place for place, plugin in enumerate(self._scores)}
            self.raw = np.zeros((len(self._scores), len(table)), np.int64)
        current = table.generation[rows]
        stale = rows[self._scored[rows] != current]
        if not len(stale):
            return True
        try:
            if len(stale) <= _FEW_ROWS:
                for row in stale.tolist():
                    self._score_row(state, pod, table, row)
            else:
                self._score_rows(state, pod, table, stale)
        except Exception:  # noqa: BLE001 - a plugin may raise anything; asked in the usual way it fails its pod
            self.is_broken = True
            return False
        self._scored[rows] = current
        return True

    def _score_row(self, state: CycleState, pod: PodInfo, table: NodeTable, row: int) -> None:
        for place, plugin in enumerate(self._scores or ()):
            score, status = plugin.score(state, pod, table.infos[row])
            if status is not None:
                raise _UnusualAnswerError(plugin.name)
            self.raw[place, row] = operator.index(score)

    def _score_rows(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> None:
        for place, plugin in enumerate(self._scores or ()):
            scores = plugin.score_nodes(state, pod, table, rows)
            if isinstance(scores, Status):
                raise _UnusualAnswerError(plugin.name)
            self.raw[place, rows] = np.asarray(scores).astype(np.int64, casting="same_kind")


class EqualPods:
    """The evaluations of one profile. Pods that come alone get none."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._kept: OrderedDict[PodFacts, Evaluation] = OrderedDict()
        self._seen: OrderedDict[PodFacts, None] = OrderedDict()

    def of(self, pod: PodInfo, filters: Sequence[Any]) -> Evaluation | None:
        """Return the evaluation for pods like this one; None for the first of them. `filters` are those that run."""
        facts = pod.facts
        found = self._kept.get(facts)
        if found is not None and found.order == self._table.order:
            self._kept.move_to_end(facts)
            return None if found.is_broken else found
        if facts not in self._seen:
            self._seen[facts] = None
            if len(self._seen) > _SEEN_MAX:
                self._seen.popitem(last=False)
            return None
        local = [each for each in filters if _is_local(each, pod, "filter_nodes")]
        made = self._kept[facts] = Evaluation(local, self._table)
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return made


def _is_local(plugin: Any, pod: PodInfo, array_form: str) -> bool:
    if not hasattr(plugin, "is_row_local") or not hasattr(plugin, array_form):
        return False
    try:
        return bool(plugin.is_row_local(pod))
    except Exception:  # noqa: BLE001 - a plugin may raise anything; one that cannot say is asked about every pod
        return False
