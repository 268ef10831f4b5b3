"""Heartbeats are computed when read: on the beat, never ahead of the clock."""

from __future__ import annotations

import pytest

from schedlab.kernel.clock import EPOCH_NS, SECOND_NS
from schedlab.kubelet.heartbeats import beat_lease, beat_node, new_lease


@pytest.mark.parametrize(
    ("seconds", "renewed"),
    [(0, "2026-01-01T00:00:00.000000Z"), (9, "2026-01-01T00:00:00.000000Z"), (25, "2026-01-01T00:00:20.000000Z")],
)
def test_lease_is_renewed_every_ten_seconds(seconds: int, renewed: str) -> None:
    lease = new_lease("n", "uid-n", EPOCH_NS)

    assert beat_lease(lease, EPOCH_NS + seconds * SECOND_NS)["spec"]["renewTime"] == renewed


def test_stored_lease_is_left_alone() -> None:
    lease = new_lease("n", "uid-n", EPOCH_NS)
    beat_lease(lease, EPOCH_NS + 100 * SECOND_NS)

    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == "uid-n"


def test_conditions_of_a_node_beat_every_five_minutes() -> None:
    node = {
        "status": {
            "conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}, {"type": "Mine"}],
        }
    }

    conditions = beat_node(node, EPOCH_NS + 601 * SECOND_NS)["status"]["conditions"]

    assert conditions == [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:10:00Z"}, {"type": "Mine"}]
