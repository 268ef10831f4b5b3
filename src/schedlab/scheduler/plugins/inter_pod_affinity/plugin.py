"""InterPodAffinity: keep a pod near to or away from other pods, as it or they ask for.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go (v1.36).
Differs: pods and terms are counted between cycles (`framework.pod_index`, `terms`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.selectors import SelectorError
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.helpers.signers import LABELS
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unresolvable, unschedulable
from schedlab.scheduler.framework.types import AffinityTerm, PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity import explaining, filtering, scoring
from schedlab.scheduler.plugins.inter_pod_affinity.terms import KeptByFacts, TermIndex, TermLookups, matches_all

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node, Pod
    from schedlab.scheduler.config.args import InterPodAffinityArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle, PreFilterResult
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo

NAME: Final = "InterPodAffinity"

_FILTER_STATE: Final = f"PreFilter{NAME}"
_SCORE_STATE: Final = f"PreScore{NAME}"
_EXPLAINED_FILTER: Final = f"ExplainedFilter{NAME}"
_EXPLAINED_SCORE: Final = f"ExplainedScore{NAME}"
_NO_FILTER_STATE: Final = error(f'error reading "{_FILTER_STATE}" from cycleState: not found')
_NO_SCORE_STATE: Final = error(f'failed to read "{_SCORE_STATE}" from cycleState: not found')
#: Kinds of terms of pods on nodes that scores can depend on.
_SCORED: Final = (TermKind.REQUIRED, TermKind.PREFERRED, TermKind.PREFERRED_ANTI)
_NOT_SIGNABLE: Final = unschedulable("pods with InterPodAffinity are not signable")


class InterPodAffinity:
    """See the module."""

    name: Final = NAME

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._handle = handle
        assert args.hard_pod_affinity_weight is not None
        self._hard_affinity_weight = args.hard_pod_affinity_weight
        self._ignores_preferred_terms_of_others = args.ignore_preferred_terms_of_existing_pods
        self._namespaces = handle.listers.lister("namespaces")
        self._lookups = TermLookups(self._namespaces)
        self._weights = scoring.KnownWeights()
        self._filter_states: KeptByFacts[filtering.FilterState] = KeptByFacts(self._namespaces)
        self._score_parts: KeptByFacts[scoring.Parts] = KeptByFacts(self._namespaces)
        # From the start, when there are few pods, lest the first cycle takes long.
        PodIndex.of(handle.table)
        TermIndex.of(handle.table)

    # --- Queue ---

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        """Terms depend on other pods, so pods with them cannot be signed; the terms of others see a pod's labels."""
        if pod.has_affinity:
            return None, _NOT_SIGNABLE
        if self._ignores_preferred_terms_of_others:
            return (), None
        return ((LABELS, tuple(sorted(pod.labels.items()))),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Pods come, go and change labels; nodes join and change domains."""
        pod_action = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        node_action = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_action), self._after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_action), self._after_node_change),
        )

    def _after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Queue when a pod came or went that the terms, of either side, speak of."""
        if old is not None and new is not None and new.metadata.uid == pod.uid:
            # Its own labels changed: others may not mind it any more.
            return QueueingHint.QUEUE
        if any(changed is not None and not _has_place(changed) for changed in (old, new)):
            return QueueingHint.SKIP
        terms, anti_terms = pod.required_affinity_terms, pod.required_anti_affinity_terms
        before = PodInfo(old) if old is not None else None
        after = PodInfo(new) if new is not None else None
        if before is not None and after is not None:
            came = not matches_all(terms, before) and matches_all(terms, after)
            went = matches_all(anti_terms, before) and not matches_all(anti_terms, after)
            return _queue_if(came or went)
        if after is not None:
            return _queue_if(matches_all(terms, after))
        assert before is not None, "a pod event without a pod"
        return _queue_if(matches_all(anti_terms, before) or matches_all(before.required_anti_affinity_terms, pod))

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node | None) -> QueueingHint:
        """Queue when a node joined, or moved to or left a domain, in a way that a term can gain from."""
        assert new is not None, "only nodes that join or change are asked about"
        if old is None:
            near = any(term.topology_key in new.metadata.labels for term in pod.required_affinity_terms)
            # Away from pods is possible on a node without the label too, so any node may do.
            return _queue_if(near or bool(pod.required_anti_affinity_terms))
        moved = _any_change(pod.required_affinity_terms, old, new, lost=False) or _any_change(
            pod.required_anti_affinity_terms, old, new, lost=True
        )
        return _queue_if(moved)

    # --- Filter ---

    def pre_filter(
        self, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        """Count what terms speak of; where none does and the pod has none there is nothing to filter."""
        try:
            if not (
                pod.required_affinity_terms
                or pod.required_anti_affinity_terms
                or TermIndex.of(table).has(TermKind.REQUIRED_ANTI)
            ):
                return None, SKIP
            own = filtering.make_state(table, pod, self._namespaces, self._lookups, self._filter_states)
        except SelectorError as cause:
            return None, unresolvable(f"parsing pod: {cause}")
        if not own.affinity_terms and not own.anti_terms and own.existing_anti.is_zero:
            return None, SKIP
        state.write(_FILTER_STATE, own)
        return None, None

    def skips(self, pod: PodInfo, table: NodeTable) -> bool:
        """See framework.PodLocalPlugin: neither the pod nor any on a node has a term."""
        return not pod.facts.has_affinity and TermIndex.of(table).is_empty

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        """Count a pod in for a dry run."""
        return _update(state, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        """Count a pod out for a dry run."""
        return _update(state, removed, node, -1)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """See filtering.filter_node."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        return _NO_FILTER_STATE if own is None else filtering.filter_node(own, node)

    def explain_filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        """See explaining.explain_filter."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        if own is None:
            return ()
        return explaining.explain_filter(own, self._explained_terms(state, own), self._handle.table, node)

    def _explained_terms(self, state: CycleState, own: filtering.FilterState) -> explaining.TermNumbers:
        numbers: explaining.TermNumbers | None = state.find(_EXPLAINED_FILTER)
        if numbers is None:
            numbers = explaining.TermNumbers.of(own, self._handle.table)
            state.write(_EXPLAINED_FILTER, numbers)
        return numbers

    def explain_filter_by(
        self, state: CycleState, _pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        """The domains of required terms."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        keys = () if own is None else self._explained_terms(state, own).keys
        return [table.label(key).ids for key in dict.fromkeys(keys)]

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        """See filtering.filter_rows."""
        size = len(range(*rows.indices(len(table))))
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        if own is None:
            return NodeStatuses.of([_NO_FILTER_STATE] * size)
        return filtering.filter_rows(own, table, rows, size)

    def changed_verdicts(
        self, state: CycleState, pod: PodInfo, table: NodeTable, since: object | None
    ) -> tuple[object, Sequence[int] | None]:
        """See filtering.changed_rows."""
        own: filtering.FilterState | None = state.find(_FILTER_STATE)
        if own is None or not isinstance(since, filtering.Mark | None):
            return None, None
        return filtering.changed_rows(own, since)

    # --- Score ---

    def pre_score(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> Status | None:
        """Weigh what terms speak of; where none does there is nothing to score."""
        has_preferences = bool(pod.preferred_affinity_terms or pod.preferred_anti_affinity_terms)
        if not has_preferences and (self._ignores_preferred_terms_of_others or not TermIndex.of(table).has(*_SCORED)):
            return SKIP
        own = scoring.make_state(
            table, pod, self._namespaces, self._hard_affinity_weight, self._lookups, self._weights, self._score_parts
        )
        if not own:
            return SKIP
        state.write(_SCORE_STATE, own)
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        """See scoring.score_node."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return (0, _NO_SCORE_STATE) if own is None else (scoring.score_node(own, node), None)

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        """See scoring.score_rows."""
        own: scoring.ScoreState | None = state.find(_SCORE_STATE)
        return _NO_SCORE_STATE if own is None else scoring.score_rows(own, rows)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        """See explaining.explain_score."""
        return explaining.explain_score(self._explained_parts(state, pod), node)

    def _explained_parts(self, state: CycleState, pod: PodInfo) -> Sequence[scoring.Contribution]:
        """Look for the preferred terms once, for all nodes."""
        parts: Sequence[scoring.Contribution] | None = state.find(_EXPLAINED_SCORE)
        if parts is None:
            terms = scoring.contributions(
                self._handle.table, pod, self._namespaces, self._hard_affinity_weight, self._lookups
            )
            parts = tuple(terms)
            state.write(_EXPLAINED_SCORE, parts)
        return parts

    def explain_score_by(self, state: CycleState, pod: PodInfo, table: NodeTable) -> Sequence[NDArray[np.integer[Any]]]:
        """The domains of preferred terms."""
        parts = self._explained_parts(state, pod)
        return [table.label(key).ids for key in dict.fromkeys(part.sums.label.key for part in parts)]

    def explain_normalized(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], raw: NDArray[np.int64], at: int
    ) -> Formula:
        """See explaining.explain_normalized."""
        return explaining.explain_normalized(raw, at)

    def normalize_score(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        """See scoring.normalize."""
        if state.find(_SCORE_STATE) is None:
            return _NO_SCORE_STATE
        scoring.normalize(scores)
        return None


def _update(state: CycleState, changed: PodInfo, node: NodeInfo, step: int) -> Status | None:
    own: filtering.FilterState | None = state.find(_FILTER_STATE)
    if own is None:
        return _NO_FILTER_STATE
    filtering.update_with_pod(own, changed, node.node, step)
    return None


def _queue_if(condition: bool) -> QueueingHint:  # noqa: FBT001 - a condition is all there is to say
    return QueueingHint.QUEUE if condition else QueueingHint.SKIP


def _has_place(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _any_change(terms: Iterable[AffinityTerm], old: Node, new: Node, *, lost: bool) -> bool:
    """Whether the node moved from one domain to another, or out of one (`lost`) or into one (not `lost`)."""
    for term in terms:
        before = old.metadata.labels.get(term.topology_key)
        after = new.metadata.labels.get(term.topology_key)
        if before != after and (before if lost else after) is not None:
            return True
    return False


ENTRY: Final = PluginEntry(NAME, InterPodAffinity)
