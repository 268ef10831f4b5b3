"""What a pod's claims need before the pod can be bound: allocations and reservations written, devices ready.

    for each claim that is not reserved for the pod yet:
        [CREATE] -> [FINALIZER] -> STATUS -> [POD] -> [ASSUME]      in brackets: only if there is need
            a conflict in between: RETRY, then FINALIZER or STATUS again with the claim as it is now
    then, if devices have binding conditions: CONDITIONS, every five seconds

Mirrors: PreBind and bindClaim in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
Differs: after a conflict the claim is taken from the informer; an allocation that others wrote without a time is left
without one, since the API server refuses such a change; metrics of binding conditions are not kept.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.apimachinery.errors import Conflict
from schedlab.apimachinery.time import format_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.events import EventResource
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.status import Status, error
from schedlab.scheduler.plugins.dynamic_resources import conditions, writes
from schedlab.scheduler.plugins.dynamic_resources.conditions import BindingConditionError
from schedlab.scheduler.plugins.dynamic_resources.extended import IN_MEMORY_NAME
from schedlab.scheduler.plugins.dynamic_resources.podclaims import not_found
from schedlab.scheduler.plugins.dynamic_resources.state import PodClaim, Progress, State

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.resource import ResourceClaim
    from schedlab.client.protocol import Outcome, Write
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import PodInfo

_ATTEMPTS_MAX: Final = 5
_RETRY_NS: Final = 10_000_000
_POLL_NS: Final = 5 * SECOND_NS
_ASSUME_TIMEOUT_NS: Final = 120 * SECOND_NS
_CLAIM_EVENTS: Final = (EventResource.RESOURCE_CLAIM,)


class Step(Enum):
    """What the binding waits for."""

    CREATE = "create"
    FINALIZER = "finalizer"
    STATUS = "status"
    POD = "pod"
    ASSUME = "assume"
    RETRY = "retry"
    CONDITIONS = "conditions"


def is_reserved(claim: ResourceClaim, pod: PodInfo) -> bool:
    """Whether the pod may use the claim."""
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


class ClaimBinder:
    """Binds the claims of pods; what it remembers of one is in the pod's State."""

    def __init__(self, handle: Handle, timeout_ns: int, *, with_conditions: bool) -> None:
        self._handle = handle
        self._devices = handle.devices
        self._timeout_ns = timeout_ns
        self._with_conditions = with_conditions

    def begin(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        """Start with the first claim."""
        state.progress = Progress()
        return self._next_claim(state, pod, node_name)

    def resume(
        self, state: State, pod: PodInfo, node_name: str, work: Work, outcome: Outcome | None
    ) -> Status | Work | None:
        """Go on after a step."""
        step: Step = work.note
        if step is Step.CONDITIONS:
            return self._check_conditions(state)
        if step is Step.RETRY:
            return self._refresh(state, pod, node_name)
        if step is Step.ASSUME:
            return self._assume(state, pod, node_name, work)
        assert outcome is not None, f"{step} has no outcome"
        if step is Step.CREATE:
            self._handle.metrics.claim_created(outcome.error)
        if outcome.error is not None:
            if step in {Step.FINALIZER, Step.STATUS} and isinstance(outcome.error, Conflict):
                return self._retry(state, pod, node_name, step, outcome.error)
            return self._fail(state, pod, node_name, self._failure(state, pod, step, outcome.error))
        if step is not Step.POD:
            state.progress.stored = outcome.object
        if step is Step.FINALIZER:
            return self._write_status(state, pod)
        if step is Step.POD:
            return self._settle(state, pod, node_name)
        state.progress.is_written = True
        if step is Step.CREATE:
            assert outcome.object is not None
            state.claims[state.progress.index] = PodClaim(outcome.object.view, outcome.object)
            return self._update(state, pod, node_name)
        return self._name_in_pod(state, pod, node_name)

    # --- One claim ---

    def _next_claim(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        for index in range(state.progress.index + 1, len(state.claims)):
            claim = state.claims[index]
            if is_reserved(claim.view, pod):
                continue
            is_extended = state.claims.is_extended(index)
            if is_extended and index not in state.allocations and not claim.view.spec.devices.requests:
                continue
            state.progress = Progress(index, claim.view.metadata.uid, claim.stored)
            if is_extended and claim.view.metadata.name == IN_MEMORY_NAME:
                return self._create(state, pod, node_name)
            return self._update(state, pod, node_name)
        return self._wait_for_conditions(state, pod, node_name)

    def _create(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        found = state.node_allocations.get(node_name)
        if found is None or found.extended_claim is None:
            text = f"extended resource claim not found for node {node_name}"
            return self._fail(state, pod, node_name, text)
        return _work(Step.CREATE, writes.create_claim(found.extended_claim))

    def _update(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        """Write the claim as it is known now."""
        stored = _stored(state)
        claim: ResourceClaim = stored.view
        allocation = state.allocations.get(state.progress.index)
        if claim.metadata.deletion_timestamp:
            return self._fail(state, pod, node_name, f"claim {stored.key} got deleted in the meantime")
        if allocation is not None:
            if claim.status.allocation is not None:
                return self._fail(state, pod, node_name, f"claim {stored.key} got allocated elsewhere in the meantime")
            if writes.FINALIZER not in claim.metadata.finalizers:
                return _work(Step.FINALIZER, writes.add_finalizer(stored))
        elif self._with_conditions and claim.status.allocation is None:
            return self._fail(state, pod, node_name, f"claim {stored.key} got deallocated elsewhere in the meantime")
        return self._write_status(state, pod)

    def _write_status(self, state: State, pod: PodInfo) -> Work:
        allocation = state.allocations.get(state.progress.index)
        if allocation is not None and self._with_conditions:
            now = format_time(self._handle.clock.now_ns())
            allocation = replace(allocation, allocation_timestamp=now)
        return _work(Step.STATUS, writes.reserve_claim(_stored(state), pod.pod, allocation))

    def _name_in_pod(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        if not state.claims.is_extended(state.progress.index):
            return self._settle(state, pod, node_name)
        found = state.node_allocations.get(node_name)
        if found is None or not found.mappings:
            text = f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
            return self._fail(state, pod, node_name, text)
        return _work(Step.POD, writes.name_claim_in_pod(pod.pod, _stored(state).name, found.mappings))

    def _failure(self, state: State, pod: PodInfo, step: Step, cause: Exception) -> str:
        if step is Step.CREATE:
            return f"create claim for extended resources {pod.namespace}/: {cause}"
        if step is Step.POD:
            return f"update pod {pod.key} ExtendedResourceClaimStatus: {cause}"
        key = _stored(state).key
        if step is Step.FINALIZER:
            return f"add finalizer to claim {key}: {cause}"
        what = "allocation and reservation" if state.progress.index in state.allocations else "reservation"
        return f"add {what} to claim {key}: {cause}"

    # --- Conflicts ---

    def _retry(self, state: State, pod: PodInfo, node_name: str, step: Step, cause: Exception) -> Status | Work | None:
        progress = state.progress
        progress.attempt += 1
        if progress.attempt >= _ATTEMPTS_MAX:
            return self._fail(state, pod, node_name, self._failure(state, pod, step, cause))
        return Work(deadline_ns=self._handle.clock.now_ns() + _RETRY_NS, note=Step.RETRY)

    def _refresh(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        progress, stored = state.progress, _stored(state)
        found = self._handle.listers.lister(writes.CLAIMS).stored(stored.name, stored.namespace)
        if found is None:
            cause = f'resourceclaims.resource.k8s.io "{stored.name}" not found'
            return self._fail(state, pod, node_name, f"get updated claim {stored.key} after conflict: {cause}")
        progress.stored = found
        return self._update(state, pod, node_name)

    # --- The end of a claim ---

    def _fail(self, state: State, pod: PodInfo, node_name: str, text: str) -> Status | Work | None:
        state.progress.error = text
        return self._settle(state, pod, node_name)

    def _settle(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        """Believe what was written, and end the pending allocation."""
        progress = state.progress
        if progress.is_written:
            stored = _stored(state)
            is_known = self._devices.claims.get(stored.namespace, stored.name) is not None
            if not is_known and state.claims.is_extended(progress.index):
                return self._wait_for_claim()
            self._devices.claims.assume(stored)
        return self._settled(state, pod, node_name)

    def _wait_for_claim(self) -> Work:
        deadline = self._handle.clock.now_ns() + _ASSUME_TIMEOUT_NS
        return Work(wait_for=_CLAIM_EVENTS, deadline_ns=deadline, note=Step.ASSUME)

    def _assume(self, state: State, pod: PodInfo, node_name: str, work: Work) -> Status | Work | None:
        stored = _stored(state)
        is_known = self._devices.claims.get(stored.namespace, stored.name) is not None
        assert work.deadline_ns is not None
        if not is_known and self._handle.clock.now_ns() < work.deadline_ns:
            return work
        if is_known:
            self._devices.claims.assume(stored)
        return self._settled(state, pod, node_name)

    def _settled(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        progress = state.progress
        if progress.index in state.allocations:
            self._devices.claims.remove_pending(progress.uid)
        if progress.error:
            return error(progress.error)
        stored = _stored(state)
        state.claims[progress.index] = PodClaim(stored.view, stored)
        return self._next_claim(state, pod, node_name)

    # --- Conditions ---

    def _wait_for_conditions(self, state: State, pod: PodInfo, node_name: str) -> Status | Work | None:
        if not self._with_conditions or not conditions.has_conditions(claim.view for claim in state.claims):
            return None
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.record_event(pod, None, "Normal", "BindingConditionsPending", "Scheduling", note)
        state.progress = Progress(started_ns=self._handle.clock.now_ns())
        return self._check_conditions(state)

    def _check_conditions(self, state: State) -> Status | Work | None:
        now, end = self._handle.clock.now_ns(), state.progress.started_ns + self._timeout_ns
        try:
            if self._are_ready(state, now):
                self._count_conditions(state, "")
                return None
        except BindingConditionError as failure:
            return self._conditions_failed(state, str(failure))
        if now >= end:
            return self._conditions_failed(state, f"{conditions.TIMEOUT}: context deadline exceeded")
        return Work(deadline_ns=min(now + _POLL_NS, end), note=Step.CONDITIONS)

    def _conditions_failed(self, state: State, text: str) -> Status:
        self._count_conditions(state, text)
        return error(text)

    def _count_conditions(self, state: State, failure: str) -> None:
        every, waiting = conditions.drivers(claim.view for claim in state.claims)
        elapsed_ns = self._handle.clock.now_ns() - state.progress.started_ns
        self._handle.metrics.conditions_awaited(self._handle.profile_name, every, waiting, failure, elapsed_ns)

    def _are_ready(self, state: State, now_ns: int) -> bool:
        for index, claim in enumerate(state.claims):
            metadata = claim.view.metadata
            stored = self._devices.claims.get(metadata.namespace, metadata.name)
            if stored is None:
                raise BindingConditionError(not_found(claim.key))
            state.claims[index] = PodClaim(stored.view, stored)
            if not conditions.is_ready(stored.view):
                if conditions.is_overdue(stored.view, self._timeout_ns, now_ns):
                    raise BindingConditionError(f"{conditions.TIMEOUT}: claim={metadata.name}")
                return False
        return True


def _work(step: Step, write: Write) -> Work:
    return Work(writes=(write,), note=step)


def _stored(state: State) -> StoredObject:
    stored = state.progress.stored
    assert stored is not None, "a claim is written before it exists"
    return stored
