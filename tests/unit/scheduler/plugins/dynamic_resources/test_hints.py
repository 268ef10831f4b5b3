"""Which changes of claims and pods wake a pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.scheduler.dra.claims import ClaimTracker
from schedlab.scheduler.framework.events import QueueingHint
from schedlab.scheduler.plugins.dynamic_resources.hints import ClaimHints
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import CLAIMS, Raw, allocated, claim

OWN, OTHER = claim("own", metadata={"uid": "own"}), claim("other", metadata={"uid": "other"})
POD = make_pod("p").set("spec.resourceClaims", [{"name": "x", "resourceClaimName": "own"}]).obj()


def view(raw: Raw | None) -> Any:
    return None if raw is None else StoredObject.encode(CLAIMS, raw, 1).view


def with_devices(raw: Raw) -> Raw:
    return raw | {"status": allocated("n/a")}


def labelled(raw: Raw) -> Raw:
    changed = copy.deepcopy(raw)
    changed["metadata"]["labels"] = {"a": "b"}
    return changed


@pytest.mark.parametrize(
    ("known", "old", "new", "expected"),
    [
        ([OWN], None, OWN, QueueingHint.QUEUE),
        ([], None, OTHER, QueueingHint.SKIP),
        ([OWN, OTHER], None, OTHER, QueueingHint.SKIP),
        ([OWN, OTHER], with_devices(OTHER), OTHER, QueueingHint.QUEUE),
        ([OWN, OTHER], OTHER, with_devices(OTHER), QueueingHint.SKIP),
        ([OWN], OWN, with_devices(OWN), QueueingHint.QUEUE),
        ([OWN], OWN, labelled(OWN), QueueingHint.SKIP),
        ([with_devices(OWN)], with_devices(OWN), labelled(with_devices(OWN)), QueueingHint.SKIP),
    ],
)
def test_after_claim_change(known: list[Raw], old: Raw | None, new: Raw, expected: QueueingHint) -> None:
    """The pod's own claims wake it by their status, others by giving devices back, none while one is missing."""
    tracker = ClaimTracker(lambda *_: None, with_shares=True)
    for raw in known:
        tracker.observe(None, StoredObject.encode(CLAIMS, raw, 1))

    assert ClaimHints(tracker).after_claim_change(POD, view(old), view(new)) is expected


@pytest.mark.parametrize(("name", "known", "expected"), [("p", [OWN], 1), ("p", [], 0), ("q", [OWN], 0)])
def test_after_pod_change(name: str, known: list[Raw], expected: int) -> None:
    """The pod itself wakes once all its claims are there."""
    tracker = ClaimTracker(lambda *_: None, with_shares=True)
    for raw in known:
        tracker.observe(None, StoredObject.encode(CLAIMS, raw, 1))
    changed = make_pod(name).set("spec.resourceClaims", [{"name": "x", "resourceClaimName": "own"}]).view()

    assert ClaimHints(tracker).after_pod_change(POD, None, changed) == expected
