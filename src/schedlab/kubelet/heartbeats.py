"""Heartbeats that nobody sends: a healthy node's lease and conditions show the time of their last beat when read.

A lease is stored once, when the node registers; renewing it takes no timer, no revision and no event. Only failure and
recovery of a node are events.

Mirrors: pkg/kubelet/nodelease and pkg/util/node leases (v1.36): 40 s duration, renewed every 10 s; status every 5 min.
Differs: renewals are derived from the clock (ADR 0004); they do not appear in watches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.time import format_micro_time, format_time, parse_time
from schedlab.kernel.clock import SECOND_NS, Clock

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION_S: Final = 40
RENEW_INTERVAL_NS: Final = 10 * SECOND_NS
STATUS_INTERVAL_NS: Final = 300 * SECOND_NS

# Found in the encoded object: decoding 5,000 nodes for a list would take longer than the list.
_RENEW_TIME: Final = re.compile(rb'("renewTime":")([^"]+)(")')
_HEARTBEAT_TIME: Final = re.compile(rb'("lastHeartbeatTime":")([^"]+)(")')


def new_lease(node_name: str, node_uid: str, now_ns: int) -> dict[str, Any]:
    """Return the lease that a kubelet creates for its node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node_name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_uid}],
        },
        "spec": {
            "holderIdentity": node_name,
            "leaseDurationSeconds": LEASE_DURATION_S,
            "renewTime": format_micro_time(now_ns),
        },
    }


class Heartbeats:
    """Shows leases and nodes with the time of their last beat (registry overlays).

    `failed_since_ns` says since when the kubelet of a node sends no more of them.
    """

    def __init__(self, clock: Clock, failed_since_ns: Callable[[str], int | None] = lambda _: None) -> None:
        self._clock = clock
        self._failed_since_ns = failed_since_ns

    def lease(self, stored: StoredObject) -> StoredObject:
        """Return a node's lease as a reader sees it now; leases of others are as they are."""
        if stored.namespace != LEASE_NAMESPACE:
            return stored
        return stored.with_body(partial(_RENEW_TIME.sub, partial(self._renewed, self._now_ns(stored.name))))

    def node(self, stored: StoredObject) -> StoredObject:
        """Return a node with the heartbeat times of its conditions as a reader sees them now."""
        return stored.with_body(partial(_HEARTBEAT_TIME.sub, partial(self._beaten, self._now_ns(stored.name))))

    def _now_ns(self, node: str) -> int:
        """Return the time, or the last moment at which the kubelet of a node lived."""
        failed_ns = self._failed_since_ns(node)
        return self._clock.now_ns() if failed_ns is None else failed_ns

    def _renewed(self, now_ns: int, found: re.Match[bytes]) -> bytes:
        return found[1] + format_micro_time(_last_beat(found[2], RENEW_INTERVAL_NS, now_ns)).encode() + found[3]

    def _beaten(self, now_ns: int, found: re.Match[bytes]) -> bytes:
        return found[1] + format_time(_last_beat(found[2], STATUS_INTERVAL_NS, now_ns)).encode() + found[3]


def _last_beat(first: bytes, interval_ns: int, now_ns: int) -> int:
    first_ns = parse_time(first.decode())
    return first_ns + max(0, now_ns - first_ns) // interval_ns * interval_ns
