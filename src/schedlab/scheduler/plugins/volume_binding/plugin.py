"""Finds volumes for a pod's claims on every node, takes those of the chosen one, and binds them before the pod.

Mirrors: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (v1.36).
Differs: what a node that passed would give the pod is worked out again when the node is scored or chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.helpers.shape_score import ShapePoint
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult, Work
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.volume_binding import binding, explaining, hints
from schedlab.scheduler.plugins.volume_binding.claims import PodClaims, Storage
from schedlab.scheduler.plugins.volume_binding.finding import PodVolumes, find_pod_volumes
from schedlab.scheduler.plugins.volume_binding.finding_nodes import find_on_nodes
from schedlab.scheduler.plugins.volume_binding.scoring import score_volumes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node
    from schedlab.client.protocol import Outcome
    from schedlab.scheduler.config.args import VolumeBindingArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_STATE_KEY: Final = "VolumeBinding"
_NO_STATE: Final = error("not found")
_CUSTOM_SCORE_MAX: Final = 10


class _State:
    """What one cycle found out; shared by the copies of dry runs, in which volumes do not change."""

    def __init__(self, claims: PodClaims, *, all_bound: bool = False) -> None:
        self.claims = claims
        # Whether nodes were filtered: with the filter disabled, no node has anything to bind.
        self.is_filtered = False
        self.at_once: tuple[NodeTable, NodeStatuses] | None = None
        self.assumed: PodVolumes | None = None
        self.all_bound = all_bound


_NO_CLAIMS: Final = PodClaims()


class VolumeBinding:
    """The plugin."""

    name = "VolumeBinding"
    pre_bind_parallel = True
    looks_at = "node"

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self._handle = handle
        self._storage = Storage(handle.listers)
        assert args.bind_timeout_seconds is not None, "arguments have their defaults"
        self._timeout_ns = args.bind_timeout_seconds * SECOND_NS
        self._scores = handle.features.enabled("StorageCapacityScoring")
        scale = MAX_NODE_SCORE // _CUSTOM_SCORE_MAX
        self._shape = [ShapePoint(point.utilization, point.score * scale) for point in args.shape or ()]

    def is_pod_local(self, pod: PodInfo) -> bool:
        return not pod.claim_keys

    reserves_nothing = pre_binds_nothing = is_pod_local

    # --- Finding ---

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.claim_keys:
            state.write(_STATE_KEY, _State(_NO_CLAIMS, all_bound=True))
            return None, SKIP
        claims = self._storage.claims_of(pod.pod)
        if isinstance(claims, Status):
            return None, claims
        state.write(_STATE_KEY, _State(claims))
        return None, None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return _NO_STATE
        kept.is_filtered = True
        found = find_pod_volumes(self._storage, kept.claims, node.node)
        return found if isinstance(found, Status) else None

    def filter_nodes(self, state: CycleState, _pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return NodeStatuses.of([_NO_STATE] * len(range(*rows.indices(len(table)))))
        kept.is_filtered = True
        if kept.at_once is None or kept.at_once[0] is not table:
            kept.at_once = table, find_on_nodes(self._storage, kept.claims, table)
        everything = kept.at_once[1]
        return NodeStatuses(everything.code[rows], everything.reason[rows])

    # --- Scoring ---

    def pre_score(self, state: CycleState, _pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]) -> Status | None:
        if not self._scores:
            return SKIP
        return _NO_STATE if state.find(_STATE_KEY) is None else None

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        if not self._scores:
            return 0, None
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return 0, _NO_STATE
        if not kept.is_filtered:
            return 0, None
        found = find_pod_volumes(self._storage, kept.claims, node.node)
        return (0, None) if isinstance(found, Status) else (score_volumes(self._shape, found), None)

    # --- Explaining ---

    def explain_filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        kept: _State | None = state.find(_STATE_KEY)
        return () if kept is None else explaining.explain_filter(self._storage, kept.claims, node.node)

    def explain_score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Formula:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None or not self._scores or not kept.is_filtered:
            return Formula("0")
        found = find_pod_volumes(self._storage, kept.claims, node.node)
        return Formula("0") if isinstance(found, Status) else explaining.explain_score(self._shape, found)

    # --- Binding ---

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return _NO_STATE
        if not kept.is_filtered or self._storage.all_bound(pod.pod):
            kept.all_bound = True
            return None
        found = find_pod_volumes(self._storage, kept.claims, self._node(node_name))
        assumed = found if isinstance(found, Status) else binding.assume(self._storage, found, node_name)
        if isinstance(assumed, Status):
            return assumed
        kept.assumed = assumed
        return None

    def _node(self, name: str) -> Node:
        table = self._handle.table
        return table.infos[table.row_of[name]].node

    def unreserve(self, state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is not None and kept.assumed is not None:
            binding.revert(self._storage, kept.assumed)

    def pre_bind_pre_flight(self, state: CycleState, _pod: PodInfo, node_name: str) -> Status | None:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return _NO_STATE
        if kept.all_bound:
            return SKIP
        return _nothing_for(node_name) if kept.assumed is None else None

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Work | None:
        kept: _State | None = state.find(_STATE_KEY)
        if kept is None:
            return _NO_STATE
        if kept.all_bound:
            return None
        if kept.assumed is None:
            return _nothing_for(node_name)
        return self._go_on(binding.Progress(pod.pod, node_name, kept.assumed))

    def resume(
        self, _state: CycleState, _pod: PodInfo, _node_name: str, work: Work, outcomes: Sequence[Outcome]
    ) -> Status | Work | None:
        progress: binding.Progress | Status = work.note
        assert isinstance(progress, binding.Progress)
        if not work.writes:
            return self._check(progress, work)
        progress = binding.written(self._storage, progress, outcomes[0])
        return progress if isinstance(progress, Status) else self._go_on(progress)

    def _go_on(self, progress: binding.Progress) -> Status | Work | None:
        if not progress.is_written:
            return binding.next_write(self._storage, progress)
        return self._check(progress.until(self._handle.clock.now_ns() + self._timeout_ns), None)

    def _check(self, progress: binding.Progress, waiting: Work | None) -> Status | Work | None:
        now_ns = self._handle.clock.now_ns()
        verdict = binding.check_bindings(self._storage, progress, now_ns)
        if isinstance(verdict, Status):
            return verdict
        return None if verdict else binding.wait_on(progress, waiting, now_ns)

    # --- Queueing and batching ---

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, pod.volume_sources),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add, update = ActionType.ADD, ActionType.UPDATE
        either = add | update
        capacity, claim = EventResource.CSI_STORAGE_CAPACITY, EventResource.PERSISTENT_VOLUME_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, either), hints.after_class),
            ClusterEventWithHint(ClusterEvent(claim, either), hints.after_claim),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, either)),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, add | ActionType.UPDATE_NODE_LABEL)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, either), hints.after_csi_node),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_DRIVER, update), hints.after_csi_driver),
            ClusterEventWithHint(ClusterEvent(capacity, either), hints.after_capacity),
        )


def _nothing_for(node_name: str) -> Status:
    return error(f'no pod volume found for node "{node_name}"')


ENTRY: Final = PluginEntry(VolumeBinding.name, VolumeBinding)
