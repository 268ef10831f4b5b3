"""Heartbeats are computed when read: on the beat, never ahead of the clock, and not stored."""

from __future__ import annotations

import pytest

from schedlab.api.object import StoredObject
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock
from schedlab.kubelet.heartbeats import LEASE_NAMESPACE, Heartbeats, new_lease

LEASES = "leases.coordination.k8s.io"


def _lease(namespace: str = LEASE_NAMESPACE) -> StoredObject:
    lease = new_lease("n", "uid-n", EPOCH_NS)
    lease["metadata"]["namespace"] = namespace
    return StoredObject.encode(LEASES, lease, 1)


@pytest.mark.parametrize(
    ("seconds", "renewed"),
    [(0, "2026-01-01T00:00:00.000000Z"), (9, "2026-01-01T00:00:00.000000Z"), (25, "2026-01-01T00:00:20.000000Z")],
)
def test_lease_is_renewed_every_ten_seconds(seconds: int, renewed: str) -> None:
    clock = VirtualClock(EPOCH_NS + seconds * SECOND_NS)

    assert Heartbeats(clock).lease(_lease()).raw["spec"]["renewTime"] == renewed


def test_stored_lease_is_left_alone() -> None:
    stored = _lease()
    Heartbeats(VirtualClock(EPOCH_NS + 100 * SECOND_NS)).lease(stored)

    assert stored.raw["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    assert stored.raw["metadata"]["ownerReferences"][0]["uid"] == "uid-n"


def test_lease_of_somebody_else_is_shown_as_it_is() -> None:
    stored = _lease("kube-system")

    assert Heartbeats(VirtualClock(EPOCH_NS + 100 * SECOND_NS)).lease(stored) is stored


def test_conditions_of_a_node_beat_every_five_minutes() -> None:
    conditions = [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}, {"type": "Mine"}]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": conditions}}
    stored = StoredObject.encode("nodes", node, 1)

    shown = Heartbeats(VirtualClock(EPOCH_NS + 601 * SECOND_NS)).node(stored)

    assert shown.raw["status"]["conditions"] == [
        {"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:10:00Z"},
        {"type": "Mine"},
    ]
    assert shown.revision == stored.revision
