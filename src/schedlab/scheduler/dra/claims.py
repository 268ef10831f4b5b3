"""Claims as the scheduler believes them to be: what the API server told, what was written since, what is under way.

A claim that was just written is assumed: it counts until the informer is as new. An allocation that was chosen but not
written yet is pending; a second pod that needs the same claim has to wait for it.

Mirrors: claimTracker in pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go, allocateddevices.go,
pkg/scheduler/util/assumecache (v1.36).
Differs: a pending allocation is never shared by the pods of a group (an alpha feature).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from schedlab.scheduler.dra.types import AllocatedState

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.resource import AllocationResult, ResourceClaim

#: Told of each change of what is believed of a claim, before and after.
OnChange = Callable[["ResourceClaim | None", "ResourceClaim | None"], None]


@dataclass(slots=True)
class _Known:
    """The newest state of a claim, and the newest one of the informer."""

    latest: StoredObject
    informed: StoredObject


class ClaimTracker:
    """All claims; `with_shares` says whether devices can be shared by capacity."""

    def __init__(self, on_change: OnChange, *, with_shares: bool) -> None:
        self._on_change = on_change
        self._with_shares = with_shares
        self._known: dict[str, _Known] = {}
        self._pending: dict[str, ResourceClaim] = {}
        self._allocated = AllocatedState()

    # --- Reading ---

    def get(self, namespace: str, name: str) -> StoredObject | None:
        """Return a claim."""
        known = self._known.get(f"{namespace}/{name}")
        return None if known is None else known.latest

    def all(self) -> Iterator[StoredObject]:
        """Go through all claims."""
        return (known.latest for known in self._known.values())

    def allocated_state(self) -> AllocatedState:
        """Return what is taken or about to be; not to be changed, and good until something changes."""
        if not self._pending:
            return self._allocated
        state = self._allocated.copy()
        for claim in self._pending.values():
            state.add(claim, with_shares=self._with_shares)
        return state

    # --- Changes ---

    def observe(self, before: StoredObject | None, after: StoredObject | None) -> None:
        """Take what the informer tells of a claim; what is not newer than what is known changes nothing."""
        if after is None:
            assert before is not None
            known = self._known.pop(before.key, None)
            if known is not None:
                self._changed(known.latest, None)
            return
        known = self._known.get(after.key)
        if known is not None and after.revision <= known.latest.revision:
            return
        self._known[after.key] = _Known(after, after)
        self._changed(None if known is None else known.latest, after)

    def assume(self, claim: StoredObject) -> bool:
        """Believe in what was written; False when the claim is not known (yet), or known better."""
        known = self._known.get(claim.key)
        if known is None or claim.revision < known.latest.revision:
            return False
        if claim.revision > known.latest.revision:
            before, known.latest = known.latest, claim
            self._changed(before, claim)
        return True

    def restore(self, namespace: str, name: str) -> None:
        """Believe the informer again."""
        known = self._known.get(f"{namespace}/{name}")
        if known is not None and known.latest is not known.informed:
            before, known.latest = known.latest, known.informed
            self._changed(before, known.informed)

    def _changed(self, before: StoredObject | None, after: StoredObject | None) -> None:
        old: ResourceClaim | None = None if before is None else before.view
        new: ResourceClaim | None = None if after is None else after.view
        had, has = is_allocated(old), is_allocated(new)
        # Allocations never change; they come and go.
        if has and not had:
            self._allocated.add(cast("ResourceClaim", new), with_shares=self._with_shares)
        elif had and not has:
            self._allocated.remove(cast("ResourceClaim", old), with_shares=self._with_shares)
        self._on_change(old, new)

    # --- Allocations under way ---

    def pending(self, uid: str) -> AllocationResult | None:
        """Return the allocation that was chosen for a claim and is not written yet."""
        claim = self._pending.get(uid)
        return None if claim is None else claim.status.allocation

    def add_pending(self, uid: str, claim: ResourceClaim) -> None:
        """Note what was chosen for a claim."""
        self._pending.setdefault(uid, claim)

    def remove_pending(self, uid: str) -> bool:
        """Forget it: it was written, or given up; False when there is none."""
        return self._pending.pop(uid, None) is not None

    # --- Forks ---

    def copy(self, on_change: OnChange) -> ClaimTracker:
        """Return what the informer told, for a fork; what was under way there is not."""
        other = ClaimTracker(on_change, with_shares=self._with_shares)
        for key, known in self._known.items():
            other._known[key] = _Known(known.informed, known.informed)
            if is_allocated(known.informed.view):
                other._allocated.add(known.informed.view, with_shares=self._with_shares)
        return other


def is_allocated(claim: ResourceClaim | None) -> bool:
    """Whether a claim has devices."""
    return claim is not None and claim.status.allocation is not None
