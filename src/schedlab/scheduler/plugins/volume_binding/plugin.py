"""Finds volumes for a pod's claims, and binds them before the pod.

Mirrors: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.config.args import VolumeBindingArgs
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.status import SKIP, Status, unresolvable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo


class VolumeBinding:
    """The plugin."""

    name = "VolumeBinding"
    pre_bind_parallel = True

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self._args = args
        self._claims = handle.listers.lister("persistentvolumeclaims")

    def pre_filter(
        self, _state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.claim_keys:
            return None, SKIP
        for key in pod.claim_keys:
            namespace, _, name = key.partition("/")
            if self._claims.get(name, namespace) is None:
                return None, unresolvable(f'persistentvolumeclaim "{name}" not found')
        return None, None

    def filter(self, _state: CycleState, _pod: PodInfo, _node: NodeInfo) -> Status | None:
        return None

    def pre_score(
        self, _state: CycleState, _pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]
    ) -> Status | None:
        return SKIP

    def score(self, _state: CycleState, _pod: PodInfo, _node: NodeInfo) -> tuple[int, Status | None]:
        return 0, None

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def unreserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        return None

    def pre_bind_pre_flight(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return SKIP

    def pre_bind(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, signers.volumes_signature(pod)),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        added_or_labelled = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (ClusterEventWithHint(ClusterEvent(EventResource.NODE, added_or_labelled)),)


ENTRY: Final = PluginEntry(VolumeBinding.name, VolumeBinding)
