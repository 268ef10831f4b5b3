"""The contract between the scheduler and its plugins: extension points, status codes, cycle state, node and pod
views.

What a plugin may import, inside the project or outside. It calls no plugin itself and imports no other part of the
scheduler. The names that plugins need most can be imported from here.
"""

from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.interface import (
    CycleState,
    Handle,
    NominatingInfo,
    PluginEntry,
    PostFilterResult,
    PreFilterResult,
    Work,
)
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.record import add_custom_result
from schedlab.scheduler.framework.status import SKIP, Code, NodeStatuses, Status, error, unresolvable, unschedulable
from schedlab.scheduler.framework.types import MAX_NODE_SCORE, NodeInfo, PodInfo

__all__ = [
    "MAX_NODE_SCORE",
    "SKIP",
    "ActionType",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleState",
    "EventResource",
    "Fact",
    "Formula",
    "Handle",
    "NodeInfo",
    "NodeStatuses",
    "NodeTable",
    "NominatingInfo",
    "PluginEntry",
    "PodInfo",
    "PostFilterResult",
    "PreFilterResult",
    "QueueingHint",
    "Status",
    "Work",
    "add_custom_result",
    "error",
    "unresolvable",
    "unschedulable",
]
