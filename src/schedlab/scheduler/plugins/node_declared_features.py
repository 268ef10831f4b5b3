"""Keeps pods that need a feature of their node on nodes that declare it.

Mirrors: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from schedlab.api.rules.declared_features import FeatureSet, known_features, required_features, signature
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.node_table import Interner, take_rows
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node, Pod
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_UNSATISFIED: Final = "node(s) didn't match Pod's required features"

_UNSATISFIED: Final = unresolvable(REASON_UNSATISFIED)
_PRE_FILTER_KEY: Final = "PreFilterNodeDeclaredFeatures"
_NO_PRE_FILTER: Final = error(f'error reading "{_PRE_FILTER_KEY}" from cycle-state: not found')


class NodeDeclaredFeatures:
    """The plugin."""

    name = "NodeDeclaredFeatures"
    looks_at = "node"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._enabled = handle.features.enabled("NodeDeclaredFeatures")

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        required = required_features(pod.pod.spec) if self._enabled else frozenset()
        if not required:
            return None, SKIP
        state.write(_PRE_FILTER_KEY, required)
        return None, None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        if not self._enabled:
            return None
        required: FeatureSet | None = state.find(_PRE_FILTER_KEY)
        if required is None:
            return _NO_PRE_FILTER
        return None if required <= known_features(node.node.status.declared_features) else _UNSATISFIED

    def filter_nodes(self, state: CycleState, _pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        size = len(range(*rows.indices(len(table))))
        if not self._enabled:
            return NodeStatuses.success(size)
        required: FeatureSet | None = state.find(_PRE_FILTER_KEY)
        if required is None:
            return NodeStatuses.of([_NO_PRE_FILTER] * size)
        statuses = NodeStatuses.success(size)
        statuses.reject(~table.column(FeatureColumn, FeatureColumn).declaring(required)[rows], _UNSATISFIED)
        return statuses

    def explain_filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        required: FeatureSet = state.find(_PRE_FILTER_KEY) or frozenset()
        declared = known_features(node.node.status.declared_features)
        facts = []
        for feature in sorted(required):
            has = feature in declared
            text = f"needs the feature {feature}, which the node {'declares' if has else 'does not declare'}"
            facts.append(Fact(text, {"feature": feature, "declared": has}, has))
        return facts

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.FEATURES, signature(required_features(pod.pod.spec))),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        if not self._enabled:
            return ()
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE)
        return ClusterEventWithHint(node, _after_node_change), ClusterEventWithHint(pod, _after_pod_update)


def _after_pod_update(pod: PodInfo, old: Pod, new: Pod) -> QueueingHint:
    same = new.metadata.uid != pod.uid or required_features(old.spec) == required_features(new.spec)
    return QueueingHint.SKIP if same else QueueingHint.QUEUE


def _after_node_change(_pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    same = old is not None and old.status.declared_features == new.status.declared_features
    return QueueingHint.SKIP if same else QueueingHint.QUEUE


class FeatureColumn:
    """What nodes declare: ids: int32[N] of distinct sets of known features."""

    of_nodes: Final = True

    def __init__(self) -> None:
        self._sets = Interner()
        self._ids: NDArray[np.int32] = np.zeros(0, np.int32)

    def declaring(self, required: FeatureSet) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes that declare all that is required."""
        sets = cast("Sequence[FeatureSet]", self._sets.values())
        verdicts = np.array([required <= declared for declared in sets], np.bool_)
        return verdicts[self._ids]

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self._ids = cast("NDArray[np.int32]", take_rows(self._ids, old_rows, 0))

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        self._ids[row] = self._sets.id_of(known_features(info.node.status.declared_features))

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Features do not depend on pods."""

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """Features do not depend on pods."""


ENTRY: Final = PluginEntry(NodeDeclaredFeatures.name, NodeDeclaredFeatures)
