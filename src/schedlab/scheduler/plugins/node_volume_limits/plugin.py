"""Turns down nodes that have no room for more volumes of a CSI driver.

Mirrors: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.status import SKIP, Status

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo


class NodeVolumeLimits:
    """The plugin."""

    name = "NodeVolumeLimits"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._claims = handle.listers.lister("persistentvolumeclaims")

    def pre_filter(
        self, _state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        return None, None if pod.claim_keys else SKIP

    def filter(self, _state: CycleState, _pod: PodInfo, _node: NodeInfo) -> Status | None:
        return None

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, signers.volumes_signature(pod)),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)),)


ENTRY: Final = PluginEntry(NodeVolumeLimits.name, NodeVolumeLimits)
