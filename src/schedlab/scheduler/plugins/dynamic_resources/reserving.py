"""Taking what was found for the chosen node.

Mirrors: Reserve in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from schedlab.scheduler.framework.status import Status, error

if TYPE_CHECKING:
    from schedlab.scheduler.dra.claims import ClaimTracker
    from schedlab.scheduler.plugins.dynamic_resources.state import State


def reserve(state: State, node_name: str, claims: ClaimTracker) -> Status | None:
    """Note the allocations as pending, so that no other pod takes the devices before they are written."""
    todo = tuple(state.claims.to_allocate())
    if not todo or state.allocator is None:
        return None
    found = state.node_allocations.get(node_name)
    if found is None or not found.results:
        # The node offers the extended resources itself.
        return error("claim allocation not found for node") if state.claims.are_unallocated_by_user else None
    if len(found.results) != len(todo):
        counts = f"have {len(found.results)} allocations, {len(todo)} claims to allocate, want {len(todo)} claims"
        return error(f"internal error, {counts}")
    for (index, claim), allocation in zip(todo, found.results, strict=True):
        state.allocations[index] = allocation
        view = claim.view
        if state.claims.is_extended(index) and found.extended_claim is not None:
            view = found.extended_claim
        allocated = replace(view, status=replace(view.status, allocation=allocation))
        claims.add_pending(view.metadata.uid, allocated)
    return None
