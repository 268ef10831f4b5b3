"""Hints for a service whose trafficDistribution prefers what is near: each endpoint serves its own zone, or node.

Mirrors: staging/src/k8s.io/endpointslice/trafficdist/trafficdist.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.controllers.endpointslice.changes import Changes
from schedlab.controllers.endpointslice.slices import Endpoint, endpoints_of, is_ready_endpoint

_SAME_NODE: Final = "PreferSameNode"
DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", _SAME_NODE)


def reconcile_hints(changes: Changes, distribution: str) -> None:
    """Give every ready endpoint the hint that the distribution asks for."""
    by_node = distribution == _SAME_NODE
    for found in list(changes.unchanged):
        ready = filter(is_ready_endpoint, endpoints_of(found))
        if any((each.get("hints") or {}) != _hints(each, by_node=by_node) for each in ready):
            changes.touch(found)
    for found in (*changes.create, *changes.update):
        for each in filter(is_ready_endpoint, endpoints_of(found)):
            each.pop("hints", None)
            if hints := _hints(each, by_node=by_node):
                each["hints"] = hints


def _hints(endpoint: Endpoint, *, by_node: bool) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    if endpoint.get("zone") is not None:
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if by_node and endpoint.get("nodeName") is not None:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return hints
