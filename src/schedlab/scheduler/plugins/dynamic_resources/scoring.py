"""Prefers nodes where requests with alternatives get one of their first choices.

Mirrors: computeScore in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schedlab.scheduler.plugins.dynamic_resources.state import ClaimStore, NodeAllocation

#: How many alternatives a request can have; the first is worth that much.
ALTERNATIVES_MAX: Final = 8


class ScoreError(Exception):
    """There is no allocation for some claim."""


def score_of(claims: ClaimStore, found: NodeAllocation) -> int:
    """Return the worth of what was found, or is allocated already."""
    return sum(ALTERNATIVES_MAX - rank for rank in ranks_of(claims, found))


def ranks_of(claims: ClaimStore, found: NodeAllocation) -> list[int]:
    """Return which of its alternatives each request with some gets, from 0."""
    results = iter(found.results)
    ranks: list[int] = []
    for claim in claims:
        allocation = claim.view.status.allocation or next(results, None)
        if allocation is None:
            count = len(found.results)
            raise ScoreError(f"number of allocations {count} is smaller than number of claims needing allocation")
        chosen = {result.request for result in allocation.devices.results if result.request.count("/") == 1}
        for request in claim.view.spec.devices.requests:
            if request.exactly is None:
                alternatives = enumerate(request.first_available)
                ranks += [rank for rank, each in alternatives if f"{request.name}/{each.name}" in chosen]
    return ranks
