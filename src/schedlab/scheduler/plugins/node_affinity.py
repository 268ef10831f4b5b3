"""Keeps pods on nodes that their node selector and node affinity (and the profile's) name; scores preferred terms.

Mirrors: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go (v1.36).
Differs: an empty nodeSelector counts as none, which it is once the API server has stored it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.rules.node_affinity import (
    NAME_FIELD,
    ParsedNodeSelector,
    PreferredTerm,
    node_affinity_of,
    parse_node_selector,
    parse_preferred_terms,
    preferred_node_affinity,
    raise_errors,
    required_node_affinity,
)
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.selectors import SelectorError
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
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.node_masks import affinity_mask, any_term_mask, term_mask
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unresolvable
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.rules.node_affinity import ParsedTerm, RequiredNodeAffinity
    from schedlab.api.views.core import Node, NodeSelectorTerm
    from schedlab.apimachinery.selectors import Requirement, Selector
    from schedlab.scheduler.config.args import NodeAffinityArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_POD: Final = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT: Final = "pod affinity terms conflict"

_NOT_MATCHED: Final = unresolvable(REASON_POD)
_NOT_ENFORCED: Final = unresolvable(REASON_ENFORCED)
_CONFLICT: Final = unresolvable(REASON_CONFLICT)

_PRE_FILTER_KEY: Final = "PreFilterNodeAffinity"
_PRE_SCORE_KEY: Final = "PreScoreNodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class _FilterState:
    """What pods require, and which nodes have it once anybody asked for all of them."""

    __slots__ = ("_known", "required")

    def __init__(self, required: RequiredNodeAffinity) -> None:
        self.required = required
        self._known: tuple[NodeTable, int, NDArray[np.bool_]] | None = None

    def mask(self, table: NodeTable) -> NDArray[np.bool_]:
        """Return bool[N]; it holds until a node changes."""
        known = self._known
        if known is None or known[0] is not table or known[1] != table.nodes_version:
            known = self._known = table, table.nodes_version, affinity_mask(table, self.required)
        return known[2]


class NodeAffinity:
    """The plugin."""

    name = "NodeAffinity"
    looks_at = score_looks_at = "node"
    normalized_zeros = 0

    def __init__(self, args: NodeAffinityArgs, _handle: Handle) -> None:
        """SelectorError when the added affinity cannot be parsed."""
        self._added_required: ParsedNodeSelector | None = None
        self._added_preferred: tuple[PreferredTerm, ...] | None = None
        added = args.added_affinity
        if added is None:
            return
        if added.required_during_scheduling_ignored_during_execution is not None:
            self._added_required = parse_node_selector(
                added.required_during_scheduling_ignored_during_execution, Path("addedAffinity", _REQUIRED)
            )
            raise_errors(self._added_required.errors)
        if added.preferred_during_scheduling_ignored_during_execution:
            self._added_preferred = parse_preferred_terms(
                added.preferred_during_scheduling_ignored_during_execution, Path("addedAffinity", _PREFERRED)
            )

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        affinity = node_affinity_of(pod.pod)
        required = None if affinity is None else affinity.required_during_scheduling_ignored_during_execution
        if required is None and self._added_required is None and not pod.pod.spec.node_selector:
            return None, SKIP
        state.write(_PRE_FILTER_KEY, _FilterState(required_node_affinity(pod.pod)))
        names = _named_nodes(required.node_selector_terms) if required is not None else None
        if names is None:
            return None, None
        return (PreFilterResult(names), None) if names else (None, _CONFLICT)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if self._added_required is not None and not self._added_required.matches(node.node):
            return _NOT_ENFORCED
        # Terms in error match nothing and are not reported, as ever.
        return None if _filter_state(state, pod).required.matches(node.node) else _NOT_MATCHED

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        matched = _filter_state(state, pod).mask(table)[rows]
        statuses = NodeStatuses.success(len(matched))
        if self._added_required is not None:
            statuses.reject(~any_term_mask(table, self._added_required.terms)[rows], _NOT_ENFORCED)
        statuses.reject(~matched, _NOT_MATCHED)
        return statuses

    def pre_score(self, state: CycleState, pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]) -> Status | None:
        try:
            preferred = preferred_node_affinity(pod.pod)
        except SelectorError as wrong:
            return error(str(wrong))
        if preferred is None and self._added_preferred is None:
            return SKIP
        state.write(_PRE_SCORE_KEY, preferred or ())
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        try:
            terms = self._preferred_terms(state, pod)
        except SelectorError as wrong:
            return 0, error(str(wrong))
        return sum(weight for weight, term in terms if term.matches(node.node)), None

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        try:
            terms = self._preferred_terms(state, pod)
        except SelectorError as wrong:
            return error(str(wrong))
        scores = np.zeros(len(rows), np.int64)
        for weight, term in terms:
            scores += weight * term_mask(table, term)[rows]
        return scores

    def normalize_score(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, scores)
        return None

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        required = _filter_state(state, pod).required
        facts: list[Fact] = []
        if self._added_required is not None:
            facts.append(_explain_terms("the profile's affinity", self._added_required.terms, node.node))
        if required.labels is not None:
            facts += [_explain_label(each, node.node) for each in required.labels.requirements]
        if required.selector is not None:
            facts.append(_explain_terms("node affinity", required.selector.terms, node.node))
        return facts

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        terms = self._preferred_terms(state, pod)
        matched = [each for each in terms if each.term.matches(node.node)]
        inputs = {"terms": [{"weight": each.weight, "term": term_text(each.term)} for each in matched]}
        return Formula(" + ".join(str(each.weight) for each in matched) or "0", inputs)

    def explain_normalized(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], raw: NDArray[np.int64], at: int
    ) -> Formula:
        return explain_default_normalize(raw, at)

    def explain_filter_by(
        self, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        required = _filter_state(state, pod).required
        selectors = (required.selector, self._added_required)
        terms = [term for selector in selectors if selector is not None for term in selector.terms]
        return _looked_at(table, terms, [] if required.labels is None else [required.labels])

    def explain_score_by(self, state: CycleState, pod: PodInfo, table: NodeTable) -> Sequence[NDArray[np.integer[Any]]]:
        return _looked_at(table, [preferred.term for preferred in self._preferred_terms(state, pod)])

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        selector = tuple(sorted(pod.pod.spec.node_selector.items()))
        affinity = signers.node_affinity_signature(pod.pod)
        return ((signers.NODE_AFFINITY, affinity), (signers.NODE_SELECTOR, selector)), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (ClusterEventWithHint(node, self._after_node_change),)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        if self._added_required is not None and not self._added_required.matches(new):
            return QueueingHint.SKIP
        required = required_node_affinity(pod.pod)
        if not required.matches_or_raises(new):
            return QueueingHint.SKIP
        matched_before = old is not None and required.matches_or_raises(old)
        return QueueingHint.SKIP if matched_before else QueueingHint.QUEUE

    def _preferred_terms(self, state: CycleState, pod: PodInfo) -> tuple[PreferredTerm, ...]:
        """The profile's terms and the pod's; SelectorError where pre_score did not run and they cannot be parsed."""
        preferred: tuple[PreferredTerm, ...] | None = state.find(_PRE_SCORE_KEY)
        if preferred is None:
            preferred = preferred_node_affinity(pod.pod) or ()
        return (*(self._added_preferred or ()), *preferred)


def term_text(term: ParsedTerm) -> str:
    """Return a term in the way of kubectl's selectors; every part of it must hold."""
    parts = [] if term.labels is None else [str(term.labels)]
    parts += [f"{each.key}{'=' if each.is_equal else '!='}{each.value}" for each in term.fields]
    return ",".join(parts) if not term.errors else "a term in error"


