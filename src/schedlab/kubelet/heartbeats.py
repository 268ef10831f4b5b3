"""Heartbeats that nobody sends: a healthy node's lease and conditions show the time of their last beat when read.

A lease is stored once, when the node registers; renewing it takes no timer, no revision and no event. Only failure and
recovery of a node are events.

Mirrors: pkg/kubelet/nodelease and pkg/util/node leases (v1.36): 40 s duration, renewed every 10 s; status every 5 min.
Differs: renewals are derived from the clock (ADR 0004); they do not appear in watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.time import format_micro_time, format_time, parse_time
from schedlab.kernel.clock import SECOND_NS

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION_S: Final = 40
RENEW_INTERVAL_NS: Final = 10 * SECOND_NS
STATUS_INTERVAL_NS: Final = 300 * SECOND_NS


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


def beat_lease(lease: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """Return a node lease as a reader sees it now."""
    spec = lease["spec"]
    renewed = _last_beat(spec["renewTime"], now_ns, RENEW_INTERVAL_NS)
    return {**lease, "spec": {**spec, "renewTime": format_micro_time(renewed)}}


def beat_node(node: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """Return a node with the heartbeat times of its conditions as a reader sees them now."""
    status = node.get("status") or {}
    conditions = [
        {
            **condition,
            "lastHeartbeatTime": format_time(_last_beat(condition["lastHeartbeatTime"], now_ns, STATUS_INTERVAL_NS)),
        }
        if condition.get("lastHeartbeatTime")
        else condition
        for condition in status.get("conditions") or ()
    ]
    return {**node, "status": {**status, "conditions": conditions}}


def _last_beat(first: str, now_ns: int, interval_ns: int) -> int:
    first_ns = parse_time(first)
    return first_ns + max(0, now_ns - first_ns) // interval_ns * interval_ns
