"""Finds devices for the claims of a pod, node by node.

Mirrors: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.helpers.normalize import default_normalize_score
from schedlab.scheduler.framework.interface import PluginEntry, PostFilterResult, PreFilterResult, Work
from schedlab.scheduler.framework.status import SKIP, Status, error, unresolvable, unschedulable
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.config.args import DynamicResourcesArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle, NodeToStatus
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_STATE_KEY: Final = "DynamicResources"
_NO_STATE: Final = error("not found")
_NOT_SIGNABLE: Final = unschedulable("pods with dra resource claims are not signable")
_NOTHING_TO_DEALLOCATE: Final = unschedulable("no new claims to deallocate")
_NO_CLAIMS_YET: Final = unresolvable("pods with resource claims are not supported yet")


@dataclass(slots=True)
class State:
    """What the plugin knows of the pod in this cycle."""

    claims: tuple[str, ...] = ()


class DynamicResources:
    """The plugin."""

    name = "DynamicResources"
    pre_bind_parallel = True

    def __init__(self, _args: DynamicResourcesArgs | None, _handle: Handle) -> None:
        """Devices are looked after as the feature gates say."""

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return _NO_CLAIMS_YET if pod.pod.spec.resource_claims else None

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        state.write(_STATE_KEY, State())
        return None, _NO_CLAIMS_YET if pod.pod.spec.resource_claims else SKIP

    def filter(self, state: CycleState, _pod: PodInfo, _node: NodeInfo) -> Status | None:
        return _NO_STATE if state.find(_STATE_KEY) is None else None

    def post_filter(
        self, state: CycleState, _pod: PodInfo, _statuses: NodeToStatus
    ) -> tuple[PostFilterResult | None, Status | None, Work | None]:
        return None, _NO_STATE if state.find(_STATE_KEY) is None else _NOTHING_TO_DEALLOCATE, None

    def score(self, state: CycleState, _pod: PodInfo, _node: NodeInfo) -> tuple[int, Status | None]:
        return 0, _NO_STATE if state.find(_STATE_KEY) is None else None

    def score_nodes(
        self, state: CycleState, _pod: PodInfo, _table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        return _NO_STATE if state.find(_STATE_KEY) is None else np.zeros(len(rows), np.int64)

    def normalize_score(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, scores)
        return None

    def reserve(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return _NO_STATE if state.find(_STATE_KEY) is None else None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """Nothing was taken."""

    def pre_bind_pre_flight(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return _NO_STATE if state.find(_STATE_KEY) is None else SKIP

    def pre_bind(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | Work | None:
        return _NO_STATE if state.find(_STATE_KEY) is None else None

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return None, _NOT_SIGNABLE if pod.pod.spec.resource_claims else None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_changes)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLAIM, add_or_update)),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, add_or_update)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, add_or_update)),
        )


ENTRY: Final = PluginEntry(DynamicResources.name, DynamicResources)
