"""Nodes are better the earlier the alternative that a request gets there."""

from __future__ import annotations

import pytest

from schedlab.api.views.resource import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from schedlab.scheduler.plugins.dynamic_resources.scoring import ScoreError, score_of
from schedlab.scheduler.plugins.dynamic_resources.state import ClaimStore, NodeAllocation, PodClaim
from tests.unit.scheduler.dra.device_search import claim_view
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import Raw, allocated, claim, either, request

CHOICE = either("r", request("a"), request("b"), request("c"))


def result(*requests: str) -> AllocationResult:
    return AllocationResult(DeviceAllocationResult(tuple(DeviceRequestAllocationResult(each) for each in requests)))


def store(*claims: Raw) -> ClaimStore:
    return ClaimStore([PodClaim(claim_view(raw), None) for raw in claims])


@pytest.mark.parametrize(
    ("claims", "found", "expected"),
    [
        ([claim("c", request())], [result("r")], 0),
        ([claim("c", CHOICE)], [result("r/a")], 8),
        ([claim("c", CHOICE)], [result("r/c", "r/c")], 6),
        ([claim("c", CHOICE, either("q", request("x")))], [result("r/b", "q/x")], 15),
        ([claim("c", CHOICE), claim("d", CHOICE)], [result("r/a"), result("r/b")], 15),
        ([claim("c", request(), status=allocated("n/a")), claim("d", CHOICE)], [result("r/b")], 7),
    ],
)
def test_score(claims: list[Raw], found: list[AllocationResult], expected: int) -> None:
    """The first alternative counts 8, the next 7; requests without alternatives count nothing."""
    assert score_of(store(*claims), NodeAllocation(tuple(found))) == expected


def test_missing_allocation_is_an_error() -> None:
    """It names how many there are."""
    text = "number of allocations 1 is smaller than number of claims needing allocation"
    with pytest.raises(ScoreError, match=text):
        score_of(store(claim("c", CHOICE), claim("d", CHOICE)), NodeAllocation((result("r/a"),)))
