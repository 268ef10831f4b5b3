"""PodTopologySpread: keep pods of a kind evenly spread over zones, hosts or other domains.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go (v1.36).
Differs: the counts of pods are kept between cycles (`framework.pod_index`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.api.views.core import TopologySpreadConstraint
from schedlab.apimachinery.selectors import SelectorError
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unschedulable
from schedlab.scheduler.plugins.pod_topology_spread import filtering, scoring
from schedlab.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    Constraint,
    ConstraintSource,
    has_all_keys,
)
from schedlab.scheduler.plugins.pod_topology_spread.counted_nodes import KeptNodes, NodeRules, all_keys_mask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node, Pod
    from schedlab.scheduler.config.args import PodTopologySpreadArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle, PreFilterResult
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

NAME: Final = "PodTopologySpread"
SYSTEM_DEFAULTING: Final = "System"

SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key="kubernetes.io/hostname", when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY
    ),
)

_FILTER_STATE: Final = f"PreFilter{NAME}"
_SCORE_STATE: Final = f"PreScore{NAME}"
_NO_FILTER_STATE: Final = error(f'reading "{_FILTER_STATE}" from cycleState: not found')
_NO_SCORE_STATE: Final = error(f'error reading "{_SCORE_STATE}" from cycleState: not found')
_NOT_SIGNABLE: Final = unschedulable("pods with topology constraints are not signable")
_DEFAULTS_NOT_SIGNABLE: Final = unschedulable("pods with default topology constraints are not signable")


class PodTopologySpread:
    """See the module."""

    name: Final = NAME

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system_defaulted = args.defaulting_type == SYSTEM_DEFAULTING
        self._comparison = handle.features.enabled("TaintTolerationComparisonOperators")
        self._constraints = ConstraintSource(
            handle.listers,
            SYSTEM_DEFAULTS if self._system_defaulted else args.default_constraints,
            merges_match_label_keys=handle.features.enabled("MatchLabelKeysInPodTopologySpread"),
        )
        self._filtered_nodes = KeptNodes(comparison=self._comparison)
        self._filter_states = filtering.KeptStates()
        self._scored_nodes = KeptNodes(comparison=self._comparison)
        # From the start, when there are few pods, lest the first cycle takes long.
        PodIndex.of(handle.table)

    def counted_nodes(self, pod: PodInfo, table: NodeTable) -> Sequence[tuple[Constraint, NDArray[np.bool_]]]:
        """Return the hard constraints of a pod, each with bool[N], the nodes that count for it; raises SelectorError."""
        constraints = self._constraints.of(pod, DO_NOT_SCHEDULE)
        rules = NodeRules(table, pod, required_node_affinity(pod.pod), comparison=self._comparison)
        with_keys = all_keys_mask(table, constraints)
        return [(one, with_keys & rules.counted(one)) for one in constraints]

    # --- Queue ---

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        """What a constraint leads to depends on other pods than this one, so there is nothing to sign."""
        if pod.pod.spec.topology_spread_constraints:
            return None, _NOT_SIGNABLE
        if self._constraints.defaults:
            return None, _DEFAULTS_NOT_SIGNABLE
        return (), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Pods come, go and change labels; nodes join, leave and move; a new toleration lets more nodes count."""
        pod_action = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION | ActionType.DELETE
        node_action = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_action), self._after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_action), self._after_node_change),
        )

    def _after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Queue when a counted pod came or went, changed whether it counts, or more nodes are tolerated."""
        if any(changed is not None and not _is_involved(changed, pod) for changed in (old, new)):
            return QueueingHint.SKIP
        constraints = self._constraints.of(pod, DO_NOT_SCHEDULE)
        if old is None or new is None:
            changed = new if old is None else old
            assert changed is not None, "a pod event without a pod"
            labels = changed.metadata.labels
            return _queue_if(any(constraint.selector.matches(labels) for constraint in constraints))
        if (
            new.metadata.uid == pod.uid
            and new.spec.tolerations != old.spec.tolerations
            and any(constraint.honor_taints for constraint in constraints)
        ):
            return QueueingHint.QUEUE
        return _queue_if(
            any(
                constraint.selector.matches(old.metadata.labels) != constraint.selector.matches(new.metadata.labels)
                for constraint in constraints
            )
        )

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node | None) -> QueueingHint:
        """Queue when a node with all topology keys came, went, changed domain or taints."""
        constraints = self._constraints.of(pod, DO_NOT_SCHEDULE)
        had_keys = old is not None and has_all_keys(old.metadata.labels, constraints)
        has_keys = new is not None and has_all_keys(new.metadata.labels, constraints)
        if had_keys != has_keys:
            return QueueingHint.QUEUE
        if old is None or new is None or not has_keys:
            return QueueingHint.SKIP
        return _queue_if(_domain_changed(old, new, constraints) or old.spec.taints != new.spec.taints)

    # --- Filter ---

    def pre_filter(
        self, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        """Count the pods in every domain; without hard constraints there is nothing to filter."""
        if not self._constraints.may_have(pod, DO_NOT_SCHEDULE):
            return None, SKIP
        try:
            constraints = self._constraints.of(pod, DO_NOT_SCHEDULE)
        except SelectorError as cause:
            return None, error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {cause}")
        if not constraints:
            return None, SKIP
        nodes = self._filtered_nodes.of(table, pod, constraints)
        state.write(_FILTER_STATE, self._filter_states.of(table, pod, nodes))
        return None, None

    def skips(self, pod: PodInfo, _table: NodeTable) -> bool:
        """See framework.PodLocalPlugin: the pod has no constraints, and no default ones apply to it."""
        return not (pod.pod.spec.topology_spread_constraints or self._constraints.defaults_apply(pod))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        """Count a pod in for a dry run."""
        return self._update(state, pod, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        """Count a pod out for a dry run."""
        return self._update(state, pod, removed, node, -1)

    def _update(self, state: CycleState, pod: PodInfo, changed: PodInfo, node: NodeInfo, step: int) -> Status | None:
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        if own is None:
            return _NO_FILTER_STATE
        filtering.update_with_pod(own, pod, changed, node.node, step, comparison=self._comparison)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """See filtering.filter_node."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        return _NO_FILTER_STATE if own is None else filtering.filter_node(own, node)

    def explain_filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        """See filtering.explain_node."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        return () if own is None else filtering.explain_node(own, node)

    def explain_filter_by(
        self, state: CycleState, _pod: PodInfo, _table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        """The domains of hard constraints."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        return [] if own is None else [domains.label.ids for domains in own.domains]

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        """See filtering.filter_rows."""
        size = len(range(*rows.indices(len(table))))
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        if own is None:
            return NodeStatuses.of([_NO_FILTER_STATE] * size)
        return filtering.filter_rows(own, rows, size)

    def changed_verdicts(
        self, state: CycleState, _pod: PodInfo, _table: NodeTable, since: object | None
    ) -> tuple[object, Sequence[int] | None]:
        """Domains are large, so it is nothing or everything that may have changed."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        mark = None if own is None else filtering.mark_of(own)
        return mark, () if mark is not None and mark == since else None

    # --- Score ---

    def pre_score(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> Status | None:
        """Count the pods in every domain; without soft constraints there is nothing to score."""
        if not len(table) or not self._constraints.may_have(pod, SCHEDULE_ANYWAY):
            return SKIP
        try:
            constraints = self._constraints.of(pod, SCHEDULE_ANYWAY)
        except SelectorError as cause:
            return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {cause}")
        if not constraints:
            return SKIP
        # The system's defaults are meant for every cluster, so there they make do with the keys a node has.
        requires_all_keys = bool(pod.pod.spec.topology_spread_constraints) or not self._system_defaulted
        nodes = self._scored_nodes.of(table, pod, constraints, requires_all_keys=requires_all_keys)
        state.write(_SCORE_STATE, scoring.make_state(table, nodes, rows))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        """See scoring.score_node."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return (0, _NO_SCORE_STATE) if own is None else (scoring.score_node(own, pod, node), None)

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        """See scoring.score_rows."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return _NO_SCORE_STATE if own is None else scoring.score_rows(own, rows)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        """See scoring.explain_score."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return Formula("0") if own is None else scoring.explain_score(own, pod, node)

    def explain_score_by(
        self, state: CycleState, _pod: PodInfo, _table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        """The domains of soft constraints."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return [] if own is None else [domains.label.ids for domains in own.domains]

    def explain_normalized(
        self, state: CycleState, _pod: PodInfo, rows: NDArray[np.int64], raw: NDArray[np.int64], at: int
    ) -> Formula:
        """See scoring.explain_normalized."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return Formula("0") if own is None else scoring.explain_normalized(own, rows, raw, at)

    def normalize_score(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        """See scoring.normalize."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        if own is None:
            return _NO_SCORE_STATE
        scoring.normalize(own, rows, scores)
        return None


def _queue_if(condition: bool) -> QueueingHint:  # noqa: FBT001 - a condition is all there is to say
    return QueueingHint.QUEUE if condition else QueueingHint.SKIP


def _is_involved(changed: Pod, pod: PodInfo) -> bool:
    """Whether a changed pod can matter to the spreading of `pod`: itself, or one with a place in its namespace."""
    if changed.metadata.uid == pod.uid:
        return True
    if not changed.spec.node_name and not changed.status.nominated_node_name:
        return False
    return changed.metadata.namespace == pod.namespace


def _domain_changed(old: Node, new: Node, constraints: Sequence[Constraint]) -> bool:
    return any(
        old.metadata.labels.get(constraint.topology_key) != new.metadata.labels.get(constraint.topology_key)
        for constraint in constraints
    )


ENTRY: Final = PluginEntry(NAME, PodTopologySpread)
