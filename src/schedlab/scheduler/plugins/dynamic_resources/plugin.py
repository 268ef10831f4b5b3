"""Finds devices for the claims of a pod, node by node; reserves and allocates them before the pod is bound.

Mirrors: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
Differs: the search never times out (`filterTimeout`), since how long it takes must not decide; devices that stand for
node resources (`DRANodeAllocatableResources`) and claims of pod groups, alpha features, are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.rules.node_affinity import parse_node_selector
from schedlab.apimachinery.field import aggregate
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.dra.allocator import Allocator, AllocatorFeatures, NodeAllocationError
from schedlab.scheduler.dra.types import AllocationError
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.helpers.normalize import default_normalize_score, explain_default_normalize
from schedlab.scheduler.framework.interface import PluginEntry, PostFilterResult, PreFilterResult, Work
from schedlab.scheduler.framework.status import SKIP, Status, error, unresolvable, unschedulable
from schedlab.scheduler.framework.types import CPU, EPHEMERAL_STORAGE, MAX_NODE_SCORE, MEMORY, PODS
from schedlab.scheduler.plugins.dynamic_resources import conditions, explaining, extended
from schedlab.scheduler.plugins.dynamic_resources.binding import ClaimBinder, Step
from schedlab.scheduler.plugins.dynamic_resources.conditions import BindingConditionError
from schedlab.scheduler.plugins.dynamic_resources.hints import ClaimHints
from schedlab.scheduler.plugins.dynamic_resources.podclaims import ClaimNotReadyError, pod_claims
from schedlab.scheduler.plugins.dynamic_resources.releasing import ClaimReleaser
from schedlab.scheduler.plugins.dynamic_resources.reserving import reserve
from schedlab.scheduler.plugins.dynamic_resources.scoring import (
    ALTERNATIVES_MAX,
    ScoreError,
    ranks_of,
    score_of,
)
from schedlab.scheduler.plugins.dynamic_resources.state import STATE_KEY, ClaimStore, NodeAllocation, PodClaim, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.resource import AllocationResult, DeviceRequest, ResourceClaim
    from schedlab.client.protocol import Outcome
    from schedlab.scheduler.config.args import DynamicResourcesArgs
    from schedlab.scheduler.framework.interface import CycleState, Handle, NodeToStatus
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

BINDING_TIMEOUT_NS: Final = 600 * SECOND_NS

_NO_STATE: Final = error("not found")
_NOT_SIGNABLE: Final = unschedulable("pods with dra resource claims are not signable")
_NOTHING_TO_DEALLOCATE: Final = unschedulable("no new claims to deallocate")
_CANNOT_ALLOCATE: Final = unresolvable("cannot allocate all claims")
_NOT_AVAILABLE: Final = unresolvable("resourceclaim not available on the node")


_NATIVE: Final = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE, PODS))


class DynamicResources:
    """The plugin."""

    name = "DynamicResources"
    pre_bind_parallel = True
    #: Only of pods that ask for devices, and such are not row-local.
    score_looks_at = "node"
    normalized_zeros = 0

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        gates = handle.features
        self._handle = handle
        self._devices = handle.devices
        self._random = handle.random.split(self.name)
        # There is none where the gates say that nothing is to be waited for.
        self._timeout_ns = BINDING_TIMEOUT_NS if args.binding_timeout is None else args.binding_timeout
        self._features = AllocatorFeatures.of(gates)
        self._has_extended = gates.enabled("DRAExtendedResource")
        self._binder = ClaimBinder(handle, self._timeout_ns, with_conditions=self._features.binding_conditions)
        self._releaser = ClaimReleaser(handle, self._random)
        self._hints = ClaimHints(self._devices.claims)

    # --- Queueing ---

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if not pod.pod.spec.resource_claims:
            return None
        try:
            pod_claims(pod.pod, self._devices.claims)
        except ClaimNotReadyError as cause:
            return unresolvable(str(cause))
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        claim_named = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_changes)),
            ClusterEventWithHint(
                ClusterEvent(EventResource.RESOURCE_CLAIM, add_or_update), self._hints.after_claim_change
            ),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, claim_named), self._hints.after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, add_or_update)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, add_or_update)),
        )

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        # Whether a claim is for one host only is not easily said.
        return None, _NOT_SIGNABLE if pod.pod.spec.resource_claims else None

    def is_row_local(self, pod: PodInfo) -> bool:
        # A pod that asks for no devices fits everywhere, and all nodes are the same to it.
        return not pod.pod.spec.resource_claims and _NATIVE.issuperset(pod.requests)

    #: To the points before filtering and scoring such a pod is nothing but its facts, either.
    is_pod_local = reserves_nothing = pre_binds_nothing = is_row_local

    # --- Filtering ---

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        own = State()
        state.write(STATE_KEY, own)
        try:
            claims = pod_claims(pod.pod, self._devices.claims) if pod.pod.spec.resource_claims else []
        except ClaimNotReadyError as cause:
            return None, unresolvable(str(cause))
        store = ClaimStore(claims, self._extended_claim(pod, own))
        if not len(store):
            return None, SKIP
        needs_devices = False
        for index, claim in enumerate(store):
            if claim.is_allocated:
                status = self._note_nodes(own, index, claim.view)
            else:
                needs_devices = True
                status = self._check_unallocated(claim, is_extended=store.is_extended(index))
            if status is not None:
                return None, status
        if needs_devices:
            allocated = self._devices.claims.allocated_state()
            own.allocator = Allocator(
                self._features, allocated, self._devices.classes, self._devices.slices, self._random.uid
            )
        own.claims = store
        return None, None

    def _extended_claim(self, pod: PodInfo, own: State) -> PodClaim | None:
        if not self._has_extended:
            return None
        resources = extended.requested_resources(pod, self._devices.classes)
        if resources is None:
            return None
        own.scalar_resources = resources
        stored = extended.find_claim(pod.pod, self._devices.claims.all())
        if stored is not None:
            return PodClaim(stored.view, stored)
        return PodClaim(extended.claim_in_memory(pod.pod, self._random.uid()), None)

    def _note_nodes(self, own: State, index: int, claim: ResourceClaim) -> Status | None:
        allocation = claim.status.allocation
        assert allocation is not None
        if allocation.node_selector is not None:
            parsed = parse_node_selector(allocation.node_selector)
            if parsed.errors:
                return error(aggregate(parsed.errors))
            own.node_selectors[index] = parsed
        return None

    def _check_unallocated(self, claim: PodClaim, *, is_extended: bool) -> Status | None:
        if self._devices.claims.pending(claim.view.metadata.uid) is not None:
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        # The one for extended resources has no requests before it is known for which node.
        if is_extended:
            return None
        for request in claim.view.spec.devices.requests:
            status = self._check_request(claim.key, request)
            if status is not None:
                return status
        return None

    def _check_request(self, claim_key: str, request: DeviceRequest) -> Status | None:
        place = f"resource claim {claim_key}, request {request.name}"
        if request.exactly is not None:
            return self._check_class(request.exactly.device_class_name, request.name)
        if not request.first_available:
            return unresolvable(f"{place}: unknown request type")
        if not self._features.prioritized_list:
            return unresolvable(f"{place}: has subrequests, but the DRAPrioritizedList feature is disabled")
        for each in request.first_available:
            status = self._check_class(each.device_class_name, f"{request.name}/{each.name}")
            if status is not None:
                return status
        return None

    def _check_class(self, name: str, request_name: str) -> Status | None:
        if not name:
            return error(f"request {request_name}: unsupported request type")
        if self._devices.classes.get(name) is None:
            return unresolvable(f"request {request_name}: device class {name} does not exist")
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        own: State | None = state.find(STATE_KEY)
        if own is None:
            return _NO_STATE
        if not len(own.claims):
            return None
        claim, mappings = None, extended.NO_MAPPINGS
        special = own.claims.extended
        if special is not None:
            claim, mappings, status = extended.claim_for_node(
                special.view,
                own.scalar_resources,
                pod.pod,
                node,
                self._devices.classes,
                has_user_claims=own.claims.user_count > 0,
            )
            if status is not None:
                return status
        if claim is None and own.claims.user_count == 0:
            return None
        unavailable = [index for index, each in enumerate(own.claims) if self._is_unavailable(own, index, each, node)]
        found: tuple[AllocationResult, ...] = ()
        if own.allocator is not None:
            result = self._allocate(own, own.allocator, claim, node)
            if isinstance(result, Status):
                return result
            found = result
        if unavailable:
            own.unavailable |= dict.fromkeys(unavailable)
            return _NOT_AVAILABLE
        if own.allocator is not None:
            own.node_allocations[node.name] = NodeAllocation(found, claim, mappings)
        return None

    def _is_unavailable(self, own: State, index: int, claim: PodClaim, node: NodeInfo) -> bool:
        """Whether the devices of an allocated claim are not for the node, or will not become ready."""
        selector = own.node_selectors.get(index)
        if selector is not None and not selector.matches(node.node):
            return True
        if not claim.is_allocated or not self._features.binding_conditions:
            return False
        try:
            is_ready = conditions.is_ready(claim.view)
        except BindingConditionError:
            return True
        return not is_ready and conditions.is_overdue(claim.view, self._timeout_ns, self._handle.clock.now_ns())

    def _allocate(
        self, own: State, allocator: Allocator, special: ResourceClaim | None, node: NodeInfo
    ) -> tuple[AllocationResult, ...] | Status:
        claims = [
            special if special is not None and own.claims.is_extended(index) else claim.view
            for index, claim in own.claims.to_allocate()
        ]
        try:
            found = allocator.allocate(node.node, claims)
        except NodeAllocationError as cause:
            return unresolvable(str(cause))
        except AllocationError as cause:
            return error(str(cause))
        return _CANNOT_ALLOCATE if found is None else found

    def post_filter(
        self, state: CycleState, pod: PodInfo, _statuses: NodeToStatus
    ) -> tuple[PostFilterResult | None, Status | None, Work | None]:
        own: State | None = state.find(STATE_KEY)
        if own is None:
            return None, _NO_STATE, None
        if not len(own.claims):
            return None, _NOTHING_TO_DEALLOCATE, None
        status, work = self._releaser.after_filter(own, pod)
        return None, status, work

    # --- Scoring ---

    def score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        if not self._features.prioritized_list:
            return 0, None
        own: State | None = state.find(STATE_KEY)
        if own is None:
            return 0, _NO_STATE
        found = own.node_allocations.get(node.name)
        if found is None:
            return 0, None
        try:
            return score_of(own.claims, found), None
        except ScoreError as cause:
            return 0, error(str(cause))

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        own: State | None = state.find(STATE_KEY)
        scores = np.zeros(len(rows), np.int64)
        if own is None and self._features.prioritized_list:
            return _NO_STATE
        if own is not None and own.node_allocations:
            for at, row in enumerate(rows.tolist()):
                scores[at], status = self.score(state, pod, table.infos[row])
                if status is not None:
                    return status
        return scores

    def normalize_score(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, scores)
        return None

    # --- Explaining ---

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        own: State | None = state.find(STATE_KEY)
        if own is None or not len(own.claims):
            return ()
        return explaining.explain_filter(own, self._devices, node, self.filter(state, pod, node))

    def explain_score(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Formula:
        own: State | None = state.find(STATE_KEY)
        found = None if own is None else own.node_allocations.get(node.name)
        if own is None or found is None or not self._features.prioritized_list:
            return Formula("0")
        ranks = ranks_of(own.claims, found)
        expression = " + ".join(f"({ALTERNATIVES_MAX} - {rank})" for rank in ranks)
        return Formula(expression or "0", {"alternatives": ranks})

    def explain_normalized(
        self, _state: CycleState, _pod: PodInfo, _rows: NDArray[np.int64], raw: NDArray[np.int64], at: int
    ) -> Formula:
        return explain_default_normalize(raw, at)

    def explain_score_by(
        self, state: CycleState, _pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        own: State | None = state.find(STATE_KEY)
        return (np.arange(len(table)),) if own is not None and len(own.claims) else ()

    # --- Binding ---

    def reserve(self, state: CycleState, _pod: PodInfo, node_name: str) -> Status | None:
        own: State | None = state.find(STATE_KEY)
        return _NO_STATE if own is None else reserve(own, node_name, self._devices.claims)

    def unreserve(self, state: CycleState, pod: PodInfo, _node_name: str) -> None:
        own: State | None = state.find(STATE_KEY)
        if own is not None:
            self._releaser.unreserve(self, state, own, pod)

    def pre_bind_pre_flight(self, state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        own: State | None = state.find(STATE_KEY)
        if own is None:
            return _NO_STATE
        return None if len(own.claims) else SKIP

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Work | None:
        own: State | None = state.find(STATE_KEY)
        return _NO_STATE if own is None else self._binder.begin(own, pod, node_name)

    def resume(
        self, state: CycleState, pod: PodInfo, node_name: str, work: Work, outcomes: Sequence[Outcome]
    ) -> Status | Work | None:
        outcome = outcomes[0] if outcomes else None
        if isinstance(work.note, Step):
            return self._binder.resume(state.read(STATE_KEY), pod, node_name, work, outcome)
        return self._releaser.resume(work, outcome)


ENTRY: Final = PluginEntry(DynamicResources.name, DynamicResources)
