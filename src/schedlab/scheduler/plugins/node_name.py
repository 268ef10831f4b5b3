"""Turns down every node but the one that the pod names itself.

Mirrors: pkg/scheduler/framework/plugins/nodename/node_name.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import NodeStatuses, Status, unresolvable

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_OTHER_NODE: Final = "node(s) didn't match the requested node name"

_OTHER_NODE: Final = unresolvable(REASON_OTHER_NODE)


class NodeName:
    """The plugin."""

    name = "NodeName"
    looks_at = "node"

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """A name needs no arguments."""

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted = pod.pod.spec.node_name
        return None if wanted in ("", node.name) else _OTHER_NODE

    def filter_nodes(self, _state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        visited = range(*rows.indices(len(table)))
        statuses = NodeStatuses.success(len(visited))
        wanted = pod.pod.spec.node_name
        if wanted:
            others = np.ones(len(visited), np.bool_)
            row = table.row_of.get(wanted, -1)
            if row in visited:
                others[row - visited.start] = False
            statuses.reject(others, _OTHER_NODE)
        return statuses

    def explain_filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        wanted = pod.pod.spec.node_name
        text = f"the pod asks for node {wanted}, this is {node.name}" if wanted else "the pod asks for no certain node"
        return (Fact(text, {"nodeName": wanted}, wanted in ("", node.name)),)

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.NODE_NAME, pod.pod.spec.node_name),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),)


ENTRY: Final = PluginEntry(NodeName.name, NodeName)
