"""Giving claims back: when a binding fails, and when no node fits because of them.

Nobody waits for these writes.

Mirrors: Unreserve, PostFilter and deleteClaim in pkg/scheduler/framework/plugins/dynamicresources (v1.36).
Differs: upstream waits for its writes and fails the pod when they fail; here the pod's next attempt finds out. Which of
several claims is deallocated is drawn from the scheduler's random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schedlab.apimachinery.errors import Conflict
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.status import Status, unschedulable
from schedlab.scheduler.plugins.dynamic_resources import writes
from schedlab.scheduler.plugins.dynamic_resources.binding import is_reserved
from schedlab.scheduler.plugins.dynamic_resources.extended import IN_MEMORY_NAME

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.client.protocol import Outcome
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.plugins.dynamic_resources.state import PodClaim, State

_ATTEMPTS_MAX: Final = 5
_RETRY_NS: Final = 10_000_000

_DEALLOCATED: Final = unschedulable("deallocation of ResourceClaim completed")
_DELETED: Final = unschedulable("deletion of ResourceClaim completed")
_NOTHING_TO_DO: Final = unschedulable("still not schedulable")


@dataclass(frozen=True, slots=True)
class Removal:
    """A claim for extended resources that goes: the finalizer first, then the claim."""

    claim: StoredObject
    attempt: int = 0


class ClaimReleaser:
    """Takes claims back."""

    def __init__(self, handle: Handle, random: RandomSource) -> None:
        self._handle = handle
        self._random = random

    def after_filter(self, state: State, pod: PodInfo) -> tuple[Status, Work | None]:
        """Deallocate a claim that keeps the pod from every node, or delete the one a former cycle made."""
        chosen = self._draw(state)
        for index in chosen:
            claim = state.claims[index]
            consumers = claim.view.status.reserved_for
            if not consumers or (len(consumers) == 1 and consumers[0].uid == pod.uid):
                assert claim.stored is not None, "a claim that was allocated is stored"
                return _DEALLOCATED, Work(writes=(writes.deallocate_claim(claim.stored),))
        removal = _removal(state.claims.extended)
        return (_NOTHING_TO_DO, None) if removal is None else (_DELETED, removal)

    def _draw(self, state: State) -> list[int]:
        """Return the unavailable claims in an order that begins anywhere; nothing after the extended one."""
        indices = list(state.unavailable)
        if len(indices) > 1:
            start = self._random.below(len(indices))
            indices = indices[start:] + indices[:start]
        return [index for index in indices if not state.claims.is_extended(index)]

    def unreserve(self, plugin: object, cycle: CycleState, state: State, pod: PodInfo) -> None:
        """Drop what was chosen or assumed for the pod, and what was written."""
        tracker = self._handle.devices.claims
        for claim in state.claims.of_user():
            metadata = claim.view.metadata
            if tracker.remove_pending(metadata.uid):
                tracker.restore(metadata.namespace, metadata.name)
            if claim.is_allocated and is_reserved(claim.view, pod):
                work = Work(writes=(writes.release_claim(claim.view, pod.pod),))
                self._handle.start_work(plugin, cycle, pod, work)
        extended = state.claims.extended
        if extended is None:
            return
        if tracker.remove_pending(state.claims.initial_extended_uid):
            tracker.restore(extended.view.metadata.namespace, extended.view.metadata.name)
        removal = _removal(extended)
        if removal is not None:
            self._handle.start_work(plugin, cycle, pod, removal)

    def resume(self, work: Work, outcome: Outcome | None) -> Work | None:
        """Go on with a removal; any other work ends with its only write."""
        removal = work.note
        if not isinstance(removal, Removal):
            return None
        if outcome is None:
            return self._retry(removal)
        if outcome.error is None:
            return Work(writes=(writes.delete_claim(removal.claim),))
        if isinstance(outcome.error, Conflict) and removal.attempt + 1 < _ATTEMPTS_MAX:
            again = Removal(removal.claim, removal.attempt + 1)
            return Work(deadline_ns=self._handle.clock.now_ns() + _RETRY_NS, note=again)
        return None

    def _retry(self, removal: Removal) -> Work | None:
        claim = removal.claim
        found = self._handle.listers.lister(writes.CLAIMS).stored(claim.name, claim.namespace)
        if found is None:
            return None
        return Work(writes=(writes.remove_finalizer(found),), note=Removal(found, removal.attempt))


def _removal(claim: PodClaim | None) -> Work | None:
    """Return the work of deleting the claim for extended resources, if it was ever created."""
    if claim is None or claim.view.metadata.name == IN_MEMORY_NAME:
        return None
    assert claim.stored is not None, "a claim with a name of its own is stored"
    return Work(writes=(writes.remove_finalizer(claim.stored),), note=Removal(claim.stored))
