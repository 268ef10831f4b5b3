"""What the cycles of pods that were made alike have in common, so that one of them need not find it out again (ADR 0013).

A routine is made of the steps that are prepared for such pods (`prepared`), once every plugin that looks at the pod before
filtering and scoring is known to answer the same for each of them: it is pod-local, or it says by `skips(pod, table)`
that it has nothing to do with the pod now. The next pod then takes what these plugins leave, and from the evaluation
(`equal_pods`) the nodes in turn and their totals.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from schedlab.scheduler.framework.interface import PreFilterResult
from schedlab.scheduler.framework.rows import piece, ring
from schedlab.scheduler.framework.status import SKIP, Status
from schedlab.scheduler.runtime.choice import heap_root
from schedlab.scheduler.runtime.diagnosis import left_out
from schedlab.scheduler.runtime.prepared import KeptSteps, Known, Steps, keep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.runtime.equal_pods import Evaluation, KeptScores, Layout
    from schedlab.scheduler.runtime.framework import Framework


class Found(NamedTuple):
    """What a routine cycle comes to.

    visited, feasible: int64[V], int64[F] rows in turn; chosen: the place of one of the latter; scores: of all plugins, None
    where there is nothing to choose.
    """

    visited: NDArray[np.int64]
    feasible: NDArray[np.int64]
    evaluation: Evaluation
    chosen: int = 0
    scores: tuple[KeptScores, Layout] | None = None


@dataclass(frozen=True, slots=True)
class _Point:
    """What the plugins of a point come to: statuses by name, which nodes they leave, what they write, who skips, and who must
    still say so.
    """

    statuses: dict[str, Status | None]
    named: dict[str, tuple[str, ...]]
    values: Mapping[object, Any]
    skipped: frozenset[str]
    quiet: tuple[Any, ...]

    @classmethod
    def of(cls, steps: Steps) -> _Point | None:
        """Join the steps of a point; None when a plugin has to be asked about every pod."""
        statuses: dict[str, Status | None] = {}
        named: dict[str, tuple[str, ...]] = {}
        values: dict[object, Any] = {}
        skipped: list[str] = []
        quiet: list[Any] = []
        for step in steps:
            if isinstance(step, Known):
                statuses |= step.statuses
                named |= step.named
                values |= step.values
                skipped += step.skipped
            elif hasattr(step, "skips"):
                statuses[step.name] = SKIP
                skipped.append(step.name)
                quiet.append(step)
            else:
                return None
        return cls(statuses, named, values, frozenset(skipped), tuple(quiet))


_NOTHING: Final = _Point({}, {}, {}, frozenset(), ())


@dataclass(frozen=True, slots=True)
class Routine:
    """The cycle of pods with the same facts; the dicts are in every record and not to be changed.

    only: the one node that is left before filtering, with what is said of the others; None: all are.
    filters: names of those that run. active, names, weights: the plugins that score.
    """

    pre_filter: dict[str, Status | None]
    pre_filter_nodes: dict[str, tuple[str, ...]]
    pre_score: dict[str, Status | None]
    only: tuple[str, Status] | None
    filters: tuple[str, ...]
    active: tuple[Any, ...]
    names: tuple[str, ...]
    weights: tuple[int, ...]
    _values: Mapping[object, Any]
    _skip_filter: frozenset[str]
    _skip_score: frozenset[str]
    _quiet: tuple[Any, ...]

    @classmethod
    def of(cls, framework: Framework, pre_filter: Steps, pre_score: Steps | None) -> Routine | None:
        """Make one of the steps before filtering and scoring; None when a plugin has to be asked about every pod.

        Only where one node is left it needs none before scoring.
        """
        first, second = _Point.of(pre_filter), _NOTHING if pre_score is None else _Point.of(pre_score)
        if first is None or second is None:
            return None
        only = None
        if first.named:
            left = reduce(PreFilterResult.merge, map(PreFilterResult, first.named.values())).node_names
            if left is None or len(left) != 1:
                return None
            only, second = (left[0], left_out(tuple(first.named))), _NOTHING
        elif pre_score is None:
            return None
        active = tuple(plugin for plugin in framework.score_plugins if plugin.name not in second.skipped)
        return cls(
            first.statuses,
            first.named,
            second.statuses,
            only,
            tuple(plugin.name for plugin in framework.filter_plugins if plugin.name not in first.skipped),
            active,
            tuple(plugin.name for plugin in active),
            tuple(framework.weights[plugin.name] for plugin in active),
            {**first.values, **second.values},
            first.skipped,
            second.skipped,
            tuple(dict.fromkeys((*first.quiet, *second.quiet))),
        )

    def find(
        self, framework: Framework, state: CycleState, pod: PodInfo, wanted: int, start: int, *, needs_all: bool
    ) -> Found | None:
        """Choose a node among so many, from row `start` on; None when this takes an ordinary cycle.

        It takes one unless the quiet plugins skip the pod, it is known that every filter passes all nodes in turn, and all
        scores are known and not changed by normalising; with `needs_all` the verdicts on all nodes must be known, too.
        `state` is then as plugins leave it.
        """
        table = framework.table
        for plugin in self._quiet:
            if not plugin.skips(pod, table):
                return None
        state.write_all(self._values)
        state.skip_filter, state.skip_score = self._skip_filter, self._skip_score
        evaluation = framework.evaluation(state, pod)
        if evaluation is None or evaluation.filter_names != self.filters:
            return None
        if self.only is None:
            found = self._find_among(framework, evaluation, state, pod, wanted, start)
        else:
            found = _find_only(self.only[0], evaluation, state, pod, table)
        return None if needs_all and not evaluation.is_whole(table) else found

    def _find_among(
        self, framework: Framework, evaluation: Evaluation, state: CycleState, pod: PodInfo, wanted: int, start: int
    ) -> Found | None:
        table = framework.table
        total = len(table)
        wanted = min(wanted, total)
        if wanted < 2:
            # One alone is not scored.
            return None
        start, size = start % total, min(total, wanted + 1)
        if not evaluation.pass_all(state, pod, table, start, size):
            return None
        feasible = ring(start, wanted, total)
        scores = evaluation.refresh_scores(self.active, framework.weights, state, pod, table, feasible)
        if scores is None or not scores.is_even:
            return None
        layout = scores.layout(self.names)
        if layout.others:
            return None
        chosen = heap_root(piece(scores.total, feasible))
        return Found(ring(start, size, total), feasible, evaluation, chosen, (scores, layout))


def _find_only(node: str, evaluation: Evaluation, state: CycleState, pod: PodInfo, table: NodeTable) -> Found | None:
    row = table.row_of.get(node)
    if row is None or not evaluation.pass_all(state, pod, table, row, 1):
        return None
    rows = ring(row, 1, len(table))
    return Found(rows, rows, evaluation)


class Routines:
    """The routines of one profile, of which it has one for pods that are made alike."""

    def __init__(self, framework: Framework) -> None:
        services = framework.services
        self._framework = framework
        self._kept: OrderedDict[PodFacts, Routine | None] = OrderedDict()
        #: Whether nobody hears of single steps of a cycle, and nobody but plugins has a say in it.
        self._are_possible = bool(
            framework.equal_pods is not None
            and framework.filter_plugins
            and framework.score_plugins
            and services.filter_tap is None
            and services.metrics is None
            and not services.extenders
        )

    def of(self, state: CycleState, pod: PodInfo, pre_filter: KeptSteps, pre_score: KeptSteps) -> Routine | None:
        """Return how a pod goes through its cycle, once the steps for pods like it are known; None when they differ, or
        others have a say in this cycle: its group, pods that are nominated, or a batch.
        """
        routine = self._known(pod, pre_filter, pre_score) if self._are_possible else None
        batch = self._framework.batch
        if (
            routine is None
            or state.in_pod_group_cycle
            or pod.pod.status.nominated_node_name
            or self._framework.nominator.node_names()
            or (batch is not None and batch.sign(pod) is not None)
        ):
            return None
        return routine

    def _known(self, pod: PodInfo, pre_filter: KeptSteps, pre_score: KeptSteps) -> Routine | None:
        facts = pod.facts
        if facts in self._kept:
            return self._kept[facts]
        first, second = pre_filter.get(facts), pre_score.get(facts)
        if first is None:
            return None
        made = Routine.of(self._framework, first, second)
        if made is not None or second is not None:
            keep(self._kept, pod, made)
        return made