def _looked_at(
    table: NodeTable, terms: Sequence[ParsedTerm], selectors: Sequence[Selector] = ()
) -> Sequence[NDArray[np.integer[Any]]]:
    """Return the labels that terms and selectors speak of, [N] each; the rows where fields of a node are meant."""
    if any(term.fields for term in terms):
        return (np.arange(len(table)),)
    labels = (*selectors, *(term.labels for term in terms if term.labels is not None))
    keys = dict.fromkeys(each.key for one in labels for each in one.requirements)
    return [table.label(key).ids for key in keys]


def _explain_label(wanted: Requirement, node: Node) -> Fact:
    has = node.metadata.labels.get(wanted.key)
    fits = wanted.matches(node.metadata.labels)
    there = f"no label {wanted.key}" if has is None else f"{wanted.key}={has}"
    return Fact(f"selector {wanted}, the node has {there}", {"selector": str(wanted), "has": has}, fits)


def _explain_terms(whose: str, terms: Sequence[ParsedTerm], node: Node) -> Fact:
    """One of the terms must match: say which does, or what each of them misses."""
    met = next((term for term in terms if term.matches(node)), None)
    if met is not None:
        return Fact(f"{whose} {term_text(met)} is met", {"term": term_text(met)}, fits=True)
    missed = [{"term": term_text(term), "missing": _explain_missing(term, node)} for term in terms]
    wanted = " or ".join(f"({term_text(term)})" for term in terms) or "nothing, which no node is"
    lacking = "; ".join(dict.fromkeys(text for each in missed for text in each["missing"]))
    return Fact(f"{whose} wants {wanted}{f': {lacking}' if lacking else ''}", {"terms": missed}, fits=False)


def _explain_missing(term: ParsedTerm, node: Node) -> list[str]:
    labels = node.metadata.labels
    if term.errors:
        return [str(each) for each in term.errors]
    wrong = [each.key for each in (term.labels.requirements if term.labels else ()) if not each.matches(labels)]
    missing = [f"the node has {key}={labels[key]}" if key in labels else f"the node has no {key}" for key in wrong]
    return missing + [
        f"the node is {node.metadata.name}" for each in term.fields if not each.matches(node.metadata.name)
    ]


def _filter_state(state: CycleState, pod: PodInfo) -> _FilterState:
    """What pre_filter kept, or the same made now where it is disabled."""
    found: _FilterState | None = state.find(_PRE_FILTER_KEY)
    if found is None:
        found = _FilterState(required_node_affinity(pod.pod))
        state.write(_PRE_FILTER_KEY, found)
    return found


def _named_nodes(terms: Sequence[NodeSelectorTerm]) -> tuple[str, ...] | None:
    """The only nodes that can match, if every term names its own; none of them when the names contradict."""
    names: dict[str, None] = {}
    for term in terms:
        of_term = _intersection(
            each.values for each in term.match_fields if each.key == NAME_FIELD and each.operator == "In"
        )
        if of_term is None:
            return None
        names.update(dict.fromkeys(of_term))
    return tuple(names) if terms else None


def _intersection(lists: Iterable[Sequence[str]]) -> list[str] | None:
    """What is in every list; None when there is no list."""
    common: list[str] | None = None
    for values in lists:
        common = list(values) if common is None else [value for value in common if value in values]
    return common


ENTRY: Final = PluginEntry(NodeAffinity.name, NodeAffinity)
