"""Turns down nodes with taints that the pod does not tolerate, and prefers nodes with fewer soft ones.

Mirrors: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from schedlab.api.rules.taints import DO_NOT_SCHEDULE, PREFER_NO_SCHEDULE, find_untolerated, tolerates_any
from schedlab.api.views.core import Taint, Toleration
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.helpers.normalize import default_normalize_score, explain_default_normalize
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import NodeStatuses, Status, error, unresolvable
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node, Pod
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import Interner, NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_UNTOLERATED: Final = "node(s) had untolerated taint(s)"

_UNTOLERATED: Final = unresolvable(REASON_UNTOLERATED)
_PRE_SCORE_KEY: Final = "PreScoreTaintToleration"
_NO_PRE_SCORE: Final = error(f'failed to read "{_PRE_SCORE_KEY}" from cycleState: not found')

Tolerations: TypeAlias = tuple[Toleration, ...]


class TaintToleration:
    """The plugin."""

    name = "TaintToleration"
    looks_at = score_looks_at = "node"
    normalized_zeros = MAX_NODE_SCORE

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._comparison = handle.features.enabled("TaintTolerationComparisonOperators")
        self._untolerated_by_set = VerdictsByTaintSet(self._is_untolerated)
        self._intolerable_by_set = VerdictsByTaintSet(self._count_intolerable)

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return _UNTOLERATED if self._is_untolerated(node.node.spec.taints, pod.pod.spec.tolerations) else None

    def filter_nodes(self, _state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        verdicts = self._untolerated_by_set.of(table.taint_sets, pod.pod.spec.tolerations)
        statuses = NodeStatuses.success(len(table.taint_set[rows]))
        statuses.reject(verdicts[table.taint_set[rows]] > 0, _UNTOLERATED)
        return statuses

    def pre_score(self, state: CycleState, pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]) -> Status | None:
        soft = tuple(each for each in pod.pod.spec.tolerations if each.effect in ("", PREFER_NO_SCHEDULE))
        state.write(_PRE_SCORE_KEY, soft)
        return None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        tolerations: Tolerations | None = state.find(_PRE_SCORE_KEY)
        if tolerations is None:
            return 0, _NO_PRE_SCORE
        return self._count_intolerable(node.node.spec.taints, tolerations), None

    def score_nodes(
        self, state: CycleState, _pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        tolerations: Tolerations | None = state.find(_PRE_SCORE_KEY)
        if tolerations is None:
            return _NO_PRE_SCORE
        return self._intolerable_by_set.of(table.taint_sets, tolerations)[table.taint_set[rows]]

    def normalize_score(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, scores, reverse=True)
        return None

    def explain_filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        facts = []
        for taint in node.node.spec.taints:
            if taint.effect not in DO_NOT_SCHEDULE:
                continue
            tolerated = tolerates_any(pod.pod.spec.tolerations, taint, comparison=self._comparison)
            text = f"taint {taint_text(taint)} is {'tolerated' if tolerated else 'not tolerated'}"
            facts.append(Fact(text, {"taint": taint_text(taint), "tolerated": tolerated}, tolerated))
        return facts or (Fact("the node has no taint that keeps pods away", {}, fits=True),)

    def explain_score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Formula:
        tolerations: Tolerations = state.find(_PRE_SCORE_KEY) or ()
        soft = [taint for taint in node.node.spec.taints if taint.effect == PREFER_NO_SCHEDULE]
        counted = [taint_text(taint) for taint in soft if self._count_intolerable((taint,), tolerations)]
        return Formula(" + ".join("1" for _ in counted) or "0", {"untoleratedSoftTaints": counted})

    def explain_normalized(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], raw: NDArray[np.int64], at: int
    ) -> Formula:
        return explain_default_normalize(raw, at, reverse=True)

    def explain_filter_by(
        self, _state: CycleState, _pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        return (table.taint_set,)

    def explain_score_by(
        self, _state: CycleState, _pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        return (table.taint_set,)

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.TOLERATIONS, signers.tolerations_signature(pod.pod)),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node, self._after_node_change),
            ClusterEventWithHint(pod, _after_toleration_change),
        )

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        tolerations = pod.pod.spec.tolerations
        was_shut = old is None or self._is_untolerated(old.spec.taints, tolerations)
        opened = was_shut and not self._is_untolerated(new.spec.taints, tolerations)
        return QueueingHint.QUEUE if opened else QueueingHint.SKIP

    def _is_untolerated(self, taints: Sequence[Taint], tolerations: Tolerations) -> bool:
        return find_untolerated(taints, tolerations, comparison=self._comparison) is not None

    def _count_intolerable(self, taints: Sequence[Taint], tolerations: Tolerations) -> int:
        return sum(
            taint.effect == PREFER_NO_SCHEDULE and not tolerates_any(tolerations, taint, comparison=self._comparison)
            for taint in taints
        )


def _after_toleration_change(pod: PodInfo, _old: Pod | None, new: Pod) -> QueueingHint:
    return QueueingHint.QUEUE if new.metadata.uid == pod.uid else QueueingHint.SKIP


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl writes it: key=value:effect."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


class VerdictsByTaintSet:
    """What a rule says of every distinct set of taints, kept for the tolerations asked about lately.

    Sets are numbered and only get more, so that an answer is extended and never wrong.
    """

    _KEPT_MAX: Final = 256

    def __init__(self, rule: Callable[[Sequence[Taint], Tolerations], int]) -> None:
        self._rule = rule
        self._sets: Interner | None = None
        self._known: dict[Tolerations, NDArray[np.int64]] = {}

    def of(self, sets: Interner, tolerations: Tolerations) -> NDArray[np.int64]:
        """Return int64[S], the rule's verdict on each of the S sets."""
        if sets is not self._sets:
            self._sets = sets
            self._known.clear()
        known = self._known.get(tolerations)
        if known is None or len(known) < len(sets):
            done = 0 if known is None else len(known)
            fresh = [self._rule(cast("Sequence[Taint]", taints), tolerations) for taints in sets.values()[done:]]
            known = np.array(fresh, np.int64) if known is None else np.append(known, np.array(fresh, np.int64))
            if len(self._known) >= self._KEPT_MAX:
                self._known.clear()
            self._known[tolerations] = known
        return known


ENTRY: Final = PluginEntry(TaintToleration.name, TaintToleration)
