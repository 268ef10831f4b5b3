"""Turns cordoned nodes down, unless the pod tolerates the taint that stands for that.

Mirrors: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.rules.taints import UNSCHEDULABLE_TAINT, tolerates_any
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import NodeStatuses, Status, unresolvable

if TYPE_CHECKING:
    from schedlab.api.views.core import Node, Pod
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_UNSCHEDULABLE: Final = "node(s) were unschedulable"

_UNSCHEDULABLE: Final = unresolvable(REASON_UNSCHEDULABLE)


class NodeUnschedulable:
    """The plugin."""

    name = "NodeUnschedulable"
    looks_at = "node"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._comparison = handle.features.enabled("TaintTolerationComparisonOperators")

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not node.node.spec.unschedulable or self._tolerates(pod.pod):
            return None
        return _UNSCHEDULABLE

    def filter_nodes(self, _state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        unschedulable = table.unschedulable[rows]
        statuses = NodeStatuses.success(len(unschedulable))
        if unschedulable.any() and not self._tolerates(pod.pod):
            statuses.reject(unschedulable, _UNSCHEDULABLE)
        return statuses

    def explain_filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        cordoned, tolerated = node.node.spec.unschedulable, self._tolerates(pod.pod)
        taint = f"{UNSCHEDULABLE_TAINT.key}:{UNSCHEDULABLE_TAINT.effect}"
        if not cordoned:
            text = "the node is not cordoned"
        else:
            text = f"the node is cordoned, and the pod {'tolerates' if tolerated else 'does not tolerate'} {taint}"
        return (Fact(text, {"unschedulable": cordoned, "tolerated": tolerated}, not cordoned or tolerated),)

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.TOLERATIONS, signers.tolerations_signature(pod.pod)),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node, _after_node_change),
            ClusterEventWithHint(pod, self._after_toleration_change),
        )

    def _after_toleration_change(self, pod: PodInfo, _old: Pod | None, new: Pod) -> QueueingHint:
        # Tolerations are only ever added, so the pod did not tolerate the taint before.
        helps = new.metadata.uid == pod.uid and self._tolerates(new)
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP

    def _tolerates(self, pod: Pod) -> bool:
        return tolerates_any(pod.spec.tolerations, UNSCHEDULABLE_TAINT, comparison=self._comparison)


def _after_node_change(_pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    opened = not new.spec.unschedulable and (old is None or old.spec.unschedulable)
    return QueueingHint.QUEUE if opened else QueueingHint.SKIP


ENTRY: Final = PluginEntry(NodeUnschedulable.name, NodeUnschedulable)
